/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_pool.c - snctl pool: regions of the pool with names, which outlive jobs.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "snctl/cli.h"
#include "snctl/live.h"
#include "snctl/nodeextra.h"
#include "snctl/poolnames.h"
#include "snctl/snctl.h"
#include "snctl/term.h"
#include "topology/hostlist.h"
#include "topology/text.h"

struct options {
	const char *config, *size, *supernode, *nodes, *user;
	uint32_t job;
	bool json;
};

/* ---- create ------------------------------------------------------------------------ */

struct plan {
	struct sn_poolbook_entry entry;
	uint32_t supernode;
	const char **node; /* [n], names */
	uint32_t n;
};

static int find_user(const struct options *o, const struct live_job *job,
		     uint32_t *ret, struct sn_err *err)
{
	const struct passwd *pw;
	uint64_t uid;

	*ret = job ? job->info->user_id : (uint32_t)getuid();
	if (!o->user)
		return 0;
	pw = getpwnam(o->user);
	if (pw)
		uid = pw->pw_uid;
	else if (sn_parse_uint(o->user, 0, UINT32_MAX - 1, &uid, NULL))
		return sn_err_set(err, -EINVAL, "--user=%.60s: no such user", o->user);
	if (job && uid != job->info->user_id)
		return sn_err_set(err, -EINVAL,
				  "--user=%s: job %u is user %u's, and a region never serves two users",
				  o->user, o->job, job->info->user_id);
	*ret = (uint32_t)uid;
	return 0;
}

static int find_supernode(const struct live *live, const struct options *o,
			  const struct live_job *job, uint32_t *ret,
			  struct sn_err *err)
{
	uint32_t s = SN_NONE;

	if (o->supernode) {
		s = sn_topo_find_supernode(live->topo, o->supernode);
		if (s == SN_NONE)
			return sn_err_set(err, -ENOENT,
					  "--supernode=%.80s: topology.conf has no such supernode",
					  o->supernode);
	}
	for (uint32_t i = 0; job && i < job->n_nodes; i++) {
		uint32_t at = live->topo->node[job->node[i]].supernode;

		if (s != SN_NONE && at != s)
			return sn_err_set(err, -EINVAL,
					  "--job=%u: the job is in %s and in %s, and a region is in one supernode; give --supernode",
					  o->job, live->topo->supernode[s].name,
					  live->topo->supernode[at].name);
		s = at;
	}
	if (s == SN_NONE)
		return sn_err_set(err, -EINVAL,
				  "where? give --supernode=NAME, or --job=JOBID for the supernode in which that job runs");
	*ret = s;
	return 0;
}

static int find_nodes(const struct live *live, const struct options *o,
		      struct plan *plan, struct sn_err *err)
{
	const struct sn_topo_supernode *sn = &live->topo->supernode[plan->supernode];
	struct sn_names names = { NULL, 0, 0 };
	int rc = 0;

	plan->node = calloc((size_t)sn->n_nodes + 1, sizeof(*plan->node));
	if (!plan->node)
		return sn_err_set(err, -ENOMEM, "no memory");
	if (o->nodes)
		rc = sn_hostlist_expand(o->nodes, &names, err);
	if (rc)
		return sn_err_prefix(err, rc, "--nodes: ");
	for (size_t i = 0; i < names.n && !rc; i++) {
		uint32_t n = sn_topo_find_node(live->topo, names.name[i]);

		if (n == SN_NONE || live->topo->node[n].supernode != plan->supernode)
			rc = sn_err_set(err, -EINVAL,
					"--nodes=%.80s: %s is not in supernode %s, and a region never leaves its supernode",
					o->nodes, names.name[i], sn->name);
	}
	for (uint32_t k = 0; !rc && k < sn->n_nodes; k++) {
		const char *name = live->topo->node[sn->first_node + k].name;
		bool in = !o->nodes;

		for (size_t i = 0; i < names.n && !in; i++)
			in = !strcmp(names.name[i], name);
		if (in && live->node[sn->first_node + k].info)
			plan->node[plan->n++] = name;
	}
	sn_names_done(&names);
	if (!rc && !plan->n)
		rc = sn_err_set(err, -EINVAL, "there is no node to put the region on");
	return rc;
}

