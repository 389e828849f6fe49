/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolmem.c - the memory of a job's pool regions, in what it asks of Slurm.
 */
#include "plugins/compat.h"

#include <errno.h>

#include "src/common/node_conf.h"
#include "src/common/read_config.h"

#include "plugins/job_submit_supernode/poolmem.h"
#include "topology/poolshare.h"
#include "topology/text.h"

#define MB (UINT64_C(1) << 20)

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint64_t div_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

/* The greatest share of a node on which `here` ranks run. */
static uint64_t node_share(const struct plan *plan, uint32_t here,
			   uint64_t named_bytes)
{
	const struct sn_pool *pool = &plan->spec->pool;
	uint32_t atom = plan->spec->layout.atom;
	/* One atom in a supernode: the fewest that its pool is shared by. */
	uint32_t all = pool->per == SN_POOL_SUPERNODE ? atom : plan->world;

	if (pool->per == SN_POOL_NAMED)
		return pool->read_only ? 0 : named_bytes;
	return sn_poolshare_node(pool->per, pool->size, least(here, all), all,
				 plan->world);
}

uint64_t poolmem_more(const struct plan *plan, bool per_cpu,
		      uint32_t cpus_per_task, uint64_t named_bytes)
{
	const struct sn_layout *layout = &plan->spec->layout;
	uint32_t block = layout->node_block ? layout->node_block : 1;
	uint64_t bytes;

	if (!per_cpu)
		return div_up(node_share(plan, least(plan->most, plan->world),
					 named_bytes), MB);
	bytes = node_share(plan, block, named_bytes);
	return div_up(bytes, MB * block * cpus_per_task);
}

static bool counts(const struct plan *plan, const struct sn_policy *policy)
{
	return plan->spec->pool.per != SN_POOL_NONE &&
		policy->pool_provider == SN_POOL_PROVIDER_TMPFS &&
		slurm_conf.select_type_param & SN_SELECT_MEMORY;
}

static uint64_t default_memory(const job_desc_msg_t *job_desc)
{
	char *name = job_desc->partition;
	part_record_t *part = name && !strchr(name, ',') ?
		find_part_record(name) : name ? NULL : default_part_loc;

	if (part && part->def_mem_per_cpu)
		return part->def_mem_per_cpu;
	return slurm_conf.def_mem_per_cpu;
}

static uint32_t cpus(uint16_t cpus_per_task)
{
	return plan_is_set16(cpus_per_task) ? cpus_per_task : 1;
}

static int check_nodes(const struct plan *plan, uint64_t named_bytes,
		       struct sn_err *err)
{
	uint32_t block = plan->spec->layout.node_block, here;
	uint64_t most = 0, want;
	node_record_t *node_ptr;
	char text[2][32];
	int i;

	for (i = 0; (node_ptr = next_node(&i)); i++)
		if (node_ptr->real_memory > most + node_ptr->mem_spec_limit)
			most = node_ptr->real_memory - node_ptr->mem_spec_limit;
	here = block ? block : 1;
	want = node_share(plan, here, named_bytes);
	if (want / MB <= most)
		return 0;
	sn_format_size(want, text[0], sizeof(text[0]));
	sn_format_size(most * MB, text[1], sizeof(text[1]));
	return sn_err_set(err, -ENOSPC,
			  "--pool: the share of a node is %s at least, which counts as the job's memory (supernode.conf's PoolProvider=tmpfs), and no node has more than %s",
			  text[0], text[1]);
}

int poolmem_add(job_desc_msg_t *job_desc, const struct plan *plan,
		const struct sn_policy *policy, uint64_t named_bytes, uint64_t *ret_mb,
		struct sn_err *err)
{
	uint64_t memory = job_desc->pn_min_memory;
	bool per_cpu;
	int rc;

	*ret_mb = 0;
	if (!counts(plan, policy))
		return 0;
	if (job_desc->mem_per_tres)
		return sn_err_set(err, -EINVAL,
				  "--mem-per-gpu does not go with --pool, whose memory is added to the job's; give --mem-per-cpu or --mem");
	rc = check_nodes(plan, named_bytes, err);
	if (rc)
		return rc;
	if (memory == NO_VAL64)
		memory = default_memory(job_desc);
	/* All memory of the nodes, then. */
	if (!(memory & ~MEM_PER_CPU))
		return 0;
	per_cpu = memory & MEM_PER_CPU;
	*ret_mb = poolmem_more(plan, per_cpu, cpus(job_desc->cpus_per_task),
			       named_bytes);
	job_desc->pn_min_memory = memory + *ret_mb;
	return 0;
}

uint64_t poolmem_change(job_desc_msg_t *job_desc, const job_record_t *job_ptr, uint64_t was,
			const struct plan *plan, const struct sn_policy *policy)
{
	uint64_t memory = job_ptr->details->pn_min_memory, now;

	if (!was || !counts(plan, policy) || plan->spec->pool.per == SN_POOL_NAMED ||
	    (memory & ~MEM_PER_CPU) <= was)
		return was;
	now = poolmem_more(plan, memory & MEM_PER_CPU, cpus(job_ptr->details->cpus_per_task), 0);
	if (now != was)
		job_desc->pn_min_memory = memory - was + now;
	return now;
}
