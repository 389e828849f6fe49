/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * victimjobs.c - Slurm's preemptable jobs as topology/victims.h wants them.
 */
#include "plugins/compat.h"

#include "plugins/select_supernode/victimjobs.h"

#include <errno.h>
#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/job_resources.h"
#include "src/common/list.h"
#include "src/common/xstring.h"
#include "src/interfaces/gres.h"
#include "src/interfaces/preempt.h"

#include "plugins/common/jobopts.h"

static gres_state_t *find_cards(list_t *list, uint32_t card_id)
{
	return list ? list_find_first(list, gres_find_id, &card_id) : NULL;
}

/* ---- a candidate ------------------------------------------------------------------- */

struct counting {
	struct victimjobs *jobs;
	uint32_t card_id;
	uint32_t *units; /* [n_supernodes] */
	bitstr_t *nodes;
};

/* Cards of a job on each node, or a unit for the node where it has none. */
static int count_component(void *x, void *arg)
{
	const job_record_t *job_ptr = x;
	struct counting *c = arg;
	gres_state_t *state = find_cards(job_ptr->gres_list_alloc, c->card_id);
	const gres_job_state_t *js = state ? state->gres_data : NULL;
	uint32_t n = 0;
	int i;

	if (!job_ptr->node_bitmap)
		return 0;
	bit_or(c->nodes, job_ptr->node_bitmap);
	for (i = 0; next_node_bitmap(job_ptr->node_bitmap, &i); i++, n++) {
		uint32_t t = c->jobs->api->topo_node((uint32_t)i), units = 0;

		if (t == SN_NONE)
			continue;
		if (js && js->gres_cnt_node_alloc && n < js->node_cnt)
			units = (uint32_t)js->gres_cnt_node_alloc[n];
		else if (!c->jobs->need)
			units = 1;
		/* Where it stands in the way with its CPUs alone, it counts as
		 * one that frees nothing, but it has to be found. */
		c->units[c->jobs->topo->node[t].supernode] += units;
	}
	return 0;
}

static int set_parts(struct victimjobs *jobs, const struct counting *c,
		     struct sn_victim *victim)
{
	uint32_t n_supernodes = jobs->topo->n_supernodes, s;
	bool *used = calloc((size_t)n_supernodes + 1, sizeof(*used));
	struct sn_victim_part *part;

	if (!used)
		return -ENOMEM;
	part = calloc((size_t)victimjobs_supernodes(jobs, c->nodes, used) + 1,
		      sizeof(*part));
	victim->part = part;
	for (s = 0; part && s < n_supernodes; s++)
		if (used[s])
			part[victim->n_parts++] = (struct sn_victim_part){
				.supernode = s, .units = c->units[s],
			};
	free(used);
	return part ? 0 : -ENOMEM;
}

#define MEMBER "supernode:member=" /* as launcher/members.h has it */
#define EQUALS 4096 /* more than there are victims of one job */

static bool param_is_set(const char *word)
{
	return xstrcasestr(slurm_conf.preempt_params, word) ||
		xstrcasestr(slurm_conf.sched_params, word);
}

/* A job that only holds nodes for another, its base, which goes on without. Its
 * owner can say so of any job: then that is what he prefers to lose. */
static bool is_member(const job_record_t *job_ptr)
{
	return !xstrncmp(job_ptr->comment, MEMBER, strlen(MEMBER));
}

/* What Slurm sorts candidates by, and the work that is lost with the job. */
static void set_cost(const job_record_t *job_ptr, uint64_t units,
		     struct sn_victim *victim)
{
	time_t now = time(NULL);
	uint64_t age = job_ptr->start_time && job_ptr->start_time < now ?
		(uint64_t)(now - job_ptr->start_time) : 0;

	/* In its first second, too, a large job is more than a small one. */
	victim->lost = (age + 1) * (units ? units : 1);
	if (param_is_set("youngest_first"))
		victim->priority = age;
	else if (!xstrcmp(slurm_conf.preempt_type, "preempt/qos"))
		victim->priority = job_ptr->qos_ptr ?
			job_ptr->qos_ptr->priority : 0;
	else
		victim->priority = job_ptr->part_ptr ?
			job_ptr->part_ptr->priority_tier : 0;
	/* Of equals, members go before their base and before other jobs. */
	victim->priority = EQUALS * victim->priority + !is_member(job_ptr);
}

static int add_candidate(struct counting *c, job_record_t *job_ptr)
{
	struct victimjobs *jobs = c->jobs;
	struct sn_victim *victim = &jobs->victim[jobs->n];
	uint64_t units = 0;
	uint32_t s;

	jobs->job_ptr[jobs->n] = job_ptr;
	jobs->nodes[jobs->n] = bit_alloc(node_record_count);
	c->nodes = jobs->nodes[jobs->n++];
	memset(c->units, 0, jobs->topo->n_supernodes * sizeof(*c->units));
	if (job_ptr->het_job_list)
		(void)list_for_each_ro(job_ptr->het_job_list, count_component, c);
	else
		(void)count_component(job_ptr, c);
	for (s = 0; s < jobs->topo->n_supernodes; s++)
		units += c->units[s];
	set_cost(job_ptr, units, victim);
	return set_parts(jobs, c, victim);
}

/* ---- all of them -------------------------------------------------------------------- */

