/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program.h - run a site's program and take what it prints, whatever it does: it
 * gets a time limit, its output a size limit, and when it is done with, nothing
 * of its process group is left. What hangs in the kernel does not die of a signal, and
 * is left to its fate. Each call waits; threads may call, and so may plugins.
 */
#ifndef SN_LAUNCHER_PROGRAM_H
#define SN_LAUNCHER_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

struct sn_program {
	const char *const *argv; /* NULL-terminated; argv[0] is an absolute path */
	const char *about; /* what it was run for, for the sentence: "n003"; NULL */
	char *out; /* its standard output, NUL-terminated, yours to free; NULL
		    * where rc is not 0 */
	size_t len;
	int rc; /* 0; -ETIME; -EFBIG; -ECHILD it failed; -ECANCELED another did;
		 * what kept it from running */
	struct sn_err err;
};

struct sn_program_limits {
	uint32_t at_once; /* programs that run together, at most 256 */
	uint32_t seconds; /* for each */
	size_t bytes; /* of each's output */
	bool each; /* one that fails ends no other */
	/* Its environment is PATH, it has no open file but its output, and root runs
	 * none that others may change: for what may run as root, or in a plugin. */
	bool bare;
};

#define SN_PROGRAM_ANSWER (64u << 10) /* bytes that most answers have at most */

/*
 * Run all n of them. Standard input is /dev/null, the environment the caller's,
 * no shell is between. Returns 0, or the rc of one that failed, with its sentence;
 * then the others are killed, but for `each`.
 */
int sn_programs_run(struct sn_program *program, uint32_t n,
		    const struct sn_program_limits *limits, struct sn_err *err);
void sn_programs_done(struct sn_program *program, uint32_t n); /* frees out */

/* One alone, `bare`; *ret_text (free) and *ret_len are its answer. */
int sn_program_ask(const char *const *argv, uint32_t seconds, size_t max,
		   char **ret_text, size_t *ret_len, struct sn_err *err);

#endif
