/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * takeup.c - the job's directory, and what an earlier snrun has left there: its lock,
 * its steps, its plan.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/control.h"
#include "launcher/jobdirempty.h"
#include "launcher/orders.h"
#include "launcher/planfiles.h"
#include "launcher/snrun.h"
#include "launcher/writefile.h"

#define LOCK_S 120 /* that a requeued job waits for its directory */
#define LOCK_LOOK_MS 500

static const struct sn_plan_offer *offer_of(const struct sn_job *job,
					    const char *name)
{
	for (uint32_t i = 0; i < job->n_nodes; i++)
		if (!strcmp(job->offer[i].name, name))
			return &job->offer[i];
	return NULL;
}

static bool still_holds(const struct sn_job *job, const struct sn_plan_node *node)
{
	const struct sn_plan_offer *offer = offer_of(job, node->name);
	uint32_t k = 0;

	for (uint32_t i = 0; i < node->n_cards; i++, k++) {
		while (offer && k < offer->n_cards && offer->card[k] != node->card[i])
			k++;
		if (!offer || k == offer->n_cards)
			return false;
	}
	return offer != NULL;
}

/* Bring an old plan up to what the job holds now. False: it cannot be. */
static bool bring_up(const struct sn_job *job, struct sn_plan *plan)
{
	bool *usable = calloc((size_t)plan->n_nodes + 1, sizeof(*usable));
	bool ok = usable != NULL;

	for (uint32_t i = 0; ok && i < plan->n_nodes;) {
		uint32_t spare;

		if (still_holds(job, &plan->node[i])) {
			i++;
			continue;
		}
		if (!plan->node[i].ranks) {
			sn_plan_drop(plan, i);
			continue;
		}
		for (uint32_t k = 0; k < plan->n_nodes; k++)
			usable[k] = still_holds(job, &plan->node[k]);
		spare = sn_plan_find_spare(plan, i, usable);
		ok = spare != SN_NONE && !sn_plan_swap(plan, i, spare, NULL);
	}
	free(usable);
	return ok;
}

static bool same_layout(const struct sn_layout *a, const struct sn_layout *b)
{
	char x[SN_LAYOUT_TEXT_MAX], y[SN_LAYOUT_TEXT_MAX];

	sn_layout_format(a, x, sizeof(x));
	sn_layout_format(b, y, sizeof(y));
	return !strcmp(x, y);
}

/* Keep the ranks where the killed snrun's plan had them, as far as can be; the
 * plan that was made anew serves where not. */
static void continue_plan(struct snrun *run)
{
	struct sn_plan old = { 0 };
	struct sn_err err;
	int rc = sn_planfiles_read(run->dir, &old, &err);

	if (rc) {
		snrun_say("the ranks are placed anew: %s", err.text);
		return;
	}
	/* Of an elastic job that had another size there is nothing to keep. */
	if (old.job_id == run->job.id && run->elastic &&
	    old.layout.dp != run->layout.dp) {
		sn_plan_done(&old);
		return;
	}
	if (old.job_id != run->job.id || !same_layout(&old.layout, &run->layout) ||
	    !bring_up(&run->job, &old)) {
		snrun_say("the ranks are placed anew: the job does not hold the nodes any more that %s/" SN_LAYOUT_JSON " speaks of",
			  run->dir);
		sn_plan_done(&old);
		return;
	}
	sn_plan_done(&run->plan);
	run->plan = old;
}

static uint32_t requeues(void)
{
	const char *text = getenv("SLURM_RESTART_COUNT");

	return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

/*
 * Numbers of jobs come again, after the last one and where slurmctld has lost its
 * state. A requeue gives a job another time of submission.
 */
static bool is_another_job(const struct snrun *run, const struct sn_runstate *old)
{
	if (!old->submitted || !run->job.submitted ||
	    old->submitted == run->job.submitted)
		return false;
	return requeues() <= old->requeues || run->job.submitted < old->submitted;
}

static int continue_state(struct snrun *run, struct sn_err *err)
{
	struct sn_runstate *state = &run->state;
	struct sn_runstate old;
	int fd, rc = sn_runstate_read(run->dir, &old, err);

	*state = (struct sn_runstate){
		.job = run->job.id, .submitted = run->job.submitted,
		.requeues = requeues(),
	};
	if (getenv("SLURM_CLUSTER_NAME"))
		snprintf(state->cluster, sizeof(state->cluster), "%s",
			 getenv("SLURM_CLUSTER_NAME"));
	snprintf(state->host, sizeof(state->host), "%s", run->host);
	if (rc == -ENOENT)
		return 0;
	if (rc && rc != -EINVAL)
		return rc;
	if (rc || old.job != run->job.id)
		return 0;
	if (is_another_job(run, &old)) {
		snrun_say("%s has the files of an earlier job of this number; they are removed",
			  run->dir);
		if (!sn_dir_open(run->dir, &fd, NULL)) {
			sn_jobdir_empty(fd, 0);
			close(fd);
		}
		return 0;
	}
	if (old.ended && old.requeues == state->requeues) {
		state->run = old.run + 1;
		state->overlap = old.overlap;
		run->unsure = old.overlap || old.unsure;
		return 0;
	}
	state->run = old.run;
	state->generation = old.generation + 1;
	run->unsure = true;
	if (old.requeues == state->requeues) {
		snrun_say("the snrun before this one did not come to its end; going on with generation %u",
			  state->generation);
		state->restarts = old.restarts + 1;
		snrun_warn_steps(&old, run->job.policy.restart_wait);
		state->overlap = !snrun_end_steps(&old) || old.overlap;
	}
	continue_plan(run);
	return 0;
}

/*
 * The run before a requeue may not have ended yet, where slurmctld had lost it; and of a
 * node that died with it a file server keeps the lock for a while (NFSv4: its lease, 90 s)
 * or for ever (NFSv3).
 */
static int take_lock(struct snrun *run, struct sn_err *err)
{
	int64_t until = snrun_now_ms() + (requeues() ? LOCK_S * 1000 : 0);
	char holder[SN_RUNSTATE_HOST_MAX] = "";
	bool said = false;
	int rc, sig;

	for (;;) {
		err->text[0] = '\0';
		rc = sn_runstate_lock(run->dir, run->host, &run->lock, holder, err);
		if (rc != -EBUSY || snrun_now_ms() >= until)
			break;
		if (!said)
			snrun_say("%s; it may be the one of before the requeue: waiting for at most %d s",
				  err->text, LOCK_S);
		said = true;
		sig = snrun_wait_signal(LOCK_LOOK_MS);
		if (sig > 0)
			return sn_err_set(err, -EINTR, "stopped by signal %d (%s) while another snrun used %s",
					  sig, strsignal(sig), run->dir);
	}
	if (rc == -EBUSY && requeues() && *holder && strcmp(holder, run->host)) {
		snrun_say("%s: going on without its lock, as the node of %s has not let go of it",
			  run->dir, holder);
		run->lock = -1;
		return 0;
	}
	if (!rc && run->lock < 0)
		snrun_say("%s", err->text);
	return rc;
}

int snrun_prepare(struct snrun *run, struct sn_err *err)
{
	int fd, rc = sn_dir_make(run->dir, &fd, err);

	run->lock = -1;
	if (rc)
		return rc;
	close(fd);
	rc = take_lock(run, err);
	if (rc)
		return rc;
	sn_ckptfile_forget(run->dir);
	rc = sn_control_open(run->dir, err);
	if (rc)
		return rc;
	rc = continue_state(run, err);
	run->plan.job_id = run->job.id;
	return rc;
}