static void count_free(struct victimjobs *jobs, bitstr_t *nodes,
		       uint32_t card_id)
{
	node_record_t *node_ptr;
	int i;

	for (i = 0; (node_ptr = next_node_bitmap(nodes, &i)); i++) {
		uint32_t t = jobs->api->topo_node((uint32_t)i);
		gres_state_t *state = find_cards(node_ptr->gres_list, card_id);
		const gres_node_state_t *ns = state ? state->gres_data : NULL;

		if (t != SN_NONE && ns && ns->gres_cnt_avail > ns->gres_cnt_alloc)
			jobs->free_units[jobs->topo->node[t].supernode] +=
				(uint32_t)(ns->gres_cnt_avail - ns->gres_cnt_alloc);
	}
}

static int add_all(struct victimjobs *jobs, list_t *candidates, bool suspend,
		   uint32_t card_id)
{
	struct counting c = {
		.jobs = jobs,
		.card_id = card_id,
		.units = calloc((size_t)jobs->topo->n_supernodes + 1,
				sizeof(*c.units)),
	};
	list_itr_t *itr = list_iterator_create(candidates);
	job_record_t *job_ptr;
	int rc = c.units ? 0 : -ENOMEM;

	while (!rc && (job_ptr = list_next(itr))) {
		uint16_t mode = slurm_job_preempt_mode(job_ptr);

		if (suspend ? mode == PREEMPT_MODE_SUSPEND :
		    mode == PREEMPT_MODE_REQUEUE || mode == PREEMPT_MODE_CANCEL)
			rc = add_candidate(&c, job_ptr);
	}
	list_iterator_destroy(itr);
	free(c.units);
	return rc;
}

int victimjobs_init(struct victimjobs *jobs, const struct sn_topoapi *api,
		    const job_record_t *job_ptr, bitstr_t *nodes,
		    list_t *candidates, bool suspend)
{
	const struct sn_topo *topo = api->topo();
	size_t n = (size_t)list_count(candidates) + 1;
	uint32_t card_id = gres_build_id((char *)api->policy()->card_gres);
	struct sn_jobspec_text text;

	*jobs = (struct victimjobs){ .topo = topo, .api = api };
	jobs->job_ptr = calloc(n, sizeof(*jobs->job_ptr));
	jobs->nodes = calloc(n, sizeof(*jobs->nodes));
	jobs->victim = calloc(n, sizeof(*jobs->victim));
	jobs->free_units = calloc((size_t)topo->n_supernodes + 1,
				  sizeof(*jobs->free_units));
	if (!jobs->job_ptr || !jobs->nodes || !jobs->victim || !jobs->free_units)
		return -ENOMEM;
	if (sn_jobopts_find(job_ptr->spank_job_env, job_ptr->spank_job_env_size,
			    &text) && text.parallel)
		jobs->need = job_ptr->details->num_tasks;
	count_free(jobs, nodes, card_id);
	return add_all(jobs, candidates, suspend, card_id);
}

void victimjobs_done(struct victimjobs *jobs)
{
	uint32_t j;

	for (j = 0; j < jobs->n; j++) {
		FREE_NULL_BITMAP(jobs->nodes[j]);
		free((void *)jobs->victim[j].part);
	}
	free(jobs->job_ptr);
	free(jobs->nodes);
	free(jobs->victim);
	free(jobs->free_units);
	*jobs = (struct victimjobs){ 0 };
}

uint32_t victimjobs_supernodes(const struct victimjobs *jobs,
			       bitstr_t *nodes, bool *used)
{
	uint32_t n = 0;
	int i;

	for (i = 0; next_node_bitmap(nodes, &i); i++) {
		uint32_t t = jobs->api->topo_node((uint32_t)i);

		if (t == SN_NONE || used[jobs->topo->node[t].supernode])
			continue;
		used[jobs->topo->node[t].supernode] = true;
		n++;
	}
	return n;
}

/* ---- cores ---------------------------------------------------------------------------- */

/* The cores of a job on the n-th of its nodes: where they begin in its bitmap,
 * and how many a node has. */
static int cores_of(job_resources_t *res, int n, uint32_t *ret)
{
	uint16_t sockets, cores;

	if (get_job_resources_cnt(res, (uint32_t)n, &sockets, &cores))
		return -1;
	*ret = (uint32_t)sockets * cores;
	return get_job_resources_offset(res, (uint32_t)n, 0, 0);
}

bool victimjobs_share_cores(const job_record_t *running,
			    const job_record_t *job_ptr)
{
	job_resources_t *a = running->job_resrcs, *b = job_ptr->job_resrcs;
	int i, na = 0, nb = 0;

	if (!a || !b || !a->node_bitmap || !b->node_bitmap)
		return false;
	for (i = 0; next_node_bitmap(b->node_bitmap, &i); i++, nb++) {
		uint32_t ca = 0, cb = 0, c;
		int oa, ob;

		if (!bit_test(a->node_bitmap, i))
			continue;
		na = bit_set_count_range(a->node_bitmap, 0, i);
		oa = cores_of(a, na, &ca);
		ob = cores_of(b, nb, &cb);
		for (c = 0; oa >= 0 && ob >= 0 && c < ca && c < cb; c++)
			if (bit_test(a->core_bitmap, oa + (int)c) &&
			    bit_test(b->core_bitmap, ob + (int)c))
				return true;
	}
	return false;
}
