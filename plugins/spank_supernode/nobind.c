/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nobind.c - instead of taskbind.c where the build had no hwloc.
 */
#include "plugins/compat.h"

#include <strings.h>

#include "slurm/spank.h"

#include "plugins/spank_supernode/taskbind.h"

struct taskbind *taskbind_prepare(const char *mode,
				  const struct sn_policy *policy)
{
	if (mode && *mode ? strcasecmp(mode, "none") != 0 : policy->bind != 0)
		slurm_error("supernode: the ranks are not bound: this plugin was built without hwloc");
	return NULL;
}

bool taskbind_apply(const struct taskbind *bind, uint32_t local,
		    uint32_t local_world, const char *cards,
		    const char *node_cards, const char *slurms, char *ret,
		    size_t size)
{
	(void)bind;
	(void)local;
	(void)local_world;
	(void)cards;
	(void)node_cards;
	(void)slurms;
	(void)ret;
	(void)size;
	return false;
}
