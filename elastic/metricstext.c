/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metricstext.c - what has been counted, as OpenMetrics text (docs/metrics.md).
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <slurm/slurm.h>

#include "elastic/act_internal.h"
#include "elastic/attach.h"
#include "elastic/daemon.h"
#include "elastic/metrics.h"
#include "elastic/metricsweb.h"
#include "elastic/openmetrics.h"

#define NAME(x) "snelasticd_" x
#define UNIT_CS "card_seconds"

static void one(struct sn_om *om, enum sn_om_type type, const char *name, const char *unit,
		const char *help, double value)
{
	sn_om_family(om, type, name, unit, help);
	sn_om_float(om, NULL, 0, value);
}

static void one_int(struct sn_om *om, enum sn_om_type type, const char *name,
		    const char *help, uint64_t value)
{
	sn_om_family(om, type, name, NULL, help);
	sn_om_int(om, NULL, 0, value);
}

static void with(struct sn_om *om, const char *label, const char *value, uint64_t n)
{
	sn_om_int(om, &(struct sn_om_label){ label, value }, 1, n);
}

static void with_float(struct sn_om *om, const char *label, const char *value, double n)
{
	sn_om_float(om, &(struct sn_om_label){ label, value }, 1, n);
}

/* ---- the daemon itself ---- */

static void add_daemon(struct sn_om *om, struct sn_daemon *d)
{
	struct sn_server_stats stats;
	uint64_t answers = 0, ended = 0;

	sn_server_stats(d->server, &stats);
	if (d->metrics.web)
		sn_web_counts(d->metrics.web, &answers, &ended);
	sn_om_family(om, SN_OM_INFO, NAME("build"), NULL, "the daemon's version");
	sn_om_int(om, &(struct sn_om_label){ "version", PACKAGE_VERSION }, 1, 1);
	one_int(om, SN_OM_GAUGE, NAME("in_charge"),
		"1: it is in charge; 0: it stands by, and has no more than these",
		d->duty == SN_DUTY_IN_CHARGE);
	one(om, SN_OM_GAUGE, NAME("uptime_seconds"), "seconds", "since it was started",
	    (double)(sn_loop_now() - d->started) / 1000);
	one_int(om, SN_OM_GAUGE, NAME("dry_run"), "1: it writes nothing to Slurm",
		d->options.dry_run);
	one_int(om, SN_OM_GAUGE, NAME("connections"), "connections that are open", stats.open);
	one_int(om, SN_OM_COUNTER, NAME("requests"), "requests to its own sockets", stats.requests);
	sn_om_family(om, SN_OM_COUNTER, NAME("connections_ended"), NULL,
		     "connections that it ended before an answer, by why");
	with(om, "why", "evicted", stats.evicted);
	with(om, "why", "late", stats.late);
	with(om, "why", "garbage", stats.garbage);
	one_int(om, SN_OM_COUNTER, NAME("requests_refused"),
		"requests of somebody who may not ask that", d->refused);
	one_int(om, SN_OM_COUNTER, NAME("scrapes"), "answers with metrics", answers);
	one_int(om, SN_OM_COUNTER, NAME("scrapers_ended"),
		"connections to the port of metrics that were ended as they did not ask", ended);
}

static void add_slurm(struct sn_om *om, const struct sn_daemon *d)
{
	one_int(om, SN_OM_GAUGE, NAME("slurmctld_up"), "1: slurmctld answers",
		d->nodes && !d->slurm_down);
	one_int(om, SN_OM_COUNTER, NAME("polls"), "looks at slurmctld's nodes and jobs",
		d->metrics.polls);
	one_int(om, SN_OM_COUNTER, NAME("poll_failures"), "those that it did not answer",
		d->metrics.poll_failures);
	one_int(om, SN_OM_GAUGE, NAME("nodes"), "nodes that slurmctld knows",
		d->nodes ? d->nodes->n : 0);
	one_int(om, SN_OM_GAUGE, NAME("history_kept"),
		"1: events go into the history, too", d->history_good);
	one_int(om, SN_OM_GAUGE, NAME("state_saved"),
		"0: the state of the cards' health cannot be saved", !d->save_failed);
	one_int(om, SN_OM_COUNTER, NAME("events"), "events, over all daemons' lives",
		d->events.next ? d->events.next - 1 : 0);
	one_int(om, SN_OM_COUNTER, NAME("events_untold"),
		"events of jobs that were not told, as their owner caused too many", d->metrics.untold);
}

