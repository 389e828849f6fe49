/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * taskcards.c - which cards a task has.
 *
 * gres/npu says it in two variables. Slurm's gres/gpu says which cards the step
 * has in SLURM_STEP_GPUS, and which the task has in CUDA_VISIBLE_DEVICES; but where
 * cgroups confine devices, the latter counts from the first that the task can open,
 * and which that is nothing tells.
 */
#include "plugins/compat.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/spank_supernode/stepfacts.h"
#include "plugins/spank_supernode/taskcards.h"

/* src/interfaces/gres.h and slurm/spank.h do not go together. */
extern bool gres_use_local_device_index(void);

static void find_gpus(spank_t sp, const char *step, struct taskcards *ret)
{
	ret->node = step && *step ? strdup(step) : NULL;
	if (!gres_use_local_device_index())
		ret->own = stepfacts_env(sp, "CUDA_VISIBLE_DEVICES");
	/* MIG parts have names. */
	if (ret->own && (!*ret->own ||
			 ret->own[strspn(ret->own, "0123456789,")])) {
		free(ret->own);
		ret->own = NULL;
	}
}

void taskcards_find(spank_t sp, const struct stepfacts *facts,
		    struct taskcards *ret)
{
	ret->own = ret->node = NULL;
	if (!strcmp(facts->policy.card_gres, "gpu")) {
		find_gpus(sp, facts->step_gpus, ret);
		return;
	}
	ret->own = stepfacts_env(sp, "SUPERNODE_CARDS");
	ret->node = stepfacts_env(sp, "SUPERNODE_NODE_CARDS");
}

void taskcards_done(struct taskcards *cards)
{
	free(cards->own);
	free(cards->node);
	cards->own = cards->node = NULL;
}
