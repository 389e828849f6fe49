/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * relaunch.c - one generation after the other: start the step, see how it ended,
 * put spares into the places of lost nodes, start again.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/control.h"
#include "launcher/hooks.h"
#include "launcher/link.h"
#include "launcher/orders.h"
#include "launcher/planfiles.h"
#include "launcher/preflightrun.h"
#include "launcher/relaunch.h"
#include "launcher/writefile.h"

#define REFUSED_MS 60000 /* that slurmctld may give no step */
#define PATIENCE_MS 3000 /* till it is asked again, at first */

uint32_t snrun_max_restarts(const struct snrun *run)
{
	if (run->max_restarts != UINT32_MAX)
		return run->max_restarts;
	/* Who holds nodes in reserve wants them used; else a program that fails
	 * is to fail, as under srun. */
	return run->job.has_spec &&
		(run->job.spec.spares || run->job.spec.has_elastic) ?
		run->job.policy.max_restarts : 0;
}

/* ---- progress ---- */

static bool made_progress(const struct snrun *run, const struct past *past)
{
	return sn_ckptwatch_progressed(&run->ckpt, run->dir) ||
		snrun_now_ms() - past->started >=
			(int64_t)run->job.policy.progress_time * 1000;
}

/* ---- generations ---- */

static int write_hook(const struct sn_plan *plan, const char *dir, void *ctx,
		      struct sn_err *err)
{
	const struct snrun *run = ctx;
	int rc = sn_hooks_files(plan, &run->job.policy, dir, err);

	for (uint32_t p = 0; !rc && run->n_parts > 1 && p < run->n_parts; p++) {
		char *text = sn_part_hostfile(plan, &run->part[p]), name[64];

		snprintf(name, sizeof(name), SN_HOSTFILE ".%u", run->part[p].job);
		rc = text ? sn_write_file(dir, name, text, strlen(text), err) :
			sn_err_set(err, -ENOMEM, "no memory");
		free(text);
	}
	return rc;
}

static int write_files(struct snrun *run, struct sn_err *err)
{
	int rc = snrun_make_parts(run, err);

	if (rc)
		return rc;
	run->plan.generation = run->state.generation;
	run->plan.master_port = sn_plan_port(run->job.id, run->state.run,
					     run->state.generation);
	return sn_planfiles_write(&run->plan, run->dir, write_hook, run, err);
}

static void end_preflight(void *ctx, uint32_t srun_pid)
{
	const struct snrun *run = ctx;

	snrun_end_step(run->job.id, srun_pid, run->host);
}

static void say_fault(void *ctx, const char *sentence)
{
	(void)ctx;
	snrun_say("preflight: %s", sentence);
}

static void tell_fault(void *ctx, uint32_t node, const struct sn_pf_fault *fault)
{
	snrun_tell_fault(ctx, node, fault);
}

/* Nodes that did not pass are to have no ranks in this run: nothing checks them again. */
static int avoid_lost(struct snrun *run, const struct past *past, struct sn_err *err)
{
	for (uint32_t i = 0; i < run->plan.n_nodes; i++)
		if (past->lost[i] && sn_avoids_add(&run->avoid, run->plan.node[i].name, 0, 0) < 0)
			return sn_err_set(err, -ENOMEM, "no memory");
	return 0;
}

/* Nodes that do not pass are replaced, and what there is then is checked anew. */
static int check_nodes(struct snrun *run, struct past *past, struct sn_err *err)
{
	const struct sn_preflight_ask ask = {
		.policy = &run->job.policy,
		.environment = run->environment,
		.signals = run->signals,
		.end_step = end_preflight,
		.say = say_fault,
		.found = tell_fault,
		.ctx = run,
	};
	int rc;

	/* Its ring is one step, and a step is in one job. */
	if (run->n_parts > 1) {
		snrun_say("preflight: left out, as members hold nodes of the job; ElasticMembers=no in supernode.conf, and all nodes are checked");
		past->checked = true;
		return 0;
	}
	while ((rc = sn_preflight(&ask, &run->plan, run->dir, past->lost, err)) > 0) {
		rc = avoid_lost(run, past, err);
		if (!rc)
			rc = repair_nodes(run, past, NULL, err);
		if (!rc && !run->requeue)
			rc = write_files(run, err);
		if (rc || run->requeue)
			break;
	}
	past->checked = true;
	return rc;
}

