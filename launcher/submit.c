/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * submit.c - submit a member of the job, by sbatch, as its owner: with the
 * base's partition, account, limits and features, and its layout at a smaller dp.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launcher/members.h"
#include "launcher/program.h"
#include "launcher/slurmapi.h"
#include "snctl/gresidx.h"
#include "topology/hostlist.h"
#include "topology/jobcomment.h"
#include "topology/text.h"

#define SUBMIT_S 60
#define NICE_LAST 2147483645 /* as low as a user can go */

void snrun_clean_env(struct sn_words *argv)
{
	static const char *const keep[] = {
		"PATH", "HOME", "USER", "LOGNAME", "SLURM_CONF",
		"LD_LIBRARY_PATH", "TZ", "LANG",
	};

	sn_words_add(argv, "/usr/bin/env");
	sn_words_add(argv, "-i");
	for (size_t i = 0; i < sizeof(keep) / sizeof(keep[0]); i++)
		if (getenv(keep[i]))
			sn_words_add(argv, "%s=%s", keep[i], getenv(keep[i]));
}

static void add_time(const slurm_job_info_t *info, struct sn_words *argv)
{
	time_t left = info->end_time - time(NULL);

	if (info->time_limit == INFINITE || info->time_limit == NO_VAL)
		sn_words_add(argv, "--time=UNLIMITED");
	else
		sn_words_add(argv, "--time=%lld",
			     left > 60 ? (long long)(left + 59) / 60 : 1LL);
}

/* What the base was given, 0 being all of a node's; the member's own share of the pool is
 * added to it when it is submitted, as the base's was. */
static void add_memory(const slurm_job_info_t *info, struct sn_words *argv)
{
	uint64_t mb = info->pn_min_memory & ~MEM_PER_CPU;
	uint64_t pool = sn_jobcomment_poolmem(info->admin_comment);

	if (mb > pool || !mb)
		sn_words_add(argv, "--mem%s=%lluM",
			     info->pn_min_memory & MEM_PER_CPU ? "-per-cpu" : "",
			     (unsigned long long)(mb ? mb - pool : 0));
}

static void add_given(struct sn_words *argv, const char *option, const char *value)
{
	if (value && *value)
		sn_words_add(argv, "--%s=%s", option, value);
}

/* What a job beside the base is to hold. */
struct want {
	char spec[SN_LAYOUT_TEXT_MAX];
	char name[32]; /* behind the base's */
	uint32_t dp; /* its part of the pool: that of so many replicas, */
	uint32_t ranks; /* or of so many ranks */
	bool extra, near, replaces;
};

/* A part of the job's pool, where that is the job's; else what each has. */
static void add_pool(const struct snrun *run, const struct want *want,
		     struct sn_words *argv)
{
	static const char *const per[] = {
		[SN_POOL_SUPERNODE] = "/supernode", [SN_POOL_NODE] = "/node",
		[SN_POOL_CARD] = "/card",
	};
	const struct sn_pool *pool = &run->job.spec.pool;
	uint64_t size = pool->size, bw = pool->bandwidth;

	switch (pool->per) {
	case SN_POOL_NONE:
		return;
	case SN_POOL_NAMED:
		sn_words_add(argv, "--pool=name:%s%s", pool->name,
			     pool->read_only ? ":ro" : "");
		return;
	case SN_POOL_TOTAL:
		/* The base's --pool is for the layout that it has. */
		size = want->dp ? size / run->job.spec.layout.dp * want->dp :
			size / run->job.spec.layout.world * want->ranks;
		bw = want->dp ? bw / run->job.spec.layout.dp * want->dp :
			bw / run->job.spec.layout.world * want->ranks;
		break;
	default:
		break;
	}
	if (bw)
		sn_words_add(argv, "--pool=%llu%s,bw=%llu", (unsigned long long)size,
			     pool->per == SN_POOL_TOTAL ? "" : per[pool->per],
			     (unsigned long long)bw);
	else
		sn_words_add(argv, "--pool=%llu%s", (unsigned long long)size,
			     pool->per == SN_POOL_TOTAL ? "" : per[pool->per]);
}

