/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * actslurm.h - an action, asked of Slurm and done; blocks.
 */
#ifndef SN_ELASTIC_ACTSLURM_H
#define SN_ELASTIC_ACTSLURM_H

#include <stdbool.h>

#include "elastic/act.h"

/*
 * All kinds but TELL. Is it done already, is it still wanted? Else do it. 0: *ret and
 * text, what there is to add to it. -EBUSY: not yet, as the job is not so far; -EIO:
 * slurmctld does not answer, and what was asked of it may have been done or not; text
 * says why. Both: again, later. late: it was begun by an earlier daemon, a while ago.
 */
int sn_act_in_slurm(const struct sn_act *act, bool late, enum sn_act_end *ret,
		    struct sn_err *text);
/* actregion.c: REGION_OUT, likewise. */
int sn_act_region_out(const struct sn_act *act, enum sn_act_end *ret, struct sn_err *text);

#endif
