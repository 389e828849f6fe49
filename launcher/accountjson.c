/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * accountjson.c - an account of a job's time as JSON.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/accountjson.h"

/* ---- to JSON ---- */

static void add_time(json_object *to, const char *key, double s)
{
	json_object *n = json_object_new_double(s);

	if (n)
		json_object_set_serializer(n, json_object_double_to_json_string,
					   (void *)(uintptr_t)"%.3f", NULL);
	json_object_object_add(to, key, n);
}

static void add_uint(json_object *to, const char *key, uint64_t n)
{
	json_object_object_add(to, key, json_object_new_int64((int64_t)n));
}

static void add_bool(json_object *to, const char *key, bool b)
{
	json_object_object_add(to, key, json_object_new_boolean(b));
}

static json_object *sum_json(const struct sn_ettr_sum *sum)
{
	json_object *root = json_object_new_object(), *lost = json_object_new_object();

	add_time(root, "useful", sum->useful);
	add_time(root, "provisional", sum->provisional);
	add_time(root, "opening", sum->opening);
	for (int i = 0; i < SN_LOST_KINDS; i++)
		add_time(lost, sn_lost_name((enum sn_lost)i), sum->lost[i]);
	json_object_object_add(root, "lost", lost);
	return root;
}

static json_object *recoveries_json(const struct sn_recoveries *r)
{
	json_object *root = json_object_new_object(), *n = json_object_new_array();

	add_uint(root, "count", sn_recoveries_count(r));
	add_time(root, "sum", r->sum);
	add_time(root, "last", r->last);
	for (int i = 0; i <= SN_RECOVERY_BOUNDS; i++)
		json_object_array_add(n, json_object_new_int64((int64_t)r->n[i]));
	json_object_object_add(root, "n", n);
	return root;
}

static json_object *open_json(const struct sn_ettr *a)
{
	json_object *root = json_object_new_object();

	add_bool(root, "stepped", a->stepped);
	add_bool(root, "shows_steps", a->shows_steps);
	add_bool(root, "pending", a->pending);
	add_bool(root, "recovering", a->recovering);
	add_time(root, "started", a->started);
	add_time(root, "first", a->first);
	add_time(root, "interval", a->interval);
	add_time(root, "segment", a->segment);
	add_time(root, "worked", a->worked);
	add_uint(root, "workers", a->workers);
	add_time(root, "failed", a->failed);
	return root;
}

json_object *sn_account_json(const struct sn_ettr *a)
{
	json_object *root = json_object_new_object(), *fails = json_object_new_object();
	json_object *wall = sum_json(&a->wall), *cards = sum_json(&a->cards);

	add_time(root, "began", a->began);
	add_time(root, "at", a->at);
	json_object_object_add(root, "phase", json_object_new_string(
		sn_ettr_phase_name(a->phase)));
	add_uint(root, "held_cards", a->held);
	add_uint(root, "rank_cards", a->ranks);
	add_uint(root, "want_cards", a->want);
	add_time(root, "ettr", sn_ettr_ratio(a));
	add_time(root, "ettr_open", sn_ettr_ratio_open(a));
	add_uint(root, "generations", a->generations);
	add_uint(root, "safe_points", a->safe_points);
	add_time(root, "safe", a->safe);
	for (int i = 0; i < SN_ETTR_FAILS; i++)
		add_uint(fails, sn_ettr_fail_name((enum sn_ettr_fail)i), a->fails[i]);
	json_object_object_add(root, "failures", fails);
	add_time(wall, "wall", sn_ettr_wall(a));
	json_object_object_add(root, "seconds", wall);
	add_time(cards, "held", a->held_sum);
	add_time(cards, "idle", a->idle);
	add_time(cards, "missing", a->missing);
	json_object_object_add(root, "card_seconds", cards);
	json_object_object_add(root, "recoveries", recoveries_json(&a->recoveries));
	json_object_object_add(root, "open", open_json(a));
	return root;
}

char *sn_account_format(const struct sn_account_file *file)
{
	json_object *root = json_object_new_object();
	const char *text;
	char *ret;

	add_uint(root, "job", file->job);
	add_uint(root, "requeues", file->requeues);
	json_object_object_add(root, "account", sn_account_json(&file->account));
	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN);
	ret = text ? strdup(text) : NULL;
	json_object_put(root);
	return ret;
}

/* ---- and back ---- */

struct from {
	json_object *root;
	const char *bad; /* the first key that lacks or is none; NULL: none is */
};

static json_object *get(struct from *from, const char *key, enum json_type type)
{
	json_object *at = NULL;

	if (json_object_is_type(from->root, json_type_object) &&
	    json_object_object_get_ex(from->root, key, &at) && at &&
	    (json_object_is_type(at, type) ||
	     (type == json_type_double && json_object_is_type(at, json_type_int))))
		return at;
	if (!from->bad)
		from->bad = key;
	return NULL;
}

static double get_time(struct from *from, const char *key)
{
	json_object *at = get(from, key, json_type_double);
	double s = at ? json_object_get_double(at) : 0;

	if (isfinite(s))
		return s;
	from->bad = key;
	return 0;
}

