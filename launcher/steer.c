/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steer.c - what `snctl elastic` asks of a running snrun (control.h), and the
 * checkpoint that ranks are asked for before they are ended on purpose.
 */
#include "config.h"

#include <errno.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launcher/control.h"
#include "launcher/snrun.h"
#include "launcher/writefile.h"

static void add_uint(json_object *to, const char *key, uint64_t n)
{
	json_object_object_add(to, key, json_object_new_int64((int64_t)n));
}

/* ---- the checkpoint asked for ---------------------------------------------------------- */

void snrun_ask_checkpoint(struct snrun *run, const char *why)
{
	struct sn_ckptask ask = {
		.generation = run->state.generation, .why = why, .exit = true,
	};
	struct sn_err err;

	sn_ckptwatch_ask(&run->ckpt, run->dir, snrun_now_ms());
	ask.request = run->ckpt.requests;
	sn_ckpt_limits(&run->ckpt.ckpt, run->job.policy.checkpoint_soft,
		       run->job.policy.checkpoint_hard, &ask.soft, &ask.hard);
	if (sn_ckptfile_ask(run->dir, &ask, &err))
		snrun_say("the request for a checkpoint is not written, only signalled: %s",
			  err.text);
}

/* ---- answers ------------------------------------------------------------------------------ */

static const char *phase_name(enum sn_job_phase phase)
{
	switch (phase) {
	case SN_JOB_PENDING:
		return "pending";
	case SN_JOB_RUNS:
		return "running";
	default:
		return "ended";
	}
}

/* How far the job is, and what it would lose. */
static void add_checkpoint(const struct snrun *run, json_object *to)
{
	struct sn_ckptstate state;

	sn_ckptwatch_state(&run->ckpt, run->dir, snrun_now_ms(), &state);
	json_object_object_add(to, "checkpoint_preset", json_object_new_string(
		run->ckpt.ckpt.preset->name));
	json_object_object_add(to, "since_safe", json_object_new_double(state.since_safe));
	if (state.age >= 0)
		add_uint(to, "checkpoint_age", (uint64_t)state.age);
	if (state.seconds >= 0)
		json_object_object_add(to, "checkpoint_seconds",
				       json_object_new_double(state.seconds));
	if (state.has_iteration)
		add_uint(to, "checkpoint_iteration", state.iteration);
	if (state.has_progress)
		add_uint(to, "progress", state.progress);
}

static json_object *status(const struct snrun *run)
{
	json_object *root = json_object_new_object();
	json_object *members = json_object_new_array();

	json_object_object_add(root, "ok", json_object_new_boolean(true));
	add_uint(root, "job", run->job.id);
	add_uint(root, "generation", run->state.generation);
	add_uint(root, "restarts", run->state.restarts);
	json_object_object_add(root, "state", json_object_new_string(
		run->paused ? run->idle ? "paused" : "pausing" :
		run->idle ? "starting" : "running"));
	json_object_object_add(root, "elastic", json_object_new_boolean(run->elastic));
	add_uint(root, "dp", run->layout.dp);
	add_uint(root, "ranks", run->layout.world);
	add_uint(root, "min_dp", run->sizes.min);
	add_uint(root, "want_dp", run->want);
	add_uint(root, "cap_dp", run->cap);
	add_uint(root, "max_dp", run->sizes.max);
	add_uint(root, "next_lower", sn_sizes_lower(&run->sizes, run->layout.dp));
	add_uint(root, "next_higher", sn_sizes_higher(&run->sizes, run->layout.dp));
	add_checkpoint(run, root);
	for (uint32_t i = 0; i < run->n_members; i++) {
		json_object *member = json_object_new_object();
		struct sn_jobview view;
		enum sn_job_phase phase = run->member[i].phase;

		if (snrun_watch_view(run->member[i].id, &view)) {
			phase = view.phase;
			sn_names_done(&view.names);
		}
		add_uint(member, "job", run->member[i].id);
		add_uint(member, "dp", run->member[i].dp);
		json_object_object_add(member, "state",
				       json_object_new_string(phase_name(phase)));
		json_object_array_add(members, member);
	}
	json_object_object_add(root, "members", members);
	json_object_object_add(root, "account", snrun_account_json(run));
	return root;
}

static void answer(const struct snrun *run, const char *id, int rc,
		   const struct sn_err *err)
{
	json_object *root;
	const char *text;

	if (rc) {
		root = json_object_new_object();
		json_object_object_add(root, "ok", json_object_new_boolean(false));
		json_object_object_add(root, "error", json_object_new_string(err->text));
	} else {
		root = status(run);
	}
	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN);
	if (text && sn_control_answer(run->dir, id, text))
		snrun_say("an answer to snctl cannot be written into %s", run->dir);
	json_object_put(root);
}

/* ---- what is asked -------------------------------------------------------------------------- */

static int check_dp(const struct snrun *run, uint32_t dp, struct sn_err *err)
{
	uint32_t below, above;

	if (!run->elastic)
		return sn_err_set(err, -EINVAL,
				  "job %u has no --elastic, so dp=%u is its only size",
				  run->job.id, run->layout.dp);
	if (sn_sizes_is_legal(&run->sizes, dp))
		return 0;
	below = sn_sizes_at_most(&run->sizes, dp);
	above = sn_sizes_at_least(&run->sizes, dp);
	return sn_err_set(err, -EINVAL,
			  "dp=%u is no size of the job (from %u to %u in steps of %u%s); near it %s %u%s%.0u",
			  dp, run->sizes.min, run->sizes.max, run->sizes.step,
			  run->sizes.gbs ? ", with whole micro batches" : "",
			  below && above ? "are" : "is", below ? below : above,
			  below && above ? " and " : "", below && above ? above : 0);
}

