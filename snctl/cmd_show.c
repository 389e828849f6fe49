/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_show.c - snctl show: the live cluster as tables.
 *
 * Each table is one function that fills rows of named cells; the same rows are
 * printed for people or as JSON, so that the two never differ.
 */
#include "config.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "snctl/cli.h"
#include "snctl/live.h"
#include "snctl/livedomains.h"
#include "snctl/poolnames.h"
#include "snctl/showcards.h"
#include "snctl/snctl.h"
#include "snctl/term.h"
#include "topology/hostlist.h"
#include "topology/text.h"

struct tally {
	uint32_t nodes, up, cards, free, busy, masked;
	uint32_t whole; /* nodes with every card free */
};

static void add_node(const struct live *live, uint32_t n, struct tally *t)
{
	const struct live_node *node = &live->node[n];
	uint64_t free_cards = live_free(node);

	t->nodes++;
	t->up += node->up;
	t->cards += (uint32_t)__builtin_popcountll(node->cards);
	t->free += (uint32_t)__builtin_popcountll(free_cards);
	t->busy += (uint32_t)__builtin_popcountll(node->used);
	t->masked += (uint32_t)__builtin_popcountll(node->masked);
	t->whole += node->cards && free_cards == node->cards;
}

static const char *const supernode_head[] = {
	"<supernode", "<fabric", ">nodes", ">up", ">cards", ">free", ">busy",
	">masked", ">whole_free_nodes", ">spare_nodes", "<held_now", ">pool_free",
	"<links", ">busy_nodes", ">most_busy", NULL,
};

static const char *links(const struct live *live,
			 const struct live_domains *domains, uint32_t s)
{
	const struct sn_topo *topo = live->topo;

	if (domains->degraded.supernode[s])
		return "degraded";
	for (uint32_t u = 0; u < topo->n_units; u++)
		if (topo->unit[u].supernode == s && domains->degraded.unit[u])
			return "units degraded";
	return "ok";
}

static int show_supernodes(const struct live *live, struct table *t, struct sn_err *err)
{
	struct sn_place_node *node;
	struct sn_place_supernode *state;
	struct live_domains domains;
	int rc = live_state(live, &node, &state, err);

	if (rc)
		return rc;
	rc = live_domains_make(live, NULL, NULL, &domains, err);
	for (uint32_t s = 0; !rc && s < live->topo->n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &live->topo->supernode[s];
		uint32_t most, busy = live_domains_busy(&domains, live, s, &most);
		struct tally tally = { 0 };
		char *held = live_held_nodes(live, s), pool[32] = "-";

		for (uint32_t n = 0; n < sn->n_nodes; n++)
			add_node(live, sn->first_node + n, &tally);
		if (sn->has_pool)
			sn_format_size(state[s].pool_free, pool, sizeof(pool));
		table_add(t, "%s", sn->name);
		table_add(t, "%s", sn->loose ? "(loose)" : sn->fabric == SN_NONE ? "-" :
			  live->topo->fabric[sn->fabric].name);
		table_add(t, "%u", tally.nodes);
		table_add(t, "%u", tally.up);
		table_add(t, "%u", tally.cards);
		table_add(t, "%u", tally.free);
		table_add(t, "%u", tally.busy);
		table_add(t, "%u", tally.masked);
		table_add(t, "%u", tally.whole);
		table_add(t, "%u", sn->spare_nodes);
		table_add(t, "%s", held ? held : "-");
		free(held);
		table_add(t, "%s", pool);
		table_add(t, "%s", links(live, &domains, s));
		table_add(t, "%u", busy);
		if (most == UINT32_MAX)
			table_add(t, "-");
		else
			table_add(t, "%u", most);
	}
	live_domains_done(&domains);
	free(node);
	free(state);
	return rc;
}

static const char *const unit_head[] = {
	"<unit", "<supernode", ">nodes", ">up", ">cards", ">free", ">busy",
	">masked", "<links", NULL,
};

