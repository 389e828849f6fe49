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

#include <fcntl.h>
#include <sys/stat.h>

#include "elastic/history.h"

static char dir[] = "/tmp/sn-history-XXXXXX";
static char path[64];

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/" SN_HISTORY_FILE, dir);
	return 0;
}

static int remove_dir(void **state)
{
	char cmd[80];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	return system(cmd);
}

static void fresh(void)
{
	char cmd[80];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'/*", dir);
	assert_int_equal(system(cmd), 0);
}

static struct sn_event event(uint64_t id, const char *kind, const char *node)
{
	struct sn_event e = { .id = id, .at = 1e9 + (double)id, .card = SN_NONE, .uid = SN_NONE };

	snprintf(e.kind, sizeof(e.kind), "%s", kind);
	snprintf(e.node, sizeof(e.node), "%s", node);
	snprintf(e.text, sizeof(e.text), "what happened, %llu; it's 'quoted'", (unsigned long long)id);
	return e;
}

static struct sn_history *open_it(uint64_t want_last)
{
	struct sn_history *h;
	struct sn_err note, err;
	uint64_t last;

	assert_int_equal(sn_history_open(dir, &h, &last, &note, &err), 0);
	assert_string_equal(note.text, "");
	assert_int_equal(last, want_last);
	return h;
}

static void kept_and_found(void **state)
{
	struct sn_event e[5], *got;
	struct sn_event_filter all = { 0 }, some = { .after = 1, .kind = "health", .node = "n1", .limit = 2 };
	struct sn_history *h;
	struct sn_err err;
	uint32_t n;

	(void)state;
	fresh();
	h = open_it(0);
	for (int i = 0; i < 5; i++)
		e[i] = event((uint64_t)i + 1, i == 2 ? "daemon" : "health", i == 4 ? "n2" : "n1");
	e[1].card = 7;
	e[1].job = 99;
	e[1].uid = 0;
	assert_int_equal(sn_history_add(h, e, 5, &err), 0);
	sn_history_close(h);
	h = open_it(5);
	assert_int_equal(sn_history_find(h, &all, &got, &n, &err), 0);
	assert_int_equal(n, 5);
	for (int i = 0; i < 5; i++)
		assert_memory_equal(&got[i], &e[i], sizeof(*got));
	free(got);
	assert_int_equal(sn_history_find(h, &some, &got, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_int_equal(got[0].id, 2);
	assert_int_equal(got[1].id, 4);
	free(got);
	/* The same again, after an answer that got lost: once in it. */
	assert_int_equal(sn_history_add(h, e, 5, &err), 0);
	assert_int_equal(sn_history_find(h, &all, &got, &n, &err), 0);
	assert_int_equal(n, 5);
	free(got);
	sn_history_close(h);
}

static void a_damaged_file_goes_aside(void **state)
{
	struct sn_event e = event(1, "health", "n1");
	struct sn_history *h;
	struct sn_err note, err;
	struct stat st;
	uint64_t last;
	char bad[80];
	FILE *f;

	(void)state;
	fresh();
	f = fopen(path, "w");
	for (int i = 0; i < 4000; i++)
		fputs("this is no database ", f);
	fclose(f);
	assert_int_equal(sn_history_open(dir, &h, &last, &note, &err), 0);
	assert_int_equal(last, 0);
	assert_non_null(strstr(note.text, ".bad"));
	assert_int_equal(sn_history_add(h, &e, 1, &err), 0);
	sn_history_close(h);
	snprintf(bad, sizeof(bad), "%s.bad", path);
	assert_int_equal(stat(bad, &st), 0);
	assert_int_equal(st.st_size, 80000);
	sn_history_close(open_it(1));
}

/* A page in the middle, as a disk loses it. */
static void damage_inside_is_seen(void **state)
{
	struct sn_event *e = calloc(500, sizeof(*e));
	char junk[4096];
	struct sn_history *h;
	struct sn_err note, err;
	uint64_t last;
	int fd;

	(void)state;
	fresh();
	h = open_it(0);
	for (uint64_t i = 0; i < 500; i++)
		e[i] = event(i + 1, "health", "n1");
	assert_int_equal(sn_history_add(h, e, 500, &err), 0);
	sn_history_close(h);
	memset(junk, 0xa5, sizeof(junk));
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, junk, sizeof(junk), 3 * 4096), (ssize_t)sizeof(junk));
	close(fd);
	assert_int_equal(sn_history_open(dir, &h, &last, &note, &err), 0);
	assert_non_null(strstr(note.text, ".bad"));
	sn_history_close(h);
	free(e);
}

static void a_directory_that_is_not_there(void **state)
{
	struct sn_history *h;
	struct sn_err note, err;
	uint64_t last;

	(void)state;
	assert_true(sn_history_open("/proc/nowhere", &h, &last, &note, &err) < 0);
	assert_null(h);
	assert_true(*err.text);
}

static void the_old_goes_but_not_the_latest(void **state)
{
	uint32_t many = SN_HISTORY_KEEP + 500, n;
	struct sn_event *e = calloc(many, sizeof(*e)), *got;
	struct sn_event_filter all = { .limit = many };
	struct sn_history *h;
	struct sn_err err;
	bool more;

	(void)state;
	fresh();
	h = open_it(0);
	for (uint32_t i = 0; i < many; i++)
		e[i] = event(i + 1, "health", "n1");
	assert_int_equal(sn_history_add(h, e, many, &err), 0);
	/* The clock has jumped a century on: all is old. */
	assert_int_equal(sn_history_purge(h, 4e9, UINT32_MAX, &more, &err), 0);
	assert_int_equal(sn_history_find(h, &all, &got, &n, &err), 0);
	assert_int_equal(n, SN_HISTORY_KEEP);
	assert_int_equal(got[0].id, 501);
	free(got);
	/* Nothing is. */
	assert_int_equal(sn_history_purge(h, 1, UINT32_MAX, &more, &err), 0);
	assert_int_equal(sn_history_find(h, &all, &got, &n, &err), 0);
	assert_int_equal(n, SN_HISTORY_KEEP);
	free(got);
	/* But there are never more than so many, and it is told that it takes more calls. */
	more = true;
	for (int i = 0; more; i++) {
		assert_true(i < 10);
		assert_int_equal(sn_history_purge(h, 1, 100, &more, &err), 0);
	}
	assert_int_equal(sn_history_find(h, &all, &got, &n, &err), 0);
	assert_int_equal(n, 100);
	assert_int_equal(got[99].id, many);
	free(got);
	/* A gap in the ids costs nothing. */
	e[0].id = UINT64_C(1) << 40;
	assert_int_equal(sn_history_add(h, e, 1, &err), 0);
	assert_int_equal(sn_history_purge(h, 4e9, 101, &more, &err), 0);
	assert_int_equal(sn_history_find(h, &all, &got, &n, &err), 0);
	assert_int_equal(n, 101);
	assert_false(more);
	free(got);
	sn_history_close(h);
	free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_and_found),
		cmocka_unit_test(a_damaged_file_goes_aside),
		cmocka_unit_test(damage_inside_is_seen),
		cmocka_unit_test(a_directory_that_is_not_there),
		cmocka_unit_test(the_old_goes_but_not_the_latest),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
