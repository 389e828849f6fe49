/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leave.c - have nodes that run no ranks any more give their pool region back.
 *
 * slurmctld charges a job with spares for as many nodes as run ranks. A node that is
 * lost takes its region with it; one that the job keeps, as it is only ill, or is the
 * batch script's, would have one besides the spare's in its place, and the memory of
 * one of the two is promised to others.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/members.h"
#include "launcher/program.h"
#include "launcher/relaunch.h"
#include "launcher/stepenv.h"
#include "topology/hostlist.h"

#define LEAVE_S 3 /* an ill node may hang, and the ranks wait */

static bool is_concerned(const struct snrun *run)
{
	const struct sn_job *job = &run->job;

	return job->has_spec && job->spec.spares && job->spec.pool.per != SN_POOL_NONE &&
		job->spec.pool.per != SN_POOL_NAMED &&
		job->policy.pool_provider != SN_POOL_PROVIDER_NONE;
}

static bool has_ranks(const struct sn_plan *plan, const char *name)
{
	for (uint32_t i = 0; i < plan->n_nodes; i++)
		if (plan->node[i].ranks && !strcmp(plan->node[i].name, name))
			return true;
	return false;
}

static int note(struct snrun *run, const char *name)
{
	return repair_is_in(&run->regions, name) ? 0 : sn_names_add(&run->regions, name);
}

/* A killed snrun before this one may have left any. */
static int note_first(struct snrun *run)
{
	const char *here = getenv("SLURMD_NODENAME");
	int rc = 0;

	for (uint32_t i = 0; i < run->job.n_nodes && !rc; i++)
		if (run->state.generation || (here && !strcmp(here, run->job.offer[i].name)))
			rc = note(run, run->job.offer[i].name);
	return rc;
}

/* Those that the job still holds; of the others the job's end there takes care. */
static int find_left(struct snrun *run, struct sn_names *ret)
{
	struct sn_names live = { NULL, 0, 0 };
	int rc = sn_job_nodes(run->job.id, &live, NULL);

	for (size_t i = 0; i < run->regions.n && !rc; i++)
		if (!has_ranks(&run->plan, run->regions.name[i]) &&
		    repair_is_in(&live, run->regions.name[i]))
			rc = sn_names_add(ret, run->regions.name[i]);
	sn_names_done(&live);
	return rc;
}

static int run_step(const struct snrun *run, const struct sn_names *nodes, const char *list,
		    struct sn_err *err)
{
	const struct sn_program_limits limits = { .at_once = 1, .seconds = LEAVE_S, .bytes = 4096 };
	struct sn_program program = { .about = list };
	struct sn_words argv = { 0 };
	int rc;

	snrun_clean_env(&argv);
	sn_words_add(&argv, SN_STEPENV_NO_RANKS "=" SN_STEPENV_LEAVE);
	sn_words_add(&argv, "srun");
	sn_words_add(&argv, "--jobid=%u", run->job.id);
	sn_words_add(&argv, "--quiet");
	sn_words_add(&argv, "--overlap");
	sn_words_add(&argv, "--gres=none");
	sn_words_add(&argv, "--mem=0");
	sn_words_add(&argv, "--mpi=none");
	sn_words_add(&argv, "--cpus-per-task=1");
	sn_words_add(&argv, "--ntasks=%zu", nodes->n);
	sn_words_add(&argv, "--distribution=arbitrary");
	sn_words_add(&argv, "--nodelist=%s", list);
	sn_words_add(&argv, "--job-name=leave");
	sn_words_add(&argv, "--export=ALL");
	sn_words_add(&argv, "/bin/true");
	program.argv = (const char *const *)argv.word;
	rc = argv.failed ? sn_err_set(err, -ENOMEM, "no memory") :
		sn_programs_run(&program, 1, &limits, err);
	sn_programs_done(&program, 1);
	sn_words_done(&argv);
	return rc;
}

void snrun_leave_regions(struct snrun *run)
{
	struct sn_names left = { NULL, 0, 0 };
	struct sn_err err = { "no memory" };
	char *list = NULL;
	int rc;

	if (!is_concerned(run))
		return;
	rc = run->regions.n ? 0 : note_first(run);
	if (!rc)
		rc = find_left(run, &left);
	if (!rc && left.n) {
		list = sn_hostlist_compress((const char *const *)left.name, left.n);
		rc = list ? run_step(run, &left, list, &err) : -ENOMEM;
		if (rc)
			snrun_say("%s run%s no ranks and ha%s a pool region still, beside that of a spare: %s",
				  list ? list : "nodes", left.n == 1 ? "s" : "", left.n == 1 ? "s" : "ve",
				  err.text);
	}
	/* What could not be told is tried again. */
	if (!rc)
		sn_names_done(&run->regions);
	for (uint32_t i = 0; i < run->plan.n_nodes; i++)
		if (run->plan.node[i].ranks)
			(void)note(run, run->plan.node[i].name);
	sn_names_done(&left);
	free(list);
}