static int show_units(const struct live *live, struct table *t, struct sn_err *err)
{
	struct tally *tally = calloc(live->topo->n_units + 1, sizeof(*tally));
	struct live_domains domains;
	int rc;

	if (!tally)
		return sn_err_set(err, -ENOMEM, "no memory");
	rc = live_domains_make(live, NULL, NULL, &domains, err);
	if (rc) {
		live_domains_done(&domains);
		free(tally);
		return rc;
	}
	for (uint32_t n = 0; n < live->topo->n_nodes; n++)
		if (live->topo->node[n].unit != SN_NONE)
			add_node(live, n, &tally[live->topo->node[n].unit]);
	for (uint32_t u = 0; u < live->topo->n_units; u++) {
		table_add(t, "%s", live->topo->unit[u].name);
		table_add(t, "%s", live->topo->supernode[live->topo->unit[u].supernode].name);
		table_add(t, "%u", tally[u].nodes);
		table_add(t, "%u", tally[u].up);
		table_add(t, "%u", tally[u].cards);
		table_add(t, "%u", tally[u].free);
		table_add(t, "%u", tally[u].busy);
		table_add(t, "%u", tally[u].masked);
		table_add(t, "%s", domains.degraded.unit[u] ? "degraded" : "ok");
	}
	live_domains_done(&domains);
	free(tally);
	return 0;
}

static const char *const fabric_head[] = {
	"<fabric", "<in", ">level", ">supernodes", ">nodes", ">cards", ">free", NULL,
};

static int show_fabrics(const struct live *live, struct table *t, struct sn_err *err)
{
	const struct sn_topo *topo = live->topo;
	struct tally *tally = calloc(topo->n_fabrics + 1, sizeof(*tally));
	uint32_t *members = calloc(topo->n_fabrics + 1, sizeof(*members));
	uint32_t *chain = calloc(topo->fabric_levels + 1, sizeof(*chain));

	if (!tally || !members || !chain) {
		free(tally);
		free(members);
		free(chain);
		return sn_err_set(err, -ENOMEM, "no memory");
	}
	for (uint32_t s = 0; s < topo->n_supernodes; s++) {
		uint32_t n_chain = sn_topo_chain(topo, s, chain);

		for (uint32_t i = 0; i < n_chain; i++) {
			members[chain[i]]++;
			for (uint32_t n = 0; n < topo->supernode[s].n_nodes; n++)
				add_node(live, topo->supernode[s].first_node + n,
					 &tally[chain[i]]);
		}
	}
	for (uint32_t f = 0; f < topo->n_fabrics; f++) {
		const struct sn_topo_fabric *fabric = &topo->fabric[f];

		table_add(t, "%s", fabric->name);
		table_add(t, "%s", fabric->parent == SN_NONE ? "-" :
			  topo->fabric[fabric->parent].name);
		table_add(t, "%u", fabric->depth);
		table_add(t, "%u", members[f]);
		table_add(t, "%u", tally[f].nodes);
		table_add(t, "%u", tally[f].cards);
		table_add(t, "%u", tally[f].free);
	}
	free(tally);
	free(members);
	free(chain);
	return 0;
}

static const char *const job_head[] = {
	">job", "<name", "<user", "<state", ">cards", ">nodes", ">supernodes",
	">spares", "<parallel", NULL,
};

static const char *job_state(const slurm_job_info_t *info)
{
	if (info->job_state & JOB_COMPLETING)
		return "completing";
	if (info->job_state & JOB_CONFIGURING)
		return "configuring";
	switch (info->job_state & JOB_STATE_BASE) {
	case JOB_PENDING:
		return info->priority ? "pending" : "held";
	case JOB_SUSPENDED:
		return "suspended";
	default:
		return "running";
	}
}

