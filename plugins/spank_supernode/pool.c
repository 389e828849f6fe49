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
#include "launcher/stepenv.h"
#include "plugins/common/sitefiles.h"
#include "plugins/common/stepnodes.h"
#include "plugins/spank_supernode/ctlask.h"
#include "plugins/spank_supernode/pool.h"
#include "plugins/spank_supernode/poolnode.h"
#include "plugins/spank_supernode/spank_supernode.h"
#include "snctl/gresidx.h"
#include "topology/hostlist.h"
#include "topology/jobcomment.h"
#include "topology/joblost.h"
#include "topology/poolleft.h"
#include "topology/poolshare.h"

/* One slurmstepd is one step on one node. */
static struct sn_policy policy;
static bool failed;
static struct sn_err why;

/* ---- this node's share ------------------------------------------------------------ */

struct holding {
	struct sn_spares_node *node; /* [n] the job's */
	uint32_t *ranks; /* [n] */
	uint32_t n, me; /* node[me] is this one; SN_NONE: it is not the job's */
	struct sn_poolleft_share *share; /* [n_supernodes] */
	struct sn_joblost lost;
};

static void holding_done(struct holding *h)
{
	free(h->node);
	free(h->ranks);
	free(h->share);
	sn_joblost_done(&h->lost);
}

static int list_nodes(const slurm_job_info_t *info, struct sn_topo *topo,
		      const char *node, struct holding *h, struct sn_err *err)
{
	const char *list = pool_job_nodes(info);
	struct sn_names names = { NULL, 0, 0 };
	int rc = sn_hostlist_expand(list ? list : "", &names, err);

	if (!rc)
		rc = sn_stepnodes_know(topo, &names);
	h->me = SN_NONE;
	h->node = calloc(names.n + 1, sizeof(*h->node));
	h->ranks = calloc(names.n + 1, sizeof(*h->ranks));
	h->share = calloc((size_t)topo->n_supernodes + 1, sizeof(*h->share));
	if (!rc && (!h->node || !h->ranks || !h->share))
		rc = sn_err_set(err, -ENOMEM, "no memory for %zu nodes", names.n);
	for (size_t i = 0; !rc && i < names.n && i < info->gres_detail_cnt; i++) {
		if (!strcmp(names.name[i], node))
			h->me = h->n;
		h->node[h->n++] = (struct sn_spares_node){
			sn_topo_find_node(topo, names.name[i]),
			(uint32_t)gres_count(info->gres_detail_str[i],
					     policy.card_gres),
		};
	}
	sn_names_done(&names);
	return rc;
}

/*
 * A spare has its share once it runs ranks: when a node of its supernode is lost,
 * or when snrun says so, which may put it in the place of a node that it has found
 * ill and that is still the job's.
 *
 * That word (tasks) is in the step's environment, so its user can have said it himself.
 * No node knows which others have regions of the job, so this one cannot tell whether
 * another has given its own back. It gets no more than its cards' part all the same: what
 * a job can have in a supernode is bounded by the cards that it holds there, not by its
 * ranks, and without spares these are the same (admin-guide.md, "Pool regions").
 */
static int own_share(const slurm_job_info_t *info, const struct sn_jobspec *spec,
		     const char *node, uint32_t tasks, uint64_t *ret,
		     struct sn_err *err)
{
	struct sn_topo *topo = NULL;
	struct holding h = { 0 };
	bool lost = false;
	int rc;

