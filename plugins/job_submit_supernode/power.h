/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * power.h - jobs of more nodes than PowerLimit ever lets run.
 */
#ifndef SN_PLUGINS_JOB_SUBMIT_SUPERNODE_POWER_H
#define SN_PLUGINS_JOB_SUBMIT_SUPERNODE_POWER_H

#include "plugins/common/topoapi.h"
#include "topology/err.h"

/* -ENOSPC with the arithmetic. It counts -N alone; what a layout takes is found out
 * with the rest of it. api may be NULL. */
int power_check(const job_desc_msg_t *job_desc, const struct sn_topoapi *api,
		struct sn_err *err);

#endif
