/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * switches.c - --switches=COUNT[@TIME].
 */
#include "plugins/compat.h"

#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/log.h"

#include "plugins/topology_supernode/model.h"
#include "plugins/topology_supernode/plain.h"
#include "plugins/topology_supernode/switches.h"

static uint32_t count_supernodes(bitstr_t *nodes)
{
	const struct sn_topo *topo = model_topo();
	bool *seen = calloc((size_t)topo->n_supernodes + 1, sizeof(*seen));
	uint32_t n = 0, t;
	int i;

	for (i = 0; seen && next_node_bitmap(nodes, &i); i++) {
		t = model_topo_node((uint32_t)i);
		if (t == SN_NONE || seen[topo->node[t].supernode])
			continue;
		seen[topo->node[t].supernode] = true;
		n++;
	}
	free(seen);
	return n;
}

/* Since it could begin; Slurm's own count begins when it first looks. */
static time_t waited(const job_record_t *job_ptr)
{
	const job_details_t *details = job_ptr->details;
	time_t since = details->begin_time > details->submit_time ?
		details->begin_time : details->submit_time;

	return time(NULL) - since;
}

bool switches_keep_back(const topology_eval_t *topo_eval)
{
	const job_record_t *job_ptr = topo_eval->job_ptr;
	uint32_t n;

	if (!job_ptr->req_switch || job_ptr->req_switch == NO_VAL ||
	    !model_topo() || plain_mode() == SELECT_MODE_TEST_ONLY ||
	    waited(job_ptr) >= (time_t)job_ptr->wait4switch)
		return false;
	n = count_supernodes(topo_eval->node_map);
	if (n <= job_ptr->req_switch)
		return false;
	log_flag(SELECT_TYPE, "topology/supernode: %pJ: waits for %u supernodes (--switches), %u were to be had",
		 job_ptr, job_ptr->req_switch, n);
	return true;
}