/* Nodes of a member are not the base's. */
static int repair_any(struct snrun *run, struct past *past, struct sn_err *err)
{
	struct sn_names live = { NULL, 0, 0 };
	int rc;

	if (run->n_members)
		return repair_anew(run, past, err);
	if (sn_job_nodes(run->job.id, &live, NULL))
		return 0; /* slurmctld does not say */
	rc = repair_nodes(run, past, &live, err);
	sn_names_done(&live);
	return rc;
}

/* A node that died since the last look cannot take the files; and a slurmctld that has
 * just started gives no step. */
static int distribute(struct snrun *run, struct past *past, struct sn_err *err)
{
	int64_t until = snrun_now_ms() + REFUSED_MS;
	int rc, sig;

	for (;;) {
		uint32_t before = run->plan.n_nodes;
		struct sn_err why;

		rc = snrun_distribute(run, &why);
		if ((rc != -EIO && rc != -ETIMEDOUT) || snrun_now_ms() >= until ||
		    (!past->restarts.max && !run->unsure))
			return rc ? sn_err_set(err, rc, "%s", why.text) : 0;
		rc = past->restarts.max ? repair_any(run, past, err) : 0;
		if (rc || run->requeue)
			return rc;
		sig = run->plan.n_nodes == before ? snrun_wait_signal(PATIENCE_MS) : -1;
		if (sig > 0) {
			run->stopped = true;
			run->stop_signal = sig;
			return sn_err_set(err, -EINTR, "%s", why.text);
		}
		rc = write_files(run, err);
		if (rc)
			return rc;
	}
}

/* Files and, before the first start, checks where asked for: a restart is to be
 * quick, and its nodes were well. */
static int get_ready(struct snrun *run, struct past *past, struct sn_err *err)
{
	int rc;

	if (run->state.generation && !run->state.overlap)
		run->state.overlap = snrun_has_stale_steps(run);
	rc = sn_runstate_write(run->dir, &run->state, err);
	if (!rc)
		rc = write_files(run, err);
	/* What is checked is to be idle. */
	if (!rc && run->preflight && !past->checked && run->unsure)
		rc = distribute(run, past, err);
	if (!rc && run->preflight && !past->checked && !run->requeue)
		rc = check_nodes(run, past, err);
	/* Not before: a node that hangs would hold it up. */
	if (!rc && !run->requeue)
		rc = distribute(run, past, err);
	return rc;
}

/*
 * What a member's ranks end with when it is cancelled or preempted is no failure of
 * theirs. Nor is it the job's good end where all ranks have ended well: told by
 * Slurm, Megatron saves and exits with 0.
 */
static void look_at_members(const struct snrun *run, struct sn_outcome *out)
{
	for (uint32_t p = 0; p < run->n_parts; p++) {
		uint32_t job = run->part[p].job;
		struct sn_jobview view;

		if (job == run->job.id || sn_job_look(job, &view, NULL))
			continue;
		sn_names_done(&view.names);
		if (view.phase != SN_JOB_ENDED && !view.preempted)
			continue;
		if (!out->exit_code) {
			out->resize = true;
			continue;
		}
		out->node_lost = true;
		if (out->job == job)
			out->rank_failed = false;
	}
}

/* An srun that comes too late for a node that has just gone only says that it
 * cannot start. */
static void look_at_nodes(const struct snrun *run, struct sn_outcome *out)
{
	struct sn_names live = { NULL, 0, 0 };

	if (!out->stopped)
		look_at_members(run, out);
	if (run->n_parts > 1 || !out->exit_code || out->rank_failed || out->node_lost ||
	    out->stopped || sn_job_nodes(run->job.id, &live, NULL))
		return;
	for (uint32_t i = 0; i < run->plan.n_nodes; i++)
		if (run->plan.node[i].ranks &&
		    !repair_is_in(&live, run->plan.node[i].name))
			out->node_lost = true;
	sn_names_done(&live);
}

/*
 * A slurmctld that has just started knows of no node yet that it is up, and refuses
 * steps; three tries in a second would be the end of the job.
 */
static bool is_patient(struct past *past, const struct sn_outcome *out)
{
	int64_t now = snrun_now_ms();

	if (!out->refused) {
		past->refused_since = 0;
		return false;
	}
	if (!past->refused_since)
		past->refused_since = now;
	return now - past->refused_since < REFUSED_MS;
}

