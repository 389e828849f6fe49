/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spareroom.h - a job that would need nodes which are held back as SpareNodes, at
 * the door of slurmctld.
 *
 * Which nodes are held changes as nodes fail or are used. But the last SpareNodes
 * nodes of a supernode are held whenever they are wholly free; a job that cannot do
 * without them would wait until another job, that replaces nodes, has part of them
 * or they have masked cards: most likely for ever.
 */
#ifndef SN_PLUGINS_JOB_SUBMIT_SUPERNODE_SPAREROOM_H
#define SN_PLUGINS_JOB_SUBMIT_SUPERNODE_SPAREROOM_H

#include "src/slurmctld/slurmctld.h"

#include "plugins/common/topoapi.h"

/* Those last nodes, of the node table; the caller's. NULL: there are none (or no
 * memory). */
bitstr_t *spareroom_nodes(const struct sn_topoapi *api);

/* For a job without --parallel. -ENOSPC with the numbers. */
int spareroom_check(const job_desc_msg_t *job_desc,
		    const struct sn_topoapi *api, struct sn_err *err);
/* The same when a pending job changes. */
int spareroom_check_update(const job_desc_msg_t *job_desc,
			   const job_record_t *job_ptr,
			   const struct sn_topoapi *api, struct sn_err *err);

#endif
