/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * follow.c - nodes and jobs, polled; what somebody else has changed.
 *
 * slurmctld has no subscriptions, so it is asked once a second for what has
 * changed since. One thread asks; while slurmctld is away it waits there.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/act.h"
#include "elastic/attach.h"
#include "elastic/daemon.h"
#include "elastic/marks.h"

#define JOB_GRACE_MS 5000
#define SLOW_MS 4000
#define GAP_MS 250 /* between polls, whoever asks for one */

struct poll {
	struct sn_work work;
	struct sn_daemon *d;
	struct sn_view_since since;
	char card_gres[SN_POLICY_NAME_MAX];
	int64_t began;
	struct sn_view_nodes *old_nodes, *nodes;
	struct sn_view_jobs *old_jobs, *jobs;
	int rc;
	struct sn_err err;
};

static void poll_run(struct sn_work *work)
{
	struct poll *p = (struct poll *)work;

	p->rc = sn_view_load_nodes(&p->since, p->card_gres, p->old_nodes, &p->nodes, &p->err);
	if (!p->rc)
		p->rc = sn_view_load_jobs(&p->since, p->card_gres, p->old_jobs, &p->jobs, &p->err);
	if (!p->rc)
		sn_view_load_requeue_wait(&p->since, p->began);
}

/* ---- marks that others have changed ---------------------------------------------------- */

/* Where the engine knows the card, too, the later of the two stands (import). */
static void take_in(struct sn_daemon *d, uint32_t node, uint32_t card, const char *extra,
		    bool is_new)
{
	static const enum sn_health_state state_of[] = {
		[SN_CARDHEALTH_NONE] = SN_HEALTH_SUSPECT, /* a mark that makes no sense masks, too */
		[SN_CARDHEALTH_SUSPECT] = SN_HEALTH_SUSPECT,
		[SN_CARDHEALTH_PROBING] = SN_HEALTH_SUSPECT,
		[SN_CARDHEALTH_QUARANTINED] = SN_HEALTH_QUARANTINED,
		[SN_CARDHEALTH_MANUAL] = SN_HEALTH_MANUAL,
	};
	struct sn_health_saved saved = { .what = SN_HEALTH_SAVED_CARD };
	struct sn_cardmark mark = { 0 };
	struct sn_err err;

	(void)sn_cardbook_find(extra, SN_CARDKIND_HEALTH, card, &mark, NULL);
	saved.name = d->topo->node[node].name;
	saved.card = card;
	saved.info.state = state_of[mark.state];
	saved.info.since = mark.at ? (double)mark.at : sn_daemon_now();
	snprintf(saved.info.why, sizeof(saved.info.why), "%s", *mark.why ? mark.why : "marked in the node's record");
	saved.info.n_times = 1;
	saved.info.time[0] = saved.info.since;
	if (sn_health_import(d->health, &saved, sn_daemon_now(), &err)) {
		sn_log_error("the mark on %s:%u: %s", saved.name, card, err.text);
		return;
	}
	if (!is_new)
		return;
	sn_log_info("health: %s:%u is marked in its node's record: %s", saved.name, card, saved.info.why);
	daemon_event(d, "health", saved.name, card, 0, SN_NONE, "taken from the node's record: %s",
		     saved.info.why);
}

static void let_go(struct sn_daemon *d, uint32_t node, uint32_t card)
{
	struct sn_health_actions actions = { 0 };

	d->node[node].gone |= UINT64_C(1) << card;
	if (!sn_health_release(d->health, node, card, "an administrator, in the node's record",
			       sn_daemon_now(), &actions, NULL))
		engine_act(d, &actions, SN_NONE, 0);
	sn_health_actions_done(&actions);
	keep_state(d);
}

static void let_domain_go(struct sn_daemon *d, uint32_t node, enum sn_health_domain domain,
			  uint32_t index)
{
	struct sn_health_actions actions = { 0 };

	if (domain == SN_HEALTH_UNIT)
		d->node[node].gone_unit = true;
	else
		d->node[node].gone_supernode = true;
	if (!sn_health_set_domain(d->health, domain, index, false,
				  "taken away in the node's record", sn_daemon_now(), &actions, NULL))
		engine_act(d, &actions, SN_NONE, 0);
	sn_health_actions_done(&actions);
	keep_state(d);
}

void follow_gone(struct sn_daemon *d, uint32_t node, const struct sn_marks_gone *gone)
{
	for (uint32_t c = 0; c < SN_CARDBOOK_CARDS; c++)
		if (gone->cards >> c & 1)
			let_go(d, node, c);
	if (gone->supernode)
		let_domain_go(d, node, SN_HEALTH_SUPERNODE, d->topo->node[node].supernode);
	if (gone->unit)
		let_domain_go(d, node, SN_HEALTH_UNIT, d->topo->node[node].unit);
}

