/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * taskcards.h - which cards a task has, in Slurm's words.
 */
#ifndef SN_PLUGINS_SPANK_SUPERNODE_TASKCARDS_H
#define SN_PLUGINS_SPANK_SUPERNODE_TASKCARDS_H

#include "slurm/spank.h"

#include "plugins/spank_supernode/stepfacts.h"

struct taskcards {
	char *own; /* "3", by the number of the device file; NULL: not known */
	char *node; /* those of the step on this node */
};

/* In a task, after the gres plugins have set its environment. */
void taskcards_find(spank_t sp, const struct stepfacts *facts,
		    struct taskcards *ret);
void taskcards_done(struct taskcards *cards);

#endif
