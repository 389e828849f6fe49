/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steprank.h - put a step's ranks where the layout wants them.
 */
#ifndef SN_PLUGINS_SELECT_SUPERNODE_STEPRANK_H
#define SN_PLUGINS_SELECT_SUPERNODE_STEPRANK_H

#include "src/slurmctld/slurmctld.h"

/*
 * Slurm deals a step's ranks over its nodes in the order of the node table.
 * For a step that is the whole of a --parallel job this puts them in the order
 * of the layout instead. It changes which rank is where, not how many there
 * are on a node, so nothing that Slurm has counted changes. Where it does not
 * apply it leaves the step alone.
 */
void steprank_order(step_record_t *step_ptr);

#endif
