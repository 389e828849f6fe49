/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * members.c - the jobs that hold the further cards of an elastic job.
 *
 * snrun submits them, when it runs and as the job's owner: so nothing has to be
 * undone while the base waits, an snrun that starts again finds what its
 * predecessor has left, and neither a daemon nor a plugin of the client takes
 * part. They are its to cancel, too; what ends them when it cannot is hold.c.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launcher/members.h"
#include "launcher/orders.h"
#include "launcher/slurmapi.h"
#include "topology/jobcomment.h"

#define SETTLE_MS 500 /* others may start within it */
#define NEAR_MS 1500 /* to start on the base's supernodes */
#define EXTRA_MS 2500 /* for those beyond the size wanted */
#define LOOK_MS 100

static void pause_ms(long ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

bool snrun_is_avoided(const struct snrun *run, const char *node)
{
	return sn_avoids_is_node(&run->avoid, node) || sn_avoids_cards(&run->avoid, node);
}

int snrun_members_add(struct snrun *run, uint32_t id, uint32_t dp, bool extra)
{
	struct sn_member *grown = realloc(run->member, ((size_t)run->n_members + 1) *
					  sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	run->member = grown;
	grown[run->n_members++] = (struct sn_member){
		.id = id, .dp = dp, .extra = extra,
		.job = { .id = id, .topo = run->job.topo, .policy = run->job.policy },
	};
	return 0;
}

static void forget(struct snrun *run, uint32_t i)
{
	sn_job_drop_offers(&run->member[i].job);
	free(run->member[i].leave);
	memmove(&run->member[i], &run->member[i + 1],
		(--run->n_members - i) * sizeof(*run->member));
}

static void cancel(uint32_t id)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", id);
	if (slurm_kill_job2(text, SIGKILL, 0, NULL) &&
	    errno != ESLURM_ALREADY_DONE && errno != ESLURM_INVALID_JOB_ID)
		snrun_say("member job %u cannot be cancelled: %s; it ends by itself",
			  id, slurm_strerror(errno));
}

/* ---- which there are --------------------------------------------------------------- */

static bool is_over(const slurm_job_info_t *info)
{
	return (info->job_state & JOB_STATE_BASE) > JOB_SUSPENDED;
}

static void adopt(struct snrun *run, const slurm_job_info_t *info)
{
	struct sn_jobspec spec;
	unsigned int base, restarts;

	if (!info->comment || is_over(info) ||
	    sscanf(info->comment, SN_MEMBER_COMMENT "%u:%u", &base, &restarts) != 2 ||
	    base != run->job.id || info->user_id != geteuid())
		return;
	/* Of the job before its requeue: its cards are not where they were. */
	if (restarts != run->state.requeues ||
	    sn_jobcomment_read(info->admin_comment, 0, &spec, NULL) ||
	    !spec.has_parallel ||
	    snrun_members_add(run, info->job_id, spec.replaces ? 0 : spec.layout.dp, false)) {
		cancel(info->job_id);
		return;
	}
	run->member[run->n_members - 1].standin = spec.replaces != 0;
	run->member[run->n_members - 1].nodes = spec.replaces ? spec.layout.dp : 0;
}

int snrun_members_adopt(struct snrun *run, struct sn_err *err)
{
	job_info_msg_t *jobs = NULL;

	if (slurm_load_job_user(&jobs, geteuid(), SHOW_DETAIL))
		return sn_err_set(err, -EIO, "slurmctld did not tell of the user's jobs: %s",
				  slurm_strerror(errno));
	for (uint32_t i = 0; i < jobs->record_count; i++)
		adopt(run, &jobs->job_array[i]);
	slurm_free_job_info_msg(jobs);
	if (run->n_members)
		snrun_say("%u member job%s of this job %s there already",
			  run->n_members, run->n_members == 1 ? "" : "s",
			  run->n_members == 1 ? "is" : "are");
	return 0;
}

/* A member that somebody has cancelled says that the job is to be smaller. */
static void take_back(struct snrun *run, const struct sn_member *member)
{
	uint32_t less = sn_sizes_at_most(&run->sizes, run->layout.dp > member->dp ?
					 run->layout.dp - member->dp : 0);

	if (member->standin || member->phase != SN_JOB_RUNS || !less || less >= run->cap)
		return;
	snrun_say("member job %u was cancelled: the job has dp=%u at most from now on",
		  member->id, less);
	run->cap = less;
	if (run->want > less)
		run->want = less;
}

void snrun_members_refresh(struct snrun *run)
{
	bool came = run->regained;

	run->regained = false;
	for (uint32_t i = 0; i < run->n_members;) {
		struct sn_member *member = &run->member[i];
		struct sn_jobview view;
		struct sn_err err;

		if (sn_job_look(member->id, &view, &err)) {
			i++; /* what is known must do */
			continue;
		}
		if (view.phase == SN_JOB_RUNS && sn_job_reload(&member->job, &err))
			view.phase = SN_JOB_ENDED;
		sn_names_done(&view.names);
		/* Its ranks have ended; whoever preempts it waits for the cards. */
		if (view.preempted) {
			snrun_say("member job %u is preempted: the job goes on without it",
				  member->id);
			cancel(member->id);
			forget(run, i);
			continue;
		}
		if (view.phase == SN_JOB_ENDED) {
			if (view.cancelled)
				take_back(run, member);
			forget(run, i);
			continue;
		}
		came |= member->standin && view.phase == SN_JOB_RUNS &&
			member->phase != SN_JOB_RUNS;
		member->phase = view.phase;
		if (member->standin && member->phase == SN_JOB_RUNS)
			snrun_standin_started(run, member);
		i++;
	}
	/* Others were submitted for the same cards. */
	if (came)
		snrun_members_cut(run, run->cap);
}

/* ---- how many there should be --------------------------------------------------------- */

static void add_cards(const struct snrun *run, const struct sn_job *job, uint32_t *cards)
{
	const struct sn_topo *topo = job->topo;

	for (uint32_t i = 0; i < job->n_nodes; i++) {
		uint32_t node = sn_topo_find_node(topo, job->offer[i].name);

		if (node != SN_NONE)
			cards[topo->node[node].supernode] += snrun_cards_of(run, &job->offer[i]);
	}
}

/* Replicas that the base's own cards hold with those that stand in for some, whole
 * atoms in each supernode. */
static uint32_t replicas(const struct snrun *run)
{
	const struct sn_topo *topo = run->job.topo;
	uint32_t *cards = calloc((size_t)topo->n_supernodes + 1, sizeof(*cards));
	uint64_t atoms = 0;

	if (!cards)
		return 0;
	add_cards(run, &run->job, cards);
	for (uint32_t i = 0; i < run->n_members; i++)
		if (run->member[i].standin && run->member[i].phase == SN_JOB_RUNS)
			add_cards(run, &run->member[i].job, cards);
	for (uint32_t s = 0; s < topo->n_supernodes; s++)
		atoms += cards[s] / run->sizes.atom;
	free(cards);
	return (uint32_t)(atoms / (run->sizes.atoms ? run->sizes.atoms : 1) *
			  run->sizes.step);
}

static uint32_t committed(const struct snrun *run)
{
	uint32_t dp = replicas(run);

	for (uint32_t i = 0; i < run->n_members; i++)
		dp += run->member[i].dp;
	return dp;
}

static bool fill_to(struct snrun *run, uint32_t to, bool extra)
{
	uint32_t most = run->job.policy.elastic_members_max;
	uint32_t dp[256], from = committed(run);
	struct sn_err err;
	size_t n = 0;
	bool near;

	if (from >= to || run->n_members >= most)
		return true;
	/* The base has lost so much that it has no legal size. */
	if (from < run->sizes.min) {
		dp[n++] = run->sizes.min - from;
		from = run->sizes.min;
	}
	if (run->n_members + n < most)
		n += sn_sizes_members(&run->sizes, from, to,
				      most - run->n_members - (uint32_t)n, dp + n);
	near = n && snrun_has_room_near(run);
	for (size_t i = 0; i < n; i++) {
		uint32_t id = 0;
		int rc = snrun_submit_member(run, dp[i], extra, near, &id, &err);

		/* The base's supernodes may be too small for it. */
		if (rc && rc != -EIO && near)
			rc = snrun_submit_member(run, dp[i], extra, false, &id, &err);
		if (!rc && snrun_members_add(run, id, dp[i], extra))
			rc = sn_err_set(&err, -ENOMEM, "no memory");
		if (rc) {
			snrun_say("a member job of dp=%u cannot be submitted, so the job goes on without: %s",
				  dp[i], err.text);
			return false;
		}
	}
	if (near)
		run->near_until = snrun_now_ms() + NEAR_MS;
	if (n)
		snrun_say("%zu member job%s submitted, for dp=%u%s", n,
			  n == 1 ? "" : "s", to, extra ?
			  " where cards are free" : "");
	return true;
}

void snrun_members_fill(struct snrun *run)
{
	if (!run->has_members)
		return;
	if (fill_to(run, run->want, false) && run->job.policy.elastic_grow)
		fill_to(run, run->cap, true);
}

static void cut(struct snrun *run, uint32_t cap, bool waiting)
{
	for (uint32_t last = run->n_members; last-- && (!cap || committed(run) > cap);) {
		const struct sn_member *member = &run->member[last];

		if (cap && (member->standin || (waiting && member->phase == SN_JOB_RUNS)))
			continue;
		/* Only whole members go; and what is left must reach. */
		if (cap && committed(run) - member->dp < cap)
			break;
		cancel(member->id);
		forget(run, last);
	}
}

void snrun_members_cut(struct snrun *run, uint32_t cap)
{
	/* Those that wait go before others; those for lost nodes are not what is too much. */
	cut(run, cap, true);
	cut(run, cap, false);
}

static bool has_ranks(const struct snrun *run, const char *node)
{
	for (uint32_t i = 0; i < run->plan.n_nodes; i++)
		if (run->plan.node[i].ranks && !strcmp(run->plan.node[i].name, node))
			return true;
	return false;
}

/* Those that wait must not start where ranks have left meanwhile, and may where what was
 * wrong is no more. */
void snrun_members_exclude(struct snrun *run)
{
	struct sn_err err;

	for (uint32_t i = 0; run->avoid.changes != run->excluded && i < run->n_members; i++)
		if (run->member[i].phase == SN_JOB_PENDING &&
		    snrun_free_member(run, run->member[i].id, &err))
			continue; /* it has started, or ended */
	run->excluded = run->avoid.changes;
}

void snrun_members_leave(struct snrun *run)
{
	bool left = false;

	snrun_members_exclude(run);
	for (uint32_t i = 0; i < run->n_members;) {
		const struct sn_member *member = &run->member[i];
		bool avoided = false, used = false;

		for (uint32_t k = 0; k < member->job.n_nodes; k++) {
			avoided |= snrun_is_avoided(run, member->job.offer[k].name);
			used |= has_ranks(run, member->job.offer[k].name);
		}
		if (member->standin || member->phase != SN_JOB_RUNS || !avoided || used) {
			i++;
			continue;
		}
		cancel(member->id);
		forget(run, i);
		left = true;
	}
	if (left)
		snrun_members_fill(run);
}

/* ---- when they start ---------------------------------------------------------------------- */

void snrun_members_let_go(struct snrun *run)
{
	struct sn_err err;

	if (!run->near_until || snrun_now_ms() < run->near_until)
		return;
	run->near_until = 0;

	for (uint32_t i = 0; i < run->n_members; i++)
		if (run->member[i].phase != SN_JOB_RUNS &&
		    snrun_free_member(run, run->member[i].id, &err))
			continue; /* it has started, or ended */
}

void snrun_members_wait(struct snrun *run)
{
	int64_t start = snrun_now_ms(), now = start;
	int64_t end = start + (int64_t)run->job.policy.elastic_wait * 1000;

	for (;; pause_ms(LOOK_MS)) {
		uint32_t pending = 0;

		for (uint32_t i = 0; i < run->n_members; i++) {
			struct sn_jobview view;

			if (run->member[i].phase == SN_JOB_RUNS)
				continue;
			if (!sn_job_look(run->member[i].id, &view, NULL)) {
				run->member[i].phase = view.phase;
				sn_names_done(&view.names);
			}
			pending += run->member[i].phase == SN_JOB_PENDING &&
				(!run->member[i].extra || now - start < EXTRA_MS);
		}
		now = snrun_now_ms();
		snrun_members_let_go(run);
		if (!pending || now >= end)
			break;
	}
}

int64_t snrun_resize_due(const struct snrun *run)
{
	uint32_t dp = replicas(run), to;
	bool fresh = false, standin = false, leaves = false;

	for (uint32_t i = 0; i < run->n_members; i++) {
		const struct sn_member *member = &run->member[i];
		struct sn_jobview view;

		if (!snrun_watch_view(member->id, &view))
			continue;
		sn_names_done(&view.names);
		if (view.phase != SN_JOB_RUNS)
			continue;
		dp += member->dp;
		if (member->phase == SN_JOB_RUNS)
			continue;
		fresh |= !member->standin;
		standin |= member->standin;
		leaves |= member->leave != NULL;
	}
	to = sn_sizes_at_most(&run->sizes, dp > run->cap ? run->cap : dp);
	/* What stands in for lost nodes makes up for them; its cards are not known yet. */
	return leaves || (standin && run->layout.dp < run->cap) ||
		(fresh && to > run->layout.dp) ? snrun_now_ms() + SETTLE_MS : 0;
}
