/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * taskbind.h - CPUs and memory near each rank's card; launcher/bind.h decides.
 */
#ifndef SN_PLUGINS_SPANK_SUPERNODE_TASKBIND_H
#define SN_PLUGINS_SPANK_SUPERNODE_TASKBIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/policy.h"

struct taskbind; /* NULL: nothing is bound */

/* Once a step and node, before the tasks are forked: loads the topology. mode is
 * SUPERNODE_BIND's or the policy's word. */
struct taskbind *taskbind_prepare(const char *mode,
				  const struct sn_policy *policy);

/*
 * In a task, after Slurm has bound it: bind it further. cards and node_cards as
 * in struct sn_task; slurms is SLURM_CPU_BIND, NULL where not set. True: *ret (size bytes) has the CPUs that it is bound to now.
 * Whatever goes wrong leaves it as it was, and the first task of the node says so.
 */
bool taskbind_apply(const struct taskbind *bind, uint32_t local,
		    uint32_t local_world, const char *cards,
		    const char *node_cards, const char *slurms, char *ret,
		    size_t size);

#endif
