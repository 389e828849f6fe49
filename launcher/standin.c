/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * standin.c - what a job does that cannot go on with what it holds: a member that
 * stands in for lost nodes, by --replaces, or a requeue.
 *
 * Only --replaces gets SpareNodes, and only as many nodes in a supernode as the base has
 * lost there, or holds with a masked card. slurmctld counts them; what is counted here is
 * the same, by the same note in the job's record; and of those no more than are lacking, or
 * it might wait for what nobody needs.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launcher/link.h"
#include "launcher/members.h"
#include "launcher/orders.h"
#include "launcher/slurmapi.h"
#include "topology/joblost.h"
#include "topology/replace.h"

#define LOOK_MS 100
#define REQUEUE_MS 60000 /* for Slurm to end the job's script */

/* ---- what has been lost ------------------------------------------------------------------ */

/* *ret the caller's; its nodes are the base's. */
static int find_lost(const struct snrun *run, struct sn_joblost *ret, struct sn_err *err)
{
	struct sn_spares_node *node = calloc((size_t)run->job.n_nodes + 1, sizeof(*node));
	job_info_msg_t *jobs = NULL;
	uint32_t n = 0;
	int rc = 0;

	*ret = (struct sn_joblost){ NULL, 0, NULL };
	if (!node)
		return sn_err_set(err, -ENOMEM, "no memory");
	if (sn_api_load_job(run->job.id, &jobs) || jobs->record_count != 1) {
		free(node);
		return sn_err_set(err, -EIO, "slurmctld did not tell of job %u", run->job.id);
	}
	for (uint32_t i = 0; i < run->job.n_nodes; i++) {
		node[n].node = sn_topo_find_node(run->job.topo, run->job.offer[i].name);
		node[n].cards = run->job.offer[i].n_cards;
		n += node[n].node != SN_NONE;
	}
	rc = sn_joblost_find(run->job.topo, jobs->job_array[0].admin_comment, node, n,
			     ret, err);
	slurm_free_job_info_msg(jobs);
	free(node);
	if (rc == -ENOENT)
		return sn_err_set(err, -ENODEV,
				  "Slurm does not say which nodes job %u began with; that takes SelectType=select/supernode",
				  run->job.id);
	return rc;
}

static uint32_t supernode_of(const struct snrun *run, const char *node)
{
	uint32_t n = sn_topo_find_node(run->job.topo, node);

	return n == SN_NONE ? SN_NONE : run->job.topo->node[n].supernode;
}

/* The cards that a job holds are there, all but those of nodes that are to be left. */
static void add_holding(const struct snrun *run, const struct sn_job *job, const char *leave,
			uint32_t *cards)
{
	for (uint32_t i = 0; i < job->n_nodes; i++) {
		uint32_t s = supernode_of(run, job->offer[i].name);
		bool leaves = leave && !strcmp(job->offer[i].name, leave);

		for (uint32_t k = 0; k < run->n_members && !leaves; k++)
			leaves = run->member[k].leave && !strcmp(job->offer[i].name, run->member[k].leave);
		if (s != SN_NONE && !leaves)
			cards[s] += snrun_cards_of(run, &job->offer[i]);
	}
}

/*
 * How many nodes are to be stood in for, by a new job: what is lacking to the size wanted,
 * as spares of the job's own may have made up for some. Slurm would not give it more than
 * it has lost and has not fetched yet, `most`.
 */
static uint32_t find_lack(const struct snrun *run, struct sn_joblost *lost, const char *leave,
			  uint32_t per_node, uint32_t most)
{
	uint32_t *cards = calloc((size_t)run->job.topo->n_supernodes + 1, sizeof(*cards));
	uint32_t dp = run->want, waits = 0, s, n;

	if (!cards)
		return most;
	add_holding(run, &run->job, leave, cards);
	for (uint32_t i = 0; i < run->n_members; i++) {
		const struct sn_member *member = &run->member[i];

		if (member->leave && (s = supernode_of(run, member->leave)) != SN_NONE)
			lost->count[s]++;
		if (member->standin && member->phase != SN_JOB_RUNS)
			waits += member->nodes;
		if (member->phase != SN_JOB_RUNS)
			continue;
		if (!member->standin)
			dp -= member->dp < dp ? member->dp : dp;
		else
			add_holding(run, &member->job, leave, cards);
		for (uint32_t k = 0; member->standin && k < member->job.n_nodes; k++) {
			s = supernode_of(run, member->job.offer[k].name);
			if (s != SN_NONE && lost->count[s])
				lost->count[s]--;
		}
	}
	if (leave && (s = supernode_of(run, leave)) != SN_NONE)
		lost->count[s]++;
	n = sn_replace_lack(run->job.topo, cards, lost->count, per_node, run->sizes.atom,
			    (uint64_t)dp / run->sizes.step * run->sizes.atoms);
	free(cards);
	n -= waits < n ? waits : n;
	/* It was asked for: then a spare for later. */
	if (!n)
		n = leave ? 1 : most;
	return n < most ? n : most;
}

