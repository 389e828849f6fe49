/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classify.c - why a step ended, and whether it is started again.
 */
#include "config.h"

#include <stdio.h>

#include "launcher/classify.h"

static bool cannot_run(int code)
{
	return code == 126 || code == 127; /* the shell's and execve's */
}

static int describe(const struct sn_outcome *o, char *why, size_t size)
{
	if (o->node_lost)
		return snprintf(why, size, "a node was lost");
	if (sn_outcome_is_unstarted(o))
		return snprintf(why, size, "slurmctld gave no step");
	if (!o->rank_failed)
		return snprintf(why, size, "the step ended with %d", o->exit_code);
	if (o->code)
		return snprintf(why, size, "rank %u failed with exit code %d",
				o->rank, o->code);
	return snprintf(why, size, o->out_of_memory ?
			"rank %u ran out of memory" :
			"rank %u was ended by a signal", o->rank);
}

bool sn_outcome_is_unstarted(const struct sn_outcome *outcome)
{
	return outcome->refused && !outcome->rank_failed && !outcome->node_lost;
}

static const char *against(const struct sn_outcome *o,
			   const struct sn_restarts *r)
{
	if (o->stopped)
		return "the user has stopped it";
	if (o->no_requeue)
		return "exit code 93 asks for no restart";
	if (o->rank_failed && !o->node_lost && cannot_run(o->code))
		return "the command cannot be run";
	if (!r->max)
		return "restarts are not asked for (--max-restarts)";
	if (r->done >= r->max && !sn_outcome_is_unstarted(o))
		return "all restarts of --max-restarts are used up";
	if (r->futile >= SN_FUTILE_MAX)
		return "there was no progress in the last generations";
	return NULL;
}

enum sn_verdict sn_classify(const struct sn_outcome *outcome,
			    const struct sn_restarts *restarts, char *why,
			    size_t size)
{
	const char *no;
	int n;

	if (outcome->resize && !outcome->stopped && !outcome->no_requeue) {
		snprintf(why, size, "it is to have another size");
		return SN_VERDICT_RESTART;
	}
	if (!outcome->exit_code && !outcome->node_lost &&
	    !outcome->rank_failed) {
		snprintf(why, size, "all ranks ended well");
		return SN_VERDICT_DONE;
	}
	n = describe(outcome, why, size);
	no = against(outcome, restarts);
	if (!no)
		return SN_VERDICT_RESTART;
	if (n >= 0 && (size_t)n < size)
		snprintf(why + n, size - (size_t)n, "; %s", no);
	return SN_VERDICT_STOP;
}

int sn_outcome_exit(const struct sn_outcome *outcome)
{
	if (outcome->no_requeue)
		return SN_EXIT_NO_REQUEUE;
	if (outcome->cut && outcome->rank_failed && outcome->code)
		return outcome->code;
	/* srun's own, 128 + the signal where one ended a rank. A node that is lost
	 * may leave it with 0. */
	return outcome->exit_code ? outcome->exit_code : 1;
}
