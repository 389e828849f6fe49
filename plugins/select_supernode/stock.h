/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stock.h - Slurm's own select_cons_tres.so, which does all the work.
 */
#ifndef SN_PLUGINS_SELECT_SUPERNODE_STOCK_H
#define SN_PLUGINS_SELECT_SUPERNODE_STOCK_H

/* First: it renames what the others declare. */
#include "plugins/compat.h"

#include "src/interfaces/select.h"
#include "src/slurmctld/slurmctld.h"

/* Every function of the select interface but those that we answer ourselves:
 * X(return type, name, parameters, arguments). */
#if SN_SLURM_AT_LEAST(25, 5)
#define SN_SELECT_VERSIONED(X)
#else
#define SN_SELECT_VERSIONED(X) \
	X(int, select_p_state_save, (char *dir_name), (dir_name)) \
	X(int, select_p_state_restore, (char *dir_name), (dir_name)) \
	X(int, select_p_job_init, (list_t *jobs), (jobs)) \
	X(bitstr_t *, select_p_step_pick_nodes, \
	  (job_record_t *job_ptr, select_jobinfo_t *step_jobinfo, \
	   uint32_t node_count, bitstr_t **avail_nodes), \
	  (job_ptr, step_jobinfo, node_count, avail_nodes)) \
	X(int, select_p_step_finish, \
	  (step_record_t *step_ptr, bool killing_step), \
	  (step_ptr, killing_step)) \
	X(int, select_p_select_nodeinfo_pack, \
	  (select_nodeinfo_t *nodeinfo, buf_t *buffer, \
	   uint16_t protocol_version), \
	  (nodeinfo, buffer, protocol_version)) \
	X(int, select_p_select_nodeinfo_unpack, \
	  (select_nodeinfo_t **nodeinfo, buf_t *buffer, \
	   uint16_t protocol_version), \
	  (nodeinfo, buffer, protocol_version)) \
	X(select_nodeinfo_t *, select_p_select_nodeinfo_alloc, (void), ()) \
	X(int, select_p_select_nodeinfo_free, (select_nodeinfo_t *nodeinfo), \
	  (nodeinfo)) \
	X(int, select_p_select_nodeinfo_get, \
	  (select_nodeinfo_t *nodeinfo, enum select_nodedata_type dinfo, \
	   enum node_states state, void *data), \
	  (nodeinfo, dinfo, state, data)) \
	X(select_jobinfo_t *, select_p_select_jobinfo_alloc, (void), ()) \
	X(int, select_p_select_jobinfo_free, (select_jobinfo_t *jobinfo), \
	  (jobinfo)) \
	X(int, select_p_select_jobinfo_set, \
	  (select_jobinfo_t *jobinfo, enum select_jobdata_type data_type, \
	   void *data), \
	  (jobinfo, data_type, data)) \
	X(int, select_p_select_jobinfo_get, \
	  (select_jobinfo_t *jobinfo, enum select_jobdata_type data_type, \
	   void *data), \
	  (jobinfo, data_type, data)) \
	X(select_jobinfo_t *, select_p_select_jobinfo_copy, \
	  (select_jobinfo_t *jobinfo), (jobinfo)) \
	X(int, select_p_select_jobinfo_pack, \
	  (select_jobinfo_t *jobinfo, buf_t *buffer, \
	   uint16_t protocol_version), \
	  (jobinfo, buffer, protocol_version)) \
	X(int, select_p_select_jobinfo_unpack, \
	  (select_jobinfo_t **jobinfo, buf_t *buffer, \
	   uint16_t protocol_version), \
	  (jobinfo, buffer, protocol_version)) \
	X(int, select_p_get_info_from_plugin, \
	  (enum select_plugindata_info dinfo, job_record_t *job_ptr, \
	   void *data), \
	  (dinfo, job_ptr, data))
#endif

#define SN_SELECT_OPS(X) \
	X(int, select_p_node_init, (void), ()) \
	X(int, select_p_job_test, \
	  (job_record_t *job_ptr, bitstr_t *node_bitmap, uint32_t min_nodes, \
	   uint32_t max_nodes, uint32_t req_nodes, uint16_t mode, \
	   list_t *preemptee_candidates, list_t **preemptee_job_list, \
	   resv_exc_t *resv_exc_ptr, will_run_data_t *will_run_ptr), \
	  (job_ptr, node_bitmap, min_nodes, max_nodes, req_nodes, mode, \
	   preemptee_candidates, preemptee_job_list, resv_exc_ptr, \
	   will_run_ptr)) \
	X(int, select_p_job_begin, (job_record_t *job_ptr), (job_ptr)) \
	X(int, select_p_job_ready, (job_record_t *job_ptr), (job_ptr)) \
	X(int, select_p_job_expand, \
	  (job_record_t *from_job_ptr, job_record_t *to_job_ptr), \
	  (from_job_ptr, to_job_ptr)) \
	X(int, select_p_job_resized, \
	  (job_record_t *job_ptr, node_record_t *node_ptr), \
	  (job_ptr, node_ptr)) \
	X(int, select_p_job_fini, (job_record_t *job_ptr), (job_ptr)) \
	X(int, select_p_job_suspend, \
	  (job_record_t *job_ptr, bool indf_susp), (job_ptr, indf_susp)) \
	X(int, select_p_job_resume, \
	  (job_record_t *job_ptr, bool indf_susp), (job_ptr, indf_susp)) \
	X(int, select_p_select_nodeinfo_set_all, (void), ()) \
	X(int, select_p_select_nodeinfo_set, (job_record_t *job_ptr), \
	  (job_ptr)) \
	X(int, select_p_reconfigure, (void), ()) \
	SN_SELECT_VERSIONED(X)

struct sn_stock {
	int (*init)(void);
	void (*fini)(void); /* before 25.11 it returns an int, never looked at */
#define SN_MEMBER(type, name, params, args) type (*name) params;
	SN_SELECT_OPS(SN_MEMBER)
#undef SN_MEMBER
#if !SN_SLURM_AT_LEAST(25, 5)
	int (*select_p_step_start)(step_record_t *step_ptr);
#elif SN_SLURM_AT_LEAST(26, 5)
	void (*select_p_job_mem_reduce)(job_record_t *job_ptr);
#endif
};

/* Loads the stock plugin; 0 or -ENOENT, having logged why. */
int sn_stock_load(struct sn_stock *ret);

#endif