static uint32_t standing_in(const struct snrun *run)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->n_members; i++)
		n += run->member[i].standin ? run->member[i].nodes : 0;
	return n;
}

static uint32_t cards_of_a_node(const struct snrun *run)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < run->job.n_nodes; i++)
		if (run->job.offer[i].n_cards > most)
			most = run->job.offer[i].n_cards;
	return most;
}

static int check_leave(const struct snrun *run, const char *leave, struct sn_err *err)
{
	for (uint32_t i = 0; leave && i < run->job.n_nodes; i++)
		if (!strcmp(run->job.offer[i].name, leave))
			return 0;
	return !leave ? 0 :
		sn_err_set(err, -ENODEV, "node %.80s is not in job %u itself, and only that can be replaced",
			   leave, run->job.id);
}

int snrun_replace(struct snrun *run, const struct sn_control *ask, struct sn_err *err)
{
	const char *leave = *ask->node ? ask->node : NULL;
	struct sn_joblost lost = { NULL, 0, NULL };
	uint32_t have = standing_in(run), id = 0, n;
	char *copy = NULL;
	int rc = check_leave(run, leave, err);

	/* A slurmctld that does not answer cannot take a job either. */
	if (!rc)
		rc = sn_job_reload(&run->job, err);
	if (!rc)
		rc = find_lost(run, &lost, err);
	n = lost.n + (leave != NULL);
	if (!rc && n <= have)
		rc = sn_err_set(err, -ENODEV, have ?
				"job %u has lost %u nodes, and as many stand in for them already" :
				"job %u has lost no node", run->job.id, lost.n);
	if (!rc)
		n = find_lack(run, &lost, leave, cards_of_a_node(run), n - have);
	sn_joblost_done(&lost);
	if (!rc && leave && !(copy = strdup(leave)))
		rc = sn_err_set(err, -ENOMEM, "no memory");
	if (!rc)
		rc = snrun_submit_standin(run, cards_of_a_node(run), n, &id, err);
	if (!rc && snrun_members_add(run, id, 0, false))
		rc = sn_err_set(err, -ENOMEM, "no memory");
	if (rc) {
		free(copy);
		return rc;
	}
	run->member[run->n_members - 1].standin = true;
	run->member[run->n_members - 1].nodes = n;
	run->member[run->n_members - 1].leave = copy;
	run->member[run->n_members - 1].leave_cards = ask->cards;
	run->member[run->n_members - 1].leave_well = ask->well;
	snrun_say("job %u is submitted to stand in for %u node%s%s%s", id, n,
		  n == 1 ? "" : "s", leave ? "; then the ranks leave " : "",
		  leave ? leave : "");
	return 0;
}

void snrun_standin_started(struct snrun *run, struct sn_member *member)
{
	struct sn_err err;

	if (!member->leave)
		return;
	if (snrun_avoid(run, member->leave, member->leave_cards, member->leave_well, &err) < 0)
		snrun_say("job %u stands in, but the ranks stay on node %s: %s", member->id,
			  member->leave, err.text);
	free(member->leave);
	member->leave = NULL;
}

/* ---- a requeue ------------------------------------------------------------------------------ */

