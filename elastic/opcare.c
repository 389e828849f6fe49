/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opcare.c - elastic.show: the elastic jobs, and what was decided for them.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "elastic/caredo.h"
#include "elastic/daemon.h"
#include "elastic/ops.h"
#include "elastic/report.h"

struct show {
	struct json_object *list;
	uint32_t job; /* 0: all */
};

static void add_int(struct json_object *o, const char *key, uint64_t n)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)n));
}

static void add_text(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, json_object_new_string(text));
}

static struct json_object *decision(const struct sn_care_past *past)
{
	static const char *const how[] = {
		[SN_CARE_NOTHING] = "nothing", [SN_CARE_ALONE] = "snrun itself",
		[SN_CARE_TELL] = "told", [SN_CARE_REQUEUE] = "requeued",
	};
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "at", json_object_new_double(past->at));
	add_text(o, "means", sn_means_name(past->means));
	add_text(o, "how", how[past->how]);
	add_text(o, "text", past->why);
	return o;
}

static const char *phase(const struct sn_attach *a)
{
	return !a ? "unattached" : !a->here ? "gone" : sn_attach_phase_name(a->state.phase);
}

static void show_row(void *arg, const struct sn_care_row *row)
{
	struct show *show = arg;
	struct json_object *o, *list;

	/* A table of all has those that can change, or have. */
	if (show->job ? row->job != show->job : !row->elastic && !row->attach && !row->decisions)
		return;
	o = json_object_new_object();
	add_int(o, "job", row->job);
	add_int(o, "uid", row->uid);
	add_text(o, "account", row->account);
	json_object_object_add(o, "elastic", json_object_new_boolean(row->elastic));
	json_object_object_add(o, "off", json_object_new_boolean(row->off));
	add_text(o, "state", phase(row->attach));
	add_int(o, "dp", row->dp);
	add_int(o, "min_dp", row->min);
	add_int(o, "want_dp", row->want);
	add_int(o, "max_dp", row->max);
	if (row->attach) {
		add_int(o, "generation", row->attach->state.generation);
		add_int(o, "restarts", row->attach->state.restarts);
	}
	if (row->since_safe >= 0)
		json_object_object_add(o, "since_safe", json_object_new_double(row->since_safe));
	add_int(o, "failures", row->failures);
	add_int(o, "decided", row->decisions);
	list = json_object_new_array();
	for (uint32_t i = 0; i < row->n_past && (show->job || !i); i++)
		json_object_array_add(list, decision(&row->past[i]));
	json_object_object_add(o, "decisions", list);
	json_object_array_add(show->list, o);
}

void op_elastic_show(struct sn_daemon *d, struct sn_request *r)
{
	struct show show = { .job = 0 };
	struct sn_care_eyes eyes;
	struct json_object *o;
	uint64_t job = 0;
	struct sn_err err;

	if (sn_request_uint(r->json, "job", UINT32_MAX, &job, &err)) {
		request_fail(d, r, SN_OP_CODE_INVALID, "%s", err.text);
		return;
	}
	/* Before the first look nothing is known of any. */
	if ((!d->jobs || !d->nodes) && !r->polled) {
		follow_hold(d, r);
		return;
	}
	show.job = (uint32_t)job;
	show.list = json_object_new_array();
	care_eyes(d, &eyes);
	if (care_of(d) && d->jobs)
		sn_care_each(care_of(d), &d->conf.care, &eyes, show_row, &show);
	o = request_ok();
	json_object_object_add(o, "dry_run", json_object_new_boolean(d->options.dry_run));
	json_object_object_add(o, "jobs", show.list);
	request_answer(d, r, o);
}
