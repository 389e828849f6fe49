/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * carenodes.c - nodes that are lost before slurmctld knows it.
 *
 * slurmctld waits for SlurmdTimeout, minutes by default. The daemon asks slurmd's port
 * itself where it has a reason: a job's snrun has lost the node, its ranks have just
 * ended, its snrun has gone, or slurmctld gets no answer from it. Whether one that does
 * not accept a connection is taken out, carejudge.h says: nobody's word alone takes one
 * from others, nor does the daemon's own network.
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
#include "elastic/carejudge.h"
#include "elastic/caredo.h"
#include "elastic/daemon.h"
#include "elastic/holes.h"

#define CHECK_MS 1000 /* for a node to answer */
#define OTHER_MS 500 /* for others to */
#define AGAIN_MS 500 /* till it is asked again; twice that the next time */
#define CHECKS_NONE_MAX 4 /* of them with nobody's word: they take long, others wait behind them */
#define CHECKS_MAX 1024 /* at a time */
#define CHECKED_MS 5000 /* till a node is asked again */
#define HEARD_MS 1000 /* the same, where its snrun has said something new of it */
#define GONE_MS 60000 /* slurmctld knows it by then, or will not */

struct address {
	char text[256];
	uint16_t port;
};

struct check {
	struct sn_work work;
	struct sn_daemon *d;
	uint32_t job;
	enum sn_care_witness witness;
	char node[64];
	struct address self, other[2][SN_CARE_OTHERS]; /* near, far */
	struct sn_care_others others[2];
	bool none; /* it began with nobody's word */
	bool ran;
	enum sn_node_word word;
};

