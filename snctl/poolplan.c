/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolplan.c - a pool region with a name, before it is made and taken away.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launcher/extratext.h"
#include "snctl/nodeextra.h"
#include "snctl/poollimit.h"
#include "snctl/poolplan.h"
#include "topology/hostlist.h"
#include "topology/text.h"

void poolplan_done(struct poolplan *plan)
{
	for (uint32_t i = 0; i < plan->n; i++)
		free(plan->node[i]);
	free(plan->node);
	free(plan->supernode);
	memset(plan, 0, sizeof(*plan));
}

static int no_memory(struct sn_err *err)
{
	return sn_err_set(err, -ENOMEM, "no memory");
}

/* ---- whose, and where ------------------------------------------------------------- */

static const struct live_job *find_job(const struct live *live, uint32_t id)
{
	for (uint32_t j = 0; j < live->n_jobs; j++)
		if (live->job[j].info->job_id == id && live->job[j].running)
			return &live->job[j];
	return NULL;
}

static int find_user(const struct poolplan_ask *ask, const struct live_job *job,
		     uint32_t *ret, struct sn_err *err)
{
	*ret = ask->has_uid ? ask->uid : job ? job->info->user_id : ask->by;
	if (job && *ret != job->info->user_id)
		return sn_err_set(err, -EINVAL,
				  "--user: job %u is user %u's, and a region never serves two users",
				  ask->job, job->info->user_id);
	if (ask->limited && *ret != ask->by)
		return sn_err_set(err, -EPERM,
				  "user %u creates regions for himself only; for user %u root or SlurmUser does",
				  ask->by, *ret);
	return 0;
}

static int find_supernode(const struct live *live, const struct poolplan_ask *ask,
			  const struct live_job *job, uint32_t *ret, struct sn_err *err)
{
	uint32_t s = SN_NONE;

	if (ask->supernode) {
		s = sn_topo_find_supernode(live->topo, ask->supernode);
		if (s == SN_NONE)
			return sn_err_set(err, -ENOENT,
					  "--supernode=%.80s: topology.conf has no such supernode",
					  ask->supernode);
	}
	for (uint32_t i = 0; job && i < job->n_nodes; i++) {
		uint32_t at = live->topo->node[job->node[i]].supernode;

		if (s != SN_NONE && at != s)
			return sn_err_set(err, -EINVAL,
					  "--job=%u: the job is in %s and in %s, and a region is in one supernode; give --supernode",
					  ask->job, live->topo->supernode[s].name,
					  live->topo->supernode[at].name);
		s = at;
	}
	if (s == SN_NONE)
		return sn_err_set(err, -EINVAL,
				  "where? give --supernode=NAME, or --job=JOBID for the supernode in which that job runs");
	*ret = s;
	return 0;
}

static int add_node(struct poolplan *plan, const char *name)
{
	plan->node[plan->n] = strdup(name);
	if (!plan->node[plan->n])
		return -ENOMEM;
	plan->n++;
	return 0;
}

static int find_nodes(const struct live *live, const struct poolplan_ask *ask,
		      uint32_t s, struct poolplan *plan, struct sn_err *err)
{
	const struct sn_topo_supernode *sn = &live->topo->supernode[s];
	struct sn_names names = { NULL, 0, 0 };
	int rc = 0;

	plan->supernode = strdup(sn->name);
	plan->node = calloc((size_t)sn->n_nodes + 1, sizeof(*plan->node));
	if (!plan->supernode || !plan->node)
		return no_memory(err);
	if (ask->nodes)
		rc = sn_hostlist_expand(ask->nodes, &names, err);
	if (rc)
		return sn_err_prefix(err, rc, "--nodes: ");
	for (size_t i = 0; i < names.n && !rc; i++) {
		uint32_t n = sn_topo_find_node(live->topo, names.name[i]);

		if (n == SN_NONE || live->topo->node[n].supernode != s)
			rc = sn_err_set(err, -EINVAL,
					"--nodes=%.80s: %s is not in supernode %s, and a region never leaves its supernode",
					ask->nodes, names.name[i], sn->name);
	}
	for (uint32_t k = sn->first_node; !rc && k < sn->first_node + sn->n_nodes; k++) {
		bool in = !ask->nodes;

		for (size_t i = 0; i < names.n && !in; i++)
			in = !strcmp(names.name[i], live->topo->node[k].name);
		if (in && live->node[k].info && add_node(plan, live->topo->node[k].name))
			rc = no_memory(err);
	}
	sn_names_done(&names);
	if (!rc && !plan->n)
		rc = sn_err_set(err, -EINVAL, "there is no node to put the region on");
	return rc;
}

