/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preempt.c - have Slurm take away the jobs that should go, not the first.
 *
 * Whether a job fits once others have gone, Slurm itself is asked: in its
 * WILL_RUN mode it pretends that all candidates it is given have gone, and
 * changes nothing.
 *
 * Suspension by partition is different: there select/cons_tres gives the cores
 * of running jobs to the new one, and the gang scheduler suspends whose cores
 * they were. Then who may be suspended is said by the nodes offered. Slurm does
 * not take cards from a suspended job, so one that holds them is no victim.
 */
#include "plugins/compat.h"

#include "plugins/select_supernode/preempt.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "src/common/bitstring.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/xstring.h"
#include "src/interfaces/preempt.h"

#include "plugins/select_supernode/victimjobs.h"
#include "topology/victims.h"

/* Questions for one job: each costs Slurm about as much as a scheduling try. */
#define CALLS_MIN 24
#define CALLS_MAX 400
#define CALLS_NODES 100000 /* questions times nodes */
/* And no longer, for slurmctld answers nobody meanwhile: of this thread's CPU
 * time, so that the answer depends little on what else the machine does. */
#define SEARCH_MS 300

struct preempt {
	const struct job_test *test;
	const bitstr_t *nodes; /* what the call offers */
	uint64_t memory; /* Slurm may clear the job's */
	bool suspend; /* candidates are suspended, not ended */
	bool by_nodes; /* by partition: said by the nodes offered */
	uint64_t end_ms; /* of the search */
	bool is_over;
	struct victimjobs jobs;
};

/* ---- calls ---------------------------------------------------------------------------- */

static int call(const struct preempt *p, uint16_t mode, list_t *candidates,
		list_t **victims, will_run_data_t *will_run_ptr)
{
	const struct job_test *t = p->test;

	return t->stock(t->job_ptr, t->node_bitmap, t->min_nodes, t->max_nodes,
			t->req_nodes, mode, candidates, victims,
			t->resv_exc_ptr, will_run_ptr);
}

static void offer_again(const struct preempt *p)
{
	bit_copybits(p->test->node_bitmap, (bitstr_t *)p->nodes);
	p->test->job_ptr->details->pn_min_memory = p->memory;
}

/* Could it start now? Leaves the nodes it would get in node_bitmap. */
static int could_start(const struct preempt *p, list_t *candidates,
		       list_t **victims)
{
	job_record_t *job_ptr = p->test->job_ptr;
	/* An end long ago: no running job ends by then, so that Slurm does not
	 * look for a later start. */
	will_run_data_t now = { .start = 0, .end = 1 };
	uint64_t flags = job_ptr->bit_flags & TEST_NOW_ONLY;
	int rc;

	job_ptr->bit_flags |= TEST_NOW_ONLY;
	rc = call(p, SELECT_MODE_WILL_RUN, candidates, victims, &now);
	if (!flags)
		job_ptr->bit_flags &= ~(uint64_t)TEST_NOW_ONLY;
	return rc;
}

static int run_all(const struct preempt *p)
{
	offer_again(p);
	return call(p, p->test->mode, p->test->candidates, p->test->victims,
		    p->test->will_run_ptr);
}

