/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugindir.c - open a plugin's file in slurm.conf's PluginDir.
 */
#include "plugins/compat.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/read_config.h"

#include "plugins/common/plugindir.h"

void *sn_plugindir_open(const char *file, int flags)
{
	const char *dir = slurm_conf.plugindir;
	void *handle = NULL;

	while (!handle && dir && *dir) {
		size_t len = strcspn(dir, ":");
		char *path = NULL;

		if (len && asprintf(&path, "%.*s/%s", (int)len, dir, file) > 0)
			handle = dlopen(path, flags);
		free(path);
		dir += len + (dir[len] == ':');
	}
	return handle;
}
