/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pool.c - a job's region of the pool, from its first step on a node to its end.
 *
 * How large it is and whose comes from slurmctld's records alone: the options of
 * a step are what its user typed. Only the first step of a job on a node asks.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/poolbook.h"
#include "launcher/region.h"
#include "plugins/common/sitefiles.h"
#include "plugins/spank_supernode/ctlask.h"
#include "plugins/spank_supernode/pool.h"
#include "plugins/spank_supernode/poolnode.h"
#include "plugins/spank_supernode/spank_supernode.h"
#include "snctl/gresidx.h"
#include "topology/hostlist.h"
#include "topology/jobcomment.h"
#include "topology/poolshare.h"

/* One slurmstepd is one step on one node. */
static struct sn_policy policy;
static bool failed;
static struct sn_err why;

/* ---- this node's share ------------------------------------------------------------ */

/* The cards that the job has here and in all of this node's supernode. */
static int count_cards(const slurm_job_info_t *info, const struct sn_topo *topo,
		       const char *node, uint32_t *ret_here, uint32_t *ret_all,
		       struct sn_err *err)
{
	const char *list = pool_job_nodes(info);
	uint32_t me = sn_topo_find_node(topo, node);
	struct sn_names names = { NULL, 0, 0 };
	int rc;

	*ret_here = *ret_all = 0;
	if (me == SN_NONE)
		return sn_err_set(err, -ENOENT, "topology.conf does not have this node");
	rc = sn_hostlist_expand(list ? list : "", &names, err);
	for (size_t i = 0; !rc && i < names.n && i < info->gres_detail_cnt; i++) {
		uint32_t t = sn_topo_find_node(topo, names.name[i]);
		uint32_t cards = (uint32_t)gres_count(info->gres_detail_str[i],
						      policy.card_gres);

		if (t == SN_NONE ||
		    topo->node[t].supernode != topo->node[me].supernode)
			continue;
		*ret_all += cards;
		if (t == me)
			*ret_here = cards;
	}
	sn_names_done(&names);
	return rc;
}

static int own_share(const slurm_job_info_t *info, const struct sn_jobspec *spec,
		     const char *node, uint64_t *ret, struct sn_err *err)
{
	struct sn_topo *topo = NULL;
	uint32_t here, all;
	int rc;

	rc = sn_site_topology_in_effect(&topo, err);
	if (!rc && sn_topo_find_node(topo, node) == SN_NONE)
		rc = sn_topo_add_loose(topo, node, err);
	if (!rc)
		rc = count_cards(info, topo, node, &here, &all, err);
	if (!rc)
		*ret = sn_poolshare_node(spec->pool.per, spec->pool.size, here,
					 all, spec->has_parallel ?
					 spec->layout.world : all);
	sn_topo_destroy(topo);
	return rc;
}

/* -ENOENT: the job has nothing of the pool here. */
static int find_out(uint32_t job, const char *node, struct sn_jobspec *spec,
		    struct sn_poolbook_entry *entry, struct sn_region_ask *ret,
		    struct sn_err *err)
{
	struct ctl_answer answer;
	const slurm_job_info_t *info;
	int rc = ctl_ask(job, node, &answer, err);

	if (rc)
		return rc;
	info = ctl_answer_job(&answer, job);
	if (!info)
		rc = sn_err_set(err, -EIO, "slurmctld has told of another job");
	if (!rc)
		rc = sn_jobcomment_read(info->admin_comment, 0, spec, err);
	if (!rc && spec->pool.per == SN_POOL_NONE)
		rc = sn_err_set(err, -ENOENT,
				"the job was submitted without --pool; memory is counted for jobs, so a step cannot ask for it");
	if (!rc && spec->pool.per == SN_POOL_NAMED) {
		rc = sn_poolbook_find(ctl_answer_extra(&answer, node),
				      spec->pool.name, entry, err);
		if (!rc && entry->uid != info->user_id)
			rc = sn_err_set(err, -EPERM,
					"the pool region %s belongs to user %u",
					entry->name, entry->uid);
		if (!rc) {
			ret->name = entry->name;
			ret->incarnation = entry->id;
			ret->bytes = entry->bytes;
			ret->read_only = spec->pool.read_only;
		}
	} else if (!rc) {
		rc = own_share(info, spec, node, &ret->bytes, err);
	}
	if (!rc) {
		ret->job = job;
		ret->uid = info->user_id;
		ret->gid = info->group_id;
	}
	ctl_answer_done(&answer);
	return rc;
}

