/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/stage.h"
#include "launcher/writefile.h"

static char base[] = "/tmp/sn-stage-XXXXXX", from[64], to[64];

static int make_base(void **state)
{
	int fd;

	(void)state;
	if (!mkdtemp(base))
		return -1;
	snprintf(from, sizeof(from), "%s/from", base);
	snprintf(to, sizeof(to), "%s/to", base);
	if (sn_dir_make(from, &fd, NULL))
		return -1;
	return close(fd);
}

static int remove_base(void **state)
{
	char cmd[80];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", base);
	return system(cmd);
}

static void put(const char *name, const char *text)
{
	assert_int_equal(sn_write_file(from, name, text, strlen(text), NULL), 0);
}

static void has(const char *name, const char *want)
{
	size_t len;
	char *text;
	int rc = sn_read_file(to, name, 4096, &text, &len, NULL);

	assert_int_equal(rc, want ? 0 : -ENOENT);
	if (want) {
		assert_string_equal(text, want);
		free(text);
	}
}

static void files_arrive_as_they_were(void **state)
{
	struct sn_err err;
	char *data;
	size_t len;

	(void)state;
	put("layout.json", "{}\n");
	put("empty", "");
	put("lock", "process 7");
	put("progress", "x");
	put("snrun.json", "{}");
	/* Without a generation it is no plan. */
	assert_int_equal(sn_stage_pack(from, &data, &len, &err), -ENOENT);
	put("generation", "4\n");
	assert_int_equal(sn_stage_pack(from, &data, &len, &err), 0);
	assert_int_equal(sn_stage_unpack(to, data, len, &err), 0);
	has("layout.json", "{}\n");
	has("empty", "");
	has("generation", "4\n");
	has("lock", NULL);
	has("progress", NULL);
	has("snrun.json", NULL);
	/* Cut anywhere it is refused: the generation comes last. */
	for (size_t n = 0; n < len; n++)
		assert_int_equal(sn_stage_unpack(to, data, n, &err), -EINVAL);
	free(data);
}

static void names_stay_in_the_directory(void **state)
{
	static const char *const bad[] = {
		"../x 1\ny", "a/b 1\ny", ".x 1\ny", "x\ny", "x -1\ny",
		"x 99\ny", "x 18446744073709551615\ny", "",
	};
	struct sn_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(sn_stage_unpack(to, bad[i], strlen(bad[i]), &err), -EINVAL);
}

static void the_token_tells_a_shared_directory(void **state)
{
	(void)state;
	assert_false(sn_stage_is_shared(from, "abc"));
	put(SN_STAGE_TOKEN_FILE, "abc");
	assert_true(sn_stage_is_shared(from, "abc"));
	assert_false(sn_stage_is_shared(from, "abd"));
	assert_false(sn_stage_is_shared("/nonexistent", "abc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_arrive_as_they_were),
		cmocka_unit_test(names_stay_in_the_directory),
		cmocka_unit_test(the_token_tells_a_shared_directory),
	};

	return cmocka_run_group_tests_name("stage", tests, make_base, remove_base);
}
