/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_control.c - how a running snrun is told something.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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

#include <json-c/json.h>

#include "launcher/control.h"
#include "launcher/writefile.h"

static char dir[] = "/tmp/sn-control-XXXXXX";

static void requests_are_read(void **state)
{
	struct sn_control c = { .id = "kept" };

	(void)state;
	assert_int_equal(sn_control_parse("{\"op\":\"shrink\",\"dp\":4}", &c, NULL), 0);
	assert_int_equal(c.op, SN_CONTROL_SHRINK);
	assert_int_equal(c.dp, 4);
	assert_string_equal(c.id, "kept");
	assert_int_equal(sn_control_parse("{\"op\":\"swap\",\"node\":\"n3\"}", &c, NULL), 0);
	assert_string_equal(c.node, "n3");
	assert_int_equal(c.dp, 0);
	assert_true(!c.cards && !*c.why);
	assert_int_equal(sn_control_parse("{\"op\":\"swap\",\"node\":\"n3\",\"cards\":[0,63,5],\"well\":60,\"why\":\"ECC\"}", &c, NULL), 0);
	assert_true(c.cards == (UINT64_C(1) << 63 | 1 << 5 | 1));
	assert_string_equal(c.why, "ECC");
	assert_int_equal(c.well, 60);
	assert_int_equal(sn_control_parse("{\"op\":\"replace\"}", &c, NULL), 0);
	assert_int_equal(c.op, SN_CONTROL_REPLACE);
	/* Nothing of the one before is left. */
	assert_true(!*c.node && !c.cards && !*c.why && !c.well);
	assert_int_equal(sn_control_parse("{\"op\":\"requeue\"}", &c, NULL), 0);
	assert_int_equal(c.op, SN_CONTROL_REQUEUE);
}

/* What is written is what is read. */
static void they_are_written_as_they_are_read(void **state)
{
	const struct sn_control all[] = {
		{ .op = SN_CONTROL_SHRINK, .dp = 6 },
		{ .op = SN_CONTROL_SWAP, .node = "n[1]", .cards = UINT64_MAX, .well = 3600, .why = "slow \"cards\"" },
		{ .op = SN_CONTROL_REPLACE, .node = "n2", .cards = 4 },
		{ .op = SN_CONTROL_REPLACE }, { .op = SN_CONTROL_REQUEUE, .why = "why" },
		{ .op = SN_CONTROL_PAUSE }, { .op = SN_CONTROL_RESUME }, { .op = SN_CONTROL_STATUS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct json_object *o = sn_control_json(&all[i]);
		struct sn_control c = { .id = "" };

		assert_int_equal(sn_control_read(o, &c, NULL), 0);
		assert_int_equal(c.op, all[i].op);
		assert_int_equal(c.dp, all[i].dp);
		assert_string_equal(c.node, all[i].node);
		assert_true(c.cards == all[i].cards);
		assert_int_equal(c.well, all[i].well);
		assert_string_equal(c.why, all[i].why);
		json_object_put(o);
	}
}

static void bad_requests_are_refused(void **state)
{
	const char *bad[] = { "", "{", "[]", "7", "{}", "{\"op\":7}", "{\"op\":\"fly\"}",
		"{\"op\":\"grow\",\"dp\":-1}", "{\"op\":\"grow\",\"dp\":\"4\"}",
		"{\"op\":\"grow\",\"dp\":4294967296}", "{\"op\":\"swap\"}",
		"{\"op\":\"swap\",\"node\":[]}",
		"{\"op\":\"swap\",\"node\":\"n1\",\"cards\":[64]}",
		"{\"op\":\"swap\",\"node\":\"n1\",\"cards\":[-1]}",
		"{\"op\":\"swap\",\"node\":\"n1\",\"cards\":[\"1\"]}",
		"{\"op\":\"swap\",\"node\":\"n1\",\"cards\":3}",
		"{\"op\":\"replace\",\"cards\":[3]}",
		"{\"op\":\"swap\",\"node\":\"n1\",\"well\":-1}",
		"{\"op\":\"swap\",\"node\":\"n1\",\"well\":true}",
		"{\"op\":\"pause\",\"why\":7}", "{\"op\":\"pause\",\"why\":\"two\\nlines\"}" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sn_err err = { "" };
		struct sn_control c;

		assert_int_equal(sn_control_parse(bad[i], &c, &err), -EINVAL);
		assert_true(strlen(err.text) > 20);
	}
}

static void *serve(void *arg)
{
	struct sn_control c;

	for (int i = 0; i < 400; i++) {
		if (!sn_control_next(dir, &c)) {
			*(struct sn_control *)arg = c;
			sn_control_answer(dir, c.id, "{\"ok\":true}");
			return NULL;
		}
		usleep(10000);
	}
	return NULL;
}

static void who_asks_is_answered(void **state)
{
	const struct sn_control ask = { .op = SN_CONTROL_SWAP, .node = "n\"1" };
	struct sn_control got = { .id = "" };
	struct sn_err err = { "" };
	pthread_t thread;
	char *answer;

	(void)state;
	assert_int_equal(sn_control_ask(dir, &ask, 100, &answer, &err), -ENOENT);
	assert_int_equal(sn_control_open(dir, &err), 0);
	assert_int_equal(pthread_create(&thread, NULL, serve, &got), 0);
	if (sn_control_ask(dir, &ask, 10000, &answer, &err))
		fail_msg("%s", err.text);
	pthread_join(thread, NULL);
	assert_string_equal(answer, "{\"ok\":true}");
	free(answer);
	assert_int_equal(got.op, SN_CONTROL_SWAP);
	assert_string_equal(got.node, "n\"1");
	/* Nothing of it stays. */
	assert_int_equal(sn_control_next(dir, &got), -ENOENT);
	assert_int_equal(sn_control_ask(dir, &ask, 100, &answer, &err), -ETIMEDOUT);
	assert_non_null(strstr(err.text, "did not answer"));
	sn_control_close(dir);
	assert_int_equal(sn_control_ask(dir, &ask, 100, &answer, &err), -ENOENT);
}

/* What another has put there is answered, or left alone, and never followed. */
static void strange_files(void **state)
{
	char path[256], text[64] = "";
	struct sn_control c;
	int fd;

	(void)state;
	assert_int_equal(sn_control_open(dir, NULL), 0);
	snprintf(path, sizeof(path), "%s/" SN_CONTROL_DIR, dir);
	assert_int_equal(sn_write_file(path, "a.request", "no json", 7, NULL), 0);
	assert_int_equal(sn_control_next(dir, &c), -ENOENT);
	snprintf(path, sizeof(path), "%s/" SN_CONTROL_DIR "/a.answer", dir);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	assert_non_null(strstr(text, "\"ok\":false"));
	snprintf(path, sizeof(path), "%s/" SN_CONTROL_DIR "/b.request", dir);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(sn_control_next(dir, &c), -ENOENT);
	assert_int_equal(sn_control_open(dir, NULL), 0);
	assert_int_equal(access(path, F_OK), -1);
	sn_control_close(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_read),
		cmocka_unit_test(they_are_written_as_they_are_read),
		cmocka_unit_test(bad_requests_are_refused),
		cmocka_unit_test(who_asks_is_answered),
		cmocka_unit_test(strange_files),
	};
	char command[128];
	int rc;

	if (!mkdtemp(dir))
		return 99;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) ? 99 : rc;
}
