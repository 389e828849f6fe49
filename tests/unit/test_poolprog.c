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

#include "launcher/poolprog.h"

static char base[] = "/tmp/sn-poolprog-XXXXXX";
static char program[64];

static int place(const char *text, struct sn_poolprog_place *ret)
{
	return sn_poolprog_parse_place(text, strlen(text), "p", ret, NULL);
}

static int usage(const char *text, struct sn_poolprog_usage *ret)
{
	return sn_poolprog_parse_usage(text, strlen(text), "p", ret, NULL);
}

static void places(void **state)
{
	struct sn_poolprog_place p;

	(void)state;
	assert_int_equal(place("{\"dir\": \"/a/b\", \"bytes\": 4096, \"more\": 1}", &p), 0);
	assert_string_equal(p.dir, "/a/b");
	assert_int_equal(p.bytes, 4096);
	assert_int_equal(place("{\"dir\": \"a\", \"bytes\": 1}", &p), -EINVAL);
	assert_int_equal(place("{\"dir\": \"/a/../b\", \"bytes\": 1}", &p), -EINVAL);
	assert_int_equal(place("{\"dir\": \"/a/..\", \"bytes\": 1}", &p), -EINVAL);
	assert_int_equal(place("{\"dir\": \"/a/..b\", \"bytes\": 1}", &p), 0);
	assert_int_equal(place("{\"dir\": \"/a\\u0000b\", \"bytes\": 1}", &p), -EINVAL);
	assert_int_equal(place("{\"dir\": \"/a\"}", &p), -EINVAL);
	assert_int_equal(place("{\"dir\": \"/a\", \"bytes\": -1}", &p), -EINVAL);
	assert_int_equal(place("{\"dir\": \"/a\", \"bytes\": \"1\"}", &p), -EINVAL);
	assert_int_equal(place("[]", &p), -EINVAL);
	assert_int_equal(place("", &p), -EINVAL);
	assert_int_equal(place("{\"dir\": \"/a\", \"bytes\": 1", &p), -EINVAL);
}

static void usages(void **state)
{
	struct sn_poolprog_usage u;

	(void)state;
	assert_int_equal(usage("{\"size\": 10, \"used\": 4, \"hits\": 3, \"bus_load\": 0.25}", &u), 0);
	assert_int_equal(u.size, 10);
	assert_int_equal(u.used, 4);
	assert_int_equal(u.hits, 3);
	assert_true(u.misses == UINT64_MAX && u.swap_ins == UINT64_MAX);
	assert_true(u.bus_load > 0.24 && u.bus_load < 0.26);
	assert_int_equal(usage("{\"size\": 10, \"used\": 4}", &u), 0);
	assert_true(u.bus_load < 0);
	assert_int_equal(usage("{\"size\": 10, \"used\": 11}", &u), -EINVAL);
	assert_int_equal(usage("{\"size\": 10}", &u), -EINVAL);
	assert_int_equal(usage("{\"size\": 10, \"used\": 1, \"hits\": -1}", &u), -EINVAL);
	assert_int_equal(usage("{\"size\": 10, \"used\": 1, \"bus_load\": 1.5}", &u), -EINVAL);
	assert_int_equal(usage("{\"size\": 10, \"used\": 1, \"bus_load\": \"high\"}", &u), -EINVAL);
}

static void write_program(const char *body)
{
	FILE *f = fopen(program, "w");

	assert_non_null(f);
	fprintf(f, "#!/bin/sh\necho \"$*\" >>%s/calls\n%s\n", base, body);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(program, 0755), 0);
}

static void a_region_is_made(void **state)
{
	struct sn_poolprog_place p;
	struct sn_err err;
	char body[200];

	(void)state;
	snprintf(body, sizeof(body), "[ $1 = create ] && mkdir -m 700 %s/r; echo '{\"dir\": \"%s/r\", \"bytes\": 5}'", base, base);
	write_program(body);
	assert_int_equal(sn_poolprog_create(program, 10, "job-1", 5, geteuid(), getegid(), &p, &err), 0);
	assert_int_equal(sn_poolprog_attach(program, 10, "job-1", 5, geteuid(), getegid(), &p, &err), 0);
	/* not the user's, not the size, open to others */
	assert_int_equal(sn_poolprog_attach(program, 10, "job-1", 5, geteuid() + 1, 0, &p, &err), -EINVAL);
	assert_int_equal(sn_poolprog_attach(program, 10, "job-1", 6, geteuid(), 0, &p, &err), -EINVAL);
	assert_non_null(strstr(err.text, "6 bytes were asked for"));
	snprintf(body, sizeof(body), "%s/r", base);
	assert_int_equal(chmod(body, 0755), 0);
	assert_int_equal(sn_poolprog_attach(program, 10, "job-1", 5, geteuid(), 0, &p, &err), -EINVAL);
	rmdir(body);
	assert_int_equal(sn_poolprog_attach(program, 10, "job-1", 5, geteuid(), 0, &p, &err), -EINVAL);
	assert_int_equal(symlink("/tmp", body), 0);
	assert_int_equal(sn_poolprog_attach(program, 10, "job-1", 5, geteuid(), 0, &p, &err), -EINVAL);
	assert_non_null(strstr(err.text, "not a directory"));
	unlink(body);
}

/* It is named, killed, and asked to take away what it may have made. */
static void a_liar_is_named(void **state)
{
	struct sn_poolprog_place p;
	struct sn_err err;
	char calls[200], line[200] = "";
	FILE *f;

	(void)state;
	write_program("[ $1 = destroy ] || echo '{\"dir\": \"/\", \"bytes\": 5}'");
	snprintf(calls, sizeof(calls), "%s/calls", base);
	unlink(calls);
	assert_int_equal(sn_poolprog_create(program, 10, "job-7", 5, 1, 1, &p, &err), -EINVAL);
	assert_non_null(strstr(err.text, program));
	f = fopen(calls, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line, "create job-7 5 1 1\n");
	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line, "destroy job-7\n");
	fclose(f);
	write_program("[ $1 = destroy ] || exec sleep 100");
	assert_int_equal(sn_poolprog_create(program, 1, "job-7", 5, 1, 1, &p, &err), -ETIME);
	assert_non_null(strstr(err.text, program));
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(base))
		return -1;
	snprintf(program, sizeof(program), "%s/program", base);
	return 0;
}

static int tear_down(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(usages),
		cmocka_unit_test(a_region_is_made),
		cmocka_unit_test(a_liar_is_named),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
