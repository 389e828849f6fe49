/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snctl.h - what the commands of snctl share.
 *
 * A command computes first and prints last, so that on failure nothing is on
 * standard output and one sentence is on standard error.
 */
#ifndef SNCTL_SNCTL_H
#define SNCTL_SNCTL_H

#include <stdbool.h>

#include "topology/err.h"
#include "topology/topo.h"

/* Exit codes, the same in all programs of the suite. */
enum { SNCTL_DONE = 0, SNCTL_NO = 1, SNCTL_USAGE = 2 };

struct snctl_command {
	const char *name;
	const char *summary; /* one line for snctl --help */
	/* argv[0] is the command's name; returns an exit code. */
	int (*run)(int argc, char **argv);
};

int cmd_place(int argc, char **argv);
int cmd_groups(int argc, char **argv);
int cmd_groups_verify(int argc, char **argv); /* snctl groups verify */
int cmd_check(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_map(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_card(int argc, char **argv);
int cmd_elastic(int argc, char **argv);
int cmd_pool(int argc, char **argv);
int cmd_health(int argc, char **argv);
int cmd_health_probe(int argc, char **argv); /* snctl health probe */
int cmd_health_records(int argc, char **argv);
int cmd_events(int argc, char **argv);

/* The exit code of a command that changes something: whether what it was to change
 * does not allow it, or its words are wrong. */
int snctl_code(int rc);
/* Print "snctl COMMAND: text" on standard error; returns code. */
int snctl_fail(const char *command, int code, const struct sn_err *err);

#endif