static uint64_t get_count(struct from *from, json_object *at, const char *key, int64_t max)
{
	int64_t n = at ? json_object_get_int64(at) : 0;

	if (n >= 0 && n <= max)
		return (uint64_t)n;
	if (!from->bad)
		from->bad = key;
	return 0;
}

static uint32_t get_uint(struct from *from, const char *key)
{
	return (uint32_t)get_count(from, get(from, key, json_type_int), key, UINT32_MAX);
}

static bool get_bool(struct from *from, const char *key)
{
	json_object *at = get(from, key, json_type_boolean);

	return at && json_object_get_boolean(at);
}

/* Into an object of an object, and back by the caller's copy. */
static struct from into(struct from *from, const char *key)
{
	struct from inner = { get(from, key, json_type_object), from->bad };

	return inner;
}

static void get_sum(struct from *from, struct sn_ettr_sum *ret)
{
	struct from lost;

	ret->useful = get_time(from, "useful");
	ret->provisional = get_time(from, "provisional");
	ret->opening = get_time(from, "opening");
	lost = into(from, "lost");
	for (int i = 0; i < SN_LOST_KINDS; i++)
		ret->lost[i] = get_time(&lost, sn_lost_name((enum sn_lost)i));
	from->bad = lost.bad;
}

static void get_recoveries(struct from *from, struct sn_recoveries *ret)
{
	json_object *n = get(from, "n", json_type_array);

	ret->sum = get_time(from, "sum");
	ret->last = get_time(from, "last");
	if (!n)
		return;
	if (json_object_array_length(n) != SN_RECOVERY_BOUNDS + 1) {
		from->bad = "n";
		return;
	}
	for (size_t i = 0; i <= SN_RECOVERY_BOUNDS; i++)
		ret->n[i] = get_count(from, json_object_array_get_idx(n, i), "n",
				      (int64_t)1 << 48);
}

static void get_open(struct from *from, struct sn_ettr *ret)
{
	ret->stepped = get_bool(from, "stepped");
	ret->shows_steps = get_bool(from, "shows_steps");
	ret->pending = get_bool(from, "pending");
	ret->recovering = get_bool(from, "recovering");
	ret->started = get_time(from, "started");
	ret->first = get_time(from, "first");
	ret->interval = get_time(from, "interval");
	ret->segment = get_time(from, "segment");
	ret->worked = get_time(from, "worked");
	ret->workers = get_uint(from, "workers");
	ret->failed = get_time(from, "failed");
}

static void get_phase(struct from *from, struct sn_ettr *ret)
{
	json_object *at = get(from, "phase", json_type_string);
	int phase = at ? sn_ettr_phase_find(json_object_get_string(at)) : 0;

	if (phase < 0)
		from->bad = "phase";
	else
		ret->phase = (enum sn_ettr_phase)phase;
}

int sn_account_read(json_object *root, struct sn_ettr *ret, struct sn_err *err)
{
	struct from from = { root, NULL }, part;
	struct sn_ettr a;
	int rc;

	memset(&a, 0, sizeof(a));
	a.began = get_time(&from, "began");
	a.at = get_time(&from, "at");
	get_phase(&from, &a);
	a.held = get_uint(&from, "held_cards");
	a.ranks = get_uint(&from, "rank_cards");
	a.want = get_uint(&from, "want_cards");
	a.generations = get_uint(&from, "generations");
	a.safe_points = get_uint(&from, "safe_points");
	a.safe = get_time(&from, "safe");
	part = into(&from, "failures");
	for (int i = 0; i < SN_ETTR_FAILS; i++)
		a.fails[i] = get_uint(&part, sn_ettr_fail_name((enum sn_ettr_fail)i));
	from.bad = part.bad;
	part = into(&from, "seconds");
	get_sum(&part, &a.wall);
	from.bad = part.bad;
	part = into(&from, "card_seconds");
	get_sum(&part, &a.cards);
	a.held_sum = get_time(&part, "held");
	a.idle = get_time(&part, "idle");
	a.missing = get_time(&part, "missing");
	from.bad = part.bad;
	part = into(&from, "recoveries");
	get_recoveries(&part, &a.recoveries);
	from.bad = part.bad;
	part = into(&from, "open");
	get_open(&part, &a);
	if (part.bad)
		return sn_err_set(err, -EINVAL, "the account's \"%s\" is lacking or is none",
				  part.bad);
	rc = sn_ettr_check(&a, err);
	if (rc)
		return sn_err_prefix(err, rc, "the account cannot be: ");
	*ret = a;
	return 0;
}

int sn_account_parse(const char *text, struct sn_account_file *ret, struct sn_err *err)
{
	json_object *root = json_tokener_parse(text);
	struct from from = { root, NULL };
	struct sn_account_file file;
	int rc;

	memset(&file, 0, sizeof(file));
	file.job = get_uint(&from, "job");
	file.requeues = get_uint(&from, "requeues");
	if (from.bad)
		rc = sn_err_set(err, -EINVAL, "\"%s\" is lacking or is none", from.bad);
	else
		rc = sn_account_read(get(&from, "account", json_type_object),
				     &file.account, err);
	json_object_put(root);
	if (!rc)
		*ret = file;
	return rc;
}
