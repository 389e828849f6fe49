/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sruncmd.h - the srun that starts a plan's step: its words and its environment.
 */
#ifndef SN_LAUNCHER_SRUNCMD_H
#define SN_LAUNCHER_SRUNCMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

/* A list of strings with a NULL behind it, each owned. */
struct sn_words {
	char **word;
	size_t n, size;
	bool failed; /* no memory; then the rest counts no more */
};
void sn_words_add(struct sn_words *words, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void sn_words_done(struct sn_words *words);
/* As one would type it: words with blanks and the like are quoted. NULL without
 * memory; free(). */
char *sn_words_line(const struct sn_words *words);

struct sn_srun {
	uint32_t world;
	uint32_t nodes; /* that run ranks */
	uint32_t job; /* another than the one around, whose variables it is then
		       * not given; 0: that */
	const char *hostfile;
	const char *card_gres;
	bool label;
	bool overlap; /* an earlier step's cards may still be booked */
	bool overcommit; /* the job has fewer CPUs than ranks */
	int task_stderr; /* the descriptor that tasks' standard error goes to, as
			  * srun's own is read by snrun; -1: srun's */
	const char *layout; /* for the SPANK plugin, where the job has another or
			     * none; NULL: the job's */
	const char *extra; /* the user's further options, split at blanks */
	char *const *command;
	/* What it inherits, and what is added for the tasks. */
	char *const *environment;
	const struct sn_words *variables; /* "NAME=value" */
};

/*
 * Fill argv, from "srun" on, and the environment. Variables of the batch script
 * that speak of all of the job's nodes are left out, as nodes may have been lost
 * since and as spares run no ranks; srun sets them anew for the tasks. Where
 * the user exports only some variables (SLURM_EXPORT_ENV), those of `variables`
 * are added to them. -ENOMEM.
 */
int sn_srun_make(const struct sn_srun *srun, struct sn_words *argv,
		 struct sn_words *env, struct sn_err *err);

#endif