/* ---- health ---- */

struct health_count {
	uint64_t cards[SN_HEALTH_STATES];
	uint64_t domains[2];
};

static int count_health(void *arg, const struct sn_health_saved *saved)
{
	struct health_count *n = arg;

	if (saved->what == SN_HEALTH_SAVED_CARD && (uint32_t)saved->info.state < SN_HEALTH_STATES)
		n->cards[saved->info.state]++;
	if (saved->what == SN_HEALTH_SAVED_DOMAIN)
		n->domains[saved->domain == SN_HEALTH_UNIT]++;
	return 0;
}

static void add_health(struct sn_om *om, struct sn_daemon *d)
{
	struct health_count n = { { 0 }, { 0 } };
	uint64_t sick = 0, all = metrics_cards(d);
	struct sn_health_stats stats;

	sn_health_export(d->health, count_health, &n);
	sn_health_stats(d->health, &stats);
	for (int i = 0; i < SN_HEALTH_STATES; i++)
		sick += i == SN_HEALTH_HEALTHY ? 0 : n.cards[i];
	n.cards[SN_HEALTH_HEALTHY] = all > sick ? all - sick : 0;
	sn_om_family(om, SN_OM_GAUGE, NAME("cards"), NULL, "cards by the state of their health");
	for (int i = 0; i < SN_HEALTH_STATES; i++)
		with(om, "state", sn_health_state_name((enum sn_health_state)i), n.cards[i]);
	sn_om_family(om, SN_OM_GAUGE, NAME("degraded_domains"), NULL,
		     "supernodes and units that are slower than they were");
	with(om, "kind", "supernode", n.domains[0]);
	with(om, "kind", "unit", n.domains[1]);
	one_int(om, SN_OM_COUNTER, NAME("health_reports"), "reports that were believed", d->reports);
	one_int(om, SN_OM_COUNTER, NAME("health_hints"), "hints of jobs' owners", d->hints);
	one_int(om, SN_OM_COUNTER, NAME("health_samples"), "samples that were taken in",
		stats.samples);
	one_int(om, SN_OM_COUNTER, NAME("health_marks"), "times that a card was marked",
		stats.marks);
	one_int(om, SN_OM_COUNTER, NAME("node_writes"), "nodes' records that were written",
		d->writes);
	one_int(om, SN_OM_GAUGE, NAME("node_writes_pending"),
		"nodes' records that are to be written", d->n_dirty + d->writing);
}

/* ---- jobs ---- */

static const char *const job_states[] = {
	"pending", "running", "suspended", "completing", "ended",
};

static unsigned int job_state(uint32_t state)
{
	if (state & JOB_COMPLETING)
		return 3;
	switch (state & JOB_STATE_BASE) {
	case JOB_PENDING:
		return 0;
	case JOB_RUNNING:
		return 1;
	case JOB_SUSPENDED:
		return 2;
	default:
		return 4;
	}
}

static void add_jobs(struct sn_om *om, const struct sn_daemon *d)
{
	uint64_t all[5] = { 0 }, ours[5] = { 0 }, members = 0;

	for (uint32_t i = 0; d->jobs && i < d->jobs->n; i++) {
		const struct sn_view_job *job = &d->jobs->job[i];
		unsigned int state = job_state(job->state);

		all[state]++;
		ours[state] += job->ours && !job->ours->member_of;
		members += job->ours && job->ours->member_of && state <= 2;
	}
	sn_om_family(om, SN_OM_GAUGE, NAME("slurm_jobs"), NULL, "jobs by Slurm's state");
	for (int i = 0; i < 5; i++)
		with(om, "state", job_states[i], all[i]);
	sn_om_family(om, SN_OM_GAUGE, NAME("layout_jobs"), NULL,
		     "those with options of the suite, without members");
	for (int i = 0; i < 5; i++)
		with(om, "state", job_states[i], ours[i]);
	one_int(om, SN_OM_GAUGE, NAME("member_jobs"), "members of elastic jobs, pending and running",
		members);
}