/* "400G": of the region; "50G/node". */
static int find_size(const struct poolplan_ask *ask, struct poolplan *plan,
		     struct sn_err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bytes;
	char text[64];
	size_t len = ask->size ? strlen(ask->size) : 0;
	bool each = len > 5 && !strcmp(ask->size + len - 5, "/node");
	int rc;

	if (!len)
		return sn_err_set(err, -EINVAL, "--size=SIZE or --size=SIZE/node is missing");
	snprintf(text, sizeof(text), "%.*s", (int)(each ? len - 5 : len), ask->size);
	rc = sn_parse_size(text, &bytes, err);
	if (rc)
		return sn_err_prefix(err, rc, "--size: ");
	if (!each)
		bytes /= plan->n;
	bytes = bytes / page * page;
	if (!bytes)
		return sn_err_set(err, -EINVAL,
				  "--size=%s: that is less than one page of %" PRIu64 " bytes on each of %u nodes",
				  ask->size, page, plan->n);
	plan->entry.bytes = bytes;
	return 0;
}

/* ---- may it be? ------------------------------------------------------------------- */

static bool is_users(uint32_t uid, const struct poolplan_ask *ask)
{
	return uid && uid != ask->slurm_uid;
}

int poolplan_check(const struct live *live, const struct pool_names *names,
		   const struct poolplan_ask *ask, const struct poolplan *plan,
		   struct sn_err *err)
{
	uint32_t s = sn_topo_find_supernode(live->topo, plan->supernode);
	const struct sn_topo_supernode *sn = s == SN_NONE ? NULL : &live->topo->supernode[s];
	unsigned __int128 want = (unsigned __int128)plan->entry.bytes * plan->n;
	struct poollimit limit = {
		.supernode = plan->supernode,
		.want = want > UINT64_MAX ? UINT64_MAX : (uint64_t)want,
		.limited = ask->limited,
		.percent = ask->percent,
		.percent_user = ask->percent_user,
		.uid = plan->entry.uid,
	};

	if (!sn || !sn->has_pool)
		return sn_err_set(err, -ENOSPC,
				  "supernode %s has no PoolMemory in topology.conf",
				  plan->supernode);
	limit.memory = sn->pool_memory;
	limit.there = live_pool_memory(live, s);
	for (uint32_t j = 0; j < live->n_jobs; j++) {
		uint64_t bytes, bandwidth;

		live_pool_use(&live->job[j], s, &bytes, &bandwidth);
		limit.held += bytes;
	}
	for (uint32_t i = 0; i < names->n; i++) {
		const struct sn_poolbook_entry *is = &names->name[i].entry;

		if (names->name[i].supernode != s ||
		    (!strcmp(is->name, plan->entry.name) && is->id == plan->entry.id))
			continue;
		limit.held += is->bytes;
		limit.by_users += is_users(is->uid, ask) ? is->bytes : 0;
		limit.by_user += is->uid == plan->entry.uid ? is->bytes : 0;
	}
	return poollimit_check(&limit, err);
}

/* The same region, asked for once more: by one whose answer was lost, say. */
static bool is_same(const struct live *live, const struct pool_name *is,
		    const struct poolplan *plan)
{
	if (is->entry.uid != plan->entry.uid || is->n_nodes != plan->n ||
	    is->entry.bytes != plan->entry.bytes * plan->n)
		return false;
	for (uint32_t k = 0; k < plan->n; k++)
		if (strcmp(live->topo->node[is->node[k]].name, plan->node[k]))
			return false;
	return true;
}

/* What cannot be read back is not written. */
static int check_name(const struct poolplan *plan, struct sn_err *err)
{
	struct sn_poolbook_entry again;
	char *probe;
	int rc = sn_poolbook_write(NULL, &plan->entry, &probe, err);

	if (rc)
		return rc;
	if (sn_poolbook_find(probe, plan->entry.name, &again, NULL))
		rc = sn_err_set(err, -EINVAL,
				"\"%.60s\": want letters, digits, \"_\", \"-\" and \".\"",
				plan->entry.name);
	free(probe);
	return rc;
}

static int set_name(const char *name, struct poolplan *plan, struct sn_err *err)
{
	struct timespec now;

	if (strlen(name) >= sizeof(plan->entry.name))
		return sn_err_set(err, -EINVAL, "the name has %zu characters, more than %zu",
				  strlen(name), sizeof(plan->entry.name) - 1);
	strcpy(plan->entry.name, name);
	/* One that is deleted and made again at once is another. */
	clock_gettime(CLOCK_REALTIME, &now);
	plan->entry.id = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	return 0;
}

