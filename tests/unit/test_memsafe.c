/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_memsafe.c - which iteration in memory survives the loss of a node.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/memsafe.h"

static void words(void **state)
{
	static const char *const bad[] = { "", "\n", "3 40 2\n", "3 40 2 4", "3 40 2 4 5\n", "3 40 2 4\n\n",
					   "-3 40 2 4\n", "3 40 5 4\n", "3 40 0 4\n", "3 0 2 4\n", "a 40 2 4\n",
					   "3 40 2 4\nend\n" };
	struct sn_memsafe_word word;

	(void)state;
	assert_int_equal(sn_memsafe_parse("3 18446744073709551615 2 4\n", &word), 0);
	assert_int_equal(word.generation, 3);
	assert_true(word.iteration == UINT64_MAX);
	assert_int_equal(word.ranks, 2);
	assert_int_equal(word.world, 4);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (sn_memsafe_parse(bad[i], &word) != -EBADMSG)
			fail_msg("\"%s\" is taken", bad[i]);
}

static void all_ranks_must_have_a_copy(void **state)
{
	struct sn_memsafe_word word[] = { { 3, 8, 16, 44 }, { 3, 4, 16, 40 }, { 3, 4, 16, 42 }, { 2, 4, 16, 99 } };
	uint64_t iteration = 0;

	(void)state;
	assert_false(sn_memsafe_find(NULL, 0, 3, &iteration));
	/* what the slowest has; who is of another start says nothing */
	assert_true(sn_memsafe_find(word, 4, 3, &iteration));
	assert_int_equal(iteration, 40);
	assert_false(sn_memsafe_find(word, 4, 2, &iteration));
	/* one has not said so yet */
	for (int i = 0; i < 4; i++)
		if (word[i].iteration == 40)
			word[i].generation = 2;
	assert_false(sn_memsafe_find(word, 4, 3, &iteration));
	/* what cannot be */
	word[0] = (struct sn_memsafe_word){ 3, 10, 16, 50 };
	word[1] = (struct sn_memsafe_word){ 3, 10, 16, 50 };
	assert_false(sn_memsafe_find(word, 2, 3, &iteration));
	word[1] = (struct sn_memsafe_word){ 3, 10, 20, 50 };
	assert_false(sn_memsafe_find(word, 2, 3, &iteration));
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void files(void **state)
{
	char dir[] = "/tmp/sn-memsafe-XXXXXX", path[64], command[64];
	uint64_t iteration;
	size_t n;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_false(sn_memsafe_look(dir, 0, &iteration, &n));
	assert_int_equal(n, 0);
	sn_memsafe_forget(dir);
	snprintf(path, sizeof(path), "%s/memckpt", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	put(dir, "memckpt/n1@has", "0 7 2 4\n");
	put(dir, "memckpt/n2", "a node's list");
	put(dir, "memckpt/.n3@has.77", "0 7 2 4\n"); /* being written */
	put(dir, "memckpt/@has", "0 7 2 4\n");
	assert_false(sn_memsafe_look(dir, 0, &iteration, &n));
	assert_int_equal(n, 1);
	put(dir, "memckpt/n3@has", "torn");
	assert_false(sn_memsafe_look(dir, 0, &iteration, &n));
	put(dir, "memckpt/n3@has", "0 6 2 4\n");
	assert_true(sn_memsafe_look(dir, 0, &iteration, &n));
	assert_int_equal(n, 2);
	assert_int_equal(iteration, 6);
	sn_memsafe_forget(dir);
	assert_false(sn_memsafe_look(dir, 0, &iteration, &n));
	assert_int_equal(n, 0);
	snprintf(path, sizeof(path), "%s/memckpt/n2", dir);
	assert_int_equal(access(path, F_OK), 0);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(all_ranks_must_have_a_copy),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests_name("memsafe", tests, NULL, NULL);
}
