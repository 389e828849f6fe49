/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * setup.c - the job that snrun runs in, its plan, and the words of its steps.
 */
#include "config.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/jobdir.h"
#include "launcher/planfiles.h"
#include "launcher/snrun.h"
#include "launcher/stepenv.h"
#include "topology/hostlist.h"
#include "topology/text.h"

static int job_id(uint32_t *ret, struct sn_err *err)
{
	const char *text = getenv("SLURM_JOB_ID");
	uint64_t id;

	if (!text || !*text)
		return sn_err_set(err, -EINVAL,
				  "there is no allocation here: start it in an sbatch script or in salloc's shell");
	if (sn_parse_uint(text, 1, UINT32_MAX, &id, err))
		return sn_err_prefix(err, -EINVAL, "SLURM_JOB_ID: ");
	if (getenv("SLURM_HET_SIZE"))
		return sn_err_set(err, -EINVAL,
				  "job %s has several components (heterogeneous job), and a layout lives in one; start the components with srun",
				  text);
	*ret = (uint32_t)id;
	return 0;
}

static int take_layout(struct snrun *run, struct sn_err *err)
{
	const struct sn_job *job = &run->job;
	uint32_t cards = 0;
	int rc;

	if (!run->parallel) {
		if (!job->has_spec || !job->spec.has_parallel)
			return sn_err_set(err, -EINVAL,
					  "job %u was submitted without --parallel: give the layout here, such as snrun --parallel=tp=8,dp=2 COMMAND",
					  job->id);
		run->layout = job->spec.layout;
		run->spares = job->spec.spares;
		run->elastic = job->spec.has_elastic;
		sn_sizes_init(&run->sizes, &run->layout,
			      run->elastic ? &job->spec.elastic : NULL);
		run->want = run->sizes.want;
		run->cap = run->sizes.max;
		run->has_members = run->elastic && job->policy.elastic_members;
		return 0;
	}
	for (uint32_t i = 0; i < job->n_nodes; i++)
		if (job->offer[i].n_cards > cards)
			cards = job->offer[i].n_cards;
	rc = sn_layout_parse(run->parallel, cards, &run->layout, err);
	if (!rc) {
		sn_sizes_init(&run->sizes, &run->layout, NULL);
		run->want = run->cap = run->layout.dp;
	}
	run->spares = SN_PLAN_MOST_SPARES;
	return rc ? sn_err_prefix(err, rc, "--parallel: ") : 0;
}

/* The user's word is followed or refused; the site's is a default. */
static int take_checkpoint(struct snrun *run, struct sn_err *err)
{
	const char *preset = sn_ckpt_presets[run->job.policy.checkpoint_preset].name;
	const char *text = run->checkpoint, *from = "--checkpoint";
	struct sn_ckpt ckpt;
	int rc;

	if (!text) {
		text = getenv(SN_CKPT_VARIABLE);
		from = SN_CKPT_VARIABLE;
	}
	if (text && *text) {
		rc = sn_ckpt_parse(text, run->command, &ckpt, err);
		if (rc)
			return sn_err_prefix(err, -EINVAL, "%s: ", from);
	} else {
		rc = sn_ckpt_parse(preset, run->command, &ckpt, err);
		if (rc)
			snrun_say("CheckpointPreset=%s, ignoring: %s", preset, err->text);
		if (rc)
			rc = sn_ckpt_parse(NULL, NULL, &ckpt, err);
	}
	if (!rc)
		sn_ckptwatch_init(&run->ckpt, &ckpt);
	return rc;
}

static int find_dir(struct snrun *run, struct sn_err *err)
{
	const char *given = getenv(SN_STEPENV_JOB_DIR);
	const struct passwd *user = getpwuid(geteuid());

	if (!given || !*given)
		return sn_jobdir_expand(run->job.policy.job_dir, run->job.id,
					user ? user->pw_name : NULL,
					user ? user->pw_dir : NULL, run->dir,
					sizeof(run->dir), err);
	if (*given != '/' ||
	    (size_t)snprintf(run->dir, sizeof(run->dir), "%s", given) >=
	    sizeof(run->dir))
		return sn_err_set(err, -EINVAL,
				  SN_STEPENV_JOB_DIR "=%.200s: want an absolute path of at most %zu characters",
				  given, sizeof(run->dir) - 1);
	return 0;
}

