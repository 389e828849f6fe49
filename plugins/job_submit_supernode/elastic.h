/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elastic.h - the base of an elastic batch job.
 */
#ifndef SN_JOB_SUBMIT_ELASTIC_H
#define SN_JOB_SUBMIT_ELASTIC_H

#include "slurm/slurm.h"

#include "topology/jobspec.h"
#include "topology/policy.h"

#define ELASTIC_TEXT_MAX 128

/*
 * A batch job with --elastic is a base of min_dp, to which its snrun adds members
 * (docs/elastic.md): its layout gets that dp, and its --elastic says which was
 * wanted, in *text and in the job's options. An allocation of salloc or srun, for
 * which somebody waits, is whole. True: it is a base; the layout has still to be
 * written out.
 */
bool elastic_make_base(job_desc_msg_t *job_desc, const struct sn_policy *policy,
		       struct sn_jobspec *spec, char text[ELASTIC_TEXT_MAX]);

/* Put an option's value in the place of what was typed: for slurmctld, and for
 * the steps that the script starts. */
void elastic_write_option(job_desc_msg_t *job_desc, const char *name,
			  const char *value);

#endif