/* Of each supernode, does the base use it? Yours to free; NULL: no memory. */
static bool *used_supernodes(const struct snrun *run)
{
	const struct sn_topo *topo = run->job.topo;
	bool *used = calloc((size_t)topo->n_supernodes + 1, sizeof(*used));

	for (uint32_t i = 0; used && i < run->job.n_nodes; i++) {
		uint32_t node = sn_topo_find_node(topo, run->job.offer[i].name);

		if (node != SN_NONE)
			used[topo->node[node].supernode] = true;
	}
	return used;
}

static bool may_be_free(const node_info_t *node)
{
	return sn_api_in_service(node) &&
		(node->node_state & NODE_STATE_BASE) != NODE_STATE_ALLOCATED;
}

bool snrun_has_room_near(const struct snrun *run)
{
	const struct sn_topo *topo = run->job.topo;
	uint32_t *nodes = calloc((size_t)topo->n_supernodes + 1, sizeof(*nodes));
	uint64_t *cards = calloc((size_t)topo->n_supernodes + 1, sizeof(*cards));
	bool *used = used_supernodes(run), room = true;
	node_info_msg_t *all = NULL;

	if (used && nodes && cards && !slurm_load_node(0, &all, SHOW_ALL)) {
		room = false;
		for (uint32_t i = 0; i < all->record_count && !room; i++) {
			const node_info_t *is = &all->node_array[i];
			uint32_t node = is->name ? sn_topo_find_node(topo, is->name) : SN_NONE, s;

			if (node == SN_NONE || !used[s = topo->node[node].supernode] ||
			    !may_be_free(is) || snrun_is_avoided(run, is->name))
				continue;
			/* SpareNodes are not for members. */
			if (++nodes[s] > topo->supernode[s].spare_nodes)
				cards[s] += gres_count(is->gres, run->job.policy.card_gres);
			room = cards[s] >= run->sizes.atom;
		}
		slurm_free_node_info_msg(all);
	}
	free(used);
	free(nodes);
	free(cards);
	return room;
}

/* The nodes that a member is not to get: those that ranks have left and, near, all
 * outside the supernodes that the base uses. NULL: there are none, or no memory. */
static char *other_nodes(const struct snrun *run, bool near)
{
	const struct sn_topo *topo = run->job.topo;
	bool *used = used_supernodes(run);
	const char **name = calloc((size_t)topo->n_nodes + 1, sizeof(*name));
	char *list = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; used && name && i < topo->n_nodes; i++)
		if ((near && !used[topo->node[i].supernode]) ||
		    snrun_is_avoided(run, topo->node[i].name))
			name[n++] = topo->node[i].name;
	if (n)
		list = sn_hostlist_compress(name, n);
	free(name);
	free(used);
	return list;
}

/* The same and those that the job's user has excluded; yours to free, NULL: none. */
static char *excluded(const struct snrun *run, const slurm_job_info_t *info, bool near)
{
	char *other = other_nodes(run, near);
	struct sn_buf buf = { 0 };

	if (info->exc_nodes && *info->exc_nodes)
		sn_buf_add(&buf, "%s%s%s", other ? other : "", other ? "," : "", info->exc_nodes);
	if (!buf.text)
		return other;
	free(other);
	return buf.text;
}