static int show_jobs(const struct live *live, struct table *t, struct sn_err *err)
{
	(void)err;
	for (uint32_t j = 0; j < live->n_jobs; j++) {
		const struct live_job *job = &live->job[j];
		const struct passwd *pw = getpwuid(job->info->user_id);
		struct sn_place_request request;
		uint32_t supernodes = 0;
		char layout[256] = "-";

		/* Nodes come in the node table's order, supernodes mixed. */
		for (uint32_t i = 0; i < job->n_nodes; i++) {
			uint32_t s = live->topo->node[job->node[i]].supernode;
			uint32_t k = 0;

			while (k < i && live->topo->node[job->node[k]].supernode != s)
				k++;
			supernodes += k == i;
		}
		if (job->has_spec && job->spec.has_parallel)
			sn_layout_format(&job->spec.layout, layout, sizeof(layout));
		table_add(t, "%u", job->info->job_id);
		table_add(t, "%s", job->info->name ? job->info->name : "-");
		if (pw)
			table_add(t, "%s", pw->pw_name);
		else
			table_add(t, "%u", job->info->user_id);
		table_add(t, "%s", job_state(job->info));
		table_add(t, "%u", !job->running && live_request(live, job, &request) ?
			  request.world : job->cards);
		table_add(t, "%u", job->running ? job->n_nodes : job->info->num_nodes);
		table_add(t, "%u", supernodes);
		table_add(t, "%u", job->n_spares);
		table_add(t, "%s", layout);
	}
	return 0;
}

static const char *const pool_head[] = {
	"<supernode", ">size", ">jobs_hold", ">names_hold", ">free", ">jobs",
	">names", ">bandwidth_free", ">there", NULL,
};

static void add_size(struct table *t, uint64_t bytes)
{
	char text[32];

	sn_format_size(bytes, text, sizeof(text));
	table_add(t, "%s", text);
}

static int show_pool(const struct live *live, struct table *t, struct sn_err *err)
{
	struct sn_place_node *node;
	struct sn_place_supernode *state;
	struct pool_names names;
	int rc = live_state(live, &node, &state, err);

	if (rc)
		return rc;
	rc = pool_names_load(live, &names, err);
	for (uint32_t s = 0; !rc && s < live->topo->n_supernodes; s++) {
		const struct sn_topo_supernode *sn = &live->topo->supernode[s];
		uint64_t by_jobs = 0, by_names = 0;
		uint32_t n_jobs = 0, n_names = 0;

		if (!sn->has_pool)
			continue;
		for (uint32_t j = 0; j < live->n_jobs; j++) {
			uint64_t bytes, bandwidth;

			live_pool_use(&live->job[j], s, &bytes, &bandwidth);
			by_jobs += bytes;
			n_jobs += bytes > 0;
		}
		for (uint32_t i = 0; i < names.n; i++) {
			if (names.name[i].supernode != s)
				continue;
			by_names += names.name[i].entry.bytes;
			n_names++;
		}
		table_add(t, "%s", sn->name);
		add_size(t, sn->pool_memory);
		add_size(t, by_jobs);
		add_size(t, by_names);
		add_size(t, state[s].pool_free);
		table_add(t, "%u", n_jobs);
		table_add(t, "%u", n_names);
		if (state[s].bandwidth_free == UINT64_MAX)
			table_add(t, "-");
		else
			add_size(t, state[s].bandwidth_free);
		add_size(t, live_pool_memory(live, s));
	}
	if (!rc)
		pool_names_done(&names);
	free(node);
	free(state);
	return rc;
}

struct view {
	const char *name;
	const char *const *head;
	int (*fill)(const struct live *live, struct table *t, struct sn_err *err);
	/* A second table, shown where it has lines. */
	const char *more;
	const char *const *more_head;
	int (*fill_more)(const struct live *live, struct table *t, struct sn_err *err);
};

static const struct view views[] = {
	{ "supernodes", supernode_head, show_supernodes, NULL, NULL, NULL },
	{ "units", unit_head, show_units, NULL, NULL, NULL },
	{ "fabrics", fabric_head, show_fabrics, NULL, NULL, NULL },
	{ "cards", card_head, show_cards, "masked", mask_head, show_masks },
	{ "pool", pool_head, show_pool, NULL, NULL, NULL },
	{ "jobs", job_head, show_jobs, NULL, NULL, NULL },
};
#define N_VIEWS (sizeof(views) / sizeof(views[0]))

