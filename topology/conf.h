/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf.h - files of KEY=VALUE lines in Slurm's style, and tables of options.
 *
 * As Slurm reads its own files (parse_config.c): a # begins a comment unless a
 * backslash stands before it, a backslash at the end of a line joins the next
 * one to it, a backslash elsewhere takes the next byte as it is, values with
 * blanks stand in double quotes, keys are of any case, and "Include PATH" reads
 * another file in place. Unlike Slurm, whatever is not understood is an error.
 */
#ifndef SN_TOPOLOGY_CONF_H
#define SN_TOPOLOGY_CONF_H

#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/text.h"

#define SN_CONF_LINE_MAX (1u << 20) /* bytes of a line with its continuations */
#define SN_CONF_DEPTH_MAX 8 /* files that include one another */
#define SN_CONF_FILES_MAX 1000 /* included by one file, however deep */

/* Reads an Include'd file, as the parser itself does no I/O. `from` is the file
 * with the Include line. On success *ret_text is owned by the parser (free). On
 * failure return -errno with a sentence in err. */
typedef int (*sn_conf_read_fn)(void *ctx, const char *path, const char *from,
			       char **ret_text, size_t *ret_len,
			       struct sn_err *err);

struct sn_conf_pair {
	const char *key;
	const char *value; /* never empty */
	uint32_t line; /* where the key stands; continuations count */
};

struct sn_conf_line {
	const char *file;
	uint32_t line; /* where it begins */
	const struct sn_conf_pair *pair;
	size_t n; /* at least 1 */
};

/* Takes one line, which lives until it returns. What it returns, if not 0, ends
 * the reading; its sentence should begin as sn_conf_at() makes it. */
typedef int (*sn_conf_line_fn)(void *arg, const struct sn_conf_line *line,
			       struct sn_err *err);

/* read may be NULL: then Include is refused. */
int sn_conf_parse(const char *text, size_t len, const char *file,
		  sn_conf_read_fn read, void *ctx, sn_conf_line_fn fn,
		  void *arg, struct sn_err *err);

/* Puts "FILE:LINE: KEY=VALUE: " before the sentence; returns code. */
int sn_conf_at(struct sn_err *err, int code, const struct sn_conf_line *line,
	       const struct sn_conf_pair *pair);

/* One row says all there is to know about a key: parsing, the errors and the
 * documentation come from the same table. */
enum sn_option_type {
	SN_OPT_TEXT, /* char *, owned by the struct it is in */
	SN_OPT_UINT, SN_OPT_SIZE, SN_OPT_LATENCY, SN_OPT_POWER,
	SN_OPT_WORD, /* the number of the word */
};

struct sn_option {
	const char *name;
	enum sn_option_type type;
	uint32_t on; /* the kinds of lines that take it, one bit each */
	size_t offset; /* of a uint64_t, or of a char * for SN_OPT_TEXT */
	uint64_t min, max; /* of the value in the type's unit */
	const char *words; /* SN_OPT_WORD: "full|fattree|mesh|torus" */
	const char *dflt; /* as it would be written; NULL: not set */
	const char *help;
};

/* Set every option that has a default. */
int sn_options_init(const struct sn_option *option, size_t n, void *dest,
		    struct sn_err *err);
/* The row of a key of any case, or n. */
size_t sn_option_find(const struct sn_option *option, size_t n, const char *key);
/* Read value into dest. The sentence is without file, line and key. */
int sn_option_set(const struct sn_option *option, const char *value, void *dest,
		  struct sn_err *err);
/* The sentence for a key that lines of kind `on` (called what, "UnitName") do
 * not take: the nearest one that they do, and all of them. Returns -EINVAL. */
int sn_option_unknown(const struct sn_option *option, size_t n, uint32_t on,
		      const char *what, const char *key, struct sn_err *err);

#endif
