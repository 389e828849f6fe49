/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_check.c - snctl check: read the configuration as the plugins would.
 *
 * What the plugins would refuse is an error on standard error and exit status
 * 2; what is legal but odd is a warning and does not change the exit status.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/inventory.h"
#include "snctl/checkinv.h"
#include "snctl/cli.h"
#include "snctl/confpath.h"
#include "snctl/progress.h"
#include "snctl/readfile.h"
#include "snctl/snctl.h"
#include "snctl/term.h"
#include "snctl/warn.h"
#include "topology/elasticpolicy.h"
#include "topology/policy.h"

static uint32_t count_loose(const struct sn_topo *topo)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < topo->n_supernodes; s++)
		n += topo->supernode[s].loose;
	return n;
}

/* What snelasticd alone reads, and would refuse. */
static int check_elastic(const char *path, const struct sn_policy *policy,
			 struct sn_err *err)
{
	struct sn_elastic_policy rules;
	struct sn_ladder_costs costs;
	int rc = sn_ladder_costs_parse(policy->elastic_costs, &costs, err);

	if (!rc)
		rc = sn_elastic_policy_parse(policy->elastic_policy, &rules, err);
	return rc ? sn_err_prefix(err, rc, "%s: ", path) : 0;
}

static int read_policy(const char *path, struct sn_policy *policy,
		       struct sn_err *err)
{
	char *text;
	size_t len;
	int rc = snctl_read_file(path, &text, &len, err);

	if (rc)
		return rc;
	rc = sn_policy_parse(text, len, path, policy, err);
	free(text);
	return rc ? rc : check_elastic(path, policy, err);
}

static void print_json(const char *path, const struct sn_topo *topo,
		       const struct sn_names *warnings, const char *policy_path,
		       const struct sn_policy *policy,
		       const struct snctl_checkinv *inv)
{
	fputs("{\"files\": [{\"file\":", stdout);
	json_string(stdout, path);
	printf(",\"ok\":true,\"supernodes\":%u,\"nodes\":%u,\"units\":%u,\"fabrics\":%u,\"fabric_levels\":%u}",
	       topo->n_supernodes - count_loose(topo), topo->n_nodes,
	       topo->n_units, topo->n_fabrics, topo->fabric_levels);
	if (policy_path) {
		fputs(",{\"file\":", stdout);
		json_string(stdout, policy_path);
		fputs(",\"ok\":true,\"card_gres\":", stdout);
		json_string(stdout, policy->card_gres);
		printf(",\"small_job_cards\":%u}", policy->small_job_cards);
	}
	if (inv->from) {
		fputs(",{\"file\":", stdout);
		json_string(stdout, inv->from);
		printf(",\"ok\":true,\"rank_table\":\"%s\",\"nodes\":%u,\"cards\":%u}",
		       sn_rank_table_name(policy->rank_table), inv->nodes, inv->cards);
	}
	fputs("], \"warnings\": [", stdout);
	for (size_t i = 0; i < warnings->n; i++) {
		if (i)
			putchar(',');
		json_string(stdout, warnings->name[i]);
	}
	fputs("]}\n", stdout);
}

/* Those of the inventory say so, as in JSON no file is named. */
static void print_warnings(const char *path, const struct sn_names *warnings,
			   size_t first, size_t end)
{
	static const char about[] = "inventory: ";

	for (size_t i = first; i < end; i++) {
		const char *text = warnings->name[i];

		if (!strncmp(text, about, sizeof(about) - 1))
			text += sizeof(about) - 1;
		printf("%s: warning: %s\n", path, text);
	}
}

static void print_text(const char *path, const struct sn_topo *topo,
		       const struct sn_names *warnings, const char *policy_path,
		       const struct sn_policy *policy,
		       const struct snctl_checkinv *inv)
{
	uint32_t n = topo->n_supernodes - count_loose(topo);

	printf("%s: ok: %u supernode%s, %u node%s, %u unit%s, %u fabric%s in %u level%s\n",
	       path, n, n == 1 ? "" : "s",
	       topo->n_nodes, topo->n_nodes == 1 ? "" : "s",
	       topo->n_units, topo->n_units == 1 ? "" : "s",
	       topo->n_fabrics, topo->n_fabrics == 1 ? "" : "s",
	       topo->fabric_levels, topo->fabric_levels == 1 ? "" : "s");
	print_warnings(path, warnings, 0, inv->from ? inv->first_warning : warnings->n);
	if (policy_path)
		printf("%s: ok: CardGres=%s SmallJobCards=%u\n", policy_path,
		       policy->card_gres, policy->small_job_cards);
	if (!inv->from)
		return;
	printf("%s: ok: %u card%s of %u node%s for RankTable=%s%s\n", inv->from,
	       inv->cards, inv->cards == 1 ? "" : "s",
	       inv->nodes, inv->nodes == 1 ? "" : "s",
	       sn_rank_table_name(policy->rank_table),
	       inv->asked ? "; asked about the first node of each supernode" : "");
	print_warnings(inv->from, warnings, inv->first_warning, warnings->n);
}