/* "400G": of the region; "50G/node". */
static int find_size(const struct options *o, struct plan *plan, struct sn_err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bytes;
	char text[64];
	size_t len = strlen(o->size);
	bool each = len > 5 && !strcmp(o->size + len - 5, "/node");
	int rc;

	snprintf(text, sizeof(text), "%.*s", (int)(each ? len - 5 : len), o->size);
	rc = sn_parse_size(text, &bytes, err);
	if (rc)
		return sn_err_prefix(err, rc, "--size: ");
	if (!each)
		bytes /= plan->n;
	bytes = bytes / page * page;
	if (!bytes)
		return sn_err_set(err, -EINVAL,
				  "--size=%s: that is less than one page of %" PRIu64 " bytes on each of %u nodes",
				  o->size, page, plan->n);
	plan->entry.bytes = bytes;
	return 0;
}

static int check_room(const struct live *live, const struct plan *plan,
		      struct sn_err *err)
{
	const struct sn_topo_supernode *sn = &live->topo->supernode[plan->supernode];
	struct sn_place_supernode *state;
	struct sn_place_node *node;
	unsigned __int128 want = (unsigned __int128)plan->entry.bytes * plan->n;
	char need[32], left[32];
	int rc;

	if (!sn->has_pool)
		return sn_err_set(err, -ENOSPC,
				  "supernode %s has no PoolMemory in topology.conf",
				  sn->name);
	rc = live_state(live, &node, &state, err);
	if (rc)
		return rc;
	if (want > state[plan->supernode].pool_free) {
		sn_format_size(want > UINT64_MAX ? UINT64_MAX : (uint64_t)want, need, sizeof(need));
		sn_format_size(state[plan->supernode].pool_free, left, sizeof(left));
		rc = sn_err_set(err, -ENOSPC,
				"%s are wanted, and of supernode %s's pool %s are free; jobs and other regions hold the rest",
				need, sn->name, left);
	}
	free(node);
	free(state);
	return rc;
}

static int put(void *ctx, const char *node, const char *extra, char **ret,
	       struct sn_err *err)
{
	const struct plan *plan = ctx;

	(void)node;
	return sn_poolbook_write(extra, &plan->entry, ret, err);
}

static const struct live_job *find_job(const struct live *live, uint32_t id)
{
	for (uint32_t j = 0; j < live->n_jobs; j++)
		if (live->job[j].info->job_id == id && live->job[j].running)
			return &live->job[j];
	return NULL;
}

