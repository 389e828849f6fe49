/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snrun.c - start a job's ranks where its layout wants them, and again after a
 * failure.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/hooks.h"
#include "launcher/planfiles.h"
#include "launcher/preflight.h"
#include "launcher/snrun.h"
#include "snctl/cli.h"
#include "snctl/progress.h"
#include "snctl/term.h"
#include "topology/text.h"

#define BAD_USE 2

extern char **environ;

void snrun_say(const char *fmt, ...)
{
	char text[SN_ERR_SIZE + 256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	progress_end();
	/* One write, so that lines of others do not come between. */
	fprintf(stderr, "snrun: %s\n", text);
}

int snrun_refused(int rc)
{
	return rc == -EINVAL || rc == -ENAMETOOLONG ? BAD_USE : 1;
}

/* ---- --dry-run ---- */

static const char *const head[] = {
	"<NODE", "<ADDRESS", "<SUPERNODE", ">RANKS", "<WHICH", "<CARDS", NULL,
};

/* "0-7,16": numbers in the order given. */
static void put_list(char *buf, size_t size, const uint32_t *n, uint32_t count)
{
	size_t at = 0;

	buf[0] = '\0';
	for (uint32_t i = 0, k; i < count && at < size; i = k) {
		for (k = i + 1; k < count && n[k] == n[k - 1] + 1; k++)
			;
		if (at + 32 > size) {
			snprintf(buf + at, size - at, "…");
			return;
		}
		at += (size_t)snprintf(buf + at, size - at, k - i > 1 ?
				       "%s%u-%u" : "%s%u", i ? "," : "", n[i],
				       n[k - 1]);
	}
}

static void print_plan(const struct snrun *run)
{
	const struct sn_plan *plan = &run->plan;
	char spec[SN_LAYOUT_TEXT_MAX];
	struct table table;

	sn_layout_format(&plan->layout, spec, sizeof(spec));
	printf("job %u: %s\n%u ranks, atoms of %u; files go to %s\n\n",
	       plan->job_id, spec, plan->layout.world, plan->layout.atom,
	       run->dir);
	table_init(&table, head);
	for (uint32_t i = 0; i < plan->n_nodes; i++) {
		const struct sn_plan_node *node = &plan->node[i];
		char list[128];

		table_add(&table, "%s", node->name);
		table_add(&table, "%s", node->address);
		table_add(&table, "%s", plan->supernode[node->supernode]);
		table_add(&table, "%u", node->ranks);
		put_list(list, sizeof(list), plan->rank_at + node->first,
			 node->ranks);
		table_add(&table, "%s", node->ranks ? list : "spare");
		put_list(list, sizeof(list), node->card, node->ranks ?
			 node->ranks : node->n_cards);
		table_add(&table, "%s", list);
	}
	table_print(&table, stdout, 0);
	table_done(&table);
}

static int dry_run(struct snrun *run, struct sn_err *err)
{
	struct sn_words argv = { 0 }, env = { 0 };
	char *line;
	int rc;

	progress_begin("trying the rank table");
	rc = sn_hooks_try(&run->plan, &run->job.policy, err);
	progress_end();
	if (rc)
		return rc;
	if (run->json) {
		rc = sn_planfile_layout(&run->plan, &line, err);
		if (!rc)
			fputs(line, stdout);
		free(rc ? NULL : line);
		return rc;
	}
	rc = snrun_make_parts(run, err);
	if (!rc)
		rc = snrun_command(run, &run->part[0], -1, &argv, &env, err);
	if (rc)
		return rc;
	line = sn_words_line(&argv);
	print_plan(run);
	printf("\n%s\n", line ? line : "");
	free(line);
	sn_words_done(&argv);
	sn_words_done(&env);
	return 0;
}

/* ---- the command line ---- */

static int check_bind(const struct snrun *run, struct sn_err *err)
{
	static const char *const known[] = { "locality", "slices", "none" };

	for (size_t i = 0; run->bind && i < 3; i++)
		if (!strcmp(run->bind, known[i]))
			return 0;
	return run->bind ? sn_err_set(err, -EINVAL,
				      "--bind=%.40s: want locality, slices or none",
				      run->bind) : 0;
}

static int parse(struct snrun *run, int argc, char **argv, struct sn_err *err)
{
	const struct cli_opt opts[] = {
		{ "dry-run", NULL, CLI_FLAG, &run->dry_run, "show the plan and the srun line, start and write nothing", false, 0, 0 },
		{ "json", NULL, CLI_FLAG, &run->json, "with --dry-run: the plan as layout.json has it", false, 0, 0 },
		{ "parallel", "SPEC", CLI_STRING, &run->parallel, "another layout than the job's, or one where the job has none", false, 0, 0 },
		{ "preflight", NULL, CLI_FLAG, &run->preflight, "check the nodes first", false, 0, 0 },
		{ "max-restarts", "N", CLI_UINT, &run->max_restarts, "start again at most N times after a failure", false, 0, 1000000 },
		{ "bind", "locality|slices|none", CLI_STRING, &run->bind, "the CPUs of each rank: near its card, even parts, as Slurm has it", false, 0, 0 },
		{ "label", NULL, CLI_FLAG, &run->label, "put the rank before each line of output", false, 0, 0 },
		{ "checkpoint", "PRESET|FILE", CLI_STRING, &run->checkpoint, "how a checkpoint is asked for and known: megatron:DIR, lightning:DIR, nvrx:FILE, mindio:DIR, or a file that changes when one is durable", false, 0, 0 },
		{ "srun-options", "\"OPTIONS\"", CLI_WORDS, &run->srun_options, "more options for srun, such as \"--mpi=pmix\"", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.program = "snrun",
		.usage = "[OPTIONS] COMMAND [ARGUMENT…]",
		.about = "Start COMMAND once for each rank of the job's --parallel layout, inside an\n"
			 "allocation of sbatch or salloc: each rank on its node and card, with groups,\n"
			 "tables and variables in place; and start it again after a failure.",
		.more = "--version (-V) prints the version. Exit status: the step's; 2 usage or bad input.",
		.opts = opts,
		.runs_command = true,
	};
	uint32_t first;
	int rc;

	if (argc > 1 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
		printf("snrun (%s) %s\n", PACKAGE_NAME, PACKAGE_VERSION);
		return 1;
	}
	rc = cli_parse(&cli, argc, argv, NULL, &first, err);
	if (!rc)
		rc = check_bind(run, err);
	if (!rc && run->json && !run->dry_run)
		rc = sn_err_set(err, -EINVAL, "--json goes with --dry-run");
	run->command = argv + first;
	if (!rc && first == (uint32_t)argc)
		rc = sn_err_set(err, -EINVAL,
				"a command is needed: snrun [OPTIONS] COMMAND [ARGUMENT…]; snrun --help says more");
	return rc;
}

/* Blocked in all threads; step.c takes them one by one. */
static void hold_signals(struct snrun *run)
{
	sigset_t set;

	sigemptyset(&set);
	for (const int *sig = (const int[]){ SIGCHLD, SIGINT, SIGTERM, SIGHUP,
		     SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM, 0 }; *sig; sig++)
		sigaddset(&set, *sig);
	sigprocmask(SIG_BLOCK, &set, &run->signals);
	/* A reader of ours that has gone is no reason to leave the step. */
	signal(SIGPIPE, SIG_IGN);
	/* Whoever has started us may not have cared for children. */
	signal(SIGCHLD, SIG_DFL);
}

static int fail(int rc, const struct sn_err *err)
{
	snrun_say("%s", err->text);
	return snrun_refused(rc);
}

int main(int argc, char **argv)
{
	struct snrun run = { .max_restarts = UINT32_MAX, .lock = -1 };
	struct sn_err err = { "" };
	int rc, code;

	/* Not for users: what distribute.c starts on each node. */
	if ((argc == 4 || argc == 6) && !strcmp(argv[1], "--receive"))
		return snrun_receive(argv + 2);
	/* Not for users: a member's script. */
	if (argc == 4 && !strcmp(argv[1], "--member"))
		return snrun_hold(argv[2], argv[3]);
	/* Not for users: what --preflight starts on each node. */
	if (argc == 2 && !strcmp(argv[1], SN_PREFLIGHT_NODE))
		return sn_preflight_node();
	rc = parse(&run, argc, argv, &err);
	if (rc > 0)
		return fflush(stdout) ? 1 : 0;
	if (rc)
		return fail(rc, &err);
	run.environment = environ;
	hold_signals(&run);
	progress_begin("reading the job and planning");
	rc = snrun_load(&run, &err);
	if (!rc && run.dry_run) {
		rc = dry_run(&run, &err);
		if (!rc && fflush(stdout))
			rc = sn_err_set(&err, -EIO, "the plan could not be printed");
		snrun_done(&run);
		return rc ? fail(rc, &err) : 0;
	}
	if (!rc)
		rc = snrun_prepare(&run, &err);
	progress_end();
	code = rc ? fail(rc, &err) : snrun_generations(&run);
	if (!rc)
		snrun_sweep(&run);
	snrun_done(&run);
	return code;
}
