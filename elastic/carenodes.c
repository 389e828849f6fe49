/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * carenodes.c - nodes that are lost before slurmctld knows it.
 *
 * slurmctld waits for SlurmdTimeout, minutes by default. The daemon asks slurmd's port
 * itself where it has a reason: a job's snrun has lost the node, its ranks have just
 * ended, its snrun has gone, or slurmctld gets no answer from it. Only a node that does
 * not accept a connection is taken out: nobody's word alone takes one from others.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "elastic/act.h"
#include "elastic/attach.h"
#include "elastic/carecheck.h"
#include "elastic/caredo.h"
#include "elastic/daemon.h"

#define CHECK_MS 1000 /* for a node to answer */
#define AGAIN_NS 500000000
#define CHECKS_MAX 1024 /* at a time */
#define CHECKED_MS 5000 /* till a node is asked again */
#define GONE_MS 60000 /* slurmctld knows it by then, or will not */

struct check {
	struct sn_work work;
	struct sn_daemon *d;
	uint32_t job;
	uint16_t port;
	char node[64], address[256];
	bool hinted; /* its snrun says that it is lost */
	bool ran, answers;
};

static void check_run(struct sn_work *work)
{
	struct check *c = (struct check *)work;

	c->answers = sn_node_answers(c->address, c->port, CHECK_MS);
	/* Without anybody's word, once more: slurmd may just be starting. */
	if (!c->answers && !c->hinted) {
		nanosleep(&(struct timespec){ 0, AGAIN_NS }, NULL);
		c->answers = sn_node_answers(c->address, c->port, CHECK_MS);
	}
	c->ran = true;
}

static void take_out(struct sn_daemon *d, const struct check *c)
{
	struct sn_act act = { .kind = SN_ACT_NODE_OUT };
	struct sn_err err;

	snprintf(act.node, sizeof(act.node), "%s", c->node);
	snprintf(act.why, sizeof(act.why), c->hinted ? "job %u has lost it, and slurmd does not answer" :
		 "job %u has ranks there, and slurmd does not answer", c->job);
	if (act_do(d, &act, NULL, &err) && err.text[0])
		sn_log_debug("node %s is not taken out: %s", c->node, err.text);
}

static void note_gone(struct sn_caring *caring, const char *node)
{
	uint32_t i = 0;

	while (i < caring->n_gone && strcmp(caring->gone[i].node, node))
		i++;
	if (i == CARE_GONE_MAX)
		return;
	caring->n_gone += i == caring->n_gone;
	snprintf(caring->gone[i].node, sizeof(caring->gone[i].node), "%s", node);
	caring->gone[i].until = sn_loop_now() + GONE_MS;
}

static void check_done(struct sn_work *work)
{
	struct check *c = (struct check *)work;
	struct sn_daemon *d = c->d;

	if (d->caring)
		d->caring->checks--;
	if (c->ran && d->caring && !d->stopping && d->duty == SN_DUTY_IN_CHARGE) {
		if (c->answers) {
			if (c->hinted)
				sn_log_info("elastic: job %u has lost node %s, and its slurmd answers: left to Slurm",
					    c->job, c->node);
		} else {
			note_gone(d->caring, c->node);
			take_out(d, c);
			care_soon(d);
		}
	}
	free(c);
}

/* Not again and again; but each hint anew, as what has answered may go then. */
static bool is_checked(struct sn_caring *caring, const char *node, bool hinted)
{
	int64_t now = sn_loop_now();
	uint32_t i;

	for (i = 0; i < CARE_CHECKED_MAX && strcmp(caring->checked[i].node, node); i++)
		;
	if (i == CARE_CHECKED_MAX) {
		i = caring->next_checked++ % CARE_CHECKED_MAX;
		snprintf(caring->checked[i].node, sizeof(caring->checked[i].node), "%s", node);
		caring->checked[i].at = now - CHECKED_MS;
	}
	if (!hinted && now - caring->checked[i].at < CHECKED_MS)
		return true;
	caring->checked[i].at = now;
	return false;
}