static void add_decisions(struct sn_om *om, const struct sn_daemon *d)
{
	sn_om_family(om, SN_OM_COUNTER, NAME("decisions"), NULL,
		     "decisions for jobs that had lost something, by the means chosen");
	for (int i = 0; i < SN_MEANS_KINDS; i++)
		with(om, "means", sn_means_name((enum sn_means)i), d->metrics.decisions[i]);
}

static void add_actions(struct sn_om *om, struct sn_daemon *d)
{
	sn_om_family(om, SN_OM_COUNTER, NAME("actions"), NULL,
		     "what it has done to jobs and nodes, by kind and how that ended");
	for (int k = 0; k < SN_ACT_KINDS; k++)
		for (int e = 0; e < SN_ACT_ENDS; e++)
			sn_om_int(om, (const struct sn_om_label[]){
				{ "kind", sn_act_kind_name((enum sn_act_kind)k) },
				{ "end", sn_act_end_name((enum sn_act_end)e) } }, 2,
				d->metrics.actions[k][e]);
	if (!d->acts)
		return;
	one_int(om, SN_OM_GAUGE, NAME("actions_pending"), "actions that have not ended", d->acts->n);
	/* While it is written it is the disk's thread's. */
	if (!d->acts->keeping)
		d->metrics.journal_lines = d->acts->journal.lines;
	one_int(om, SN_OM_GAUGE, NAME("journal_lines"),
		"lines of the journal of actions; it is written anew when it is long",
		d->metrics.journal_lines);
}

/* ---- what snruns say ---- */

struct shown {
	const struct sn_metrics_job *of;
	char id[12];
	double age; /* s, of what it says */
	/* As of now, for gauges: snrun tells of what happens, not that time passes. */
	struct sn_ettr now;
	double safe; /* s, since its last safe point; < 0: there is none */
	uint32_t dp;
};

static int by_size(const void *a, const void *b)
{
	const struct sn_metrics_job *x = ((const struct shown *)a)->of;
	const struct sn_metrics_job *y = ((const struct shown *)b)->of;

	if (x->account.held != y->account.held)
		return x->account.held > y->account.held ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

/* Those whose snrun has not ended. */
static struct shown *find_shown(const struct sn_daemon *d, uint32_t *ret_n)
{
	const struct sn_metrics *m = &d->metrics;
	struct shown *shown = calloc((size_t)m->n_jobs + 1, sizeof(*shown));
	uint32_t n = 0;

	for (uint32_t i = 0; shown && i < m->n_jobs; i++) {
		const struct sn_attach *a = attach_state(d, m->job[i].job);
		struct shown *s = &shown[n];

		if (!a || a->state.phase == SN_ATTACH_ENDED)
			continue;
		s->of = &m->job[i];
		s->age = (double)(sn_loop_now() - m->job[i].heard) / 1000;
		s->safe = attach_since_safe(a);
		s->now = m->job[i].account;
		if (a->here)
			sn_ettr_pass(&s->now, s->now.at + s->age);
		s->dp = a->state.dp;
		snprintf(s->id, sizeof(s->id), "%u", m->job[i].job);
		n++;
	}
	if (shown)
		qsort(shown, n, sizeof(*shown), by_size);
	*ret_n = n;
	return shown;
}

/* Cards that jobs hold and that do no work at present. */
static void add_idle_cards(struct sn_om *om, const struct shown *shown, uint32_t n_shown)
{
	static const enum sn_ettr_phase phases[] = {
		SN_ETTR_RESTART, SN_ETTR_WAIT, SN_ETTR_PAUSE, SN_ETTR_OPENING, SN_ETTR_CHECKPOINT,
	};
	uint64_t n[SN_ETTR_PHASES] = { 0 }, spare = 0;

	for (uint32_t i = 0; i < n_shown; i++) {
		const struct sn_ettr *a = &shown[i].now;
		uint32_t busy = a->ranks < a->held ? a->ranks : a->held;

		if (a->phase == SN_ETTR_WAIT || a->phase == SN_ETTR_PAUSE)
			busy = a->held;
		n[a->phase] += busy;
		spare += a->held - busy;
	}
	sn_om_family(om, SN_OM_GAUGE, NAME("idle_cards"), NULL,
		     "cards that jobs hold and that do no work now, by why; restart: for a recovery");
	for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++)
		with(om, "why", sn_ettr_phase_name(phases[i]), n[phases[i]]);
	with(om, "why", "spare", spare);
}