static int add_options(const struct snrun *run, const slurm_job_info_t *info,
		       const struct want *want, struct sn_words *argv, struct sn_err *err)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *exclude = excluded(run, info, want->near);

	self[len > 0 ? len : 0] = '\0';
	snrun_clean_env(argv);
	sn_words_add(argv, "sbatch");
	sn_words_add(argv, "--parsable");
	sn_words_add(argv, "--job-name=%s+%s", info->name ? info->name : "job", want->name);
	sn_words_add(argv, "--comment=" SN_MEMBER_COMMENT "%u:%u", run->job.id,
		     run->state.requeues);
	sn_words_add(argv, "--parallel=%s", want->spec);
	if (want->replaces)
		sn_words_add(argv, "--replaces=%u", run->job.id);
	add_pool(run, want, argv);
	add_given(argv, "partition", info->partition);
	add_given(argv, "account", info->account);
	add_given(argv, "qos", info->qos);
	add_given(argv, "constraint", info->features);
	add_given(argv, "reservation", info->resv_name);
	add_given(argv, "exclude", exclude);
	add_time(info, argv);
	if (info->cpus_per_task && info->cpus_per_task != NO_VAL16)
		sn_words_add(argv, "--cpus-per-task=%u", info->cpus_per_task);
	add_memory(info, argv);
	if (want->extra)
		sn_words_add(argv, "--nice=%d", NICE_LAST);
	sn_words_add(argv, "--no-requeue");
	sn_words_add(argv, "--chdir=/");
	sn_words_add(argv, "--output=/dev/null");
	sn_words_add(argv, "--wrap=exec '%s' --member %u %u",
		     len > 0 ? self : "snrun", run->job.id, run->state.requeues);
	free(exclude);
	return argv->failed ? sn_err_set(err, -ENOMEM, "no memory") : 0;
}

static int submit(const struct snrun *run, const struct want *want, uint32_t *ret_id,
		  struct sn_err *err)
{
	const struct sn_program_limits limits = { .at_once = 1, .seconds = SUBMIT_S, .bytes = 4096 };
	struct sn_program program = { .about = "a member" };
	struct sn_words argv = { 0 };
	job_info_msg_t *jobs = NULL;
	uint64_t id;
	int rc;

	if (sn_api_load_job(run->job.id, &jobs) || jobs->record_count != 1)
		return sn_err_set(err, -EIO, "slurmctld did not tell of job %u",
				  run->job.id);
	rc = add_options(run, &jobs->job_array[0], want, &argv, err);
	slurm_free_job_info_msg(jobs);
	if (!rc) {
		program.argv = (const char *const *)argv.word;
		rc = sn_programs_run(&program, 1, &limits, err);
	}
	if (!rc) {
		program.out[strcspn(program.out, ";\n")] = '\0';
		rc = sn_parse_uint(program.out, 1, UINT32_MAX, &id, err);
	}
	if (!rc)
		*ret_id = (uint32_t)id;
	sn_programs_done(&program, 1);
	sn_words_done(&argv);
	return rc;
}

int snrun_submit_member(const struct snrun *run, uint32_t dp, bool extra,
			bool near, uint32_t *ret_id, struct sn_err *err)
{
	struct want want = { .dp = dp, .extra = extra, .near = near };
	struct sn_layout layout = run->layout;
	int rc = sn_layout_set_dp(&layout, dp, err);

	if (rc)
		return rc;
	sn_layout_format(&layout, want.spec, sizeof(want.spec));
	snprintf(want.name, sizeof(want.name), "%u", dp);
	return submit(run, &want, ret_id, err);
}

int snrun_submit_standin(const struct snrun *run, uint32_t cards, uint32_t nodes,
			 uint32_t *ret_id, struct sn_err *err)
{
	struct want want = { .ranks = cards * nodes, .replaces = true };

	/* Any layout that takes these cards, on whole nodes: what the ranks are is for the
	 * base's to say. */
	snprintf(want.spec, sizeof(want.spec), "tp=%u,dp=%u", cards, nodes);
	snprintf(want.name, sizeof(want.name), "standin");
	return submit(run, &want, ret_id, err);
}

int snrun_free_member(const struct snrun *run, uint32_t id, struct sn_err *err)
{
	job_info_msg_t *jobs = NULL;
	char *exclude, none[] = "";
	job_desc_msg_t desc;
	int rc = 0;

	if (sn_api_load_job(run->job.id, &jobs) || jobs->record_count != 1)
		return sn_err_set(err, -EIO, "slurmctld did not tell of job %u",
				  run->job.id);
	exclude = excluded(run, &jobs->job_array[0], false);
	sn_api_init_update(&desc, id);
	desc.exc_nodes = exclude ? exclude : none;
	if (slurm_update_job(&desc))
		rc = sn_err_set(err, -EIO, "job %u: %s", id, slurm_strerror(errno));
	free(exclude);
	slurm_free_job_info_msg(jobs);
	return rc;
}