static void check_node(struct sn_daemon *d, uint32_t job, const char *name, bool hinted)
{
	const struct sn_view_node *is = sn_view_node(d->nodes, name);
	struct check *c;

	if (!is || is->down || d->caring->checks >= CHECKS_MAX ||
	    is_checked(d->caring, name, hinted) || !(c = calloc(1, sizeof(*c))))
		return;
	c->work = (struct sn_work){ check_run, check_done, NULL };
	c->d = d;
	c->job = job;
	c->hinted = hinted;
	c->port = is->port;
	snprintf(c->node, sizeof(c->node), "%s", name);
	snprintf(c->address, sizeof(c->address), "%s", is->address);
	d->caring->checks++;
	sn_pool_give(d->caring->pool, &c->work);
}

static void check_held(struct sn_daemon *d, uint32_t job, const struct sn_view_job *is)
{
	for (uint32_t i = 0; i < is->n_nodes; i++)
		if (is->node[i] < d->nodes->n)
			check_node(d, job, d->nodes->node[is->node[i]].name, false);
}

/* Its ranks have ended: for a node that went, perhaps, and slurmctld will not know for
 * minutes. What it holds Slurm says, not its user. */
static void check_job(struct sn_daemon *d, uint32_t job)
{
	const struct sn_view_job *base = sn_view_job(d->jobs, job);

	if (!base || !base->running || !base->ours || !d->nodes ||
	    sn_elastic_policy_find(&d->conf.care.policy, base->ours->account)->off)
		return;
	check_held(d, job, base);
	for (uint32_t i = 0; i < d->jobs->n; i++) {
		const struct sn_view_job *is = &d->jobs->job[i];

		if (is->running && is->uid == base->uid && is->ours && is->ours->member_of == job)
			check_held(d, job, is);
	}
}

void care_check_silent(struct sn_daemon *d)
{
	bool any = false;

	for (uint32_t i = 0; i < d->nodes->n && !any; i++)
		any = d->nodes->node[i].silent && !d->nodes->node[i].down;
	for (uint32_t j = 0; any && j < d->jobs->n; j++) {
		const struct sn_view_job *is = &d->jobs->job[j];

		for (uint32_t i = 0; is->running && is->ours && i < is->n_nodes; i++)
			if (is->node[i] < d->nodes->n && d->nodes->node[is->node[i]].silent)
				check_node(d, is->id, d->nodes->node[is->node[i]].name, false);
	}
}

/* Those that slurmctld does not know of yet; the others are forgotten. */
void care_find_gone(struct sn_daemon *d, uint32_t *ret, size_t *ret_n)
{
	struct sn_caring *c = d->caring;
	uint32_t k = 0;

	*ret_n = 0;
	for (uint32_t i = 0; i < c->n_gone; i++) {
		const struct sn_view_node *is = sn_view_node(d->nodes, c->gone[i].node);

		if (!is || is->down || c->gone[i].until < sn_loop_now())
			continue;
		ret[(*ret_n)++] = (uint32_t)(is - d->nodes->node);
		c->gone[k++] = c->gone[i];
	}
	c->n_gone = k;
}

/* ---- what snruns say ------------------------------------------------------------------------ */

/* Its ranks ran when it was last heard of, and do not now. */
static bool has_stopped(struct sn_daemon *d, uint32_t job)
{
	const struct sn_attach *a = attach_state(d, job);

	return a && sn_care_phase(d->caring->care, job, a->state.phase) == SN_ATTACH_RUNNING &&
		(a->state.phase == SN_ATTACH_STARTING || a->state.phase == SN_ATTACH_ENDING);
}

static bool has_ended(const struct sn_daemon *d, uint32_t job)
{
	const struct sn_attach *a = attach_state(d, job);

	return a && a->state.phase == SN_ATTACH_ENDED;
}

static bool is_stuck(const struct sn_daemon *d, uint32_t job)
{
	const struct sn_attach *a = attach_state(d, job);

	return a && a->state.phase == SN_ATTACH_STUCK;
}

void care_news(struct sn_daemon *d, uint32_t job, enum sn_attach_news what, const char *node)
{
	if (!d->caring || d->duty != SN_DUTY_IN_CHARGE || d->stopping)
		return;
	if (what == SN_ATTACH_LOST)
		check_node(d, job, node, true);
	if ((what == SN_ATTACH_GONE && !has_ended(d, job)) ||
	    (what == SN_ATTACH_STATE && has_stopped(d, job)))
		check_job(d, job);
	/* Of thousands of jobs that say every now and then how they are, few are waited for;
	 * what the others say is seen after the next poll. */
	if (what != SN_ATTACH_STATE || sn_care_waits(d->caring->care, job) || is_stuck(d, job))
		care_soon(d);
}