int poolplan_create(const struct live *live, const struct pool_names *names,
		    const struct poolplan_ask *ask, struct poolplan *ret,
		    struct sn_err *err)
{
	const struct live_job *job = ask->job ? find_job(live, ask->job) : NULL;
	const struct pool_name *is = pool_names_find(names, ask->name);
	uint32_t s = SN_NONE;
	int rc;

	memset(ret, 0, sizeof(*ret));
	ret->limited = ask->limited;
	if (ask->job && !job)
		return sn_err_set(err, -ENOENT, "--job=%u: no such job runs", ask->job);
	rc = set_name(ask->name, ret, err);
	if (!rc)
		rc = find_user(ask, job, &ret->entry.uid, err);
	if (!rc)
		rc = find_supernode(live, ask, job, &s, err);
	if (!rc)
		rc = find_nodes(live, ask, s, ret, err);
	if (!rc)
		rc = find_size(ask, ret, err);
	if (!rc)
		rc = check_name(ret, err);
	ret->exists = !rc && is && is_same(live, is, ret);
	if (!rc && is && !ret->exists)
		rc = sn_err_set(err, -EEXIST, "there is a pool region %s already", ask->name);
	if (!rc && !ret->exists)
		rc = poolplan_check(live, names, ask, ret, err);
	if (rc)
		poolplan_done(ret);
	return rc;
}

/* ---- away with it ------------------------------------------------------------------- */

static int refuse_in_use(const struct live *live, const struct pool_name *p,
			 struct sn_err *err)
{
	struct sn_buf jobs = { 0 };

	for (uint32_t j = 0; j < live->n_jobs; j++)
		if (live->job[j].running && pool_name_has_job(p, &live->job[j]))
			sn_buf_add(&jobs, "%s%u", jobs.len ? ", " : "",
				   live->job[j].info->job_id);
	sn_err_set(err, -EBUSY, "the pool region %s is in use by job%s %.200s; it can be deleted when they have ended",
		   p->entry.name, p->running > 1 ? "s" : "",
		   jobs.text ? jobs.text : "");
	sn_buf_done(&jobs);
	return -EBUSY;
}

int poolplan_drop(const struct live *live, const struct pool_names *names,
		  const struct poolplan_ask *ask, struct poolplan *ret,
		  struct sn_err *err)
{
	const struct pool_name *p = pool_names_find(names, ask->name);
	int rc = 0;

	memset(ret, 0, sizeof(*ret));
	if (!p)
		return sn_err_set(err, -ENOENT, "there is no pool region %.80s", ask->name);
	if (ask->limited && p->entry.uid != ask->by)
		return sn_err_set(err, -EPERM,
				  "the pool region %s is user %u's; he, root and SlurmUser can delete it",
				  p->entry.name, p->entry.uid);
	if (p->running)
		return refuse_in_use(live, p, err);
	ret->entry = p->entry;
	ret->entry.bytes = 0;
	ret->waiting = p->waiting;
	ret->supernode = strdup(live->topo->supernode[p->supernode].name);
	ret->node = calloc((size_t)p->n_nodes + 1, sizeof(*ret->node));
	if (!ret->supernode || !ret->node)
		rc = no_memory(err);
	for (uint32_t k = 0; k < p->n_nodes && !rc; k++)
		if (add_node(ret, live->topo->node[p->node[k]].name))
			rc = no_memory(err);
	if (rc)
		poolplan_done(ret);
	return rc;
}

/* ---- into the records --------------------------------------------------------------- */

static int put(void *ctx, const char *node, const char *extra, char **ret,
	       struct sn_err *err)
{
	const struct poolplan *plan = ctx;
	struct sn_poolbook_entry is;
	int rc;

	(void)node;
	if (!sn_poolbook_find(extra, plan->entry.name, &is, NULL) &&
	    is.id != plan->entry.id)
		return sn_err_set(err, -EEXIST,
				  "somebody else has made a pool region %s at the same time; try again",
				  plan->entry.name);
	rc = sn_poolbook_write(extra, &plan->entry, ret, err);
	/* A node whose record is full could take no health marks any more. */
	if (!rc && plan->limited && plan->entry.bytes && strlen(*ret) > SN_EXTRA_MAX / 2) {
		free(*ret);
		*ret = NULL;
		rc = sn_err_set(err, -ENOSPC,
				"its record has no room for more regions of users (%u bytes); delete one first",
				SN_EXTRA_MAX / 2);
	}
	return rc;
}

int poolplan_write(struct poolplan *plan, struct sn_err *err)
{
	return nodeextra_change((const char *const *)plan->node, plan->n, put, plan, err);
}
