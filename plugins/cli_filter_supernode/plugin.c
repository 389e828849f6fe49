/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin.c - cli_filter/supernode: salloc's shell and a direct srun.
 *
 * slurmctld derives a job's tasks and cards from --parallel, but salloc and
 * srun start steps by what their own command line said. So they are told here,
 * before they submit. sbatch is not, as its script runs after slurmctld's answer,
 * but for the further parts of a heterogeneous job: the script is the first
 * part's, and what it knows of the others comes from sbatch.
 *
 * slurm.conf: CliFilterPlugins=supernode
 */
#include "plugins/compat.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/common/log.h"
#include "src/common/slurm_opt.h"
#include "src/common/xstring.h"
#include "src/interfaces/cli_filter.h"

#include "plugins/cli_filter_supernode/steporder.h"
#include "plugins/common/jobopts.h"
#include "plugins/common/sitefiles.h"

const char plugin_name[] = "Supernode cli filter plugin";
const char plugin_type[] = "cli_filter/supernode";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

extern int init(void)
{
	debug("%s loaded", plugin_type);
	return SLURM_SUCCESS;
}

extern int fini(void)
{
	return SLURM_SUCCESS;
}

/* SPANK takes options from these variables, and sets them. */
static void drop_options(void)
{
	const struct sn_jobopt *opt;
	char name[96];

	/* The cards of its tasks came with the layout. */
	if (getenv("SLURM_SPANK_" SN_JOBOPT_PREFIX "parallel"))
		unsetenv("SLURM_TRES_PER_TASK");
	for (opt = sn_jobopts; opt->name; opt++) {
		snprintf(name, sizeof(name), SN_JOBOPT_PREFIX "%s", opt->name);
		unsetenv(name);
		snprintf(name, sizeof(name), "SLURM_SPANK_" SN_JOBOPT_PREFIX "%s",
			 opt->name);
		unsetenv(name);
	}
}

/*
 * Called before each part of a heterogeneous job is parsed; early where sbatch
 * reads its command line for the first time, and for srun's first part. A job
 * that is submitted from within another, and the next part, has options of its
 * own: those of the job or part before must not be handed on. An srun's first
 * part may be a step, whose options are the job's.
 */
extern int cli_filter_p_setup_defaults(slurm_opt_t *opt, bool early)
{
	if (!opt->srun_opt || !early)
		drop_options();
	return SLURM_SUCCESS;
}

static int set(slurm_opt_t *opt, const char *name, const char *value)
{
	if (slurm_option_set(opt, name, value, false) == SLURM_SUCCESS)
		return SLURM_SUCCESS;
	error("cli_filter/supernode: --%s=%s is not taken", name, value);
	return SLURM_ERROR;
}

static int tell(slurm_opt_t *opt, uint32_t world)
{
	struct sn_policy policy;
	struct sn_err err;
	char text[64];

	if (sn_site_policy(&policy, &err))
		verbose("cli_filter/supernode: %s", err.text);
	if (!slurm_option_isset(opt, "ntasks")) {
		snprintf(text, sizeof(text), "%u", world);
		if (set(opt, "ntasks", text))
			return SLURM_ERROR;
	}
	if (!slurm_option_isset(opt, "tres-per-task")) {
		snprintf(text, sizeof(text), "gres/%s:1", policy.card_gres);
		if (set(opt, "tres-per-task", text))
			return SLURM_ERROR;
	}
	return SLURM_SUCCESS;
}

extern int cli_filter_p_pre_submit(slurm_opt_t *opt, int offset)
{
	struct sn_jobspec_text text = { NULL };
	struct sn_jobspec spec;

	if (opt->srun_opt) {
		if (!steporder_set(opt))
			return SLURM_ERROR;
		steporder_keep_block(opt);
	}
	/* An srun in an allocation is a step, and has its own -n. */
	if (opt->srun_opt && getenv("SLURM_JOB_ID"))
		return SLURM_SUCCESS;
	if (opt->sbatch_opt && offset < 1)
		return SLURM_SUCCESS;
	/* SPANK has seen the option by now and put it there. */
	text.parallel = getenv(SN_JOBOPT_PREFIX "parallel");
	text.spares = getenv(SN_JOBOPT_PREFIX "spares");
	if (!text.parallel || sn_jobspec_parse(&text, 0, &spec, NULL) ||
	    !spec.has_parallel)
		return SLURM_SUCCESS;
	if (opt->srun_opt && spec.spares) {
		error("--spares=%u: an srun that allocates starts its tasks on every node that it gets, spare ones too; allocate by sbatch or salloc and start the ranks there, by srun or snrun",
		      spec.spares);
		return SLURM_ERROR;
	}
	return tell(opt, spec.layout.world);
}

extern void cli_filter_p_post_submit(int offset, uint32_t jobid,
				     uint32_t stepid)
{
	(void)offset;
	(void)jobid;
	(void)stepid;
}
