/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * taskenv.c - the environment of one rank.
 *
 * launcher/taskvars.h says what is set and who wins; here is where the facts
 * come from. Nothing is exported that is not sure: ranks of a step that is not
 * the whole layout have no coordinates. Runs as the job's user.
 */
#include "plugins/compat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/jobdirempty.h"
#include "launcher/taskvars.h"
#include "launcher/writefile.h"
#include "plugins/spank_supernode/spank_supernode.h"
#include "plugins/spank_supernode/taskcards.h"

/* Clocks of a shared directory's server and of nodes differ. */
#define CLOCK_SLACK 60
/* What is to be removed is older by more than any clock is wrong. */
#define REMOVE_SLACK 3600

static uint64_t number_in_env(spank_t sp, const char *name)
{
	char text[32];

	if (spank_getenv(sp, name, text, sizeof(text)) != ESPANK_SUCCESS)
		return 0;
	return strtoull(text, NULL, 10);
}

static bool get_task(spank_t sp, struct sn_task *ret)
{
	return spank_get_item(sp, S_TASK_GLOBAL_ID, &ret->rank) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_TASK_ID, &ret->local) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &ret->local_world) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_TOTAL_TASK_COUNT, &ret->world) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_ID, &ret->job) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_STEPID, &ret->step) == ESPANK_SUCCESS;
}

/* A task of a part; what it is in its own step binds it. */
static void become_rank(const struct stepmap *map, struct sn_task *task)
{
	const struct sn_stepenv_rank *as = &map->ranks[task->rank];

	task->rank = as->rank;
	task->local = as->local;
	task->local_world = as->local_world;
	task->world = map->spec.layout.world;
}

static bool find_atom(const struct sn_layout *layout, uint32_t rank,
		      uint32_t *ret)
{
	uint32_t *block = calloc(layout->world, sizeof(*block));
	bool found = block && !sn_layout_blocks(layout, SN_IN_SUPERNODE, block);

	if (found)
		*ret = block[rank];
	free(block);
	return found;
}

static bool agrees(const struct stepmap *map, const struct sn_task *task)
{
	return map->map.node[task->rank] == map->here &&
	       map->map.local[task->rank] == task->local;
}

/* From 25.05 on nothing in slurmctld sees to the order of ranks, so a wrong one
 * is no odd case but what a step gets that went past cli_filter/supernode. */
static void tell_refusal(const struct sn_task *task)
{
	if (task->rank)
		return; /* one sentence is enough */
	slurm_error("supernode: Slurm %s gives ranks to nodes in the order of its node table, which would split the groups of --parallel, so the tasks do not run; start them by srun inside sbatch or salloc, with CliFilterPlugins=supernode in slurm.conf and without -m, -w and -x",
		    SLURM_VERSION_STRING);
}

static void tell_split(const struct sn_task *task, const char *why)
{
	if (task->rank)
		return;
	slurm_error("supernode: the tasks do not run, for groups of --parallel would be split: %s (nodes in topology.conf's order); where the step is given less than the job has, give it all; where topology.conf has changed under the job, requeue it (scontrol requeue %u)",
		    why, task->job);
}

static void tell_spares(const struct sn_task *task, const char *why)
{
	if (task->rank)
		return;
	slurm_error("supernode: the tasks do not run, for ranks would be on spare nodes: %s; start them by snrun, or by srun without -N, -m, -w and -x and with CliFilterPlugins=supernode in slurm.conf",
		    why);
}

/* As snrun does with what an earlier job of this number has left (is_another_job()),
 * which is told here by its age alone. Each task, before its program looks there. */
static void remove_old_files(const struct stepfacts *facts, uint64_t start)
{
	int fd;

	if (!facts->own_job_dir || start < REMOVE_SLACK ||
	    sn_dir_open(facts->job_dir, &fd, NULL))
		return;
	sn_jobdir_empty(fd, (time_t)(start - REMOVE_SLACK));
	close(fd);
}

/*
 * How often snrun has started this job's ranks; a plain srun after it goes by the
 * file. Numbers of jobs come again: what was written before the job's first start is
 * of another one. A requeued job goes on counting.
 */
static uint32_t generation(spank_t sp, const struct stepfacts *facts)
{
	uint64_t start = number_in_env(sp, "SLURM_JOB_START_TIME");
	char path[PATH_MAX], text[16];
	struct stat st = { .st_mtime = 0 };
	ssize_t n = -1;
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/generation", facts->job_dir) >= sizeof(path))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		n = fstat(fd, &st) ? -1 : read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (n <= 0)
		return 0;
	if (!number_in_env(sp, "SLURM_RESTART_COUNT") &&
	    (uint64_t)st.st_mtime + CLOCK_SLACK < start) {
		remove_old_files(facts, start);
		return 0;
	}
	text[n] = '\0';
	return (uint32_t)strtoul(text, NULL, 10);
}

/*
 * The job's rank table, if it is this run's. A requeued job finds its directory
 * again with the table of other nodes, and HCCL would wait for those; and after
 * snrun swapped a node, a plain srun's ranks are not where the table has them.
 */
