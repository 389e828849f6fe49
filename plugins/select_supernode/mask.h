/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mask.h - keep masked cards from jobs that start.
 *
 * Which cards are masked the nodes' records say (launcher/cardbook.h). It holds for
 * every job, of whatever options, and in every mode but TEST_ONLY: there Slurm asks
 * whether a job could run at all, and holds it for good if not.
 */
#ifndef SN_PLUGINS_SELECT_SUPERNODE_MASK_H
#define SN_PLUGINS_SELECT_SUPERNODE_MASK_H

#include "plugins/compat.h"

#include "plugins/select_supernode/preempt.h"

/* The stock plugin's job_test, as if the masked cards were not there. api NULL:
 * nothing is masked. */
int mask_job_test(const struct sn_topoapi *api, const struct job_test *test);

#endif
