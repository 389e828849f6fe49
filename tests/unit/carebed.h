/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * carebed.h - tables of nodes and jobs that are made up, and snruns that say what they
 * are told to, for test_care.c and bench_care.c.
 *
 * Supernodes sn1, sn2, … of bed.per nodes with eight cards each; job k has the id
 * 100 + k. Jobs have tp=8, ep=16, etp=1: atoms of 16 ranks, which are two nodes.
 */
#ifndef SN_TESTS_CAREBED_H
#define SN_TESTS_CAREBED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/care.h"
#include "topology/hostlist.h"

#define BED_JOBS 8192

struct bed_run { /* a job, and its snrun */
	uint32_t first, n; /* its nodes, by number */
	uint32_t dp; /* with two nodes for two replicas: dp nodes */
	const char *elastic; /* "elastic=…", or "" */
	const char *account;
	uint32_t spares; /* the last nodes of n have no ranks */
	uint32_t priority, restarts;
	bool no_requeue, pending, bound;
	struct sn_attach attach;
	bool is_attached;
};

static struct {
	struct sn_topo *topo;
	struct sn_view_nodes *nodes;
	struct sn_view_jobs *jobs;
	uint32_t supernodes, per, n;
	struct bed_run run[BED_JOBS];
	uint32_t n_runs;
	bool *down, *silent, *failing, *closed; /* [n] */
	struct sn_health_action mark[64];
	size_t n_marks;
	uint32_t gone[16];
	size_t n_gone;
	uint64_t numbering;
	double now;
	int64_t ms;
	struct sn_care *care;
	struct sn_care_conf conf;
} bed;

static inline void bed_must(int rc, const struct sn_err *err)
{
	if (!rc)
		return;
	fprintf(stderr, "%d: %s\n", rc, err->text);
	abort();
}

static inline void bed_make(uint32_t supernodes, uint32_t per, uint32_t spare_nodes)
{
	char text[200];
	struct sn_err err;

	memset(&bed, 0, sizeof(bed));
	bed.supernodes = supernodes;
	bed.per = per;
	bed.n = supernodes * per;
	bed.now = 1700000000;
	bed.ms = 1000000;
	bed.numbering = 1;
	snprintf(text, sizeof(text), "SupernodeName=sn[1-%u] Nodes=n[1-%u] NodesPerSupernode=%u SpareNodes=%u\n",
		 supernodes, bed.n, per, spare_nodes);
	bed_must(sn_topo_parse(text, strlen(text), "t", NULL, NULL, &bed.topo, &err), &err);
	bed.down = calloc(bed.n, 1);
	bed.silent = calloc(bed.n, 1);
	bed.failing = calloc(bed.n, 1);
	bed.closed = calloc(bed.n, 1);
	bed_must(sn_care_create(&bed.care, &err), &err);
	sn_ladder_costs_init(&bed.conf.costs);
	bed_must(sn_elastic_policy_parse("", &bed.conf.policy, &err), &err);
	bed.conf.members = true;
	bed.conf.order_wait = 700;
}

static inline void bed_node_text(uint32_t i, char *text)
{
	sprintf(text, "n%u", i + 1);
}

/* The tables anew, as after a poll. */
static inline void bed_tables(void)
{
	struct sn_view_nodes *nodes = sn_view_nodes_new(bed.n);
	struct sn_view_jobs *jobs = sn_view_jobs_new(bed.n_runs);
	uint32_t k = 0;
	char text[32];

	for (uint32_t i = 0; i < bed.n; i++) {
		struct sn_view_node *n = &nodes->node[i];

		bed_node_text(i, text);
		if (sn_view_node_set(n, text, "", "", "", bed.nodes ? &bed.nodes->node[i] : NULL))
			abort();
		n->cards = 0xff;
		n->down = bed.down[i];
		n->silent = bed.silent[i];
		n->failing = bed.failing[i];
		n->closed = bed.closed[i] || n->down || n->silent || n->failing;
	}
	if (sn_view_nodes_seal(nodes))
		abort();
	for (uint32_t j = 0; j < bed.n_runs; j++) {
		const struct bed_run *run = &bed.run[j];
		const struct sn_view_job *old = sn_view_job(bed.jobs, 100 + j);
		struct sn_view_job *job = &jobs->job[k];
		struct sn_view_ours *o;
		uint32_t held = 0, at = 0;

		if (!run->n)
			continue;
		k++;
		job->id = 100 + j;
		job->uid = 7;
		job->running = !run->pending;
		job->priority = run->pending ? run->priority : 0;
		for (uint32_t i = 0; i < run->n; i++)
			held += !bed.down[run->first + i];
		if (run->pending)
			held = 0;
		if (!sn_view_job_same(job, old, held * 1000003ull + run->n)) {
			if (sn_view_job_hold(job, held, held * 1000003ull + run->n))
				abort();
			for (uint32_t i = 0; i < run->n && held; i++)
				if (!bed.down[run->first + i]) {
					job->node[at] = run->first + i;
					job->cards[at++] = 0xff;
				}
		}
		if (old && old->ours && old->ours->restarts == run->restarts &&
		    old->ours->priority == run->priority) {
			job->ours = sn_view_ours_use(old->ours);
			continue;
		}
		o = job->ours = calloc(1, sizeof(*o));
		o->users = 1;
		o->account = strdup(run->account ? run->account : "");
		o->user = strdup("u");
		o->partition = strdup("p");
		o->comment = strdup("");
		o->required = strdup("");
		if (asprintf(&o->options, "supernode:parallel=tp=8,ep=16,etp=1,dp=%u%s%s%s;nodes=n[%u-%u]",
			     run->dp, run->elastic && *run->elastic ? ";" : "",
			     run->elastic ? run->elastic : "", run->spares ? ";spares=1" : "",
			     run->first + 1, run->first + run->n) < 0 ||
		    asprintf(&o->batch_host, "n%u", run->first + 1) < 0)
			abort();
		o->batch = true;
		o->requeue = !run->no_requeue;
		o->bound = run->bound;
		o->restarts = run->restarts;
		o->priority = run->priority;
		o->start = 1699990000;
	}
	jobs->n = k;
	sn_view_jobs_seal(jobs);
	sn_view_nodes_free(bed.nodes);
	sn_view_jobs_free(bed.jobs);
	bed.nodes = nodes;
	bed.jobs = jobs;
}