static void pause_ms(int64_t ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static void check_run(struct sn_work *work)
{
	struct check *c = (struct check *)work;

	c->word = sn_node_ask(c->self.text, c->self.port, CHECK_MS);
	for (uint32_t i = 0; i < sn_care_asks_again(c->witness, c->word); i++) {
		pause_ms(AGAIN_MS << i);
		c->word = sn_node_ask(c->self.text, c->self.port, CHECK_MS);
	}
	for (int k = 0; k < 2 && c->word != SN_NODE_ANSWERS; k++)
		for (uint32_t i = 0; i < c->others[k].n; i++)
			c->others[k].answer += sn_node_ask(c->other[k][i].text, c->other[k][i].port,
							   OTHER_MS) == SN_NODE_ANSWERS;
	c->ran = true;
}

static void take_out(struct sn_daemon *d, const struct check *c)
{
	static const char *const saw[] = {
		[SN_WITNESS_NONE] = "slurmctld and others get no answer from it",
		[SN_WITNESS_GONE] = "the job's snrun, which ran there, has gone",
		[SN_WITNESS_ENDED] = "the job's ranks have ended",
		[SN_WITNESS_LOST] = "the job has lost it",
	};
	struct sn_act act = { .kind = SN_ACT_NODE_OUT };
	struct sn_err err;

	snprintf(act.node, sizeof(act.node), "%s", c->node);
	snprintf(act.why, sizeof(act.why), "job %u: %s, and slurmd does not %s", c->job,
		 saw[c->witness], c->word == SN_NODE_REFUSES ? "run" : "answer");
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

/* NULL: it is not known. */
static const char *supernode_of(const struct sn_daemon *d, const char *node)
{
	uint32_t is = d->topo ? sn_topo_find_node(d->topo, node) : SN_NONE;

	return is == SN_NONE ? NULL : d->topo->supernode[d->topo->node[is].supernode].name;
}

/* More at once than nodes die: something else is wrong. */
static bool is_within_limit(struct sn_daemon *d, const struct check *c)
{
	struct sn_care_limit *limit = &d->caring->limit;
	uint32_t max = d->conf.policy.elastic_nodes_out;
	bool whole = sn_care_is_whole(c->witness, c->word, &c->others[0], &c->others[1]);

	if (act_under_way(d, SN_ACT_NODE_OUT, 0, c->node) ||
	    sn_care_one_more(limit, max, whole ? supernode_of(d, c->node) : NULL, sn_loop_now()))
		return true;
	sn_log_info("elastic: node %s of job %u does not answer; left to Slurm", c->node, c->job);
	if (limit->over == 1)
		daemon_event(d, "elastic", c->node, SN_NONE, c->job, SN_NONE,
			     "does not answer, and is left to Slurm, as are all others of this minute: ElasticNodesOut=%u",
			     max);
	return false;
}

/* Do jobs of several users run there? One's word is not to end another's job. */
static bool is_shared(const struct sn_daemon *d, uint32_t node)
{
	uint32_t uid = SN_NONE;

	for (uint32_t j = 0; d->jobs && j < d->jobs->n; j++) {
		const struct sn_view_job *is = &d->jobs->job[j];

		for (uint32_t i = 0; is->running && i < is->n_nodes; i++) {
			if (is->node[i] != node)
				continue;
			if (uid != SN_NONE && is->uid != uid)
				return true;
			uid = is->uid;
		}
	}
	return false;
}

static void check_judge(struct sn_daemon *d, struct check *c)
{
	const struct sn_view_node *is = sn_view_node(d->nodes, c->node);
	const char *spare;

	sn_log_debug("elastic: node %s of job %u: witness %d, word %d; of its supernode %u of %u answer, of others %u of %u",
		     c->node, c->job, c->witness, c->word, c->others[0].answer, c->others[0].n,
		     c->others[1].answer, c->others[1].n);
	if (!is || is->down)
		return;
	if (c->word != SN_NODE_ANSWERS && is_shared(d, (uint32_t)(is - d->nodes->node)))
		c->witness = SN_WITNESS_NONE;
	spare = c->witness == SN_WITNESS_NONE && !is->silent && c->word != SN_NODE_ANSWERS ?
		"slurmctld gets answers from it" :
		sn_care_spare(c->witness, c->word, &c->others[0], &c->others[1]);
	if (spare) {
		if (c->word != SN_NODE_ANSWERS || c->witness == SN_WITNESS_LOST)
			sn_log_limited(SN_LOG_INFO, "elastic: node %s of job %u is left to Slurm: %s",
				       c->node, c->job, spare);
		return;
	}
	if (!is_within_limit(d, c))
		return;
	note_gone(d->caring, c->node);
	take_out(d, c);
	care_soon(d);
}

static void check_done(struct sn_work *work)
{
	struct check *c = (struct check *)work;
	struct sn_daemon *d = c->d;

	if (d->caring)
		d->caring->checks--;
	if (d->caring && c->none)
		d->caring->checks_none--;
	if (c->ran && d->caring && !d->stopping && d->duty == SN_DUTY_IN_CHARGE)
		check_judge(d, c);
	free(c);
}

/* Not again and again; but with better witness anew, as what was spared may go then. */
static bool is_checked(struct sn_caring *caring, const char *node, enum sn_care_witness witness)
{
	int64_t now = sn_loop_now();
	uint32_t i;

	for (i = 0; i < CARE_CHECKED_MAX && strcmp(caring->checked[i].node, node); i++)
		;
	if (i == CARE_CHECKED_MAX) {
		i = caring->next_checked++ % CARE_CHECKED_MAX;
		snprintf(caring->checked[i].node, sizeof(caring->checked[i].node), "%s", node);
		caring->checked[i].at = now - CHECKED_MS;
		caring->checked[i].witness = SN_WITNESS_NONE;
	}
	if (witness <= caring->checked[i].witness && now - caring->checked[i].at <
	    (witness >= SN_WITNESS_ENDED ? HEARD_MS : CHECKED_MS))
		return true;
	caring->checked[i].at = now;
	caring->checked[i].witness = witness;
	return false;
}

static void address_of(const struct sn_view_node *node, struct address *ret)
{
	snprintf(ret->text, sizeof(ret->text), "%s", node->address);
	ret->port = node->port;
}

static void check_node(struct sn_daemon *d, uint32_t job, const char *name,
		       enum sn_care_witness witness)
{
	const struct sn_view_node *is = sn_view_node(d->nodes, name);
	bool none = witness == SN_WITNESS_NONE;
	struct check *c;

	if (!is || is->down || !d->topo || d->caring->checks >= CHECKS_MAX ||
	    (none && (!is->silent || d->caring->checks_none >= CHECKS_NONE_MAX)))
		return;
	if (is_checked(d->caring, name, witness) || !(c = calloc(1, sizeof(*c))))
		return;
	c->work = (struct sn_work){ check_run, check_done, NULL };
	c->d = d;
	c->job = job;
	c->witness = witness;
	c->none = none;
	snprintf(c->node, sizeof(c->node), "%s", name);
	address_of(is, &c->self);
	sn_care_pick(d->topo, d->nodes, (uint32_t)(is - d->nodes->node), d->caring->seed++,
		     &c->others[0], &c->others[1]);
	for (int k = 0; k < 2; k++)
		for (uint32_t i = 0; i < c->others[k].n; i++)
			address_of(&d->nodes->node[c->others[k].node[i]], &c->other[k][i]);
	d->caring->checks++;
	d->caring->checks_none += none;
	sn_pool_give(d->caring->pool, &c->work);
}

static void check_held(struct sn_daemon *d, uint32_t job, const struct sn_view_job *is,
		       const char *batch_host, enum sn_care_witness witness)
{
	for (uint32_t i = 0; i < is->n_nodes; i++) {
		const char *name = is->node[i] < d->nodes->n ? d->nodes->node[is->node[i]].name : "";

		/* That an snrun has gone says something of where it ran. */
		if (*name)
			check_node(d, job, name, witness == SN_WITNESS_GONE && strcmp(name, batch_host) ?
				   SN_WITNESS_NONE : witness);
	}
}

/* Not ours to help, by its account's rule or as it has no layout. */
static bool is_left_alone(const struct sn_daemon *d, const struct sn_view_job *job)
{
	return !job->running || !job->ours || !sn_holes_is_parallel(job->ours->options) ||
		sn_elastic_policy_find(&d->conf.care.policy, job->ours->account)->off;
}

/* Its ranks have ended: for a node that went, perhaps, and slurmctld will not know for
 * minutes. What it holds Slurm says, not its user. */
static void check_job(struct sn_daemon *d, uint32_t job, enum sn_care_witness witness)
{
	const struct sn_view_job *base = sn_view_job(d->jobs, job);

	if (!base || !d->nodes || is_left_alone(d, base))
		return;
	check_held(d, job, base, base->ours->batch_host, witness);
	for (uint32_t i = 0; i < d->jobs->n; i++) {
		const struct sn_view_job *is = &d->jobs->job[i];

		if (is->running && is->uid == base->uid && is->ours && is->ours->member_of == job)
			check_held(d, job, is, base->ours->batch_host, witness);
	}
}

void care_check_silent(struct sn_daemon *d)
{
	bool any = false;

	for (uint32_t i = 0; i < d->nodes->n && !any; i++)
		any = d->nodes->node[i].silent && !d->nodes->node[i].down;
	for (uint32_t j = 0; any && j < d->jobs->n; j++) {
		const struct sn_view_job *is = &d->jobs->job[j];

		if (is_left_alone(d, is))
			continue;
		for (uint32_t i = 0; i < is->n_nodes; i++)
			if (is->node[i] < d->nodes->n && d->nodes->node[is->node[i]].silent)
				check_node(d, is->id, d->nodes->node[is->node[i]].name, SN_WITNESS_NONE);
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
	const struct sn_view_job *base = sn_view_job(d->jobs, job);

	if (!d->caring || d->duty != SN_DUTY_IN_CHARGE || d->stopping)
		return;
	if (what == SN_ATTACH_LOST && base && !is_left_alone(d, base))
		check_node(d, job, node, SN_WITNESS_LOST);
	if (what == SN_ATTACH_GONE && !has_ended(d, job))
		check_job(d, job, SN_WITNESS_GONE);
	if (what == SN_ATTACH_STATE && has_stopped(d, job))
		check_job(d, job, SN_WITNESS_ENDED);
	/* Of thousands of jobs that say every now and then how they are, few are waited for;
	 * what the others say is seen after the next poll. */
	if (what != SN_ATTACH_STATE || sn_care_waits(d->caring->care, job) || is_stuck(d, job))
		care_soon(d);
}
