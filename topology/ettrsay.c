/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ettrsay.c - an account of a job's time in words, and in one sentence.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "topology/ettr.h"

static const struct { const char *name, *help; } lost_words[SN_LOST_KINDS] = {
	{ "startup", "getting ready, and from the start of ranks to their first step" },
	{ "checkpoint", "saving on request" },
	{ "redone", "work that no checkpoint held when it failed" },
	{ "restart", "between two generations" },
	{ "wait", "waiting for nodes or members" },
	{ "pause", "paused by a user" },
	{ "script", "in the job's script outside of snrun" },
};
static const char *const fail_words[SN_ETTR_FAILS] = {
	"node", "rank", "member", "snrun", "requeue", "other",
};
static const char *const phase_words[SN_ETTR_PHASES] = {
	"script", "queue", "wait", "pause", "restart", "startup", "work", "checkpoint",
};

const char *sn_lost_name(enum sn_lost lost)
{
	return lost < SN_LOST_KINDS ? lost_words[lost].name : "?";
}

const char *sn_lost_help(enum sn_lost lost)
{
	return lost < SN_LOST_KINDS ? lost_words[lost].help : "?";
}

const char *sn_ettr_fail_name(enum sn_ettr_fail fail)
{
	return fail < SN_ETTR_FAILS ? fail_words[fail] : "?";
}

const char *sn_ettr_phase_name(enum sn_ettr_phase phase)
{
	return phase < SN_ETTR_PHASES ? phase_words[phase] : "?";
}

int sn_ettr_phase_find(const char *word)
{
	for (int i = 0; i < SN_ETTR_PHASES; i++)
		if (!strcmp(phase_words[i], word))
			return i;
	return -1;
}

struct out {
	char *text;
	size_t size, at;
};

static void say(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct out *o, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(o->text + o->at, o->size - o->at, fmt, ap);
	va_end(ap);
	if (n > 0)
		o->at += (size_t)n < o->size - o->at ? (size_t)n : o->size - o->at - 1;
}

/* A number of card-seconds as people count them. */
static const char *unit(double most, double *ret_each)
{
	*ret_each = most >= 36000 ? 3600 : most >= 600 ? 60 : 1;
	return *ret_each > 60 ? "card-hours" : *ret_each > 1 ? "card-minutes" :
		"card-seconds";
}

static void say_lost(struct out *o, const struct sn_ettr *a, double each)
{
	bool said[SN_LOST_KINDS] = { false };

	/* The largest first. */
	for (int n = 0; n < SN_LOST_KINDS; n++) {
		int most = -1;

		for (int i = 0; i < SN_LOST_KINDS; i++)
			if (!said[i] && a->cards.lost[i] / each >= 0.05 &&
			    (most < 0 || a->cards.lost[i] > a->cards.lost[most]))
				most = i;
		if (most < 0)
			break;
		said[most] = true;
		say(o, "%s%.1f %s", n ? ", " : ": ", a->cards.lost[most] / each,
		    sn_lost_name((enum sn_lost)most));
	}
}

void sn_ettr_say(const struct sn_ettr *a, char *ret, uint32_t size)
{
	struct out o = { ret, size, 0 };
	double each, open = sn_ettr_open(&a->cards);
	const char *of = unit(a->held_sum, &each);

	if (!size)
		return;
	ret[0] = '\0';
	say(&o, "ETTR %.3f over %.0f s; %.1f of %.1f %s useful", sn_ettr_ratio(a),
	    sn_ettr_wall(a), a->cards.useful / each, a->held_sum / each, of);
	if (open / each >= 0.05)
		say(&o, ", %.1f provisional", open / each);
	if (a->idle / each >= 0.05)
		say(&o, ", %.1f idle", a->idle / each);
	say(&o, ", %.1f lost", sn_ettr_lost(&a->cards) / each);
	say_lost(&o, a, each);
}
