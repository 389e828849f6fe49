/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/sruncmd.h"

static char *const command[] = { "python", "train it.py", "--label", NULL };

static struct sn_words argv, env;

static void make(struct sn_srun *srun, char *const *environment)
{
	static struct sn_words variables;

	if (!variables.n) {
		sn_words_add(&variables, "SUPERNODE_JOB_DIR=/d");
		sn_words_add(&variables, "MARK=%d", 7);
	}
	srun->command = command;
	srun->environment = environment;
	srun->variables = &variables;
	srun->hostfile = "/d/hostfile";
	srun->card_gres = "npu";
	assert_int_equal(sn_srun_make(srun, &argv, &env, NULL), 0);
}

static void done(void)
{
	sn_words_done(&argv);
	sn_words_done(&env);
}

static int has(const struct sn_words *words, const char *word)
{
	int n = 0;

	for (size_t i = 0; i < words->n; i++)
		n += !strcmp(words->word[i], word);
	return n;
}

static void the_command_line(void **state)
{
	struct sn_srun srun = { .world = 32, .nodes = 4, .task_stderr = -1 };
	char *const environment[] = { "A=1", NULL };
	char *line;

	(void)state;
	make(&srun, environment);
	line = sn_words_line(&argv);
	assert_string_equal(line, "srun --ntasks=32 --distribution=arbitrary --nodelist=/d/hostfile --tres-per-task=gres/npu:1 --export=ALL,SLURM_JOB_NUM_NODES=4 -- python 'train it.py' --label");
	assert_null(argv.word[argv.n]);
	free(line);
	done();
	srun.label = srun.overcommit = srun.overlap = true;
	srun.task_stderr = 9;
	srun.layout = "tp=8";
	srun.extra = "  --mpi=pmix\t--x y ";
	make(&srun, environment);
	line = sn_words_line(&argv);
	assert_non_null(strstr(line, " --label --overlap --mem=0 --overcommit --error=/dev/fd/9 --parallel=tp=8 --mpi=pmix --x y -- python "));
	free(line);
	done();
}

static void stale_variables_go(void **state)
{
	struct sn_srun srun = { .world = 8, .nodes = 1, .task_stderr = 3 };
	char *const environment[] = {
		"SLURM_JOB_NUM_NODES=9", "SLURM_NNODES=9", "SLURM_JOB_ID=17",
		"SLURM_TRES_PER_TASK=gres/npu:2", "MARK=old", "MARKED=x",
		"SLURM_STDERRMODE=e.%t", "SLURM_JOB_NODELIST=n[1-9]", "", NULL,
	};

	(void)state;
	make(&srun, environment);
	assert_int_equal(has(&env, "SLURM_JOB_ID=17"), 1);
	assert_int_equal(has(&env, "MARKED=x"), 1);
	assert_int_equal(has(&env, "MARK=7"), 1);
	assert_int_equal(has(&env, "MARK=old"), 0);
	assert_int_equal(has(&env, "SUPERNODE_JOB_DIR=/d"), 1);
	for (size_t i = 0; i < env.n; i++) {
		assert_null(strstr(env.word[i], "NODES=9"));
		assert_null(strstr(env.word[i], "NODELIST"));
		assert_null(strstr(env.word[i], "TRES_PER"));
	}
	/* The user has files for it. */
	assert_int_equal(has(&argv, "--error=/dev/fd/3"), 0);
	done();
}

static void exports(const char *given, const char *want)
{
	struct sn_srun srun = { .world = 8, .nodes = 2, .task_stderr = -1 };
	char entry[80] = "SLURM_EXPORT_ENV=";
	char *const environment[] = { entry, NULL };

	strcat(entry, given);
	make(&srun, environment);
	if (!has(&argv, want))
		fail_msg("%s: no %s", entry, want);
	assert_int_equal(has(&env, entry), 0);
	done();
}

static void what_the_user_exports_is_kept(void **state)
{
	(void)state;
	exports("ALL", "--export=ALL,SLURM_JOB_NUM_NODES=2");
	exports("ALL,X=1", "--export=ALL,X=1,SLURM_JOB_NUM_NODES=2");
	exports("NONE", "--export=SLURM_JOB_NUM_NODES=2,SUPERNODE_JOB_DIR,MARK");
	exports("PATH,HOME", "--export=PATH,HOME,SLURM_JOB_NUM_NODES=2,SUPERNODE_JOB_DIR,MARK");
}

static void words_are_quoted(void **state)
{
	struct sn_words words = { 0 };
	char *line;

	(void)state;
	sn_words_add(&words, "%s", "a");
	sn_words_add(&words, "%s", "");
	sn_words_add(&words, "%s", "it's $x");
	line = sn_words_line(&words);
	assert_string_equal(line, "a '' 'it'\\''s $x'");
	free(line);
	sn_words_done(&words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_command_line),
		cmocka_unit_test(stale_variables_go),
		cmocka_unit_test(what_the_user_exports_is_kept),
		cmocka_unit_test(words_are_quoted),
	};

	return cmocka_run_group_tests_name("sruncmd", tests, NULL, NULL);
}
