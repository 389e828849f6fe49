/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmapi.h - calls of libslurm's public API that differ between its versions.
 */
#ifndef SN_LAUNCHER_SLURMAPI_H
#define SN_LAUNCHER_SLURMAPI_H

#include <stdbool.h>
#include <string.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#define SN_API_STEP_ID_T (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0))

#if SN_API_STEP_ID_T
static inline slurm_step_id_t sn_api_step(uint32_t job, uint32_t step)
{
	slurm_step_id_t id;

	/* Later versions have further fields, 0 where they are not known. */
	memset(&id, 0, sizeof(id));
	id.job_id = job;
	id.step_id = step;
	id.step_het_comp = NO_VAL;
	return id;
}
#endif

static inline int sn_api_load_job(uint32_t job, job_info_msg_t **ret)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
	return slurm_load_job(ret, sn_api_step(job, NO_VAL), SHOW_DETAIL);
#else
	return slurm_load_job(ret, job, SHOW_DETAIL);
#endif
}

/* All steps of a job. */
static inline int sn_api_steps(uint32_t job, job_step_info_response_msg_t **ret)
{
#if SN_API_STEP_ID_T
	slurm_step_id_t id = sn_api_step(job, NO_VAL);

	return slurm_get_job_steps(&id, ret, SHOW_ALL);
#else
	return slurm_get_job_steps(0, job, NO_VAL, ret, SHOW_ALL);
#endif
}

static inline int sn_api_signal(uint32_t job, uint32_t step, int sig)
{
#if SN_API_STEP_ID_T
	slurm_step_id_t id = sn_api_step(job, step);

	return slurm_kill_job_step(&id, (uint16_t)sig, 0);
#else
	return slurm_kill_job_step(job, step, (uint16_t)sig, 0);
#endif
}

/* An update of a job, of which nothing else is set. */
static inline void sn_api_init_update(job_desc_msg_t *desc, uint32_t job)
{
	slurm_init_job_desc_msg(desc);
#if SN_API_STEP_ID_T
	desc->step_id = sn_api_step(job, NO_VAL);
#else
	desc->job_id = job;
#endif
}

/* Jobs may start there, where cards are free. */
static inline bool sn_api_in_service(const node_info_t *node)
{
	uint32_t base = node->node_state & NODE_STATE_BASE;

	return (base == NODE_STATE_IDLE || base == NODE_STATE_MIXED || base == NODE_STATE_ALLOCATED) &&
		!(node->node_state & (NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND));
}

/* Who gives the reason of a node's state; 26.05 knows by itself. */
static inline void sn_api_reason_by(update_node_msg_t *msg, uint32_t uid)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
	(void)msg;
	(void)uid;
#else
	msg->reason_uid = uid;
#endif
}

static inline void sn_api_free_conf(slurm_conf_t *conf)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
	slurm_free_conf(conf);
#else
	slurm_free_ctl_conf(conf);
#endif
}

#endif