static int plan_anew(struct snrun *run, struct sn_err *err)
{
	const struct sn_job *job = &run->job;
	int rc;

	if (!run->elastic)
		return sn_plan_build(&run->layout, run->spares, job->topo,
				     job->offer, job->n_nodes, &run->plan, err);
	rc = snrun_fit(run, NULL, run->cap, &run->plan, err);
	if (!rc)
		run->layout = run->plan.layout;
	return rc;
}

int snrun_load(struct snrun *run, struct sn_err *err)
{
	char *dot;
	uint32_t id = 0;
	int rc = job_id(&id, err);

	if (!rc)
		rc = sn_job_load(id, &run->job, err);
	if (!rc)
		rc = take_layout(run, err);
	if (!rc)
		rc = find_dir(run, err);
	if (!rc)
		rc = take_checkpoint(run, err);
	if (!rc)
		rc = plan_anew(run, err);
	/* What it lacks members may hold, which are not known yet. */
	if (rc == -ENODEV && run->has_members && !run->dry_run &&
	    snrun_max_restarts(run))
		rc = 0;
	if (rc)
		return rc;
	run->preflight |= run->job.policy.preflight != 0;
	run->plan.job_id = id;
	run->plan.master_port = sn_plan_port(id, 0, 0);
	if (gethostname(run->host, sizeof(run->host) - 1))
		strcpy(run->host, "localhost");
	dot = strchr(run->host, '.');
	if (dot) /* as srun calls itself */
		*dot = '\0';
	return 0;
}

void snrun_done(struct snrun *run)
{
	sn_plan_done(&run->plan);
	sn_parts_done(run->part, run->n_parts);
	sn_avoids_done(&run->avoid);
	sn_names_done(&run->regions);
	for (uint32_t i = 0; i < run->n_members; i++) {
		sn_job_drop_offers(&run->member[i].job);
		free(run->member[i].leave);
	}
	free(run->member);
	sn_job_done(&run->job);
	if (run->lock >= 0)
		close(run->lock);
}

/* ---- srun ---- */

static uint32_t nodes_with_ranks(const struct sn_plan *plan)
{
	uint32_t n = 0;

	while (n < plan->n_nodes && plan->node[n].ranks)
		n++;
	return n;
}

static char *node_list(const struct sn_plan *plan, uint32_t n)
{
	const char **name = calloc((size_t)n + 1, sizeof(*name));
	char *list = NULL;

	for (uint32_t i = 0; name && i < n; i++)
		name[i] = plan->node[i].name;
	if (name)
		list = sn_hostlist_compress(name, n);
	free(name);
	return list;
}

/* Where there are several parts, tasks must be told what they are in the whole;
 * and a member would come to another directory than the base. */
static void add_part(const struct snrun *run, const struct sn_part *part,
		     struct sn_words *to)
{
	char *ranks = run->n_parts > 1 ? sn_part_ranks(&run->plan, part) : NULL;

	if (ranks)
		sn_words_add(to, SN_STEPENV_PLAN_RANKS "=%s", ranks);
	else if (run->n_parts > 1)
		to->failed = true;
	free(ranks);
	if (part->job != run->job.id || getenv(SN_STEPENV_JOB_DIR))
		sn_words_add(to, SN_STEPENV_JOB_DIR "=%s", run->dir);
	/* It goes into the ranks' count of restarts. */
	if (part->job != run->job.id && getenv("SLURM_RESTART_COUNT"))
		sn_words_add(to, "SLURM_RESTART_COUNT=%s",
			     getenv("SLURM_RESTART_COUNT"));
}

