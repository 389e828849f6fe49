/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snelasticd.c - the health and elastic controller: its command line.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "elastic/daemon.h"
#include "snctl/cli.h"
#include "snctl/snctl.h"

int main(int argc, char **argv)
{
	struct sn_daemon_options o = { 0 };
	bool foreground = false, dry_run = false, verbose = false, version = false;
	const struct cli_opt opts[] = {
		{ "foreground", NULL, CLI_FLAG, &foreground, "stay in the foreground and log to standard error (-D)", false, 0, 0 },
		{ "verbose", NULL, CLI_FLAG, &verbose, "log more (-v)", false, 0, 0 },
		{ "dry-run", NULL, CLI_FLAG, &dry_run, "do everything but write to Slurm", false, 0, 0 },
		{ "config", "FILE", CLI_STRING, &o.config, "the topology.conf that slurm.conf and supernode.conf stand beside; by default as Slurm finds them", false, 0, 0 },
		{ "version", NULL, CLI_FLAG, &version, "print the version (-V)", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.program = "snelasticd",
		.usage = "[OPTIONS]",
		.about = "Receives health reports, masks cards that are not well, and keeps the history of\n"
			 "both. One daemon of a cluster is in charge, others stand by.",
		.more = "Its configuration is supernode.conf; SIGHUP has it read again.\n"
			"Exit status: 0 ended by a signal, 1 no longer in charge, 2 usage or bad input.\n",
		.opts = opts,
	};
	static char *const shorts[][2] = {
		{ "-D", "--foreground" }, { "-v", "--verbose" }, { "-V", "--version" },
	};
	const char *args[1] = { NULL };
	struct sn_err err = { "" };
	uint32_t n_args;
	int rc;

	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < sizeof(shorts) / sizeof(*shorts); k++)
			if (!strcmp(argv[i], shorts[k][0]))
				argv[i] = shorts[k][1];
	rc = cli_parse(&cli, argc, argv, args, &n_args, &err);
	if (rc > 0)
		return SNCTL_DONE;
	if (!rc && version) {
		printf("snelasticd (%s) %s\n", PACKAGE_NAME, PACKAGE_VERSION);
		return SNCTL_DONE;
	}
	if (!rc) {
		o.foreground = foreground;
		o.dry_run = dry_run;
		o.verbose = verbose;
		sn_log_open(NULL, verbose ? SN_LOG_DEBUG : SN_LOG_INFO, NULL);
		rc = sn_daemon_run(&o, &err);
	}
	if (rc < 0) {
		fprintf(stderr, "snelasticd: %s\n", err.text);
		return SNCTL_USAGE;
	}
	return rc;
}