/* Columns that align right are numbers, unless a cell is "-". */
static void print_json(const char *name, const struct table *t)
{
	printf("\"%s\": [", name);
	for (size_t i = 0; i < t->n; i++) {
		const char *head = t->head[i % t->n_columns];
		const char *cell = t->cell[i];

		if (i % t->n_columns == 0)
			fputs(i ? "},{" : "{", stdout);
		else
			putchar(',');
		json_string(stdout, head + 1);
		putchar(':');
		if (!strcmp(cell, "-"))
			fputs("null", stdout);
		else if (head[0] == '>' && strspn(cell, "0123456789") == strlen(cell))
			fputs(cell, stdout);
		else
			json_string(stdout, cell);
	}
	fputs(t->n ? "}]" : "]", stdout);
}

static void print(const struct view *view, const struct table *table,
		  const struct table *more, bool json)
{
	if (json) {
		putchar('{');
		print_json(view->name, table);
		if (view->more) {
			fputs(", ", stdout);
			print_json(view->more, more);
		}
		puts("}");
		return;
	}
	table_print(table, stdout, 0);
	if (more->n) {
		putchar('\n');
		table_print(more, stdout, 0);
	}
}

static int show(const struct view *view, const char *config, bool json,
		struct sn_err *err)
{
	static const char *const none[] = { NULL };
	struct table table, more;
	struct live live;
	int rc = live_load(config, &live, err);

	if (rc)
		return rc;
	table_init(&table, view->head);
	table_init(&more, view->more ? view->more_head : none);
	rc = view->fill(&live, &table, err);
	if (!rc && view->more)
		rc = view->fill_more(&live, &more, err);
	if (!rc && (table.failed || more.failed))
		rc = sn_err_set(err, -ENOMEM, "no memory");
	if (!rc)
		print(view, &table, &more, json);
	table_done(&table);
	table_done(&more);
	live_done(&live);
	return rc;
}

int cmd_show(int argc, char **argv)
{
	const char *config = NULL, *what = "supernodes", *near;
	bool json = false;
	const struct cli_opt opts[] = {
		{ "config", "FILE", CLI_STRING, &config, "the topology.conf; by default the one beside slurm.conf", false, 0, 0 },
		{ "json", NULL, CLI_FLAG, &json, "one line of JSON", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.command = "show",
		.usage = "[supernodes|units|fabrics|cards|pool|jobs|health] [--json]",
		.about = "Show the live cluster: its supernodes (the default), units, fabrics, the cards of\n"
			 "each node, who holds the pool, its jobs, or the cards that are not healthy.",
		.opts = opts,
		.max_args = 1,
	};
	struct sn_err err;
	uint32_t n_args;
	size_t v;
	int rc;

#ifdef HAVE_MUNGE
	/* Another's table: snctl health show. */
	if (argc > 1 && !strcmp(argv[1], "health")) {
		argv[1] = argv[0];
		argv[0] = "health";
		return cmd_health(argc, argv);
	}
#endif
	rc = cli_parse(&cli, argc, argv, &what, &n_args, &err);
	if (rc > 0)
		return SNCTL_DONE;
	if (rc)
		return snctl_fail("show", SNCTL_USAGE, &err);
	for (v = 0; v < N_VIEWS && strcmp(views[v].name, what); v++)
		;
	if (v == N_VIEWS) {
		near = cli_nearest(what, &views[0].name, N_VIEWS, sizeof(views[0]));
		sn_err_set(&err, 0, "there is no table \"%.80s\"; %s%s%s", what,
			   near ? "did you mean " : "the tables are supernodes, units, fabrics, cards, pool, jobs, health",
			   near ? near : "", near ? "?" : "");
		return snctl_fail("show", SNCTL_USAGE, &err);
	}
	rc = show(&views[v], config, json, &err);
	return rc ? snctl_fail("show", SNCTL_USAGE, &err) : SNCTL_DONE;
}
