/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topoapi.c - find the table of the loaded topology_supernode.so.
 */
#include "plugins/compat.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/common/read_config.h"

#include "plugins/common/plugindir.h"
#include "plugins/common/topoapi.h"

const struct sn_topoapi *sn_topoapi_find(void)
{
	/* The handle is kept: the table must not go while it is in use. */
	static void *handle;
	const struct sn_topoapi *table;

	if (!handle)
		handle = sn_plugindir_open("topology_supernode.so",
					   RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return NULL;
	table = dlsym(handle, SN_TOPOAPI_SYMBOL);
	return table && table->version == SN_TOPOAPI_VERSION ? table : NULL;
}
