/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli.h - a command's options: one table drives parsing, --help and errors.
 *
 * Options are --name VALUE or --name=VALUE, before or after other arguments;
 * "--" ends them. --help (-h) is understood everywhere.
 */
#ifndef SNCTL_CLI_H
#define SNCTL_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

enum cli_type {
	CLI_FLAG, /* bool */
	CLI_STRING, /* const char * */
	CLI_WORDS, /* the same, options for another program: may begin with "--" */
	CLI_UINT, /* uint32_t */
};

struct cli_opt {
	const char *name; /* without "--"; NULL ends the table */
	const char *arg; /* what --help calls the value */
	enum cli_type type;
	void *value;
	const char *help;
	bool required;
	uint32_t min, max; /* CLI_UINT */
};

struct cli {
	const char *program; /* NULL: "snctl" */
	const char *command; /* "place"; NULL: the program has none */
	const char *usage; /* what follows "snctl place " */
	const char *about; /* a paragraph */
	const char *more; /* after the options, NULL: nothing */
	const struct cli_opt *opts;
	uint32_t max_args; /* arguments that are not options */
	bool runs_command; /* the first of them begins another's command line: it
			    * and all behind it are left alone, and *n_args is
			    * its place in argv */
};

/*
 * 0: go on, args[0..*n_args) are the other arguments (max_args of room).
 * 1: --help was printed. -EINVAL: err says what is wrong.
 */
int cli_parse(const struct cli *cli, int argc, char **argv, const char **args,
	      uint32_t *n_args, struct sn_err *err);

/* The one of the n words nearest to word, NULL where none is near. The words
 * are `stride` bytes apart, each place holding a char pointer. */
const char *cli_nearest(const char *word, const void *words, size_t n,
			size_t stride);

#endif
