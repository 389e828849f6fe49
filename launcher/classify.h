/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classify.h - why a step ended, and whether it is started again.
 */
#ifndef SN_LAUNCHER_CLASSIFY_H
#define SN_LAUNCHER_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A rank's way to say that neither a restart nor a requeue would help; as
 * NVIDIA's resiliency extension has it. */
#define SN_EXIT_NO_REQUEUE 93

/* Generations in a row without progress after which it is given up. */
#define SN_FUTILE_MAX 3

struct sn_outcome {
	int exit_code; /* srun's */
	bool stopped; /* by a signal that the user sent to snrun */
	bool no_requeue; /* some rank ended with 93 */
	bool node_lost;
	bool resize; /* snrun ended it, to go on with another size */
	bool refused; /* slurmctld gave srun no step */
	bool cut; /* snrun ended the other ranks, so that exit_code is no rank's own */
	bool rank_failed; /* the next ones count */
	uint32_t rank; /* the first to fail */
	uint32_t job; /* whose step it ran in; 0: not known */
	int code; /* its exit code, 0: a signal ended it */
	bool out_of_memory;
};

struct sn_restarts {
	uint32_t done, max; /* restarts */
	uint32_t futile; /* generations in a row without progress, this one too */
};

enum sn_verdict {
	SN_VERDICT_DONE, /* all ranks ended well */
	SN_VERDICT_STOP, /* it failed, and is not started again */
	SN_VERDICT_RESTART,
};

/* why is one clause, "rank 3 failed with exit code 1"; for STOP also what
 * stands against a restart. */
enum sn_verdict sn_classify(const struct sn_outcome *outcome,
			    const struct sn_restarts *restarts, char *why,
			    size_t size);

/* No rank has begun, for slurmctld gave no step: that uses no restart up. */
bool sn_outcome_is_unstarted(const struct sn_outcome *outcome);

/* What snrun exits with after STOP: the step's code, or that of the rank that
 * failed first where the others were ended by snrun. */
int sn_outcome_exit(const struct sn_outcome *outcome);

#endif