static int shrink(struct snrun *run, uint32_t dp, struct sn_err *err)
{
	int rc;

	if (!dp)
		dp = sn_sizes_lower(&run->sizes, run->layout.dp);
	if (!dp)
		return sn_err_set(err, -ENODEV,
				  "dp=%u is the smallest size of the job", run->layout.dp);
	rc = check_dp(run, dp, err);
	if (!rc && dp >= run->layout.dp)
		rc = sn_err_set(err, -EINVAL, "dp=%u is not less than dp=%u, which it has",
				dp, run->layout.dp);
	if (rc)
		return rc;
	run->cap = run->want = dp;
	return 1;
}

static int grow(struct snrun *run, uint32_t dp, struct sn_err *err)
{
	int rc, fd;

	if (!dp)
		dp = sn_sizes_higher(&run->sizes, run->layout.dp);
	if (!dp)
		return sn_err_set(err, -ENODEV,
				  "dp=%u is the largest size of the job", run->layout.dp);
	rc = check_dp(run, dp, err);
	if (!rc && dp <= run->layout.dp)
		rc = sn_err_set(err, -EINVAL, "dp=%u is not more than dp=%u, which it has",
				dp, run->layout.dp);
	if (rc)
		return rc;
	run->want = dp;
	if (run->cap < dp)
		run->cap = dp;
	snrun_members_fill(run);
	return snrun_watch_start(run, &fd, err);
}

static int swap(struct snrun *run, const char *node, struct sn_err *err)
{
	struct sn_plan plan = { 0 };
	uint32_t i = 0;
	int rc;

	while (i < run->plan.n_nodes && strcmp(run->plan.node[i].name, node))
		i++;
	if (i == run->plan.n_nodes)
		return sn_err_set(err, -ENODEV, "node %.80s is not in the job", node);
	if (sn_names_add(&run->avoid, node))
		return sn_err_set(err, -ENOMEM, "no memory");
	rc = snrun_fit(run, NULL, run->cap, &plan, err);
	if (rc) {
		free(run->avoid.name[--run->avoid.n]);
		return sn_err_prefix(err, rc, "without node %.80s: ", node);
	}
	sn_plan_done(&plan);
	return run->plan.node[i].ranks ? 1 : 0;
}

/* 1: the step is to be ended for it. */
static int act(struct snrun *run, const struct sn_control *ask,
	       struct sn_err *err)
{
	switch (ask->op) {
	case SN_CONTROL_STATUS:
		return 0;
	case SN_CONTROL_SHRINK:
		return shrink(run, ask->dp, err);
	case SN_CONTROL_GROW:
		return grow(run, ask->dp, err);
	case SN_CONTROL_SWAP:
		return swap(run, ask->node, err);
	case SN_CONTROL_PAUSE:
		run->paused = true;
		return 1;
	case SN_CONTROL_RESUME:
		run->paused = false;
		return 0;
	case SN_CONTROL_REPLACE:
	case SN_CONTROL_REQUEUE:
		return sn_err_set(err, -EINVAL, "this snrun cannot %s",
				  sn_control_name(ask->op));
	}
	return -EINVAL;
}

bool snrun_steer(struct snrun *run)
{
	struct sn_control ask;
	bool end = false;

	while (!sn_control_next(run->dir, &ask)) {
		struct sn_err err = { "" };
		int rc = act(run, &ask, &err);

		if (ask.op != SN_CONTROL_STATUS)
			snrun_say("asked to %s%s%s: %s", sn_control_name(ask.op),
				  *ask.node ? " " : "", ask.node,
				  rc < 0 ? err.text : "done as soon as it can be");
		end |= rc > 0;
		answer(run, ask.id, rc < 0 ? rc : 0, &err);
	}
	return end;
}

static void stop_signals(sigset_t *set)
{
	sigemptyset(set);
	for (const int *sig = (const int[]){ SIGTERM, SIGINT, SIGHUP, SIGQUIT, 0 };
	     *sig; sig++)
		sigaddset(set, *sig);
}

#define PREEMPTED_MS 3600000 /* the longest GraceTime that is believed */

bool snrun_wait_preempted(struct snrun *run)
{
	const struct timespec pause = { 0, SN_STEER_MS * 1000000 };
	int64_t end = snrun_now_ms() + PREEMPTED_MS;
	bool said = false;
	sigset_t stop;

	stop_signals(&stop);
	while (!run->stopped && snrun_now_ms() < end) {
		struct sn_jobview view;
		int sig;

		if (sn_job_look(run->job.id, &view, NULL)) {
			if (!said)
				return false;
		} else {
			sn_names_done(&view.names);
			if (!view.preempted)
				return said;
			if (!said)
				snrun_say("the job is preempted; the ranks have ended, and Slurm has the word");
			said = true;
		}
		sig = sigtimedwait(&stop, NULL, &pause);
		if (sig > 0) {
			run->stopped = true;
			run->stop_signal = sig;
		}
	}
	return said;
}

/* Until it is told to go on; true: a signal ended it. */
bool snrun_wait_paused(struct snrun *run)
{
	const struct timespec pause = { 0, SN_STEER_MS * 1000000 };
	sigset_t stop;

	stop_signals(&stop);
	run->idle = true;
	if (run->paused)
		snrun_say("paused; snctl elastic resume %u goes on", run->job.id);
	while (run->paused) {
		int sig = sigtimedwait(&stop, NULL, &pause);

		if (sig > 0) {
			run->stopped = true;
			run->stop_signal = sig;
			break;
		}
		snrun_steer(run);
	}
	run->idle = false;
	return run->stopped;
}
