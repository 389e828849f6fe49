/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main.c - snctl: the suite's tool for administrators and users.
 */
#include "config.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "snctl/cli.h"
#include "snctl/snctl.h"

static const struct snctl_command commands[] = {
	{ "place", "where a job would go, from files alone", cmd_place },
	{ "groups", "the process groups of a layout", cmd_groups },
	{ "check", "read the configuration as the plugins would", cmd_check },
	{ "show", "supernodes, units, fabrics, cards, pool, jobs of the live cluster", cmd_show },
	{ "map", "a picture of the live cluster", cmd_map },
	{ "why", "why a job pends, and when it would fit", cmd_why },
	{ "card", "take single cards out, and bring them back", cmd_card },
#ifdef HAVE_MUNGE
	{ "health", "which cards are not well; report, release, probe", cmd_health },
	{ "events", "what snelasticd has seen and done", cmd_events },
#endif
	{ "elastic", "see and steer the size of a running job", cmd_elastic },
	{ "pool", "regions of the pool with names, which outlive jobs", cmd_pool },
};
#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

int snctl_code(int rc)
{
	switch (rc) {
	case 0:
		return SNCTL_DONE;
	case -ENOENT:
	case -EEXIST:
	case -EBUSY:
	case -ENOSPC:
	case -EPERM:
	case -E2BIG:
	case -ENOTSUP:
		return SNCTL_NO;
	default:
		return SNCTL_USAGE;
	}
}

int snctl_fail(const char *command, int code, const struct sn_err *err)
{
	fprintf(stderr, "snctl %s: %s\n", command, err->text);
	return code;
}

static int help(void)
{
	printf("Usage: snctl COMMAND [OPTIONS]\n\n"
	       "Places and explains jobs on AI supernodes.\n\nCommands:\n");
	for (size_t i = 0; i < N_COMMANDS; i++)
		printf("  %-8s %s\n", commands[i].name, commands[i].summary);
	printf("\nsnctl COMMAND --help says more. place, groups and check need no Slurm.\n"
	       "Exit status: 0 done, 1 no (infeasible, not found), 2 usage or bad input.\n");
	return SNCTL_DONE;
}

static int dispatch(int argc, char **argv)
{
	const char *near;

	if (argc < 2) {
		fprintf(stderr, "snctl: a command is needed; snctl --help lists them\n");
		return SNCTL_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help();
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("snctl (%s) %s\n", PACKAGE_NAME, PACKAGE_VERSION);
		return SNCTL_DONE;
	}
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	near = cli_nearest(argv[1], &commands[0].name, N_COMMANDS,
			   sizeof(commands[0]));
	fprintf(stderr, "snctl: unknown command \"%.80s\"; %s%s%s\n", argv[1],
		near ? "did you mean " : "snctl --help lists them",
		near ? near : "", near ? "?" : "");
	return SNCTL_USAGE;
}

int main(int argc, char **argv)
{
	int code;

	setlocale(LC_CTYPE, "");
	/* A reader that went away shows as a failed write, which is reported
	 * below: half an answer must not pass for a whole one. */
	signal(SIGPIPE, SIG_IGN);
	code = dispatch(argc, argv);
	errno = 0;
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "snctl: the output could not be written whole: %s\n",
			strerror(errno ? errno : EIO));
		return SNCTL_USAGE;
	}
	return code;
}
