/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * domains.c - degraded links and PowerLimit, as the placement engine wants them.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/bitstring.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/slurmctld/slurmctld.h"

#include "plugins/topology_supernode/domains.h"
#include "plugins/topology_supernode/gone.h"
#include "plugins/topology_supernode/marks.h"
#include "plugins/topology_supernode/model.h"
#include "plugins/topology_supernode/plain.h"

/* Only slurmctld has it; the plugin is loaded elsewhere too. */
#pragma weak job_list

static void add_marks(struct sn_degraded *degraded)
{
	const struct sn_topo *topo = model_topo();
	node_record_t *node_ptr;
	int i;

	for (i = 0; (node_ptr = next_node(&i)); i++) {
		const struct sn_cardbook *book = &marks_of(node_ptr)->cards;
		uint32_t t = model_topo_node((uint32_t)i);

		if (t != SN_NONE)
			sn_degraded_add_node(degraded, topo, t,
					     book->degraded_supernode,
					     book->degraded_unit);
	}
}

static void add_configured(struct sn_degraded *degraded)
{
	static char told[SN_POLICY_TEXT_MAX];
	const char *names = model_policy()->degraded;
	struct sn_err err;

	if (!names[0] || !sn_degraded_add(degraded, model_topo(), names, &err) ||
	    !strcmp(told, names))
		return;
	memcpy(told, names, sizeof(told));
	error("topology/supernode: supernode.conf: DegradedDomains=%s: %s, ignoring it",
	      names, err.text);
}

struct drawing {
	const topology_eval_t *topo_eval;
	uint8_t *draws;
	uint32_t card_id;
};

static int add_job(void *x, void *arg)
{
	const job_record_t *job_ptr = x;
	const struct drawing *d = arg;
	int i;

	if (job_ptr == d->topo_eval->job_ptr || !job_ptr->node_bitmap ||
	    !(IS_JOB_RUNNING(job_ptr) || IS_JOB_SUSPENDED(job_ptr) ||
	      IS_JOB_COMPLETING(job_ptr)) ||
	    gone_job(d->topo_eval, job_ptr, d->card_id))
		return 0;
	for (i = 0; next_node_bitmap(job_ptr->node_bitmap, &i); i++) {
		uint32_t t = model_topo_node((uint32_t)i);

		if (t != SN_NONE)
			d->draws[t] = 1;
	}
	return 0;
}

static int find_drawing(struct domains *domains,
			const topology_eval_t *topo_eval)
{
	struct drawing d = {
		.topo_eval = topo_eval, .card_id = model_card_id(),
	};

	if (!&job_list || !job_list)
		return 0;
	domains->draws = calloc((size_t)model_topo()->n_nodes + 1, 1);
	if (!domains->draws)
		return -ENOMEM;
	d.draws = domains->draws;
	list_for_each_ro(job_list, add_job, &d);
	return 0;
}

int domains_init(struct domains *domains, const topology_eval_t *topo_eval)
{
	const struct sn_policy *policy = model_policy();
	const struct sn_topo *topo = model_topo();
	int rc;

	*domains = (struct domains){
		.power = sn_power_of(policy->node_power,
				     policy->idle_node_power),
	};
	domains->limited = sn_power_any(&domains->power, topo);
	rc = sn_degraded_init(topo, &domains->degraded, NULL);
	if (rc || !topo_eval || plain_mode() == SELECT_MODE_TEST_ONLY)
		return rc;
	add_configured(&domains->degraded);
	add_marks(&domains->degraded);
	return domains->limited ? find_drawing(domains, topo_eval) : 0;
}

void domains_done(struct domains *domains)
{
	sn_degraded_done(&domains->degraded);
	free(domains->draws);
	*domains = (struct domains){ .draws = NULL };
}

uint32_t domains_flags(const struct domains *domains, uint32_t topo_node)
{
	return (sn_degraded_is(&domains->degraded, model_topo(), topo_node) ?
		SN_NODE_DEGRADED : 0) |
		(domains->draws && domains->draws[topo_node] ? SN_NODE_DRAWS : 0);
}

int domains_limit(const struct domains *domains,
		  struct sn_place_supernode **supernode)
{
	const struct sn_topo *topo = model_topo();
	uint32_t s;

	if (!domains->limited)
		return 0;
	if (!*supernode) {
		*supernode = calloc((size_t)topo->n_supernodes + 1,
				    sizeof(**supernode));
		for (s = 0; *supernode && s < topo->n_supernodes; s++)
			(*supernode)[s].pool_free =
				(*supernode)[s].bandwidth_free = UINT64_MAX;
	}
	if (!*supernode)
		return -ENOMEM;
	sn_power_fill(&domains->power, topo, *supernode);
	return 0;
}

int domains_explain(const struct domains *domains, int rc, struct sn_err *err)
{
	const struct sn_topo *topo = model_topo();
	char why[256], was[SN_ERR_SIZE];
	uint32_t s;

	if (rc != -ENOSPC || !err || !domains->limited ||
	    !strstr(err->text, "PowerLimit"))
		return rc;
	for (s = 0; s < topo->n_supernodes; s++)
		if (sn_power_most(&domains->power, &topo->supernode[s]) !=
		    UINT32_MAX)
			break;
	if (s == topo->n_supernodes)
		return rc;
	sn_power_text(&domains->power, &topo->supernode[s], why, sizeof(why));
	memcpy(was, err->text, sizeof(was));
	return sn_err_set(err, rc, "%.700s; %s", was, why);
}
