/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steptopo.h - keep the ranks of a supernode together.
 */
#ifndef SN_PLUGINS_SELECT_SUPERNODE_STEPTOPO_H
#define SN_PLUGINS_SELECT_SUPERNODE_STEPTOPO_H

#include "src/slurmctld/slurmctld.h"

/*
 * Slurm deals a step's ranks over its nodes in the order of the node table,
 * where the nodes of supernodes may alternate. For a step of a job without
 * --parallel this deals them supernode by supernode. Rank 0 stays on the step's
 * first node, which scripts take for the master. A distribution that the user
 * asked for is left alone.
 */
void steptopo_order(step_record_t *step_ptr);

#endif
