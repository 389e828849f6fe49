/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_groups.c - snctl groups: the process groups of a layout.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "snctl/cli.h"
#include "snctl/snctl.h"
#include "snctl/term.h"
#include "topology/groups.h"
#include "topology/layout.h"

static const char *const head[] = { "<GROUP", ">COUNT", ">SIZE", "<FIRST", "<LAST", NULL };

static void put_group(char *buf, size_t size, const uint32_t *rank, uint32_t n)
{
	if (n > 2 && rank[n - 1] - rank[0] == n - 1)
		snprintf(buf, size, "%u-%u", rank[0], rank[n - 1]);
	else if (n > 4)
		snprintf(buf, size, "%u,%u,%u…%u", rank[0], rank[1], rank[2], rank[n - 1]);
	else if (n == 4)
		snprintf(buf, size, "%u,%u,%u,%u", rank[0], rank[1], rank[2], rank[3]);
	else if (n == 3)
		snprintf(buf, size, "%u,%u,%u", rank[0], rank[1], rank[2]);
	else if (n == 2)
		snprintf(buf, size, "%u,%u", rank[0], rank[1]);
	else
		snprintf(buf, size, "%u", rank[0]);
}

static void print_json_kind(const struct sn_groups *g, enum sn_group_kind kind)
{
	printf("%s\"%s\":[", kind ? "," : "", sn_group_name(kind));
	for (uint32_t i = 0; i < g->n; i++) {
		const uint32_t *rank = g->rank + (size_t)i * g->size;

		putchar(i ? ',' : '[');
		if (i)
			putchar('[');
		for (uint32_t k = 0; k < g->size; k++)
			printf(k ? ",%u" : "%u", rank[k]);
		putchar(']');
	}
	putchar(']');
}

static int groups(const char *spec, bool json, struct sn_err *err)
{
	struct sn_layout l;
	struct table table;
	int rc;

	/* Where TP may live does not matter to the groups: no cards given. */
	rc = sn_layout_parse(spec, 0, &l, err);
	if (rc)
		return sn_err_prefix(err, rc, "--parallel: ");
	if (json)
		printf("{\"world\":%u,\"order\":\"%s\",\"tp\":%u,\"cp\":%u,\"pp\":%u,\"dp\":%u,\"ep\":%u,\"etp\":%u,\"edp\":%u,\"groups\":{",
		       l.world, sn_order_name(l.order), l.tp, l.cp, l.pp, l.dp,
		       l.ep, l.etp, l.edp);
	table_init(&table, head);
	for (int kind = 0; !rc && kind < SN_GROUP_KINDS; kind++) {
		char first[64], last[64];
		struct sn_groups g;

		rc = sn_groups_build(&l, (enum sn_group_kind)kind, &g, err);
		if (rc)
			break;
		if (json) {
			print_json_kind(&g, (enum sn_group_kind)kind);
		} else {
			put_group(first, sizeof(first), g.rank, g.size);
			put_group(last, sizeof(last),
				  g.rank + (size_t)(g.n - 1) * g.size, g.size);
			table_add(&table, "%s", sn_group_name((enum sn_group_kind)kind));
			table_add(&table, "%u", g.n);
			table_add(&table, "%u", g.size);
			table_add(&table, "%s", first);
			table_add(&table, "%s", last);
		}
		sn_groups_done(&g);
	}
	if (!rc && json) {
		puts("}}");
	} else if (!rc) {
		printf("tp=%u,cp=%u,ep=%u,etp=%u,pp=%u,dp=%u,order=%s\n%u ranks; %u atom%s of %u ranks; the dp step is %u\n\n",
		       l.tp, l.cp, l.ep, l.etp, l.pp, l.dp, sn_order_name(l.order), l.world, l.world / l.atom,
		       l.world == l.atom ? "" : "s",
		       l.atom, l.dp_step);
		table_print(&table, stdout, 0);
	}
	table_done(&table);
	return rc;
}

int cmd_groups(int argc, char **argv)
{
	const char *spec = NULL;
	bool json = false;
	const struct cli_opt opts[] = {
		{ "parallel", "SPEC", CLI_STRING, &spec, "the layout, e.g. tp=8,ep=64,etp=1,pp=6,dp=128", true, 0, 0 },
		{ "json", NULL, CLI_FLAG, &json, "every group's ranks, one line of JSON", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.command = "groups",
		.usage = "--parallel SPEC [--json], or snctl groups verify DIR|FILE...",
		.about = "Show the process groups of a layout, by Megatron-LM's rule. To compare what the\n"
			 "ranks of a job say, see snctl groups verify --help.",
		.opts = opts,
	};
	struct sn_err err;
	uint32_t n_args;
	int rc;

	if (argc > 1 && !strcmp(argv[1], "verify"))
		return cmd_groups_verify(argc - 1, argv + 1);
	rc = cli_parse(&cli, argc, argv, NULL, &n_args, &err);
	if (rc > 0)
		return SNCTL_DONE;
	if (!rc)
		rc = groups(spec, json, &err);
	return rc ? snctl_fail("groups", SNCTL_USAGE, &err) : SNCTL_DONE;
}