/* Its snrun says that it runs with ranks on nodes [from, from + n) of the job, dp, in a
 * new generation; the nodes at the end of the job without ranks are spares. */
static inline void bed_says(uint32_t j, const uint32_t *node, uint32_t n, uint32_t dp,
			    enum sn_attach_phase phase)
{
	struct bed_run *run = &bed.run[j];
	struct sn_attach_state *s = &run->attach.state;
	uint32_t generation = s->generation + run->is_attached;
	char text[32];

	sn_attach_state_done(s);
	memset(s, 0, sizeof(*s));
	s->phase = phase;
	s->generation = generation;
	s->dp = dp;
	s->ranks = 8 * n;
	s->can_checkpoint = true;
	s->since_safe = 60;
	s->since_memory = -1;
	s->checkpoint_seconds = 2;
	s->node = calloc(n + 1, sizeof(*s->node));
	for (uint32_t i = 0; i < n; i++) {
		bed_node_text(node[i], text);
		if (sn_names_add(&s->name, text))
			abort();
		s->node[i] = (struct sn_attach_node){ 8 * i, 8, 0xff };
	}
	for (uint32_t i = 0; i < run->n && run->spares; i++) {
		bool used = false;

		for (uint32_t k = 0; k < n; k++)
			used |= node[k] == run->first + i;
		bed_node_text(run->first + i, text);
		if (!used && !bed.down[run->first + i] && i >= run->n - run->spares && sn_names_add(&s->spare, text))
			abort();
	}
	run->attach.job = 100 + j;
	run->attach.here = true;
	run->attach.heard = ++bed.ms;
	run->is_attached = true;
}

/* A job on n nodes from `first` on. */
static inline uint32_t bed_job(uint32_t first, uint32_t n, uint32_t spares, const char *elastic)
{
	struct bed_run *run = &bed.run[bed.n_runs];
	uint32_t node[64];

	*run = (struct bed_run){ .first = first, .n = n, .spares = spares, .elastic = elastic,
				 .dp = n - spares };
	for (uint32_t i = 0; i < n - spares; i++)
		node[i] = first + i;
	bed_says(bed.n_runs, node, n - spares, n - spares, SN_ATTACH_RUNNING);
	return bed.n_runs++;
}

static const struct sn_attach *bed_attach(void *arg, uint32_t job)
{
	(void)arg;
	return job >= 100 && job - 100 < bed.n_runs && bed.run[job - 100].is_attached ?
		&bed.run[job - 100].attach : NULL;
}

static inline struct sn_care_eyes bed_eyes(void)
{
	return (struct sn_care_eyes){
		.topo = bed.topo, .nodes = bed.nodes, .jobs = bed.jobs, .numbering = bed.numbering,
		.mark = bed.mark, .n_marks = bed.n_marks, .gone = bed.gone, .n_gone = bed.n_gone,
		.attach = bed_attach, .now = bed.now, .ms = bed.ms,
	};
}

static inline void bed_mark(uint32_t node, uint32_t card, enum sn_health_kind kind, bool leave,
			    const char *why)
{
	struct sn_health_action *m = &bed.mark[bed.n_marks++];
	char text[32];

	bed_node_text(node, text);
	*m = (struct sn_health_action){ .kind = kind, .card = card, .index = SN_NONE, .leave = leave,
					.node = sn_topo_find_node(bed.topo, text) };
	snprintf(m->why, sizeof(m->why), "%s", why);
}

static inline void bed_done(void)
{
	for (uint32_t j = 0; j < bed.n_runs; j++)
		sn_attach_state_done(&bed.run[j].attach.state);
	sn_care_destroy(bed.care);
	sn_view_nodes_free(bed.nodes);
	sn_view_jobs_free(bed.jobs);
	sn_topo_destroy(bed.topo);
	free(bed.down);
	free(bed.silent);
	free(bed.failing);
	free(bed.closed);
}

#endif