static const char *find_table(spank_t sp, const struct stepmap *map,
			      const struct sn_task *task, char *buf, size_t size)
{
	uint64_t start = number_in_env(sp, "SLURM_JOB_START_TIME");
	struct stat st;

	if (!task->job_dir || !task->layout || (!map->planned && task->generation) ||
	    (size_t)snprintf(buf, size, "%s/ranktable.json", task->job_dir) >= size ||
	    stat(buf, &st) || !S_ISREG(st.st_mode) || access(buf, R_OK) ||
	    (uint64_t)st.st_mtime + CLOCK_SLACK < start)
		return NULL;
	return buf;
}

static const char *get(void *ctx, const char *name)
{
	/* A longer one is the user's all the same. */
	static char value[1u << 16];
	spank_err_t rc = spank_getenv(ctx, name, value, sizeof(value));

	if (rc == ESPANK_NOSPACE)
		snprintf(value, sizeof(value), "(long)");
	return rc == ESPANK_SUCCESS || rc == ESPANK_NOSPACE ? value : NULL;
}

static void set(void *ctx, const char *name, const char *value)
{
	spank_setenv(ctx, name, value, 1);
}

static void unset(void *ctx, const char *name)
{
	spank_unsetenv(ctx, name);
}

/* What all tasks of the step share. */
static void fill(spank_t sp, const struct stepmap *map, struct sn_task *task)
{
	const struct stepfacts *facts = &map->facts;

	task->n_nodes = map->n_nodes;
	task->generation = map->generation;
	task->max_restarts = map->max_restarts;
	task->port = map->port;
	task->role = map->spec.role;
	task->supernode = map->supernode;
	task->unit = map->unit;
	task->supernode_index = map->supernode_index;
	task->n_supernodes = map->n_supernodes;
	task->loose = map->loose;
	task->shape = map->shape;
	task->spares = map->spec.spares;
	task->job_dir = *facts->job_dir ? facts->job_dir : NULL;
	task->if_ip = *facts->if_ip ? facts->if_ip : NULL;
	task->imex = facts->imex;
	task->vendor = facts->vendor;
	task->policy = &facts->policy;
	if (!map->planned && task->job_dir)
		task->generation = generation(sp, facts);
}

static void apply(spank_t sp, const struct stepmap *map, struct sn_task *task,
		  uint32_t local, uint32_t local_world)
{
	const struct sn_taskenv env = { get, set, unset, sp };
	char table[PATH_MAX], bound[SN_TASKVAR_MAX];
	char *slurms = stepfacts_env(sp, "SLURM_CPU_BIND");
	struct taskcards cards;
	struct sn_err complaint;

	taskcards_find(sp, &map->facts, &cards);
	task->cards = cards.own;
	task->node_cards = cards.node;
	task->table = find_table(sp, map, task, table, sizeof(table));
	if (taskbind_apply(map->bind, local, local_world, cards.own,
			   cards.node, slurms, bound, sizeof(bound)))
		task->bound = bound;
	free(slurms);
	if (sn_taskvars_apply(task, &env, &complaint))
		slurm_error("supernode: rank %u has not all of its variables: out of memory",
			    task->rank);
	else if (*complaint.text && !task->rank)
		slurm_error("supernode: %s", complaint.text);
	taskcards_done(&cards);
}

bool taskenv_set(spank_t sp, const struct stepmap *map)
{
	uint32_t local, local_world;
	struct sn_task task;
	bool right;

	memset(&task, 0, sizeof(task));
	if (!get_task(sp, &task))
		return true;
	if (map->refused) {
		tell_refusal(&task);
		return false;
	}
	if (map->on_spares) {
		tell_spares(&task, map->why.text);
		return false;
	}
	if (map->split) {
		tell_split(&task, map->why.text);
		return false;
	}
	local = task.local;
	local_world = task.local_world;
	if (map->ranks && map->planned)
		become_rank(map, &task);
	task.restarts = (uint32_t)number_in_env(sp, "SLURM_RESTART_COUNT");
	if (map->whole && task.rank < map->spec.layout.world &&
	    find_atom(&map->spec.layout, task.rank, &task.atom))
		task.layout = &map->spec.layout;
	fill(sp, map, &task);
	right = !map->has_map || agrees(map, &task);
	if (!right)
		/* Where select does not order ranks, Slurm keeps the order that
		 * the job was allocated with. */
		slurm_error("supernode: rank %u is not where the layout puts it, so %s",
			    task.rank, SN_SELECT_ORDERS_RANKS ?
			    "MASTER_ADDR and GROUP_RANK are not set; topology.conf here may differ from slurmctld's" :
			    "it does not run; topology.conf here may differ from slurmctld's, or has changed under the job: then start the step with snrun, or requeue the job");
	if (right) {
		task.has_group = map->has_group;
		task.group = map->group;
		task.master = map->master;
	}
	if (*map->facts.trouble.text && !task.rank)
		slurm_error("supernode: %s", map->facts.trouble.text);
	apply(sp, map, &task, local, local_world);
	return right || SN_SELECT_ORDERS_RANKS;
}
