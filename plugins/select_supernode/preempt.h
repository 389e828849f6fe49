/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preempt.h - have Slurm take away the jobs that should go, not the first.
 */
#ifndef SN_PLUGINS_SELECT_SUPERNODE_PREEMPT_H
#define SN_PLUGINS_SELECT_SUPERNODE_PREEMPT_H

#include "plugins/compat.h"

#include "plugins/select_supernode/stock.h"

#include "plugins/common/topoapi.h"

typedef __typeof__(((struct sn_stock *)0)->select_p_job_test) job_test_fn;

/* A call of select_p_job_test(), and the stock plugin's. */
struct job_test {
	job_test_fn stock;
	job_record_t *job_ptr;
	bitstr_t *node_bitmap;
	uint32_t min_nodes, max_nodes, req_nodes;
	uint16_t mode;
	list_t *candidates;
	list_t **victims;
	resv_exc_t *resv_exc_ptr;
	will_run_data_t *will_run_ptr;
};

/*
 * The stock plugin's job_test. Where the job does not fit and there are jobs
 * that may be preempted, the stock plugin gets only those candidates and nodes
 * that topology/victims.h chooses; where it could place the job by preemption
 * and we could not, it gets all of them.
 */
int preempt_job_test(const struct sn_topoapi *api, const struct job_test *test);

#endif
