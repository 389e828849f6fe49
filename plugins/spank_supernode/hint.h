/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hint.h - tell snelasticd to look, for a job has changed.
 *
 * It looks once a second, or less often; a word when a job ends, or its tasks fail, makes
 * that milliseconds. It is a help and nothing more: nobody waits for long, what is in the
 * way is said at debug level, and the daemon does what it would have done later. So that
 * ten thousand nodes that end at once are no flood, of those of a step or a job only the
 * first two speak: two, as one may be what was lost.
 */
#ifndef SN_PLUGINS_SPANK_SUPERNODE_HINT_H
#define SN_PLUGINS_SPANK_SUPERNODE_HINT_H

#include <stdbool.h>

#include "slurm/spank.h"

void hint_task_exit(spank_t sp); /* in slurmstepd, of a step of a job with --parallel */
void hint_step_ends(spank_t sp);
void hint_job_ends(spank_t sp); /* in the epilog of any job */

#endif
