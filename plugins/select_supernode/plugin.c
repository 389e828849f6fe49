/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin.c - select/supernode: select/cons_tres with the ranks in order.
 *
 * It loads the stock plugin and forwards every call. Where a job goes is
 * decided in topology/supernode; what is added here is the order of ranks when
 * a step starts (24.11; later Slurms ask elsewhere), word of what a call is for,
 * the choice of jobs to preempt, cards without a task, masked cards, and a note of
 * the nodes that a job begins on.
 */
#include "plugins/select_supernode/stock.h"

#include "src/common/log.h"

#include "plugins/common/topoapi.h"
#include "plugins/select_supernode/jobnodes.h"
#include "plugins/select_supernode/mask.h"
#include "plugins/select_supernode/preempt.h"
#include "plugins/select_supernode/steprank.h"
#include "plugins/select_supernode/steptopo.h"

const char plugin_name[] = "Supernode selection plugin";
/* Slurm has dynamic nodes, and some more, only where the name in SelectType has
 * "cons_tres" in it. So there is a second one, the same but for its name. */
#ifdef SN_SELECT_CONS_TRES
const char plugin_type[] = "select/cons_tres_supernode";
const uint32_t plugin_id = SN_SELECT_PLUGIN_ID_CONS_TRES;
#else
const char plugin_type[] = "select/supernode";
const uint32_t plugin_id = SN_SELECT_PLUGIN_ID;
#endif
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

static struct sn_stock stock;
static job_test_fn stock_job_test;
static int (*stock_reconfigure)(void);
static int (*stock_job_begin)(job_record_t *job_ptr);
static int (*stock_job_resized)(job_record_t *job_ptr, node_record_t *node_ptr);

/*
 * Slurm deals out cards by tasks. So topology/supernode lets a job have a task
 * for each card of the spare nodes that it has just chosen, until they are
 * dealt. What the job runs is as many as before.
 */
static int job_test_of_tasks(job_record_t *job_ptr, bitstr_t *node_bitmap,
			     uint32_t min_nodes, uint32_t max_nodes,
			     uint32_t req_nodes, uint16_t mode,
			     list_t *preemptee_candidates,
			     list_t **preemptee_job_list,
			     resv_exc_t *resv_exc_ptr,
			     will_run_data_t *will_run_ptr)
{
	uint32_t tasks = job_ptr->details ? job_ptr->details->num_tasks : 0;
	const struct job_test test = {
		.stock = stock_job_test,
		.job_ptr = job_ptr,
		.node_bitmap = node_bitmap,
		.min_nodes = min_nodes,
		.max_nodes = max_nodes,
		.req_nodes = req_nodes,
		.mode = mode,
		.candidates = preemptee_candidates,
		.victims = preemptee_job_list,
		.resv_exc_ptr = resv_exc_ptr,
		.will_run_ptr = will_run_ptr,
	};
	int rc = mask_job_test(sn_topoapi_find(), &test);

	if (job_ptr->details)
		job_ptr->details->num_tasks = tasks;
	return rc;
}

/* Slurm does not tell topology/supernode what it is asked for; we do. */
static int told_job_test(job_record_t *job_ptr, bitstr_t *node_bitmap,
			 uint32_t min_nodes, uint32_t max_nodes,
			 uint32_t req_nodes, uint16_t mode,
			 list_t *preemptee_candidates,
			 list_t **preemptee_job_list, resv_exc_t *resv_exc_ptr,
			 will_run_data_t *will_run_ptr)
{
	const struct sn_topoapi *api = sn_topoapi_find();
	resv_exc_t none = { 0 };
	/* Slurm asks whether the job could run at all, and holds it for good
	 * if not. Other jobs' reservations of cores and cards will pass. */
	bool lasting = (mode & SELECT_MODE_BASE) == SELECT_MODE_TEST_ONLY &&
		resv_exc_ptr && !job_ptr->resv_name;
	const struct job_test test = {
		.stock = job_test_of_tasks,
		.job_ptr = job_ptr,
		.node_bitmap = node_bitmap,
		.min_nodes = min_nodes,
		.max_nodes = max_nodes,
		.req_nodes = req_nodes,
		.mode = mode,
		.candidates = preemptee_candidates,
		.victims = preemptee_job_list,
		.resv_exc_ptr = lasting ? &none : resv_exc_ptr,
		.will_run_ptr = will_run_ptr,
	};
	int rc;

	if (api)
		api->set_mode(mode);
	rc = preempt_job_test(api, &test);
	if (api)
		api->set_mode(SELECT_MODE_RUN_NOW);
	return rc;
}

/* Slurm calls this after nodes have been created or deleted at run time, of
 * which 24.11 does not tell a topology plugin. */
static int told_reconfigure(void)
{
	const struct sn_topoapi *api = sn_topoapi_find();

	if (api)
		api->nodes_changed();
	return stock_reconfigure();
}

static int told_job_begin(job_record_t *job_ptr)
{
	int rc = stock_job_begin(job_ptr);

	if (!rc)
		jobnodes_begin(job_ptr);
	return rc;
}

static int told_job_resized(job_record_t *job_ptr, node_record_t *node_ptr)
{
	int rc = stock_job_resized(job_ptr, node_ptr);

	if (!rc)
		jobnodes_resized(job_ptr, node_ptr);
	return rc;
}

extern int init(void)
{
	if (sn_stock_load(&stock))
		return SLURM_ERROR;
	stock_job_test = stock.select_p_job_test;
	stock.select_p_job_test = told_job_test;
	stock_reconfigure = stock.select_p_reconfigure;
	stock.select_p_reconfigure = told_reconfigure;
	stock_job_begin = stock.select_p_job_begin;
	stock.select_p_job_begin = told_job_begin;
	stock_job_resized = stock.select_p_job_resized;
	stock.select_p_job_resized = told_job_resized;
	verbose("%s loaded", plugin_type);
	/* Slurm calls the stock plugin's init() itself only where it loads it
	 * for its own sake; it may be called twice. */
	return stock.init();
}

extern int fini(void)
{
	/* 24.11 has loaded the stock plugin too and ends it itself. */
	if (SN_SLURM_AT_LEAST(25, 5) && stock.fini)
		stock.fini();
	return SLURM_SUCCESS;
}

#define SN_FORWARD(type, name, params, args) \
	extern type name params { return stock.name args; }
SN_SELECT_OPS(SN_FORWARD)
#undef SN_FORWARD

#if !SN_SLURM_AT_LEAST(25, 5)
extern int select_p_step_start(step_record_t *step_ptr)
{
	int rc = stock.select_p_step_start(step_ptr);

	steprank_order(step_ptr);
	steptopo_order(step_ptr);
	return rc;
}
#elif SN_SLURM_AT_LEAST(26, 5)
extern void select_p_job_mem_reduce(job_record_t *job_ptr)
{
	stock.select_p_job_mem_reduce(job_ptr);
}
#endif