static int add_variables(const struct snrun *run, const struct sn_part *part,
			 struct sn_words *to)
{
	const struct sn_plan *plan = &run->plan;
	struct sn_stepenv env = {
		.generation = plan->generation,
		.max_restarts = snrun_max_restarts(run),
		.port = plan->master_port,
	};
	char *list = node_list(plan, nodes_with_ranks(plan));
	char text[SN_STEPENV_TEXT_MAX], ranks[SN_STEPENV_RANKS_MAX];

	snprintf(env.master, sizeof(env.master), "%s",
		 plan->node[plan->rank_node[0]].name);
	sn_stepenv_format(&env, text, sizeof(text));
	/* Else the SPANK plugin comes to the same directory, and counts it among
	 * the variables that a container must be given. */
	add_part(run, part, to);
	snrun_ranks(run, ranks);
	sn_words_add(to, SN_STEPENV_RANKS "=%s", ranks);
	sn_words_add(to, SN_STEPENV_PLAN "=%s", text);
	/* One variable has room for 128 KiB; without it GROUP_RANK is lacking. */
	if (list && strlen(list) < 100000)
		sn_words_add(to, SN_STEPENV_NODES "=%s", list);
	snrun_add_timeouts(run, to);
	if (run->elastic && sn_sizes_micro_batches(&run->sizes, plan->layout.dp))
		sn_words_add(to, SN_STEPENV_MICRO_BATCHES "=%u",
			     sn_sizes_micro_batches(&run->sizes, plan->layout.dp));
	if (run->bind) {
		sn_words_add(to, SN_STEPENV_BIND "=%s", run->bind);
		/* Slurm's own binding is never widened, so it would be in the way. */
		if (strcmp(run->bind, "none") && !getenv("SLURM_CPU_BIND"))
			sn_words_add(to, "SLURM_CPU_BIND=none");
	}
	free(list);
	return list && !to->failed ? 0 : -ENOMEM;
}

void snrun_ranks(const struct snrun *run, char *ret)
{
	snprintf(ret, SN_STEPENV_RANKS_MAX, SN_STEPENV_RANKS_PLAN "%u.%u.%u", run->job.id,
		 run->state.run, run->state.generation);
}

/* Is it another layout than the job was submitted with? */
static bool resized(const struct snrun *run)
{
	return run->elastic && run->layout.dp != run->job.spec.layout.dp;
}

int snrun_command(const struct snrun *run, const struct sn_part *part,
		  int task_stderr, struct sn_words *argv, struct sn_words *env,
		  struct sn_err *err)
{
	const struct sn_job *job = snrun_job_of(run, part->job);
	char hostfile[PATH_MAX + 32], layout[SN_LAYOUT_TEXT_MAX];
	struct sn_words variables = { 0 };
	struct sn_srun srun = {
		.world = part->n_ranks,
		.nodes = part->n_nodes,
		.job = part->job != run->job.id ? part->job : 0,
		.hostfile = hostfile,
		.card_gres = run->job.policy.card_gres,
		.label = run->label,
		.overlap = run->state.overlap,
		.overcommit = job && job->cpus < part->n_ranks,
		.task_stderr = task_stderr,
		/* Another job knows nothing of the options of this one. */
		.layout = run->parallel || run->n_parts > 1 || resized(run) ||
			part->job != run->job.id ? layout : NULL,
		.extra = run->srun_options,
		.command = run->command,
		.environment = run->environment,
		.variables = &variables,
	};
	int rc;

	if (run->n_parts > 1)
		snprintf(hostfile, sizeof(hostfile), "%s/" SN_HOSTFILE ".%u",
			 run->dir, part->job);
	else
		snprintf(hostfile, sizeof(hostfile), "%s/" SN_HOSTFILE, run->dir);
	sn_layout_format(&run->layout, layout, sizeof(layout));
	rc = add_variables(run, part, &variables);
	rc = rc ? sn_err_set(err, rc, "no memory") :
		sn_srun_make(&srun, argv, env, err);
	sn_words_done(&variables);
	return rc;
}