static bool is_degraded(const struct sn_daemon *d, enum sn_health_domain domain, uint32_t index)
{
	char why[SN_HEALTH_WHY_SIZE];
	double since;

	return index != SN_NONE && sn_health_degraded(d->health, domain, index, &since, why);
}

/* The mark is of an earlier daemon whose state was lost. */
static void take_domain_in(struct sn_daemon *d, enum sn_health_domain domain, uint32_t index,
			   const char *extra)
{
	struct sn_health_saved saved = { .what = SN_HEALTH_SAVED_DOMAIN, .domain = domain };
	struct sn_cardmark mark = { 0 };

	(void)sn_cardbook_find(extra, domain == SN_HEALTH_UNIT ? SN_CARDKIND_UNIT : SN_CARDKIND_SUPERNODE,
			       0, &mark, NULL);
	saved.name = domain == SN_HEALTH_UNIT ? d->topo->unit[index].name : d->topo->supernode[index].name;
	saved.info.since = mark.at ? (double)mark.at : sn_daemon_now();
	snprintf(saved.info.why, sizeof(saved.info.why), "%s", mark.why);
	(void)sn_health_import(d->health, &saved, sn_daemon_now(), NULL);
}

/* A mark by somebody else is one, but not ours. */
static void compare_domain(struct sn_daemon *d, uint32_t node, enum sn_health_domain domain,
			   uint32_t index, bool is_first, const char *extra)
{
	bool unit = domain == SN_HEALTH_UNIT, want = is_degraded(d, domain, index);
	struct sn_marks_seen seen;
	bool any, ours, own;

	(void)sn_marks_read(extra, &seen, NULL);
	any = unit ? seen.unit : seen.supernode;
	ours = unit ? seen.our_unit : seen.our_supernode;
	own = unit ? seen.own_unit : seen.own_supernode;
	if (index == SN_NONE || (!is_first && !ours && !own))
		return;
	if (!want && ours && !d->adopted) {
		take_domain_in(d, domain, index, extra);
		want = true;
	}
	if (want && own && !any)
		let_domain_go(d, node, domain, index);
	else if (!is_first || ours != own || (want ? !any : ours))
		engine_mark_dirty(d, node);
}

/* slurmctld may have lost what was written last. */
static bool says_another(const char *extra, uint32_t card, enum sn_health_state state)
{
	struct sn_cardmark mark = { 0 };

	(void)sn_cardbook_find(extra, SN_CARDKIND_HEALTH, card, &mark, NULL);
	return mark.state != engine_mark_of(state);
}

/*
 * A mark is there and the engine does not know it: it comes from an earlier daemon,
 * or by hand, and holds; but for one of ours that the engine has ended. The engine has
 * one that is not there: an administrator has taken it away, if it was there; else it
 * is still to be written.
 */
static void compare(struct sn_daemon *d, uint32_t node, const char *extra)
{
	const struct sn_topo *topo = d->topo;
	struct sn_health_card_info info;
	struct sn_marks_seen seen;
	struct sn_err err;

	if (sn_marks_read(extra, &seen, &err) == -ENOMEM)
		return;
	for (uint32_t c = 0; c < SN_CARDBOOK_CARDS; c++) {
		bool is = seen.cards >> c & 1;

		sn_health_card(d->health, node, c, &info);
		if (is && info.state == SN_HEALTH_HEALTHY &&
		    (d->node[node].freed & seen.own) >> c & 1)
			engine_mark_dirty(d, node);
		else if (is && (info.state == SN_HEALTH_HEALTHY || !d->adopted))
			take_in(d, node, c, extra, info.state == SN_HEALTH_HEALTHY);
		else if (!is && info.state != SN_HEALTH_HEALTHY && seen.own >> c & 1)
			let_go(d, node, c);
		else if (info.state != SN_HEALTH_HEALTHY && (!is || says_another(extra, c, info.state)))
			engine_mark_dirty(d, node);
	}
	/* At the start the two may tell different states of a card. */
	if (seen.cards != seen.own || (seen.cards && !d->adopted))
		engine_mark_dirty(d, node);
	compare_domain(d, node, SN_HEALTH_SUPERNODE, topo->node[node].supernode,
		       engine_says_supernode(d, node), extra);
	compare_domain(d, node, SN_HEALTH_UNIT, topo->node[node].unit, engine_says_unit(d, node), extra);
}

