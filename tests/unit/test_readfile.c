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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "snctl/readfile.h"

static char dir[] = "/tmp/snctl-readfile-XXXXXX";

static const char *put(const char *name, const char *text, size_t len)
{
	static char path[2][128];
	static int turn;
	FILE *f;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	f = fopen(path[turn], "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
	return path[turn];
}

static void bytes_come_back_as_they_are(void **state)
{
	const char *path = put("a", "x\0y\n", 4);
	char *text;
	size_t len;

	(void)state;
	assert_int_equal(snctl_read_file(path, &text, &len, NULL), 0);
	assert_int_equal(len, 4);
	assert_memory_equal(text, "x\0y\n\0", 5);
	free(text);
}

static void what_is_no_file_is_refused_by_name(void **state)
{
	struct sn_err err;
	char fifo[128], *text;
	size_t len;

	(void)state;
	assert_int_equal(snctl_read_file(dir, &text, &len, &err), -EISDIR);
	assert_non_null(strstr(err.text, dir));
	assert_int_equal(snctl_read_file("/dev/null", &text, &len, &err), -EINVAL);
	assert_int_equal(snctl_read_file("/nonexistent/x", &text, &len, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/x"));
	/* It must not wait for a writer. */
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(snctl_read_file(fifo, &text, &len, &err), -EINVAL);
	unlink(fifo);
}

static void a_file_over_the_limit_is_not_read(void **state)
{
	const char *path = put("big", "", 0);
	struct sn_err err;
	char *text;
	size_t len;

	(void)state;
	assert_int_equal(truncate(path, (off_t)SNCTL_FILE_MAX + 1), 0);
	assert_int_equal(snctl_read_file(path, &text, &len, &err), -EFBIG);
	unlink(path);
}

static void includes_are_beside_the_file(void **state)
{
	struct sn_topo *topo;
	struct sn_err err;
	const char *path;
	char sub[128];

	(void)state;
	put("inc.conf", "SupernodeName=sn1 Nodes=n[1-4]\n", 31);
	path = put("topology.conf", "Include inc.conf\n", 17);
	if (snctl_read_topology(path, &topo, &err))
		fail_msg("%s", err.text);
	assert_int_equal(topo->n_nodes, 4);
	sn_topo_destroy(topo);
	path = put("topology.conf", "Include gone.conf\n", 18);
	assert_int_equal(snctl_read_topology(path, &topo, &err), -ENOENT);
	assert_non_null(strstr(err.text, "gone.conf"));
	/* As for Slurm: beside the main file, however deep the line is. */
	snprintf(sub, sizeof(sub), "%s/sub", dir);
	assert_int_equal(mkdir(sub, 0700), 0);
	put("sub/deep.conf", "Include inc.conf\n", 17);
	path = put("topology.conf", "Include sub/deep.conf\n", 22);
	if (snctl_read_topology(path, &topo, &err))
		fail_msg("%s", err.text);
	assert_int_equal(topo->n_nodes, 4);
	sn_topo_destroy(topo);
	/* A file that includes itself ends in a sentence. */
	path = put("topology.conf", "Include topology.conf\n", 22);
	assert_true(snctl_read_topology(path, &topo, &err) < 0);
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	static const char *const names[] = { "a", "inc.conf", "topology.conf", "sub/deep.conf" };
	char path[128];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/sub", dir);
	rmdir(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_back_as_they_are),
		cmocka_unit_test(what_is_no_file_is_refused_by_name),
		cmocka_unit_test(a_file_over_the_limit_is_not_read),
		cmocka_unit_test(includes_are_beside_the_file),
	};

	return cmocka_run_group_tests_name("readfile", tests, setup, teardown);
}