	*ret = 0;
	rc = sn_site_topology_in_effect(&topo, err);
	if (!rc)
		rc = list_nodes(info, topo, node, &h, err);
	if (!rc && spec->spares &&
	    sn_joblost_find(topo, info->admin_comment, h.node, h.n, &h.lost,
			    NULL) == -ENOMEM)
		rc = sn_err_set(err, -ENOMEM, "no memory");
	if (!rc)
		rc = sn_poolleft_job(topo, spec, h.node, h.n, h.lost.count,
				     h.share, h.ranks, &lost, err);
	if (!rc && h.me != SN_NONE) {
		uint32_t s = topo->node[h.node[h.me].node].supernode;
		uint32_t here = h.ranks[h.me], all = h.share[s].ranks;

		if (tasks && (lost || !here))
			here = tasks < h.node[h.me].cards ? tasks :
				h.node[h.me].cards;
		*ret = sn_poolshare_node(spec->pool.per, spec->pool.size,
					 here < all ? here : all, all,
					 spec->has_parallel ?
					 spec->layout.world : all);
	}
	holding_done(&h);
	sn_topo_destroy(topo);
	return rc;
}

/* -ENOENT: the job has nothing of the pool here. */
static int find_out(uint32_t job, const char *node, uint32_t tasks,
		    struct sn_jobspec *spec, struct sn_poolbook_entry *entry,
		    struct sn_region_ask *ret, struct sn_err *err)
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
		rc = own_share(info, spec, node, tasks, &ret->bytes, err);
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
		       uint32_t tasks, struct sn_region *ret,
		       struct sn_err *err)
{
	struct sn_region_ask ask = { 0 };
	struct sn_poolbook_entry entry;
	struct sn_region_node at;
	struct sn_jobspec spec;
	int rc = find_out(job, node, tasks, &spec, &entry, &ask,
			  err);

	if (rc)
		return rc;
	if (ask.uid != uid)
		return sn_err_set(err, -EPERM,
				  "the step is user %u's, and the job user %u's",
				  uid, ask.uid);
	if (!ask.bytes)
		return -ENODATA; /* a node of the job without ranks */
	rc = sn_region_open(&policy, node, true, &at, err);
	if (rc)
		return rc;
	rc = sn_region_make(&at, &ask, ret, err);
	sn_region_close(&at);
	return rc;
}

/* A step of snrun's own, as preflight's: a node that it finds ill runs no ranks, and
 * a region there would be one more than the pool has been charged for. */
static bool is_without_ranks(spank_t sp, bool *ret_leave)
{
	char word[sizeof(SN_STEPENV_LEAVE)];

	if (spank_getenv(sp, SN_STEPENV_NO_RANKS, word, sizeof(word)) != ESPANK_SUCCESS)
		return false;
	*ret_leave = !strcmp(word, SN_STEPENV_LEAVE);
	return true;
}

/* The step is the job's owner's, and the region no other's. */
static void leave_region(uint32_t job, uint32_t uid, const char *node)
{
	struct sn_region region;
	struct sn_region_node at;
	struct sn_err err;
	int rc = sn_site_policy(&policy, &err);

	if (!rc)
		rc = sn_region_open(&policy, node, false, &at, &err);
	if (rc == -ENOENT)
		return;
	if (!rc) {
		rc = sn_region_find(&at, job, uid, &region, &err);
		if (!rc)
			rc = sn_region_destroy(&at, job, &err);
		sn_region_close(&at);
	}
	if (rc && rc != -ENOENT)
		slurm_error("supernode: job %u: its pool region on %s stays: %s", job,
			    node, err.text);
}

void pool_prepare(spank_t sp, uint32_t tasks)
{
	const char *node = pool_node_name();
	struct sn_region region;
	uint32_t job, step;
	bool leave = false;
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
	if (is_without_ranks(sp, &leave)) {
		if (leave)
			leave_region(job, uid, node);
		return;
	}
	rc = sn_site_policy(&policy, &why);
	if (!rc && (policy.pool_provider == SN_POOL_PROVIDER_NONE ||
		    !may_have_region(job, node)))
		return; /* most jobs */
	if (!rc) {
		rc = find_region(job, uid, node, &region, NULL);
		if (rc && rc != -EPERM && !options_has_pool())
			return;
		if (rc)
			rc = make_region(job, uid, node, tasks, &region, &why);
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
