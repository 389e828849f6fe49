/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * segment.h - a --segment job at the door of slurmctld.
 */
#ifndef SN_PLUGINS_JOB_SUBMIT_SUPERNODE_SEGMENT_H
#define SN_PLUGINS_JOB_SUBMIT_SUPERNODE_SEGMENT_H

#include "src/slurmctld/slurmctld.h"

#include "plugins/common/topoapi.h"

/* 0: none. */
uint32_t segment_size(const job_desc_msg_t *job_desc);

/*
 * What can never be had: -EINVAL the numbers contradict each other, -ENOSPC
 * the cluster has no room for it even when idle. api may be NULL: then nothing
 * is known of supernodes.
 */
int segment_check(const job_desc_msg_t *job_desc, const struct sn_topoapi *api,
		  struct sn_err *err);
/* The same of `scontrol update`. */
int segment_check_update(const job_desc_msg_t *job_desc,
			 const job_record_t *job_ptr, struct sn_err *err);

#endif