int snrun_check_requeue(const struct snrun *run, struct sn_err *err)
{
	job_info_msg_t *jobs = NULL;
	int rc = 0;

	if (sn_api_load_job(run->job.id, &jobs) || jobs->record_count != 1)
		return sn_err_set(err, -EIO, "slurmctld did not tell of job %u", run->job.id);
	if (!jobs->job_array[0].batch_flag)
		rc = sn_err_set(err, -EINVAL,
				"job %u has no script (salloc), so there is nothing to requeue",
				run->job.id);
	else if (!jobs->job_array[0].requeue)
		rc = sn_err_set(err, -EINVAL,
				"job %u is not to be requeued (--no-requeue, or JobRequeue=0 in slurm.conf)",
				run->job.id);
	slurm_free_job_info_msg(jobs);
	return rc;
}

int snrun_wait_signal(int64_t ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };
	sigset_t stop;

	sigemptyset(&stop);
	for (const int *sig = (const int[]){ SIGTERM, SIGINT, SIGHUP, SIGQUIT, 0 };
	     *sig; sig++)
		sigaddset(&stop, *sig);
	return sigtimedwait(&stop, NULL, &ts);
}

void snrun_requeue(struct snrun *run)
{
	job_array_resp_msg_t *resp = NULL;
	char text[16];
	int sig;

	run->requeue = false;
	snrun_say("the ranks have ended; job %u is requeued", run->job.id);
	/* What follows may leave no time for it. */
	snrun_members_cut(run, 0);
	snprintf(text, sizeof(text), "%u", run->job.id);
	if (slurm_requeue2(text, 0, &resp) || resp) {
		snrun_say("job %u cannot be requeued: %s; it goes on", run->job.id,
			  slurm_strerror(errno));
		slurm_free_job_array_resp(resp);
		return;
	}
	sig = snrun_wait_signal(REQUEUE_MS);
	if (sig < 0) {
		snrun_say("job %u was requeued, and Slurm does not end it; it goes on", run->job.id);
		return;
	}
	run->stopped = true;
	run->stop_signal = sig;
}

/* ---- help ------------------------------------------------------------------------------------ */

/* Has a stand-in or another member started, or does one wait? */
static bool look_at_pending(struct snrun *run, bool *ret_waits)
{
	*ret_waits = false;
	for (uint32_t i = 0; i < run->n_members; i++) {
		struct sn_jobview view;
		bool runs;

		if (run->member[i].phase == SN_JOB_RUNS ||
		    sn_job_look(run->member[i].id, &view, NULL))
			continue;
		runs = view.phase == SN_JOB_RUNS;
		*ret_waits |= view.phase == SN_JOB_PENDING;
		sn_names_done(&view.names);
		if (runs)
			return true;
	}
	return false;
}

/* What is pending may start, or the daemon has an order; else -ENODEV. */
static int wait_help(struct snrun *run, bool told, uint32_t seconds)
{
	int64_t now = snrun_now_ms(), end = now + (int64_t)seconds * 1000;
	uint32_t avoided = run->avoid.changes;
	bool waits = false, came = false;

	for (; now < end && !came && !run->requeue; now = snrun_now_ms()) {
		int sig;

		snrun_steer(run);
		came = look_at_pending(run, &waits) || run->avoid.changes != avoided;
		/* What it has ordered gets the time that it takes. */
		if (!waits && !came && !(told && snrun_link_is_there(run)))
			break;
		sig = came || run->requeue ? -1 : snrun_wait_signal(LOOK_MS);
		if (sig > 0) {
			run->stopped = true;
			run->stop_signal = sig;
			break;
		}
	}
	return came || run->requeue ? 0 : -ENODEV;
}

int snrun_wait_help(struct snrun *run, const char *why)
{
	bool told = run->job.policy.help_wait && snrun_link_is_there(run);
	struct sn_err err;
	int rc = -ENODEV;

	if (run->stopped)
		return rc;
	/* Not without what could help, and that is seen at once. */
	if (told)
		snrun_say("%s; snelasticd has %u s to say what is to be done", why,
			  run->job.policy.help_wait);
	run->stuck = true;
	snrun_link_tell(run);
	if (told || run->n_members)
		rc = wait_help(run, told, told ? run->job.policy.help_wait :
			       run->job.policy.elastic_wait);
	run->stuck = false;
	snrun_link_tell(run);
	/* It starts anew when it can have min_dp again. */
	if (rc && !run->stopped && run->has_members &&
	    !snrun_check_requeue(run, &err)) {
		snrun_say("%s; so it is requeued", why);
		run->requeue = true;
		rc = 0;
	}
	return rc;
}