/* slurm.conf is not ours to judge; but where it can be read, what it says of
 * nodes should be what topology.conf says. */
static int compare_slurm_conf(const char *path, const struct sn_topo *topo,
			      const struct sn_policy *policy,
			      struct sn_names *warnings, struct sn_err *err)
{
	char *slurm_path = snctl_sibling(path, "slurm.conf");
	struct snctl_slurmconf conf;
	struct sn_err why;
	char *text = NULL;
	int rc = 0;

	if (!slurm_path)
		return sn_err_set(err, -ENOMEM, "no memory");
	if (!access(slurm_path, F_OK)) {
		if (!snctl_slurmconf_read(slurm_path, &conf, &why)) {
			rc = snctl_warn_slurmconf(topo, &conf, warnings);
			if (!rc)
				rc = snctl_warn_plugins(slurm_path, &conf, warnings);
			if (!rc)
				rc = snctl_warn_gres(slurm_path, &conf,
						     policy->card_gres, warnings);
			snctl_slurmconf_done(&conf);
		} else if (asprintf(&text, "not compared with slurm.conf: %s",
				    why.text) > 0) {
			rc = sn_names_add(warnings, text);
			free(text);
		}
	}
	free(slurm_path);
	return rc ? sn_err_set(err, rc, "no memory") : 0;
}

static int check(const char *path, bool json, bool records, struct sn_err *err)
{
	struct snctl_checkinv inv = { 0 };
	struct sn_names warnings = { 0 };
	struct sn_topo *topo = NULL;
	struct sn_policy policy;
	char *policy_path;
	int rc = snctl_read_topology(path, &topo, err);

	if (rc)
		return rc;
	sn_policy_init(&policy);
	policy_path = snctl_sibling(path, "supernode.conf");
	if (policy_path && access(policy_path, F_OK)) {
		free(policy_path);
		policy_path = NULL;
	}
	if (policy_path)
		rc = read_policy(policy_path, &policy, err);
	if (!rc && snctl_warn_topology(topo, &warnings))
		rc = sn_err_set(err, -ENOMEM, "no memory");
	if (!rc)
		rc = compare_slurm_conf(path, topo, &policy, &warnings, err);
	if (!rc && policy.rank_table) {
		progress_begin(*policy.inventory_program ?
			       "waiting for the InventoryProgram" : "reading the inventory");
		rc = snctl_check_inventory(path, topo, &policy, &warnings, &inv, err);
	}
	if (!rc && records) {
		progress_begin("asking slurmctld");
		rc = snctl_warn_records(&warnings, err);
	}
	progress_end();
	if (!rc)
		(json ? print_json : print_text)(path, topo, &warnings,
						 policy_path, &policy, &inv);
	free(policy_path);
	sn_names_done(&warnings);
	sn_topo_destroy(topo);
	return rc;
}

int cmd_check(int argc, char **argv)
{
	const char *config = NULL;
	bool json = false, records = false;
	const struct cli_opt opts[] = {
		{ "config", "FILE", CLI_STRING, &config, "the topology.conf; by default the one beside slurm.conf", false, 0, 0 },
		{ "records", NULL, CLI_FLAG, &records, "ask slurmctld, too, for marks in the nodes' records that cannot be read", false, 0, 0 },
		{ "json", NULL, CLI_FLAG, &json, "one line of JSON", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.command = "check",
		.usage = "[--config FILE] [--records] [--json]",
		.about = "Read topology.conf, and supernode.conf beside it where there is one, as the\n"
			 "plugins would, and with RankTable the inventory of the cards. Also warns of what\n"
			 "is legal but seldom meant, and of lines that slurm.conf, plugstack.conf and\n"
			 "gres.conf beside it lack.",
		.more = "Exit status: 0 the plugins would take every file, 2 they would not.",
		.opts = opts,
	};
	struct sn_err err;
	uint32_t n_args;
	char *path;
	int rc;

	rc = cli_parse(&cli, argc, argv, NULL, &n_args, &err);
	if (rc > 0)
		return SNCTL_DONE;
	if (rc)
		return snctl_fail("check", SNCTL_USAGE, &err);
	path = snctl_topology_path(config, NULL);
	rc = path ? check(path, json, records, &err) : sn_err_set(&err, -ENOMEM, "no memory");
	free(path);
	return rc ? snctl_fail("check", SNCTL_USAGE, &err) : SNCTL_DONE;
}