static void wait_for_slurm(struct snrun *run, const struct past *past)
{
	bool early = snrun_now_ms() - past->refused_since < 10000;
	int sig = snrun_wait_signal(early ? PATIENCE_MS : 10000);

	if (sig > 0) {
		run->stopped = true;
		run->stop_signal = sig;
	}
}

static enum sn_verdict judge(struct snrun *run, struct past *past,
			     const struct sn_outcome *out)
{
	enum sn_verdict verdict;
	bool patient = is_patient(past, out);
	char why[256];

	if (made_progress(run, past))
		past->restarts.futile = 0;
	else if (!patient && !out->node_lost && !out->resize) /* no fault of the program */
		past->restarts.futile++;
	verdict = sn_classify(out, &past->restarts, why, sizeof(why));
	/* Without restarts snrun is as quiet as srun. */
	if (verdict == SN_VERDICT_RESTART ||
	    (verdict == SN_VERDICT_STOP && past->restarts.max))
		snrun_say("generation %u: %s", run->state.generation, why);
	return verdict;
}

static int prepare_restart(struct snrun *run, struct past *past,
			   const struct sn_outcome *out, struct sn_err *err)
{
	struct sn_names live = { NULL, 0, 0 };
	int rc;

	if (out->refused)
		wait_for_slurm(run, past);
	/*
	 * An srun that ended by itself has seen all ranks end, but those of lost
	 * nodes. Yet Slurm takes up to a minute to close the books on a step
	 * of more than seven nodes that has lost one: slurmstepds report along a
	 * tree, and the one above the lost node waits for it. And where srun could
	 * start none, what is in its way may be a step that has ended long ago: a
	 * slurmctld that was killed knows it again from its saved state.
	 */
	if ((out->node_lost && !run->srun_killed) ||
	    (!out->node_lost && !out->rank_failed && !out->resize) ||
	    (run->srun_killed ? !snrun_end_steps(&run->state) :
	     !snrun_steps_gone(&run->state)))
		run->state.overlap = true;
	/* One of a slurmctld that lost it would not have been found. */
	run->unsure |= run->srun_killed;
	repair_suspect(run, past, out);
	/* Only now, as their ranks have come to their end. */
	if (run->cap < run->layout.dp)
		snrun_members_cut(run, run->cap);
	rc = sn_job_nodes(run->job.id, &live, err);
	if (rc != -ESRCH)
		rc = run->has_members || run->n_members || out->resize ?
			repair_anew(run, past, err) :
			repair_nodes(run, past, rc ? NULL : &live, err);
	sn_names_done(&live);
	if (rc || run->requeue)
		return rc;
	if (run->has_members)
		snrun_members_leave(run);
	run->state.generation++;
	if (out->resize && !out->node_lost && !sn_ckptwatch_is_new(&run->ckpt))
		snrun_say("no checkpoint was marked as durable since the ranks were asked to end; they go on from the one before");
	if ((out->resize && !out->node_lost) || sn_outcome_is_unstarted(out)) {
		snrun_say("generation %u starts, with dp=%u",
			  run->state.generation, run->layout.dp);
		return 0;
	}
	past->restarts.done++;
	run->state.restarts++;
	snrun_say("generation %u starts, restart %u of at most %u; %u spare%s left",
		  run->state.generation, past->restarts.done,
		  past->restarts.max, repair_spares_left(&run->plan),
		  repair_spares_left(&run->plan) == 1 ? "" : "s");
	return 0;
}

static void note_end(struct snrun *run, const struct past *past,
		     const struct sn_outcome *out)
{
	if (out->resize && !out->node_lost)
		snrun_account_end(run);
	else
		snrun_account_fail(run, out->node_lost ? SN_ETTR_FAIL_NODE :
				   out->rank_failed ? SN_ETTR_FAIL_RANK :
				   SN_ETTR_FAIL_OTHER, past->lost);
}

/* What the job holds may be something else when a pause is over. */
static int wait_and_see(struct snrun *run, struct past *past, struct sn_err *err)
{
	bool stopped;

	if (!run->paused)
		return 0;
	snrun_account_to(run, SN_ETTR_TO_PAUSE);
	stopped = snrun_wait_paused(run);
	snrun_account_to(run, SN_ETTR_TO_RESTART);
	return stopped || run->requeue ? 0 : repair_anew(run, past, err);
}

