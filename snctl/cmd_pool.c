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
#include <unistd.h>

#include "snctl/cli.h"
#include "snctl/live.h"
#include "snctl/poolask.h"
#include "snctl/poolnames.h"
#include "snctl/poolplan.h"
#include "snctl/progress.h"
#include "snctl/snctl.h"
#include "snctl/term.h"
#include "topology/text.h"

struct options {
	const char *config, *size, *supernode, *nodes, *user;
	uint32_t job;
	bool json;
};

/* ---- create, delete --------------------------------------------------------------- */

static int find_user(const struct options *o, struct poolplan_ask *ask, struct sn_err *err)
{
	const struct passwd *pw = getpwnam(o->user);
	uint64_t uid;

	if (pw)
		uid = pw->pw_uid;
	else if (sn_parse_uint(o->user, 0, UINT32_MAX - 1, &uid, NULL))
		return sn_err_set(err, -EINVAL, "--user=%.60s: no such user", o->user);
	ask->has_uid = true;
	ask->uid = (uint32_t)uid;
	return 0;
}

/* Without a daemon, as root and SlurmUser can. */
static int write_alone(const struct options *o, bool create, const struct poolplan_ask *ask,
		       struct poolask_done *ret, struct sn_err *err)
{
	struct poolplan plan = { 0 };
	struct pool_names names;
	struct live live;
	int rc = live_load(o->config, &live, err);

	if (rc)
		return rc;
	rc = pool_names_load(&live, &names, err);
	if (!rc) {
		rc = (create ? poolplan_create : poolplan_drop)(&live, &names, ask, &plan, err);
		pool_names_done(&names);
	}
	live_done(&live);
	progress_begin("writing the nodes' records");
	if (!rc && !plan.exists)
		rc = poolplan_write(&plan, err);
	progress_end();
	if (!rc) {
		ret->uid = plan.entry.uid;
		ret->bytes = plan.entry.bytes;
		ret->nodes = plan.n;
		ret->waiting = plan.waiting;
		snprintf(ret->supernode, sizeof(ret->supernode), "%s", plan.supernode);
	}
	poolplan_done(&plan);
	return rc;
}

static void say(const struct options *o, bool create, const char *name,
		const struct poolask_done *done)
{
	char size[32];

	if (o->json) {
		printf("{\"%s\": ", create ? "created" : "deleted");
		json_string(stdout, name);
		if (create) {
			printf(", \"uid\": %u, \"supernode\": ", done->uid);
			json_string(stdout, done->supernode);
			printf(", \"nodes\": %u, \"bytes_per_node\": %" PRIu64, done->nodes,
			       done->bytes);
		} else {
			printf(", \"waiting\": %u", done->waiting);
		}
		puts("}");
		return;
	}
	sn_format_size(done->bytes, size, sizeof(size));
	if (create)
		printf("%s: %s on each of %u nodes of %s, for user %u; jobs reach it by --pool=name:%s\n",
		       name, size, done->nodes, done->supernode, done->uid, name);
	else if (done->waiting)
		fprintf(stderr, "snctl pool: %u job%s for it and will not start before there is one of its name again\n",
			done->waiting, done->waiting == 1 ? " waits" : "s wait");
}

/* One writes for all: a daemon, where there is one. */
static int change(const struct options *o, bool create, const char *name, struct sn_err *err)
{
	struct poolplan_ask ask = {
		.name = name, .size = o->size, .supernode = o->supernode, .nodes = o->nodes,
		.job = o->job, .by = (uint32_t)getuid(),
	};
	struct poolask_done done = { 0 };
	struct sn_err why;
	int rc = create && !o->size ?
		sn_err_set(err, -EINVAL, "--size=SIZE or --size=SIZE/node is missing") : 0;

	if (!rc && o->user)
		rc = find_user(o, &ask, err);
	if (rc)
		return rc;
	progress_begin("asking snelasticd");
	rc = poolask(o->config, create, &ask, &done, &why);
	progress_end();
	if (rc == -EHOSTUNREACH) {
		rc = write_alone(o, create, &ask, &done, err);
		/* He needs the daemon. */
		if (rc == -EPERM)
			sn_err_set(err, rc, "%s", why.text);
	} else if (rc) {
		sn_err_set(err, rc, "%s", why.text);
	}
	if (!rc)
		say(o, create, name, &done);
	return rc;
}

/* ---- list ------------------------------------------------------------------------- */

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

static int act(const char *what, const char *name, const struct options *o,
	       struct sn_err *err)
{
	struct pool_names names;
	struct live live;
	int rc;

	if (strcmp(what, "list"))
		return change(o, !strcmp(what, "create"), name, err);
	rc = live_load(o->config, &live, err);
	if (rc)
		return rc;
	rc = pool_names_load(&live, &names, err);
	if (!rc) {
		rc = list(&live, &names, o, err);
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
		{ "json", NULL, CLI_FLAG, &o.json, "one line of JSON", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.command = "pool",
		.usage = "list | create NAME --size SIZE[/node] --supernode NAME|--job JOBID | delete NAME",
		.about = "Regions of the pool with names: they outlive jobs, are counted against their\n"
			 "supernode's PoolMemory, and draw their owner's jobs with --pool=name:NAME to it.\n"
			 "Users create and delete their own through snelasticd, within supernode.conf's\n"
			 "PoolNamed; root and SlurmUser all, also where there is no daemon.",
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