static int create(const struct live *live, const struct pool_names *names,
		  const char *name, const struct options *o, struct sn_err *err)
{
	const struct live_job *job = o->job ? find_job(live, o->job) : NULL;
	struct plan plan = { .entry = { .id = (uint64_t)time(NULL) } };
	char *probe = NULL, size[32];
	int rc;

	if (o->job && !job)
		return sn_err_set(err, -ENOENT, "--job=%u: no such job runs", o->job);
	if (!o->size)
		return sn_err_set(err, -EINVAL, "--size=SIZE or --size=SIZE/node is missing");
	if (pool_names_find(names, name))
		return sn_err_set(err, -EEXIST, "there is a pool region %s already", name);
	if (strlen(name) >= sizeof(plan.entry.name))
		return sn_err_set(err, -EINVAL, "the name has %zu characters, more than %zu",
				  strlen(name), sizeof(plan.entry.name) - 1);
	memcpy(plan.entry.name, name, strlen(name) + 1);
	rc = find_user(o, job, &plan.entry.uid, err);
	if (!rc)
		rc = find_supernode(live, o, job, &plan.supernode, err);
	if (!rc)
		rc = find_nodes(live, o, &plan, err);
	if (!rc)
		rc = find_size(o, &plan, err);
	if (!rc)
		rc = check_room(live, &plan, err);
	/* What cannot be read back is not written. */
	if (!rc)
		rc = sn_poolbook_write(NULL, &plan.entry, &probe, err);
	if (!rc)
		rc = sn_poolbook_find(probe, name, &plan.entry, err) ?
			sn_err_set(err, -EINVAL,
				   "\"%.60s\": want letters, digits, \"_\", \"-\" and \".\"", name) : 0;
	if (!rc)
		rc = nodeextra_change(plan.node, plan.n, put, &plan, err);
	if (!rc) {
		sn_format_size(plan.entry.bytes, size, sizeof(size));
		printf("%s: %s on each of %u nodes of %s, for user %u; jobs reach it by --pool=name:%s\n",
		       name, size, plan.n, live->topo->supernode[plan.supernode].name,
		       plan.entry.uid, name);
	}
	free(probe);
	free(plan.node);
	return rc;
}

/* ---- list, delete -------------------------------------------------------------------- */

static const char *const head[] = {
	"<name", "<owner", "<supernode", "<nodes", ">size", ">per_node", ">running",
	">waiting", NULL,
};

static int list(const struct live *live, const struct pool_names *names,
		const struct options *o, struct sn_err *err)
{
	struct table table;

	if (o->json) {
		printf("{\"pool\": [");
		for (uint32_t i = 0; i < names->n; i++) {
			const struct pool_name *p = &names->name[i];

			printf("%s{\"name\":\"%s\",\"uid\":%u,\"supernode\":", i ? "," : "",
			       p->entry.name, p->entry.uid);
			json_string(stdout, live->topo->supernode[p->supernode].name);
			printf(",\"bytes\":%" PRIu64 ",\"id\":%" PRIu64 ",\"running\":%u,\"waiting\":%u,\"nodes\":[",
			       p->entry.bytes, p->entry.id, p->running, p->waiting);
			for (uint32_t k = 0; k < p->n_nodes; k++) {
				fputs(k ? "," : "", stdout);
				json_string(stdout, live->topo->node[p->node[k]].name);
			}
			fputs("]}", stdout);
		}
		puts("]}");
		return 0;
	}
	table_init(&table, head);
	for (uint32_t i = 0; i < names->n; i++) {
		const struct pool_name *p = &names->name[i];
		const struct passwd *pw = getpwuid(p->entry.uid);
		char size[2][32], nodes[64];

		sn_format_size(p->entry.bytes, size[0], sizeof(size[0]));
		sn_format_size(p->entry.bytes / p->n_nodes, size[1], sizeof(size[1]));
		snprintf(nodes, sizeof(nodes), "%u", p->n_nodes);
		table_add(&table, "%s", p->entry.name);
		if (pw)
			table_add(&table, "%s", pw->pw_name);
		else
			table_add(&table, "%u", p->entry.uid);
		table_add(&table, "%s", live->topo->supernode[p->supernode].name);
		table_add(&table, "%s", nodes);
		table_add(&table, "%s", size[0]);
		table_add(&table, "%s", size[1]);
		table_add(&table, "%u", p->running);
		table_add(&table, "%u", p->waiting);
	}
	if (!table.failed)
		table_print(&table, stdout, 0);
	else
		sn_err_set(err, -ENOMEM, "no memory");
	table_done(&table);
	return 0;
}

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

