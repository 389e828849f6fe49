/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * laddersay.c - why a means was chosen, in one sentence.
 */
#include "config.h"

#include <stdio.h>

#include "topology/ladder_internal.h"
#include "topology/text.h"

static void say_failure(const struct sn_ladder_state *s, struct sn_buf *b)
{
	static const char *const says[] = {
		[SN_FAIL_SUSPECT] = "is suspected", [SN_FAIL_SICK] = "is sick",
		[SN_FAIL_CARD] = "is lost", [SN_FAIL_NODE] = "is lost",
		[SN_FAIL_SUPERNODE] = "is lost", [SN_FAIL_BATCH] = "with the batch host is lost",
		[SN_FAIL_STEP] = "the step failed by itself",
	};
	const struct sn_failure *f = s->first;

	if (!f) {
		sn_buf_add(b, s->job->running ? "nothing has failed" : "the step is not running");
		return;
	}
	if (f->kind == SN_FAIL_STEP) {
		sn_buf_add(b, "%s", says[f->kind]);
	} else {
		const char *domain = s->job->domain[f->domain].name;

		sn_buf_add(b, "%s%.40s%s%.32s %s%s", f->kind == SN_FAIL_SUPERNODE ? "all of " : "",
			   f->kind == SN_FAIL_SUPERNODE || !f->name ? "" : f->name,
			   f->kind == SN_FAIL_SUPERNODE || !f->name ? "" : " in ",
			   domain ? domain : "a supernode",
			   f->spare ? "(a spare) " : "", says[f->kind]);
		if (f->kind == SN_FAIL_NODE && f->back)
			sn_buf_add(b, " and back%s", sn_ladder_must_leave(s, f) ? " again" : "");
	}
	if (s->n > 1)
		sn_buf_add(b, ", with %u more", s->n - 1);
}

static void say_means(const struct sn_ladder_state *s, const struct sn_ladder_plan *plan,
		      struct sn_buf *b)
{
	struct { uint32_t spares, nodes; } need = { 0, 0 };

	for (uint32_t d = 0; d < plan->n_domains; d++) {
		need.spares += plan->use[d].spares;
		need.nodes += plan->use[d].spare_nodes;
	}
	switch (plan->means) {
	case SN_MEANS_IGNORE:
		sn_buf_add(b, "no rank is hit");
		return;
	case SN_MEANS_MASK:
		sn_buf_add(b, s->sick ? "nothing takes over and the job cannot be smaller, so it runs on" :
			   "it is masked and probed first");
		return;
	case SN_MEANS_RESTART:
		sn_buf_add(b, "all its nodes are there");
		return;
	case SN_MEANS_MOVE:
		sn_buf_add(b, "%u atom%s of %u that fit go%s elsewhere", plan->atoms,
			   plan->atoms == 1 ? "" : "s", s->job->atoms_elsewhere,
			   plan->atoms == 1 ? "es" : "");
		break;
	case SN_MEANS_SHRINK:
		sn_buf_add(b, "dp goes from %u to %u", s->job->dp, plan->dp);
		return;
	case SN_MEANS_REQUEUE:
		sn_buf_add(b, s->batch ? "its script is gone" : "nothing cheaper works");
		return;
	case SN_MEANS_GIVE_UP:
		sn_buf_add(b, s->step && !s->lost && !s->sick && s->job->restarts ?
			   "%u restarts made no progress" : "nothing works", s->job->restarts);
		return;
	default:
		break;
	}
	if (need.spares)
		sn_buf_add(b, "%s%u spare%s", plan->means == SN_MEANS_MOVE ? ", " : "",
			   need.spares, need.spares == 1 ? "" : "s");
	if (need.nodes)
		sn_buf_add(b, "%s%u of the SpareNodes", need.spares ? " and " :
			   plan->means == SN_MEANS_MOVE ? ", " : "", need.nodes);
	if (need.spares || need.nodes)
		sn_buf_add(b, " take%s over", need.spares + need.nodes == 1 ? "s" : "");
}

void sn_ladder_say(const struct sn_ladder_state *s, struct sn_ladder_plan *plan)
{
	struct sn_buf b = { 0 };
	struct sn_err clean;
	int next = SN_MEANS_GIVE_UP;

	for (int m = 0; m < SN_MEANS_GIVE_UP; m++)
		if (m != (int)plan->means && plan->option[m].can &&
		    plan->option[m].cost < plan->option[next].cost)
			next = m;
	sn_buf_add(&b, "%s: ", sn_means_name(plan->means));
	say_failure(s, &b);
	sn_buf_add(&b, "; ");
	say_means(s, plan, &b);
	if (plan->means < SN_MEANS_GIVE_UP && plan->cost > 0) {
		sn_buf_add(&b, "; %.0f card-seconds", plan->cost);
		if (sn_ladder_broken(s))
			sn_buf_add(&b, ", %.0f s since the safe point", sn_ladder_since(s, plan->means));
		if (next != SN_MEANS_GIVE_UP)
			sn_buf_add(&b, "; next is %s with %.0f", sn_means_name((enum sn_means)next),
				   plan->option[next].cost);
	}
	/* Names are a site's: nothing but what a log line can hold. */
	sn_err_set(&clean, 0, "%s", b.text ? b.text : sn_means_name(plan->means));
	snprintf(plan->why, sizeof(plan->why), "%.*s", SN_LADDER_WHY - 1, clean.text);
	sn_buf_done(&b);
}
