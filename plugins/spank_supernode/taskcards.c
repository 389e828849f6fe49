/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * taskcards.c - which cards a task has.
 *
 * gres/npu says it in two variables. Slurm's gres/gpu says which cards the step
 * has, SLURM_STEP_GPUS, and which of them the task has, CUDA_VISIBLE_DEVICES, the
 * latter counted from 0 where devices are confined by cgroup.
 */
#include "plugins/compat.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/spank_supernode/stepfacts.h"
#include "plugins/spank_supernode/taskcards.h"

/* src/interfaces/gres.h and slurm/spank.h do not go together. */
extern bool gres_use_local_device_index(void);

/* The n-th word of a list, or NULL. */
static const char *nth(const char *list, unsigned long n, size_t *ret_len)
{
	while (n-- && list) {
		list = strchr(list, ',');
		if (list)
			list++;
	}
	*ret_len = list ? strcspn(list, ",") : 0;
	return *ret_len ? list : NULL;
}

static char *global_numbers(const char *step, const char *local)
{
	char *text = calloc(1, strlen(step) + strlen(local) + 2), *end;
	const char *p = local, *word;
	size_t len;

	while (text && *p) {
		word = nth(step, strtoul(p, &end, 10), &len);
		if (end == p || (*end && *end != ',') || !word ||
		    strlen(text) + len + 1 > strlen(step) + strlen(local)) {
			free(text);
			return NULL;
		}
		if (*text)
			strcat(text, ",");
		strncat(text, word, len);
		p = *end ? end + 1 : end;
	}
	return text;
}

static void find_gpus(spank_t sp, struct taskcards *ret)
{
	char *visible = stepfacts_env(sp, "CUDA_VISIBLE_DEVICES");

	ret->node = stepfacts_env(sp, "SLURM_STEP_GPUS");
	if (!ret->node || !visible || !*visible) {
		free(visible);
	} else if (gres_use_local_device_index()) {
		ret->own = global_numbers(ret->node, visible);
		free(visible);
	} else {
		ret->own = visible;
	}
	/* MIG parts have names. */
	if (ret->own && ret->own[strspn(ret->own, "0123456789,")]) {
		free(ret->own);
		ret->own = NULL;
	}
}

void taskcards_find(spank_t sp, const char *gres, struct taskcards *ret)
{
	ret->own = ret->node = NULL;
	if (!strcmp(gres, "gpu")) {
		find_gpus(sp, ret);
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
