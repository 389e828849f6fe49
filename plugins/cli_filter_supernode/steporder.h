/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steporder.h - have srun put a step's ranks where the layout wants them.
 */
#ifndef SN_PLUGINS_CLI_FILTER_STEPORDER_H
#define SN_PLUGINS_CLI_FILTER_STEPORDER_H

#include <stdbool.h>

#include "src/common/slurm_opt.h"

/*
 * For an srun in a --parallel job that starts the whole layout and has no order
 * of its own: where Slurm's order of ranks is not the layout's, the node of
 * each rank is named and the distribution made arbitrary, as by a
 * SLURM_HOSTFILE. Where it cannot be done the step is left alone; then the
 * tasks refuse to run (spank_supernode/stepmap.c), so that nothing is split
 * silently. Needed from 25.05 on, and for jobs with spares, whose ranks run on
 * the other nodes: there it is done always. False: the step must not start, and
 * the user has been told why.
 */
bool steporder_set(slurm_opt_t *opt);

/* Of any srun: where no node has two tasks, it would make the distribution
 * cyclic, which goes by the node table. Block, which is the same else, goes by
 * the topology (26.05). What the user has asked for stays. */
void steporder_keep_block(slurm_opt_t *opt);

#endif
