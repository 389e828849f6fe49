/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stock.c - find Slurm's own select_cons_tres.so.
 */
#include "plugins/select_supernode/stock.h"

#include <dlfcn.h>
#include <errno.h>

#include "src/common/log.h"

#include "plugins/common/plugindir.h"

#define STOCK "select_cons_tres.so"

static void *find(void *handle, const char *name, int *missing)
{
	void *symbol = dlsym(handle, name);

	if (!symbol) {
		error("select/supernode: %s has no %s", STOCK, name);
		(*missing)++;
	}
	return symbol;
}

int sn_stock_load(struct sn_stock *ret)
{
	/* Never closed: Slurm keeps pointers into it. RTLD_LAZY as Slurm does,
	 * since clients lack the symbols that only slurmctld has. */
	void *handle = sn_plugindir_open(STOCK, RTLD_LAZY);
	int missing = 0;

	if (!handle) {
		error("select/supernode: %s cannot be loaded from PluginDir: %s",
		      STOCK, dlerror());
		return -ENOENT;
	}
	ret->init = find(handle, "init", &missing);
	ret->fini = find(handle, "fini", &missing);
#define SN_FIND(type, name, params, args) ret->name = find(handle, #name, &missing);
	SN_SELECT_OPS(SN_FIND)
#undef SN_FIND
#if !SN_SLURM_AT_LEAST(25, 5)
	ret->select_p_step_start = find(handle, "select_p_step_start", &missing);
#elif SN_SLURM_AT_LEAST(26, 5)
	ret->select_p_job_mem_reduce =
		find(handle, "select_p_job_mem_reduce", &missing);
#endif
	return missing ? -ENOENT : 0;
}
