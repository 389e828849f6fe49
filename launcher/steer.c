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
#include "launcher/link.h"
#include "launcher/orders.h"

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

/* With a node of a member Slurm ends all of it, and so the regions on its nodes. */
static bool memory_survives(const struct snrun *run)
{
	for (uint32_t p = 0; p < run->n_parts; p++) {
		const struct sn_job *job = snrun_job_of(run, run->part[p].job);

		if (!job || (job != &run->job && job->n_nodes > 1))
			return false;
	}
	return true;
}

/* How far the job is, and what it would lose. */
static void add_checkpoint(const struct snrun *run, json_object *to)
{
	struct sn_ckptstate state;

	sn_ckptwatch_state(&run->ckpt, run->dir, snrun_now_ms(), &state);
	json_object_object_add(to, "checkpoint_preset", json_object_new_string(
		run->ckpt.ckpt.preset->name));
	json_object_object_add(to, "since_safe", json_object_new_double(state.since_safe));
	if (state.since_memory >= 0 && memory_survives(run)) {
		json_object_object_add(to, "since_memory",
				       json_object_new_double(state.since_memory));
		add_uint(to, "memory_iteration", state.memory);
	}
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

/* What ranks have left, and is to have none. */
static json_object *left(const struct snrun *run)
{
	json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < run->avoid.n; i++) {
		const struct sn_avoid *is = &run->avoid.entry[i];
		const struct sn_control as = {
			.op = SN_CONTROL_SWAP, .cards = is->cards, .well = is->well,
		};
		json_object *o = sn_control_json(&as);

		json_object_object_del(o, "op");
		json_object_object_add(o, "node", json_object_new_string(is->node));
		json_object_array_add(list, o);
	}
	return list;
}

json_object *snrun_status(const struct snrun *run)
{
	json_object *root = json_object_new_object();
	json_object *members = json_object_new_array();

	json_object_object_add(root, "ok", json_object_new_boolean(true));
	add_uint(root, "job", run->job.id);
	add_uint(root, "generation", run->state.generation);
	add_uint(root, "restarts", run->state.restarts);
	json_object_object_add(root, "state", json_object_new_string(
		run->paused ? run->idle ? "paused" : "pausing" :
		run->stuck ? "stuck" : run->ending ? "ending" :
		run->runs ? "running" : "starting"));
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
		if (run->member[i].standin)
			json_object_object_add(member, "replaces",
					       json_object_new_boolean(true));
		json_object_array_add(members, member);
	}
	json_object_object_add(root, "members", members);
	json_object_object_add(root, "left", left(run));
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
		root = snrun_status(run);
	}
	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN);
	if (text && sn_control_answer(run->dir, id, text))
		snrun_say("an answer to snctl cannot be written into %s", run->dir);
	json_object_put(root);
}

/* ---- what is asked -------------------------------------------------------------------------- */

/* True: the step is to be ended for it. */
static bool carry_out(struct snrun *run, const struct sn_control *ask, bool by_link)
{
	struct sn_err err = { "" };
	int rc = snrun_order(run, ask, &err);
	int failed = rc < 0 ? rc : 0;

	if (ask->op != SN_CONTROL_STATUS)
		snrun_say("asked to %s%s%s%s: %s%s%s%s", sn_control_name(ask->op),
			  *ask->node ? " " : "", ask->node, ask->cards ? " (cards)" : "",
			  rc < 0 ? err.text : "done as soon as it can be",
			  *ask->why ? " (" : "", ask->why, *ask->why ? ")" : "");
	if (by_link)
		snrun_link_answer(run, failed, err.text);
	else
		answer(run, ask->id, failed, &err);
	return rc > 0;
}

bool snrun_steer(struct snrun *run)
{
	struct sn_control ask;
	bool end = false;

	while (!sn_control_next(run->dir, &ask))
		end |= carry_out(run, &ask, false);
	while (!snrun_link_next(run, &ask))
		end |= carry_out(run, &ask, true);
	end |= snrun_avoid_look(run);
	snrun_link_look(run);
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
	while (run->paused && !run->requeue) {
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