/* Nothing new, as of nearly all. */
static bool is_same(const struct sn_view_nodes *old, uint32_t i, const struct sn_view_node *is)
{
	return old && i < old->n && (old->node[i].text == is->text ||
		(!strcmp(old->node[i].extra, is->extra) && !strcmp(old->node[i].name, is->name)));
}

/* old: the table before this one, or this one itself where nothing has changed. */
static void compare_all(struct sn_daemon *d, const struct sn_view_nodes *old, int64_t began)
{
	for (uint32_t i = 0; i < d->nodes->n; i++) {
		const struct sn_view_node *is = &d->nodes->node[i];
		uint32_t node = *is->name && (!is_same(old, i, is) || d->n_recheck) ?
			sn_topo_find_node(d->topo, is->name) : SN_NONE;
		struct sn_daemon_node *mine = node == SN_NONE ? NULL : &d->node[node];

		if (!mine || (d->adopted && is_same(old, i, is) && !mine->recheck))
			continue;
		d->n_recheck -= mine->recheck;
		mine->recheck = false;
		/* What was asked for before our own writing tells nothing: once more. */
		if (d->adopted && (mine->dirty || mine->written >= began ||
				   (d->writing && d->writing_node == node))) {
			mine->recheck = true;
			d->n_recheck++;
			continue;
		}
		compare(d, node, is->extra);
	}
}

/* ---- nodes and jobs ---------------------------------------------------------------------- */

static bool same_nodes(const struct sn_view_nodes *a, const struct sn_view_nodes *b)
{
	if (!a || !b || a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->node[i].text != b->node[i].text && strcmp(a->node[i].name, b->node[i].name))
			return false;
	return true;
}

static int take_nodes(struct sn_daemon *d, struct poll *p, struct sn_err *err)
{
	struct sn_view_nodes *old = d->nodes;
	int rc = 0;

	d->nodes = p->nodes;
	p->nodes = NULL;
	if (!same_nodes(old, d->nodes))
		rc = engine_make(d, NULL, 0, err);
	if (!rc) {
		compare_all(d, d->adopted ? old : NULL, p->began);
		if (!d->adopted)
			keep_state(d);
		d->adopted = true;
	}
	sn_view_nodes_free(old);
	return rc;
}

void follow_job(struct sn_daemon *d, uint32_t job)
{
	void *more;

	for (uint32_t i = 0; i < d->n_report_jobs; i++) {
		if (d->report_job[i].id == job) {
			d->report_job[i].at = sn_loop_now();
			return;
		}
	}
	if (d->n_report_jobs == d->max_report_jobs) {
		more = realloc(d->report_job, (d->max_report_jobs * 2 + 16) * sizeof(*d->report_job));
		if (!more)
			return;
		d->report_job = more;
		d->max_report_jobs = d->max_report_jobs * 2 + 16;
	}
	d->report_job[d->n_report_jobs].id = job;
	d->report_job[d->n_report_jobs++].at = sn_loop_now();
}

/* Jobs that have ended take their baselines with them. */
static void end_jobs(struct sn_daemon *d, int64_t began)
{
	struct sn_health_actions actions = { 0 };
	bool changed = false;

	for (uint32_t i = 0; i < d->n_report_jobs;) {
		const struct sn_view_job *job = sn_view_job(d->jobs, d->report_job[i].id);

		if ((job && job->running) || d->report_job[i].at + JOB_GRACE_MS > began) {
			i++;
			continue;
		}
		if (!sn_health_job_done(d->health, d->report_job[i].id, sn_daemon_now(), &actions, NULL))
			changed |= engine_act(d, &actions, SN_NONE, d->report_job[i].id);
		sn_health_actions_done(&actions);
		d->report_job[i] = d->report_job[--d->n_report_jobs];
	}
	if (changed)
		keep_state(d);
}

static void run_held(struct sn_daemon *d)
{
	struct sn_request *r = d->held, *next;

	d->held = NULL;
	for (; r; r = next) {
		next = r->next;
		r->next = NULL;
		r->polled = true;
		request_run(d, r);
	}
}

static void say_slurm(struct sn_daemon *d, bool down, const char *why)
{
	if (down == d->slurm_down)
		return;
	d->slurm_down = down;
	if (down) {
		sn_log_error("%s; reports are kept, and what follows from them is written later", why);
		daemon_event(d, "slurm", NULL, SN_NONE, 0, SN_NONE, "%s", why);
	} else {
		sn_log_info("slurmctld answers again");
		daemon_event(d, "slurm", NULL, SN_NONE, 0, SN_NONE, "slurmctld answers again");
	}
}

