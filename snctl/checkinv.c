/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checkinv.c - the inventory of the cards, for snctl check.
 *
 * A node that an inventory lacks is worth a warning only, as it may have no
 * cards; a job that gets it is refused. A site's program is asked about the first
 * node of each supernode: all would take long on a large cluster.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/inventory.h"
#include "snctl/checkinv.h"
#include "snctl/confpath.h"
#include "snctl/gresidx.h"
#include "snctl/readfile.h"
#include "snctl/slurmconf.h"
#include "topology/text.h"

static int no_memory(struct sn_err *err)
{
	return sn_err_set(err, -ENOMEM, "no memory");
}

static int say(struct sn_names *warnings, struct sn_buf *buf, struct sn_err *err)
{
	int rc = buf->failed || sn_names_add(warnings, buf->text) ? no_memory(err) : 0;

	sn_buf_done(buf);
	return rc;
}

/* Which nodes of topo the file has; and what it has besides. */
static int look_into_file(const char *path, const struct sn_topo *topo,
			  bool *there, struct sn_names *warnings,
			  struct sn_err *err)
{
	const char *first = NULL;
	struct sn_inventory inv;
	struct sn_buf buf = { 0 };
	uint32_t n = 0;
	char *text;
	size_t len;
	int rc = snctl_read_file(path, &text, &len, err);

	if (rc)
		return sn_err_prefix(err, rc, "Inventory: ");
	rc = sn_inventory_parse(text, len, path, NULL, &inv, err);
	free(text);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < inv.n_nodes; i++) {
		uint32_t node = sn_topo_find_node(topo, inv.node[i].name);

		if (node != SN_NONE)
			there[node] = true;
		else if (!n++)
			first = inv.node[i].name;
	}
	if (n) {
		sn_buf_add(&buf, "inventory: %u node%s not in topology.conf, the first is %s",
			   n, n == 1 ? " is" : "s are", first);
		rc = say(warnings, &buf, err);
	}
	sn_inventory_done(&inv);
	return rc;
}

static int look_for(const struct sn_topo *topo, const struct sn_policy *policy,
		    bool *there, struct sn_names *warnings, struct sn_err *err)
{
	if (*policy->inventory_program) {
		for (uint32_t s = 0; s < topo->n_supernodes; s++)
			there[topo->supernode[s].first_node] = true;
		return 0;
	}
	if (!sn_inventory_is_pattern(policy->inventory))
		return look_into_file(policy->inventory, topo, there, warnings, err);
	for (uint32_t i = 0; i < topo->n_nodes; i++) {
		char *path = sn_inventory_path(policy->inventory, topo->node[i].name);

		if (!path)
			return no_memory(err);
		there[i] = !access(path, F_OK);
		free(path);
	}
	return 0;
}

static int warn_missing(const struct sn_topo *topo, const bool *there,
			struct sn_names *warnings, struct sn_err *err)
{
	struct sn_buf buf = { 0 };
	uint32_t n = 0, first = 0;

	for (uint32_t i = 0; i < topo->n_nodes; i++)
		if (!there[i] && !n++)
			first = i;
	if (!n)
		return 0;
	sn_buf_add(&buf, "inventory: %u node%s of topology.conf %s not in it, the first is %s; snrun refuses jobs there",
		   n, n == 1 ? "" : "s", n == 1 ? "is" : "are", topo->node[first].name);
	return say(warnings, &buf, err);
}

static int warn_gres(const char *config, const struct sn_inventory *inv,
		     const struct sn_policy *policy, struct sn_names *warnings,
		     struct sn_err *err)
{
	char *path = snctl_sibling(config, "slurm.conf");
	struct snctl_slurmconf conf;
	struct sn_buf buf = { 0 };
	uint64_t count = 0;
	uint32_t n = 0, first = 0;

	if (!path)
		return no_memory(err);
	if (!access(path, F_OK) && !snctl_slurmconf_read(path, &conf, NULL)) {
		count = conf.gres ? gres_count(conf.gres, policy->card_gres) : 0;
		snctl_slurmconf_done(&conf);
	}
	free(path);
	for (uint32_t i = 0; i < inv->n_nodes; i++)
		if (count && inv->node[i].n_cards != count && !n++)
			first = i;
	if (!n)
		return 0;
	sn_buf_add(&buf, "inventory: slurm.conf has Gres=%s:%llu, and %u node%s another number of cards here, the first is %s with %u",
		   policy->card_gres, (unsigned long long)count, n,
		   n == 1 ? " has" : "s have", inv->node[first].name,
		   inv->node[first].n_cards);
	return say(warnings, &buf, err);
}

static int judge(const char *config, const struct sn_inventory *inv,
		 const struct sn_policy *policy, struct sn_names *warnings,
		 struct snctl_checkinv *ret, struct sn_err *err)
{
	int rc = sn_inventory_fits(inv, policy->rank_table, false, err);

	if (rc)
		return sn_err_prefix(err, rc, "%s: ", ret->from);
	if (sn_inventory_warn(inv, policy->rank_table, warnings))
		return no_memory(err);
	ret->nodes = inv->n_nodes;
	for (uint32_t i = 0; i < inv->n_nodes; i++)
		ret->cards += inv->node[i].n_cards;
	return warn_gres(config, inv, policy, warnings, err);
}

int snctl_check_inventory(const char *config, const struct sn_topo *topo,
			  const struct sn_policy *policy,
			  struct sn_names *warnings, struct snctl_checkinv *ret,
			  struct sn_err *err)
{
	bool *there = calloc(topo->n_nodes + 1, sizeof(*there));
	struct sn_inv_want *want = calloc(topo->n_nodes + 1, sizeof(*want));
	struct sn_inventory inv = { 0 };
	bool program = *policy->inventory_program;
	uint32_t n = 0;
	int rc = there && want ? 0 : no_memory(err);

	memset(ret, 0, sizeof(*ret));
	ret->first_warning = warnings->n;
	ret->from = program ? policy->inventory_program : policy->inventory;
	/* With neither or both of them, loading says what is wrong. */
	if (!rc && program != !!*policy->inventory)
		rc = look_for(topo, policy, there, warnings, err);
	for (uint32_t i = 0; i < topo->n_nodes && !rc; i++)
		if (there[i])
			want[n++] = (struct sn_inv_want){
				topo->node[i].name,
				topo->supernode[topo->node[i].supernode].name, NULL, 0 };
	if (!rc)
		rc = sn_inventory_load(policy, want, n, NULL, &inv, err);
	if (!rc && program)
		ret->asked = n;
	if (!rc && !program)
		rc = warn_missing(topo, there, warnings, err);
	if (!rc)
		rc = judge(config, &inv, policy, warnings, ret, err);
	sn_inventory_done(&inv);
	free(want);
	free(there);
	return rc;
}
