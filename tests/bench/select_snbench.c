/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * select_snbench.c - select/snbench: a clock around another select plugin.
 *
 * For tests/bench only. It loads the plugin whose file $SN_BENCH_SELECT names
 * (select_cons_tres.so if it is not set), forwards every call, and appends a
 * line to $SN_BENCH_LOG for each select_p_job_test():
 *	job mode min_nodes rc wall_us cpu_us end_us
 * so that stock Slurm and the suite are timed by the same clock. cpu_us is the
 * time of the calling thread: what else runs on the machine is not in it.
 */
#include "plugins/compat.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "src/common/log.h"

#include "plugins/common/plugindir.h"
#include "plugins/select_supernode/stock.h"

const char plugin_name[] = "Select plugin that times another";
const char plugin_type[] = "select/snbench";
#if SN_SLURM_AT_LEAST(25, 5)
const uint32_t plugin_id = 109; /* the only one that it accepts */
#else
const uint32_t plugin_id = 199; /* unlike all that are loaded beside it */
#endif
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

static struct sn_stock timed;
static int (*job_test)(job_record_t *job_ptr, bitstr_t *node_bitmap,
		       uint32_t min_nodes, uint32_t max_nodes,
		       uint32_t req_nodes, uint16_t mode,
		       list_t *preemptee_candidates,
		       list_t **preemptee_job_list, resv_exc_t *resv_exc_ptr,
		       will_run_data_t *will_run_ptr);
static int log_fd = -1;

static void *need(void *handle, const char *name, int *missing)
{
	void *symbol = dlsym(handle, name);

	if (!symbol)
		(*missing)++;
	return symbol;
}

static uint64_t now_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static int timed_job_test(job_record_t *job_ptr, bitstr_t *node_bitmap,
			  uint32_t min_nodes, uint32_t max_nodes,
			  uint32_t req_nodes, uint16_t mode,
			  list_t *preemptee_candidates,
			  list_t **preemptee_job_list,
			  resv_exc_t *resv_exc_ptr,
			  will_run_data_t *will_run_ptr)
{
	uint64_t wall = now_us(CLOCK_MONOTONIC);
	uint64_t cpu = now_us(CLOCK_THREAD_CPUTIME_ID);
	int rc = job_test(job_ptr, node_bitmap, min_nodes,
					 max_nodes, req_nodes, mode,
					 preemptee_candidates,
					 preemptee_job_list, resv_exc_ptr,
					 will_run_ptr);

	cpu = now_us(CLOCK_THREAD_CPUTIME_ID) - cpu;
	wall = now_us(CLOCK_MONOTONIC) - wall;
	if (log_fd >= 0)
		dprintf(log_fd, "%u %u %u %d %lu %lu %lu\n", job_ptr->job_id,
			mode & SELECT_MODE_BASE, min_nodes, rc, (unsigned long)wall,
			(unsigned long)cpu,
			(unsigned long)now_us(CLOCK_REALTIME));
	return rc;
}

extern int init(void)
{
	const char *file = getenv("SN_BENCH_SELECT");
	const char *log = getenv("SN_BENCH_LOG");
	int missing = 0;
	void *handle;

	handle = sn_plugindir_open(file ? file : "select_cons_tres.so",
				   RTLD_LAZY);
	if (!handle) {
		error("select/snbench: %s", dlerror());
		return SLURM_ERROR;
	}
	timed.init = need(handle, "init", &missing);
#define SN_FIND(type, name, params, args) timed.name = need(handle, #name, &missing);
	SN_SELECT_OPS(SN_FIND)
#undef SN_FIND
#if !SN_SLURM_AT_LEAST(25, 5)
	timed.select_p_step_start = need(handle, "select_p_step_start", &missing);
#elif SN_SLURM_AT_LEAST(26, 5)
	timed.select_p_job_mem_reduce =
		need(handle, "select_p_job_mem_reduce", &missing);
#endif
	if (missing) {
		error("select/snbench: %s lacks %d functions",
		      file ? file : "select_cons_tres.so", missing);
		return SLURM_ERROR;
	}
	job_test = timed.select_p_job_test;
	timed.select_p_job_test = timed_job_test;
	if (log && log_fd < 0)
		log_fd = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
			      0644);
	return timed.init();
}

extern int fini(void)
{
	return SLURM_SUCCESS;
}

#define SN_FORWARD(type, name, params, args) \
	extern type name params { return timed.name args; }
SN_SELECT_OPS(SN_FORWARD)
#undef SN_FORWARD

#if !SN_SLURM_AT_LEAST(25, 5)
extern int select_p_step_start(step_record_t *step_ptr)
{
	return timed.select_p_step_start(step_ptr);
}
#elif SN_SLURM_AT_LEAST(26, 5)
extern void select_p_job_mem_reduce(job_record_t *job_ptr)
{
	timed.select_p_job_mem_reduce(job_ptr);
}
#endif