/* ---- a step ------------------------------------------------------------------------ */

static void tell_tasks(spank_t sp, const struct sn_region *region)
{
	char bytes[24];

	snprintf(bytes, sizeof(bytes), "%" PRIu64, region->bytes);
	/* Of this node, so what came with srun's environment is another's. */
	spank_setenv(sp, "SUPERNODE_POOL_DIR", region->path, 1);
	spank_setenv(sp, "SUPERNODE_POOL_BYTES", bytes, 1);
	spank_setenv(sp, "ASCEND_MEMORY_POOL", "1", 0);
}

static int find_region(uint32_t job, uint32_t uid, const char *node,
		       struct sn_region *ret, struct sn_err *err)
{
	struct sn_region_node at;
	int rc = sn_region_open(&policy, node, false, &at, err);

	if (rc)
		return rc;
	rc = sn_region_find(&at, job, uid, ret, err);
	sn_region_close(&at);
	return rc;
}

/* Without the lock, which a site's program may hold for long. */
static bool may_have_region(uint32_t job, const char *node)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/job-%u", policy.pool_dir, node, job);
	return options_has_pool() || !access(path, F_OK);
}

static int make_region(uint32_t job, uint32_t uid, const char *node,
		       struct sn_region *ret, struct sn_err *err)
{
	struct sn_region_ask ask = { 0 };
	struct sn_poolbook_entry entry;
	struct sn_region_node at;
	struct sn_jobspec spec;
	int rc = find_out(job, node, &spec, &entry, &ask, err);

	if (rc)
		return rc;
	if (ask.uid != uid)
		return sn_err_set(err, -EPERM,
				  "the step is user %u's, and the job user %u's",
				  uid, ask.uid);
	if (!ask.bytes)
		return -ENODATA; /* a node of the job without cards */
	rc = sn_region_open(&policy, node, true, &at, err);
	if (rc)
		return rc;
	rc = sn_region_make(&at, &ask, ret, err);
	sn_region_close(&at);
	return rc;
}

void pool_prepare(spank_t sp)
{
	const char *node = pool_node_name();
	struct sn_region region;
	uint32_t job, step;
	uid_t uid;
	int rc;

	if (spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_UID, &uid) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS || !node)
		return;
	spank_unsetenv(sp, "SUPERNODE_POOL_DIR");
	spank_unsetenv(sp, "SUPERNODE_POOL_BYTES");
	if (step == SLURM_EXTERN_CONT)
		return;
	rc = sn_site_policy(&policy, &why);
	if (!rc && (policy.pool_provider == SN_POOL_PROVIDER_NONE ||
		    !may_have_region(job, node)))
		return; /* most jobs */
	if (!rc) {
		rc = find_region(job, uid, node, &region, NULL);
		if (rc && rc != -EPERM && !options_has_pool())
			return;
		if (rc)
			rc = make_region(job, uid, node, &region, &why);
	} else if (!options_has_pool()) {
		return;
	}
	if (!rc)
		tell_tasks(sp, &region);
	else if (rc != -ENODATA)
		failed = true;
	if (failed)
		slurm_error("supernode: job %u: no pool region on %s: %s", job,
			    node, why.text);
}

bool pool_task_may_run(spank_t sp)
{
	const char *node = pool_node_name();
	uint32_t local;

	if (!failed)
		return true;
	if (spank_get_item(sp, S_TASK_ID, &local) != ESPANK_SUCCESS || !local)
		slurm_error("supernode: --pool: no region on %s, so the tasks do not run there: %s",
			    node ? node : "this node", why.text);
	return false;
}
