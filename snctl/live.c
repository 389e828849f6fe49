/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live.c - one snapshot of a running cluster, through libslurm's public API.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "snctl/confpath.h"
#include "snctl/gresidx.h"
#include "snctl/live.h"
#include "snctl/picture.h"
#include "snctl/progress.h"
#include "snctl/readfile.h"
#include "snctl/slurmconnect.h"
#include "topology/hostlist.h"
#include "topology/jobcomment.h"
#include "topology/text.h"

static int slurm_error(const char *what, struct sn_err *err)
{
	return sn_err_set(err, -EIO, "slurmctld did not tell the %s: %s", what,
			  slurm_strerror(errno));
}

static int load_messages(struct live *live, struct sn_err *err)
{
	if (slurm_load_node(0, &live->nodes, SHOW_ALL | SHOW_DETAIL))
		return slurm_error("nodes", err);
	if (slurm_load_partitions(0, &live->partitions, SHOW_ALL))
		return slurm_error("partitions", err);
	if (slurm_load_jobs(0, &live->jobs, SHOW_ALL | SHOW_DETAIL))
		return slurm_error("jobs", err);
	return 0;
}

void live_free_conf(slurm_conf_t *conf)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
	slurm_free_conf(conf);
#else
	slurm_free_ctl_conf(conf);
#endif
}

static int load_files(const char *config, struct live *live, struct sn_err *err)
{
	slurm_conf_t *conf = NULL;
	char *path, *text;
	size_t len;
	int rc;

	if (!config && !getenv("SLURM_CONF") && slurm_load_ctl_conf(0, &conf))
		conf = NULL;
	live->config = snctl_topology_path(config, conf ? conf->slurm_conf : NULL);
	if (conf)
		live_free_conf(conf);
	if (!live->config)
		return sn_err_set(err, -ENOMEM, "no memory");
	rc = snctl_read_topology(live->config, &live->topo, err);
	if (rc)
		return rc;
	sn_policy_init(&live->policy);
	path = snctl_sibling(live->config, "supernode.conf");
	if (path && !access(path, F_OK)) {
		rc = snctl_read_file(path, &text, &len, err);
		if (!rc) {
			rc = sn_policy_parse(text, len, path, &live->policy, err);
			free(text);
		}
	}
	free(path);
	return rc;
}

static uint32_t cpus_free(const node_info_t *info)
{
	uint16_t used = 0;

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
	used = info->alloc_cpus;
#else
	if (info->select_nodeinfo)
		slurm_get_select_nodeinfo(info->select_nodeinfo,
					  SELECT_NODEDATA_SUBCNT,
					  NODE_STATE_ALLOCATED, &used);
#endif
	return used < info->cpus_efctv ? info->cpus_efctv - used : 0;
}

static void read_node(const struct live *live, const node_info_t *info,
		      struct live_node *node)
{
	const char *gres = live->policy.card_gres;
	uint32_t base = info->node_state & NODE_STATE_BASE;
	uint64_t n = gres_count(info->gres, gres);
	bool known, fit, heard;

	node->info = info;
	node->cards = n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
	node->used = gres_indices(info->gres_used, gres, &known) & node->cards;
	node->counted = known ? 0 : gres_count(info->gres_used, gres);
	live_read_masks(node);
	node->cpus_free = cpus_free(info);
	node->late = info->node_state &
		(NODE_STATE_POWERED_DOWN | NODE_STATE_POWERING_DOWN |
		 NODE_STATE_POWER_DOWN | NODE_STATE_POWERING_UP |
		 NODE_STATE_REBOOT_REQUESTED | NODE_STATE_REBOOT_ISSUED);
	fit = (base == NODE_STATE_IDLE || base == NODE_STATE_ALLOCATED ||
	       base == NODE_STATE_MIXED || base == NODE_STATE_UNKNOWN) &&
		!(info->node_state & (NODE_STATE_DRAIN | NODE_STATE_FAIL |
				      NODE_STATE_MAINT | NODE_STATE_INVALID_REG));
	/* slurmctld that has just started knows nothing of idle nodes yet. */
	heard = base != NODE_STATE_UNKNOWN &&
		(node->late || !(info->node_state & NODE_STATE_NO_RESPOND));
	node->up = fit && heard;
	node->silent = fit && !heard;
}

static int by_name(const void *a, const void *b)
{
	return sn_name_cmp(*(const char *const *)a, *(const char *const *)b);
}