static void add_phases(struct sn_om *om, const struct shown *shown, uint32_t n_shown)
{
	uint64_t n[SN_ETTR_PHASES] = { 0 };

	for (uint32_t i = 0; i < n_shown; i++)
		n[shown[i].now.phase]++;
	sn_om_family(om, SN_OM_GAUGE, NAME("jobs"), NULL, "jobs whose snrun tells of them, by what they do");
	for (int i = 0; i < SN_ETTR_PHASES; i++)
		with(om, "phase", sn_ettr_phase_name((enum sn_ettr_phase)i), n[i]);
}

static void add_sums(struct sn_om *om, const struct sn_metrics *m)
{
	one_int(om, SN_OM_COUNTER, NAME("generations"), "generations of jobs that were started",
		m->generations);
	one_int(om, SN_OM_COUNTER, NAME("safe_points"), "checkpoints that became durable",
		m->safe_points);
	sn_om_family(om, SN_OM_COUNTER, NAME("failures"), NULL, "failures of generations, by what failed");
	for (int i = 0; i < SN_ETTR_FAILS; i++)
		with(om, "kind", sn_ettr_fail_name((enum sn_ettr_fail)i), m->fails[i]);
	sn_om_family(om, SN_OM_HISTOGRAM, NAME("recovery_seconds"), "seconds",
		     "from a failure to the first step after it");
	sn_om_histogram(om, sn_recovery_bound, m->recoveries.n, SN_RECOVERY_BOUNDS,
			m->recoveries.sum);
	one(om, SN_OM_COUNTER, NAME("held_card_seconds"), UNIT_CS, "card-seconds that jobs held", m->held);
	one(om, SN_OM_COUNTER, NAME("useful_card_seconds"), UNIT_CS,
	    "those whose work a checkpoint or a good end has made to last", m->useful);
	one(om, SN_OM_COUNTER, NAME("idle_card_seconds"), UNIT_CS, "those of cards without ranks", m->idle);
	sn_om_family(om, SN_OM_COUNTER, NAME("lost_card_seconds"), UNIT_CS, "those that were lost, by cause");
	for (int i = 0; i < SN_LOST_KINDS; i++)
		with_float(om, "cause", sn_lost_name((enum sn_lost)i), m->lost[i]);
	one_int(om, SN_OM_COUNTER, NAME("accounts_refused"),
		"what jobs said of themselves and cannot be, or had no room", m->odd);
}

/* ---- single jobs ---- */

typedef double (*figure)(const struct shown *s);

static double fig_useful(const struct shown *s) { return s->of->account.cards.useful; }
static double fig_held(const struct shown *s) { return s->of->account.held_sum; }
static double fig_idle(const struct shown *s) { return s->of->account.idle; }
static double fig_open(const struct shown *s) { return sn_ettr_open(&s->now.cards); }
static double fig_ettr(const struct shown *s) { return sn_ettr_ratio(&s->now); }
static double fig_wall(const struct shown *s) { return sn_ettr_wall(&s->of->account); }
static double fig_productive(const struct shown *s) { return s->of->account.wall.useful; }
static double fig_safe(const struct shown *s) { return s->safe < 0 ? NAN : s->safe; }
static double fig_age(const struct shown *s) { return s->age; }