static int drop(const struct live *live, const struct pool_names *names,
		const char *name, struct sn_err *err)
{
	const struct pool_name *p = pool_names_find(names, name);
	struct plan plan = { 0 };
	int rc;

	if (!p)
		return sn_err_set(err, -ENOENT, "there is no pool region %.80s", name);
	if (p->running)
		return refuse_in_use(live, p, err);
	plan.entry = p->entry;
	plan.entry.bytes = 0;
	plan.node = calloc((size_t)p->n_nodes + 1, sizeof(*plan.node));
	if (!plan.node)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t k = 0; k < p->n_nodes; k++)
		plan.node[plan.n++] = live->topo->node[p->node[k]].name;
	rc = nodeextra_change(plan.node, plan.n, put, &plan, err);
	if (!rc && p->waiting)
		fprintf(stderr, "snctl pool: %u job%s for it and will not start before there is one of its name again\n",
			p->waiting, p->waiting == 1 ? " waits" : "s wait");
	free(plan.node);
	return rc;
}

/* ---- the command ---------------------------------------------------------------------- */

static int act(const char *what, const char *name, const struct options *o,
	       struct sn_err *err)
{
	struct pool_names names;
	struct live live;
	int rc = live_load(o->config, &live, err);

	if (rc)
		return rc;
	rc = pool_names_load(&live, &names, err);
	if (!rc) {
		if (!strcmp(what, "list"))
			rc = list(&live, &names, o, err);
		else if (!strcmp(what, "create"))
			rc = create(&live, &names, name, o, err);
		else
			rc = drop(&live, &names, name, err);
		pool_names_done(&names);
	}
	live_done(&live);
	return rc;
}

int cmd_pool(int argc, char **argv)
{
	struct options o = { 0 };
	const struct cli_opt opts[] = {
		{ "size", "SIZE", CLI_STRING, &o.size, "of the whole region, divided over its nodes; or of each node's part: SIZE/node", false, 0, 0 },
		{ "supernode", "NAME", CLI_STRING, &o.supernode, "where it is", false, 0, 0 },
		{ "job", "JOBID", CLI_UINT, &o.job, "or: in the supernode of this running job, for its owner", false, 1, UINT32_MAX - 1 },
		{ "nodes", "LIST", CLI_STRING, &o.nodes, "only on these nodes of the supernode; by default on all", false, 0, 0 },
		{ "user", "NAME", CLI_STRING, &o.user, "whose jobs may use it; by default yours", false, 0, 0 },
		{ "config", "FILE", CLI_STRING, &o.config, "the topology.conf; by default the one beside slurm.conf", false, 0, 0 },
		{ "json", NULL, CLI_FLAG, &o.json, "list: one line of JSON", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.command = "pool",
		.usage = "list | create NAME --size SIZE[/node] --supernode NAME | delete NAME",
		.about = "Regions of the pool with names: they outlive jobs, are counted against their\n"
			 "supernode's PoolMemory, and draw their owner's jobs with --pool=name:NAME to it.\n"
			 "Only root and SlurmUser can create and delete.",
		.opts = opts,
		.max_args = 2,
	};
	const char *args[2] = { NULL, NULL };
	const char *what;
	struct sn_err err;
	uint32_t n_args;
	int rc;

	rc = cli_parse(&cli, argc, argv, args, &n_args, &err);
	if (rc > 0)
		return SNCTL_DONE;
	if (rc)
		return snctl_fail("pool", SNCTL_USAGE, &err);
	what = n_args ? args[0] : "list";
	if (strcmp(what, "list") && strcmp(what, "create") && strcmp(what, "delete")) {
		sn_err_set(&err, 0, "\"%.60s\": want list, create NAME or delete NAME", what);
		return snctl_fail("pool", SNCTL_USAGE, &err);
	}
	if (!strcmp(what, "list") != (n_args < 2)) {
		sn_err_set(&err, 0, "%s%s", what, n_args < 2 ? ": which region? give its name" : " takes no name");
		return snctl_fail("pool", SNCTL_USAGE, &err);
	}
	rc = act(what, args[1], &o, &err);
	return rc ? snctl_fail("pool", snctl_code(rc), &err) : SNCTL_DONE;
}