/* By name, as the topology plugin does: then both mean the same by "first". */
static int add_loose(struct live *live, struct sn_err *err)
{
	const char **name = calloc(live->nodes->record_count + 1, sizeof(*name));
	uint32_t n = 0;
	int rc = 0;

	if (!name)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; i < live->nodes->record_count; i++) {
		const char *is = live->nodes->node_array[i].name;

		if (is && sn_topo_find_node(live->topo, is) == SN_NONE)
			name[n++] = is;
	}
	qsort(name, n, sizeof(*name), by_name);
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = sn_topo_add_loose(live->topo, name[i], err);
	free(name);
	return rc;
}

static int read_nodes(struct live *live, struct sn_err *err)
{
	uint32_t votes[SN_CARDS_MAX + 1] = { 0 };

	int rc = add_loose(live, err);

	if (rc)
		return rc;
	live->node = calloc(live->topo->n_nodes + 1, sizeof(*live->node));
	if (!live->node)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; i < live->nodes->record_count; i++) {
		const node_info_t *info = &live->nodes->node_array[i];
		struct live_node *node;
		uint32_t cards;

		if (!info->name)
			continue;
		node = &live->node[sn_topo_find_node(live->topo, info->name)];
		read_node(live, info, node);
		cards = (uint32_t)__builtin_popcountll(node->cards);
		votes[cards]++;
		if (cards > live->most_cards)
			live->most_cards = cards;
	}
	for (uint32_t c = 1; c <= SN_CARDS_MAX; c++)
		if (votes[c] && (!live->cards || votes[c] >= votes[live->cards]))
			live->cards = c;
	return 0;
}

bool live_jobspec(const slurm_job_info_t *info, uint32_t cards,
		  struct sn_jobspec *ret)
{
	return !sn_jobcomment_read(info->admin_comment, cards, ret, NULL);
}

static int read_cards(const struct live *live, struct live_job *job, struct sn_err *err)
{
	const slurm_job_info_t *info = job->info;
	const int32_t *range = info->node_inx;
	uint32_t n = 0, k = 0;

	for (; range && range[0] >= 0 && range[1] >= range[0]; range += 2)
		n += (uint32_t)(range[1] - range[0]) + 1;
	job->node = calloc(n + 1, sizeof(*job->node));
	job->node_cards = calloc(n + 1, sizeof(*job->node_cards));
	if (!job->node || !job->node_cards)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (range = info->node_inx; range && range[0] >= 0 && range[1] >= range[0]; range += 2) {
		for (int32_t i = range[0]; i <= range[1]; i++, k++) {
			const char *name = (uint32_t)i < live->nodes->record_count ?
				live->nodes->node_array[i].name : NULL;
			uint64_t cards = 0;

			if (!name)
				continue;
			if (k < info->gres_detail_cnt)
				cards = gres_indices(info->gres_detail_str[k],
						     live->policy.card_gres, NULL);
			job->node[job->n_nodes] = sn_topo_find_node(live->topo, name);
			job->node_cards[job->n_nodes++] = cards;
			job->cards += (uint32_t)__builtin_popcountll(cards);
		}
	}
	return 0;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = ((const struct live_job *)a)->info->job_id;
	uint32_t y = ((const struct live_job *)b)->info->job_id;

	return x < y ? -1 : x > y;
}

static int read_jobs(struct live *live, struct sn_err *err)
{
	uint32_t running = 0;

	live->job = calloc(live->jobs->record_count + 1, sizeof(*live->job));
	if (!live->job)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; i < live->jobs->record_count; i++) {
		const slurm_job_info_t *info = &live->jobs->job_array[i];
		uint32_t base = info->job_state & JOB_STATE_BASE;

		if (base != JOB_PENDING && base != JOB_RUNNING &&
		    base != JOB_SUSPENDED && !(info->job_state & JOB_COMPLETING))
			continue;
		live->job[live->n_jobs].info = info;
		live->job[live->n_jobs++].running = base != JOB_PENDING ||
			(info->job_state & JOB_COMPLETING);
	}
	qsort(live->job, live->n_jobs, sizeof(*live->job), by_id);
	for (uint32_t j = 0; j < live->n_jobs; j++) {
		struct live_job *job = &live->job[j];
		int rc;

		job->has_spec = live_jobspec(job->info, live->cards, &job->spec);
		if (!job->running)
			continue;
		rc = read_cards(live, job, err);
		if (!rc && job->has_spec && job->spec.spares)
			rc = live_find_spares(live, job, err);
		if (!rc && job->has_spec)
			rc = live_find_pool(live, job, err);
		if (rc)
			return rc;
		job->symbol = picture_symbol(running++);
	}
	return 0;
}