static const struct {
	enum sn_om_type type;
	const char *name, *unit, *help;
	figure figure;
} figures[] = {
	{ SN_OM_COUNTER, NAME("job_held_card_seconds"), UNIT_CS, "card-seconds that the job has held", fig_held },
	{ SN_OM_COUNTER, NAME("job_useful_card_seconds"), UNIT_CS, "those whose work lasts", fig_useful },
	{ SN_OM_COUNTER, NAME("job_idle_card_seconds"), UNIT_CS, "those of cards without ranks", fig_idle },
	{ SN_OM_GAUGE, NAME("job_provisional_card_seconds"), UNIT_CS, "those of work that no checkpoint holds yet", fig_open },
	{ SN_OM_COUNTER, NAME("job_wall_seconds"), "seconds", "since it could have run", fig_wall },
	{ SN_OM_COUNTER, NAME("job_productive_seconds"), "seconds", "of which in work that lasts", fig_productive },
	{ SN_OM_GAUGE, NAME("job_ettr_ratio"), "ratio", "productive by wall seconds", fig_ettr },
	{ SN_OM_GAUGE, NAME("job_safe_point_age_seconds"), "seconds", "work that would be lost now", fig_safe },
	{ SN_OM_GAUGE, NAME("job_heard_seconds"), "seconds", "since its snrun said anything", fig_age },
};

static void add_cards(struct sn_om *om, const struct shown *shown, uint32_t n)
{
	sn_om_family(om, SN_OM_GAUGE, NAME("job_cards"), NULL,
		     "cards that the job holds, that have ranks, that it would have");
	for (uint32_t i = 0; i < n; i++) {
		const struct sn_ettr *a = &shown[i].of->account;
		const struct { const char *word; uint32_t n; } cards[] = {
			{ "held", a->held }, { "ranks", a->ranks }, { "wanted", a->want },
		};

		for (size_t k = 0; k < 3; k++)
			sn_om_int(om, (const struct sn_om_label[]){
				{ "job", shown[i].id }, { "are", cards[k].word } }, 2, cards[k].n);
	}
	sn_om_family(om, SN_OM_GAUGE, NAME("job_dp"), NULL, "its data-parallel size");
	for (uint32_t i = 0; i < n; i++)
		with(om, "job", shown[i].id, shown[i].dp);
}

static void add_each(struct sn_om *om, const struct shown *shown, uint32_t all)
{
	uint32_t n = all < SN_METRICS_JOBS ? all : SN_METRICS_JOBS;

	one_int(om, SN_OM_GAUGE, NAME("jobs_not_shown"),
		"jobs that have no metrics of their own below, as there are too many", all - n);
	for (size_t f = 0; f < sizeof(figures) / sizeof(*figures); f++) {
		sn_om_family(om, figures[f].type, figures[f].name, figures[f].unit, figures[f].help);
		for (uint32_t i = 0; i < n; i++)
			with_float(om, "job", shown[i].id, figures[f].figure(&shown[i]));
	}
	sn_om_family(om, SN_OM_COUNTER, NAME("job_lost_card_seconds"), UNIT_CS,
		     "card-seconds that the job has lost, by cause");
	for (uint32_t i = 0; i < n; i++)
		for (int k = 0; k < SN_LOST_KINDS; k++)
			sn_om_float(om, (const struct sn_om_label[]){
				{ "job", shown[i].id },
				{ "cause", sn_lost_name((enum sn_lost)k) } }, 2,
				shown[i].of->account.cards.lost[k]);
	add_cards(om, shown, n);
}

static void add_told(struct sn_om *om, const struct sn_daemon *d)
{
	struct shown *shown;
	uint32_t n;

	shown = find_shown(d, &n);
	if (shown) {
		add_phases(om, shown, n);
		add_idle_cards(om, shown, n);
	}
	add_sums(om, &d->metrics);
	if (shown)
		add_each(om, shown, n);
	free(shown);
}

char *metrics_text(struct sn_daemon *d, size_t *ret_len)
{
	struct sn_om om = { .name = NULL };

	add_daemon(&om, d);
	if (d->duty == SN_DUTY_IN_CHARGE) {
		add_slurm(&om, d);
		add_health(&om, d);
		add_jobs(&om, d);
		add_decisions(&om, d);
		add_actions(&om, d);
		add_told(&om, d);
	}
	return sn_om_end(&om, ret_len);
}