static uint64_t cpu_ms(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- questions ------------------------------------------------------------------------- */

static void keep_supernodes(const struct preempt *p, const bool *within)
{
	bitstr_t *nodes = p->test->node_bitmap;
	bitstr_t *required = p->test->job_ptr->details->req_node_bitmap;
	int i;

	for (i = 0; within && next_node_bitmap(nodes, &i); i++) {
		uint32_t t = p->jobs.api->topo_node((uint32_t)i);

		if (t != SN_NONE && !within[p->jobs.topo->node[t].supernode] &&
		    !(required && bit_test(required, i)))
			bit_clear(nodes, i);
	}
}

static void leave_alone(const struct preempt *p, const bool *gone)
{
	uint32_t j;

	for (j = 0; p->by_nodes && j < p->jobs.n; j++)
		if (!gone[j])
			bit_and_not(p->test->node_bitmap, p->jobs.nodes[j]);
}

static list_t *list_of(const struct preempt *p, const bool *gone)
{
	list_t *list = list_create(NULL);
	uint32_t j;

	for (j = 0; j < p->jobs.n; j++)
		if (gone[j])
			list_append(list, p->jobs.job_ptr[j]);
	return list;
}

static int fits(void *arg, const bool *gone, const bool *within,
		struct sn_victims_fit *ret)
{
	struct preempt *p = arg;
	bitstr_t *nodes = p->test->node_bitmap;
	list_t *candidates = p->by_nodes ? NULL : list_of(p, gone), *victims = NULL;
	uint32_t j;
	int rc;

	offer_again(p);
	keep_supernodes(p, within);
	leave_alone(p, gone);
	rc = could_start(p, candidates, &victims);
	FREE_NULL_LIST(candidates);
	FREE_NULL_LIST(victims);
	p->is_over = cpu_ms() >= p->end_ms;
	if (rc)
		return -ENOSPC;
	ret->supernodes = victimjobs_supernodes(&p->jobs, nodes, ret->used);
	for (j = 0; j < p->jobs.n; j++)
		ret->hit[j] = gone[j] &&
			bit_overlap_any(nodes, p->jobs.nodes[j]);
	return 0;
}

static bool is_over(void *arg)
{
	const struct preempt *p = arg;

	return p->is_over;
}

static int choose(struct preempt *p, const struct sn_topoapi *api,
		  struct sn_victims *ret)
{
	struct sn_victims_problem problem = {
		.max_calls = (uint32_t)(CALLS_NODES / (node_record_count + 1)),
		.fits = fits,
		.is_over = is_over,
		.arg = p,
	};
	job_record_t *job_ptr = p->test->job_ptr;
	time_t start = job_ptr->start_time;
	int rc = victimjobs_init(&p->jobs, api, job_ptr, (bitstr_t *)p->nodes,
				 p->test->candidates, p->suspend);

	problem.n_jobs = p->jobs.n;
	problem.n_supernodes = p->jobs.topo->n_supernodes;
	problem.job = p->jobs.victim;
	problem.free_units = p->jobs.free_units;
	/* Cards are not what a suspension frees. */
	problem.need = p->suspend ? 0 : p->jobs.need;
	if (problem.max_calls < CALLS_MIN)
		problem.max_calls = CALLS_MIN;
	if (problem.max_calls > CALLS_MAX)
		problem.max_calls = CALLS_MAX;
	p->end_ms = cpu_ms() + SEARCH_MS;
	if (!rc)
		rc = p->jobs.n ? sn_victims_choose(&problem, ret) : -ENOENT;
	job_ptr->start_time = start;
	if (!rc)
		log_flag(SELECT_TYPE, "select/supernode: %pJ: %u of %u preemptable jobs go, for %u supernodes, after %u questions%s",
			 job_ptr, ret->n_jobs, p->jobs.n, ret->supernodes,
			 ret->calls, ret->exact ? "" : ", perhaps not the best");
	return rc;
}

/* ---- victims that go --------------------------------------------------------------------- */

/* Of those that may go, those that have something where the job would run. */
static int hand_over_victims(const struct preempt *p, const bool *gone)
{
	list_t **victims = p->test->victims;
	uint32_t j;

	if (!*victims)
		*victims = list_create(NULL);
	for (j = 0; j < p->jobs.n; j++)
		if (gone[j] && bit_overlap_any(p->test->node_bitmap,
					       p->jobs.nodes[j]))
			list_append(*victims, p->jobs.job_ptr[j]);
	return list_count(*victims) ? SLURM_SUCCESS : ESLURM_NODES_BUSY;
}

static int take_chosen(struct preempt *p, const struct sn_victims *chosen)
{
	list_t *candidates = list_of(p, chosen->job), *unused = NULL;
	job_record_t *job_ptr = p->test->job_ptr;
	bool will_run = p->test->mode == SELECT_MODE_WILL_RUN;
	time_t start = job_ptr->start_time;
	int rc;

	offer_again(p);
	keep_supernodes(p, chosen->within);
	/* A job that has others ended starts in a later call, so that in both
	 * modes only nodes and victims are wanted. RUN_NOW would come to the
	 * same in as many tries as there are victims. */
	if (p->test->victims && (will_run || !p->suspend)) {
		rc = could_start(p, candidates, &unused);
		if (!rc)
			rc = hand_over_victims(p, chosen->job);
		if (!will_run)
			job_ptr->start_time = start;
	} else {
		rc = call(p, p->test->mode, candidates, p->test->victims,
			  p->test->will_run_ptr);
	}
	FREE_NULL_LIST(candidates);
	FREE_NULL_LIST(unused);
	if (rc && p->test->victims)
		FREE_NULL_LIST(*p->test->victims);
	return rc;
}

static int preempt_kind(struct preempt *p, const struct sn_topoapi *api)
{
	struct sn_victims chosen = { 0 };
	int rc = choose(p, api, &chosen);

	if (!rc)
		rc = take_chosen(p, &chosen);
	sn_victims_done(&chosen);
	return rc;
}

static bool is_by_qos(void)
{
	return !xstrcmp(slurm_conf.preempt_type, "preempt/qos");
}

static int preempt_some(struct preempt *p, const struct sn_topoapi *api)
{
	int rc = preempt_kind(p, api);

	/* By QOS, candidates may be of both kinds. Slurm itself knows only that
	 * of the first one, so that the job might wait for ever. */
	if (rc && is_by_qos()) {
		victimjobs_done(&p->jobs);
		p->suspend = !p->suspend;
		rc = preempt_kind(p, api);
	}
	return rc ? run_all(p) : SLURM_SUCCESS;
}

/* ---- victims that are suspended ------------------------------------------------------------ */

static uint32_t count_suspended(struct preempt *p)
{
	list_itr_t *itr = list_iterator_create(p->test->candidates);
	job_record_t *running;
	uint32_t n = 0;

	while ((running = list_next(itr)))
		n += slurm_job_preempt_mode(running) == PREEMPT_MODE_SUSPEND &&
			victimjobs_share_cores(running, p->test->job_ptr);
	list_iterator_destroy(itr);
	return n;
}

static int start_again(struct preempt *p, const struct sn_victims *chosen)
{
	offer_again(p);
	if (chosen) {
		keep_supernodes(p, chosen->within);
		leave_alone(p, chosen->job);
	}
	return call(p, p->test->mode, NULL, p->test->victims,
		    p->test->will_run_ptr);
}

/* It starts; see that no more are suspended for it than needed. */
static int suspend_some(struct preempt *p, const struct sn_topoapi *api)
{
	uint32_t n = count_suspended(p);
	struct sn_victims chosen = { 0 };
	int rc = SLURM_SUCCESS;

	if (!n)
		return SLURM_SUCCESS;
	p->suspend = p->by_nodes = true;
	if (choose(p, api, &chosen) || start_again(p, &chosen) ||
	    count_suspended(p) > n)
		rc = start_again(p, NULL);
	sn_victims_done(&chosen);
	return rc;
}

/* ---- which calls --------------------------------------------------------------------------- */

/* Slurm preempts no more jobs for one that has just had some preempted. */
static bool is_preempting(const job_record_t *job_ptr)
{
	time_t start = job_ptr->details->preempt_start_time;

	return start && start > time(NULL) - slurm_conf.kill_wait -
				slurm_conf.msg_timeout;
}

static bool is_for_us(const struct sn_topoapi *api, const struct job_test *test)
{
	if (!api || !api->topo() || !test->candidates ||
	    !list_count(test->candidates) || is_preempting(test->job_ptr))
		return false;
	/* The administrator wants Slurm's order and no other. */
	if (xstrcasestr(slurm_conf.preempt_params, "strict_order") ||
	    xstrcasestr(slurm_conf.sched_params, "preempt_strict_order"))
		return false;
	if (test->mode == SELECT_MODE_WILL_RUN)
		return !test->will_run_ptr ||
			test->will_run_ptr->start <= time(NULL);
	return test->mode == SELECT_MODE_RUN_NOW;
}

/* By QOS, Slurm either suspends or ends candidates, as the first one has it. */
static bool suspends_by_qos(const struct job_test *test)
{
	job_record_t *first = list_peek(test->candidates);

	return is_by_qos() && first &&
		slurm_job_preempt_mode(first) == PREEMPT_MODE_SUSPEND;
}

int preempt_job_test(const struct sn_topoapi *api, const struct job_test *test)
{
	struct preempt p = { .test = test };
	bool will_run = test->mode == SELECT_MODE_WILL_RUN;
	bitstr_t *nodes;
	int rc;

	if (!is_for_us(api, test))
		return call(&p, test->mode, test->candidates, test->victims,
			    test->will_run_ptr);
	p.nodes = nodes = bit_copy(test->node_bitmap);
	p.memory = test->job_ptr->details->pn_min_memory;
	p.suspend = suspends_by_qos(test);
	rc = will_run ? could_start(&p, NULL, test->victims) :
		call(&p, test->mode, NULL, test->victims, test->will_run_ptr);
	if (rc == ESLURM_LICENSES_UNAVAILABLE)
		rc = run_all(&p);
	else if (rc)
		rc = preempt_some(&p, api);
	else if (!will_run)
		rc = suspend_some(&p, api);
	victimjobs_done(&p.jobs);
	FREE_NULL_BITMAP(nodes);
	return rc;
}
