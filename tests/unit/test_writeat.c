/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_writeat.c - files in an open directory: whole or not there.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/writeat.h"

static char top[] = "/tmp/sn-writeat-XXXXXX";
static int dir;

static int set_up(void **state)
{
	(void)state;
	strcpy(top, "/tmp/sn-writeat-XXXXXX");
	dir = mkdtemp(top) ? open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	return dir < 0;
}

static int tear_down(void **state)
{
	char command[80];

	(void)state;
	close(dir);
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	return system(command);
}

static int write_two(const char *name, char *a, char *b, bool durable)
{
	const struct iovec part[] = { { a, strlen(a) }, { b, strlen(b) } };

	return sn_write_at(dir, name, part, 2, durable);
}

static void must_be(const char *name, const char *want)
{
	char *text;
	size_t len;

	assert_int_equal(sn_read_at(dir, name, 100, &text, &len), 0);
	assert_int_equal(len, strlen(want));
	assert_string_equal(text, want);
	free(text);
}

/* Also what begins with a dot: nothing is left over. */
static int files(void)
{
	char command[96];
	FILE *f;
	int n = -1;

	snprintf(command, sizeof(command), "ls -A %s | wc -l", top);
	f = popen(command, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &n), 1);
	pclose(f);
	return n;
}

static void all_parts_in_order(void **state)
{
	char name[300];
	struct stat st;

	(void)state;
	for (int durable = 0; durable < 2; durable++) {
		assert_int_equal(write_two("f", "one ", durable ? "two" : "", durable), 0);
		must_be("f", durable ? "one two" : "one ");
		assert_int_equal(sn_write_at(dir, "empty", NULL, 0, durable), 0);
		must_be("empty", "");
	}
	assert_int_equal(fstatat(dir, "f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(write_two("a/b", "", "", true), -EINVAL);
	assert_int_equal(write_two("", "", "", true), -EINVAL);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(write_two(name, "", "", true), -EINVAL);
	assert_int_equal(files(), 2);
}

/* Nor a killed writer's temporary file, though somebody has put a link there. */
static void nothing_is_followed(void **state)
{
	char name[64], *text;
	size_t len;

	(void)state;
	snprintf(name, sizeof(name), ".f.%ld", (long)getpid());
	assert_int_equal(write_two("other", "as it was", "", true), 0);
	assert_int_equal(symlinkat("other", dir, name), 0);
	assert_int_equal(symlinkat("other", dir, "f"), 0);
	assert_int_equal(sn_read_at(dir, "f", 100, &text, &len), -ELOOP);
	assert_int_equal(write_two("f", "new", "", true), 0);
	must_be("f", "new");
	must_be("other", "as it was");
	assert_int_equal(files(), 2);
	assert_int_equal(mkfifoat(dir, "pipe", 0600), 0);
	assert_int_equal(sn_read_at(dir, "pipe", 100, &text, &len), -EFBIG);
	assert_int_equal(sn_read_at(dir, "other", 8, &text, &len), -EFBIG);
	assert_int_equal(sn_read_at(dir, "none", 8, &text, &len), -ENOENT);
}

static void without_room_the_old_one_stays(void **state)
{
	static char big[8192];
	struct rlimit old, small;
	int rc;

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	assert_int_equal(write_two("f", "old", "", true), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	rc = write_two("f", "x", big, false);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(rc, -EFBIG);
	must_be("f", "old");
	assert_int_equal(files(), 1);
	assert_int_equal(close(dir), 0);
	assert_int_equal(write_two("f", "new", "", true), -EBADF);
	dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_parts_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_room_the_old_one_stays, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("writeat", tests, NULL, NULL);
}