/* No rank runs. Is the job requeued, as it was asked to be, or was it stopped? */
static bool is_over(struct snrun *run, int *ret_code)
{
	if (run->requeue && !run->stopped)
		snrun_requeue(run);
	if (run->stopped)
		*ret_code = 128 + run->stop_signal;
	return run->stopped;
}

/* 0: another generation; else *ret_code is snrun's. */
static int generation(struct snrun *run, struct past *past, int *ret_code,
		      struct sn_err *err)
{
	struct sn_outcome out = { 0 };
	enum sn_verdict verdict;
	bool asked;
	int rc;

	rc = wait_and_see(run, past, err);
	asked = run->requeue;
	if (is_over(run, ret_code))
		return 1;
	if (asked) /* it could not be */
		return run->plan.n_nodes ? 0 :
			sn_err_set(err, -ENODEV, "job %u holds no legal size, and was not requeued",
				   run->job.id);
	if (!rc)
		rc = get_ready(run, past, err);
	if (run->stopped) {
		snrun_say("%s", err->text);
		*ret_code = 128 + run->stop_signal;
		return 1;
	}
	if (rc || run->requeue)
		return rc;
	snrun_leave_regions(run);
	past->started = snrun_now_ms();
	run->ckpt.generation = run->state.generation;
	sn_ckptwatch_start(&run->ckpt, run->dir, past->started);
	snrun_account_start(run, past->lost);
	rc = snrun_step(run, past->restarts.max > 0, &out, past->lost, err);
	sn_ckptwatch_stop(&run->ckpt, run->dir, snrun_now_ms());
	if (rc)
		return rc;
	snrun_learn(run);
	if (past->restarts.max)
		look_at_nodes(run, &out);
	if (past->restarts.max && snrun_wait_preempted(run)) {
		*ret_code = 128 + SIGTERM;
		return 1;
	}
	verdict = judge(run, past, &out);
	*ret_code = verdict == SN_VERDICT_DONE ? 0 : sn_outcome_exit(&out);
	if (verdict != SN_VERDICT_RESTART)
		return 1;
	note_end(run, past, &out);
	if (is_over(run, ret_code))
		return 1;
	return prepare_restart(run, past, &out, err);
}

/* Members that are there, and those that start at once. */
static int gather(struct snrun *run, struct sn_err *err)
{
	if (snrun_members_adopt(run, err)) {
		snrun_say("%s; the job goes on without members", err->text);
		run->has_members = false;
		return 0;
	}
	snrun_members_refresh(run);
	snrun_members_fill(run);
	if (!run->n_members)
		return 0;
	snrun_account_to(run, SN_ETTR_TO_WAIT);
	snrun_members_wait(run);
	snrun_account_to(run, SN_ETTR_TO_RESTART);
	snrun_members_refresh(run);
	for (uint32_t i = 0; i < run->n_members; i++) {
		int rc;

		if (run->member[i].phase != SN_JOB_RUNS)
			continue;
		rc = snrun_resize(run, NULL, err);
		return rc == -ENODEV && !run->plan.n_nodes ? 0 : rc;
	}
	return 0;
}

int snrun_generations(struct snrun *run)
{
	struct past past = {
		.restarts = { .done = run->state.restarts,
			      .max = snrun_max_restarts(run) },
	};
	struct sn_err err = { "no memory" };
	int rc = 0, code = 0;

	snrun_account_begin(run);
	snrun_link_start(run);
	/* An snrun that was killed may have left some that stand in for lost nodes. */
	if ((run->has_members || run->state.generation) && past.restarts.max)
		rc = gather(run, &err);
	if (!rc) {
		past.lost = calloc((size_t)run->plan.n_nodes + 1, sizeof(bool));
		rc = past.lost ? 0 : -ENOMEM;
	}
	/* The base alone has less than min_dp. */
	if (!rc && !run->plan.n_nodes)
		rc = repair_anew(run, &past, &err);
	while (!rc)
		rc = generation(run, &past, &code, &err);
	free(past.lost);
	if (rc < 0 && !code)
		code = snrun_refused(rc);
	snrun_account_done(run, !code);
	snrun_members_cut(run, 0);
	sn_control_close(run->dir);
	snrun_link_end(run, code);
	if (rc < 0)
		snrun_say("%s", err.text);
	run->state.unsure = run->unsure || run->stopped || run->srun_killed;
	run->state.ended = true;
	if (sn_runstate_write(run->dir, &run->state, &err))
		snrun_say("%s", err.text);
	return code;
}