int live_load(const char *config, struct live *ret, struct sn_err *err)
{
	int rc;

	memset(ret, 0, sizeof(*ret));
	progress_begin("asking slurmctld");
	rc = slurmconnect(err);
	if (!rc)
		rc = load_files(config, ret, err);
	if (!rc)
		rc = load_messages(ret, err);
	if (!rc)
		rc = read_nodes(ret, err);
	if (!rc)
		rc = read_jobs(ret, err);
	if (!rc)
		live_find_used(ret);
	progress_end();
	if (rc)
		live_done(ret);
	return rc;
}

void live_done(struct live *live)
{
	for (uint32_t j = 0; j < live->n_jobs; j++) {
		free(live->job[j].node);
		free(live->job[j].node_cards);
		free(live->job[j].spare);
		free(live->job[j].pool);
		sn_joblost_done(&live->job[j].lost);
	}
	free(live->job);
	free(live->node);
	if (live->nodes)
		slurm_free_node_info_msg(live->nodes);
	if (live->jobs)
		slurm_free_job_info_msg(live->jobs);
	if (live->partitions)
		slurm_free_partition_info_msg(live->partitions);
	sn_topo_destroy(live->topo);
	free(live->config);
	memset(live, 0, sizeof(*live));
}

uint64_t live_free(const struct live_node *node)
{
	return node->up ? node->cards & ~node->used & ~node->masked : 0;
}

const char *live_state_word(const struct live_node *node)
{
	uint32_t state = node->info ? node->info->node_state : 0;

	if (!node->info)
		return "unknown";
	if (state & NODE_STATE_DRAIN)
		return "drain";
	if (state & NODE_STATE_FAIL)
		return "fail";
	if (state & NODE_STATE_MAINT)
		return "maint";
	if (node->late)
		return "late";
	if (!node->up)
		return "down";
	return node->used ? "busy" : "idle";
}

static bool derive_request(const struct live *live, const slurm_job_info_t *info,
			   struct sn_place_request *ret)
{
	const char *gres = live->policy.card_gres;
	uint64_t per_node = gres_count(info->tres_per_node, gres);
	uint64_t per_task = gres_count(info->tres_per_task, gres);
	uint64_t per_job = gres_count(info->tres_per_job, gres);
	uint32_t nodes = info->num_nodes ? info->num_nodes : 1;
	uint64_t block = per_node ? per_node : per_task ? per_task : 1;
	uint64_t world = per_node ? per_node * nodes :
		per_task ? per_task * info->num_tasks : per_job;

	if (!world || world > SN_WORLD_MAX || block > SN_CARDS_MAX)
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->world = (uint32_t)world;
	ret->node_block = ret->unit_block = ret->atom = (uint32_t)block;
	ret->exact_nodes = per_node ? nodes : 0;
	return true;
}

bool live_request(const struct live *live, const struct live_job *job,
		  struct sn_place_request *ret)
{
	const slurm_job_info_t *info = job->info;

	if (job->has_spec && job->spec.has_parallel) {
		sn_place_request_init(ret, &job->spec);
		if (live_most_nodes(live, job) == info->num_nodes)
			ret->exact_nodes = info->num_nodes;
	} else if (!derive_request(live, info, ret)) {
		return false;
	}
	ret->whole_nodes = info->shared == JOB_SHARED_NONE;
	return true;
}

int live_state(const struct live *live, struct sn_place_node **ret_node,
	       struct sn_place_supernode **ret_supernode, struct sn_err *err)
{
	const struct sn_topo *topo = live->topo;
	struct sn_place_node *node = calloc(topo->n_nodes + 1, sizeof(*node));
	struct sn_place_supernode *sn = calloc(topo->n_supernodes + 1, sizeof(*sn));

	if (!node || !sn) {
		free(node);
		free(sn);
		return sn_err_set(err, -ENOMEM, "no memory");
	}
	for (uint32_t n = 0; n < topo->n_nodes; n++) {
		const struct live_node *from = &live->node[n];

		node[n].cards = from->cards;
		node[n].free = live_free(from);
		node[n].weight = from->info ? from->info->weight : 1;
		node[n].max_ranks = UINT32_MAX;
		node[n].flags = (from->up ? 0 : SN_NODE_ABSENT) |
			(from->late ? SN_NODE_LATE : 0);
	}
	live_pools(live, NULL, sn);
	*ret_node = node;
	*ret_supernode = sn;
	return 0;
}
