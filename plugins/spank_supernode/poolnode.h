/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolnode.h - what is only found in Slurm's inner headers, which do not go with
 * spank.h.
 */
#ifndef SN_PLUGINS_SPANK_SUPERNODE_POOLNODE_H
#define SN_PLUGINS_SPANK_SUPERNODE_POOLNODE_H

#include "slurm/slurm.h"

/* This node's NodeName, NULL: not known here. */
const char *pool_node_name(void);
/* The job's nodes in the order of its gres_detail_str; NULL: none. */
const char *pool_job_nodes(const slurm_job_info_t *info);

#endif