/* libslurm tries for long; who waits for a mark should know sooner. */
void follow_watch(struct sn_daemon *d)
{
	if (d->polling && sn_loop_now() - d->poll_began > SLOW_MS)
		say_slurm(d, true, "slurmctld has not answered for seconds");
}

/* Till a poll may begin that somebody has asked for: anybody can. */
static int64_t next_gap(const struct sn_daemon *d)
{
	int64_t gap = d->conf.policy.elasticd_poll < GAP_MS ? d->conf.policy.elasticd_poll : GAP_MS;
	int64_t left = d->poll_began + gap - sn_loop_now();

	return left > 0 ? left : 0;
}

static void poll_done(struct sn_work *work)
{
	struct poll *p = (struct poll *)work;
	struct sn_daemon *d = p->d;
	bool changed = p->nodes || p->jobs;
	struct sn_err err;
	int rc = 0;

	d->polling = false;
	if (d->duty == SN_DUTY_IN_CHARGE && !d->stopping && p->rc != -ECANCELED) {
		say_slurm(d, p->rc, p->err.text);
		d->metrics.polls++;
		d->metrics.poll_failures += p->rc != 0;
		d->since_load = p->since;
		if (p->jobs) {
			sn_view_jobs_free(d->jobs);
			d->jobs = p->jobs;
			p->jobs = NULL;
			attach_jobs(d);
		}
		if (p->nodes)
			rc = take_nodes(d, p, &err);
		else if (!p->rc && d->n_recheck)
			compare_all(d, d->nodes, p->began);
		if (rc) {
			sn_log_error("%s", err.text);
			sn_daemon_stop(d, 1);
		} else {
			if (!p->rc)
				end_jobs(d, p->began);
			if (!p->rc)
				act_follow(d, p->began, changed);
			write_some(d);
			care_follow(d);
			run_held(d);
			engine_wake(d);
		}
		sn_timer_set(d->poll_timer, d->poll_again ? next_gap(d) : d->conf.policy.elasticd_poll);
		d->poll_again = false;
	}
	sn_view_nodes_free(p->nodes);
	sn_view_jobs_free(p->jobs);
	sn_view_nodes_free(p->old_nodes);
	sn_view_jobs_free(p->old_jobs);
	free(p);
}

void follow_poll(struct sn_daemon *d)
{
	struct poll *p;

	if (d->polling) {
		d->poll_again = true;
		return;
	}
	if (d->duty != SN_DUTY_IN_CHARGE || !(p = calloc(1, sizeof(*p))))
		return;
	p->work = (struct sn_work){ poll_run, poll_done, NULL };
	p->d = d;
	p->since = d->since_load;
	p->old_nodes = sn_view_nodes_use(d->nodes);
	p->old_jobs = sn_view_jobs_use(d->jobs);
	strcpy(p->card_gres, d->conf.policy.card_gres);
	p->began = d->poll_began = sn_loop_now();
	p->rc = -ECANCELED;
	d->polling = true;
	sn_pool_give(d->slurm_read, &p->work);
}

void follow_hold(struct sn_daemon *d, struct sn_request *r)
{
	r->next = d->held;
	d->held = r;
	if (d->polling || !next_gap(d))
		follow_poll(d);
	else
		sn_timer_set(d->poll_timer, next_gap(d));
}

void follow_unknown(struct sn_daemon *d, uint32_t job)
{
	uint32_t i = job % (sizeof(d->unknown_job) / sizeof(*d->unknown_job));

	d->unknown_job[i].id = job;
	d->unknown_job[i].at = sn_loop_now();
}

bool follow_is_unknown(const struct sn_daemon *d, uint32_t job)
{
	uint32_t i = job % (sizeof(d->unknown_job) / sizeof(*d->unknown_job));

	return d->unknown_job[i].id == job && job &&
		sn_loop_now() - d->unknown_job[i].at < d->conf.policy.elasticd_poll;
}

static void on_poll(void *ctx)
{
	follow_poll(ctx);
}

int follow_start(struct sn_daemon *d, struct sn_err *err)
{
	return sn_loop_timer(d->loop, on_poll, d, &d->poll_timer, err);
}

void follow_end(struct sn_daemon *d)
{
	while (d->held) {
		struct sn_request *next = d->held->next;

		request_free(d->held);
		d->held = next;
	}
	sn_view_nodes_free(d->nodes);
	sn_view_jobs_free(d->jobs);
	free(d->report_job);
	d->nodes = NULL;
	d->jobs = NULL;
	d->report_job = NULL;
}
