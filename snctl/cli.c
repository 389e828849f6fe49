/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli.c - a command's options.
 *
 * Not getopt_long: it accepts abbreviations, which would make every new option
 * a change for scripts, and it cannot suggest the right name.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "snctl/cli.h"
#include "topology/text.h"

#define WORD_MAX 32
#define NAME_MAX_OF 80 /* of a program with its command */

/* Edits (insert, delete, replace, swap of neighbours) between two words. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int d[WORD_MAX + 1][WORD_MAX + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n > WORD_MAX || m > WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= n; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		for (size_t j = 1; j <= m; j++) {
			unsigned int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[n][m];
}

const char *cli_nearest(const char *word, const void *words, size_t n,
			size_t stride)
{
	const char *nearest = NULL;
	unsigned int best = 3;

	for (size_t i = 0; i < n; i++) {
		const char *name;
		unsigned int d;

		memcpy(&name, (const char *)words + i * stride, sizeof(name));
		if (!name)
			continue;
		d = distance(word, name);
		/* A suggestion that shares nothing with the word only
		 * confuses. */
		if (d < best && d < strlen(name)) {
			best = d;
			nearest = name;
		}
	}
	return nearest;
}

/* "snctl place", as one types it. */
static const char *name_of(const struct cli *cli, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", cli->program ? cli->program : "snctl",
		 cli->command ? " " : "", cli->command ? cli->command : "");
	return buf;
}

static void print_help(const struct cli *cli)
{
	char name[NAME_MAX_OF];
	int width = 0;

	printf("Usage: %s %s\n\n%s\n\nOptions:\n",
	       name_of(cli, name, sizeof(name)), cli->usage, cli->about);
	for (const struct cli_opt *o = cli->opts; o->name; o++) {
		int n = (int)strlen(o->name) + (o->arg ? (int)strlen(o->arg) + 1 : 0);

		width = n > width ? n : width;
	}
	if (width < 4)
		width = 4;
	for (const struct cli_opt *o = cli->opts; o->name; o++) {
		int n = printf("  --%s%s%s", o->name, o->arg ? " " : "",
			       o->arg ? o->arg : "");

		printf("%*s%s\n", width + 6 - n, "", o->help);
	}
	printf("  --help%*sthis text\n", width - 2, "");
	if (cli->more)
		printf("\n%s\n", cli->more);
}

static const struct cli_opt *find(const struct cli *cli, const char *name,
				  size_t len, size_t *ret_n)
{
	const struct cli_opt *found = NULL;
	size_t n = 0;

	for (const struct cli_opt *o = cli->opts; o->name; o++, n++)
		if (strlen(o->name) == len && !memcmp(o->name, name, len))
			found = o;
	*ret_n = n;
	return found;
}

static int unknown(const struct cli *cli, const char *arg, size_t len,
		   size_t n_opts, struct sn_err *err)
{
	char name[WORD_MAX + 1], self[NAME_MAX_OF];
	const char *near = NULL;

	if (arg[1] == '-' && len < sizeof(name)) {
		memcpy(name, arg + 2, len);
		name[len] = '\0';
		near = cli_nearest(name, &cli->opts->name, n_opts,
				   sizeof(*cli->opts));
	}
	if (near)
		return sn_err_set(err, -EINVAL,
				  "unknown option \"%.*s\"; did you mean --%s?",
				  (int)(len + 2), arg, near);
	return sn_err_set(err, -EINVAL,
			  "unknown option \"%.80s\"; %s --help lists them",
			  arg, name_of(cli, self, sizeof(self)));
}

static int set_value(const struct cli_opt *o, const char *value,
		     struct sn_err *err)
{
	uint64_t n;
	int rc;

	if (o->type == CLI_STRING || o->type == CLI_WORDS) {
		*(const char **)o->value = value;
		return 0;
	}
	rc = sn_parse_uint(value, o->min, o->max, &n, err);
	if (rc)
		return sn_err_prefix(err, rc, "--%s: ", o->name);
	*(uint32_t *)o->value = (uint32_t)n;
	return 0;
}

static int check_required(const struct cli *cli, uint64_t seen,
			  struct sn_err *err)
{
	char self[NAME_MAX_OF];

	for (size_t i = 0; cli->opts[i].name; i++)
		if (cli->opts[i].required && !(seen & (UINT64_C(1) << i)))
			return sn_err_set(err, -EINVAL,
					  "--%s %s is needed; usage: %s %s",
					  cli->opts[i].name, cli->opts[i].arg,
					  name_of(cli, self, sizeof(self)),
					  cli->usage);
	return 0;
}

int cli_parse(const struct cli *cli, int argc, char **argv, const char **args,
	      uint32_t *n_args, struct sn_err *err)
{
	char self[NAME_MAX_OF];
	uint64_t seen = 0;
	bool only_args = false;

	*n_args = cli->runs_command ? (uint32_t)argc : 0;
	/* Help wins over whatever else is wrong on the line. */
	for (int i = 1; i < argc && strcmp(argv[i], "--") && !cli->runs_command; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			print_help(cli);
			return 1;
		}
	}
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i];
		const struct cli_opt *o;
		const char *equal, *value = NULL;
		size_t len, n;
		int rc;

		if (only_args || arg[0] != '-' || !arg[1]) {
			if (cli->runs_command) {
				*n_args = (uint32_t)i;
				break;
			}
			if (*n_args == cli->max_args)
				return sn_err_set(err, -EINVAL,
						  "unexpected argument \"%.80s\"; usage: %s %s",
						  arg, name_of(cli, self, sizeof(self)),
						  cli->usage);
			args[(*n_args)++] = arg;
			continue;
		}
		if (!strcmp(arg, "--")) {
			only_args = true;
			continue;
		}
		/* What follows a command is its own. */
		if (cli->runs_command &&
		    (!strcmp(arg, "--help") || !strcmp(arg, "-h"))) {
			print_help(cli);
			return 1;
		}
		equal = strchr(arg, '=');
		len = (equal ? (size_t)(equal - arg) : strlen(arg)) - (arg[1] == '-' ? 2 : 1);
		o = find(cli, arg + 2, arg[1] == '-' ? len : 0, &n);
		if (!o)
			return unknown(cli, arg, len, n, err);
		if (seen & (UINT64_C(1) << (o - cli->opts)))
			return sn_err_set(err, -EINVAL, "--%s is given twice",
					  o->name);
		seen |= UINT64_C(1) << (o - cli->opts);
		if (o->type == CLI_FLAG) {
			if (equal)
				return sn_err_set(err, -EINVAL,
						  "--%s takes no value, not \"%.80s\"",
						  o->name, equal + 1);
			*(bool *)o->value = true;
			continue;
		}
		value = equal ? equal + 1 : i + 1 < argc ? argv[++i] : NULL;
		if (!value || (!equal && o->type != CLI_WORDS &&
			       !strncmp(value, "--", 2)))
			return sn_err_set(err, -EINVAL, "--%s needs a value: --%s %s",
					  o->name, o->name, o->arg);
		rc = set_value(o, value, err);
		if (rc)
			return rc;
	}
	return check_required(cli, seen, err);
}
