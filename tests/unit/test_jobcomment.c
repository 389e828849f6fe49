/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "topology/jobcomment.h"

static void options_come_back(void **state)
{
	struct sn_jobspec spec;

	(void)state;
	assert_int_equal(sn_jobcomment_read("by the site; supernode:parallel=tp=2,dp=4;pool=4G/node,bw=1G;role=train and more",
					    8, &spec, NULL), 0);
	assert_true(spec.has_parallel);
	assert_int_equal(spec.layout.world, 8);
	assert_int_equal(spec.pool.per, SN_POOL_NODE);
	assert_int_equal(spec.pool.size, UINT64_C(4) << 30);
	assert_int_equal(spec.role, SN_ROLE_TRAIN);
	assert_int_equal(sn_jobcomment_read("supernode:pool=name:w:ro;unknown=1;flag", 8, &spec, NULL), 0);
	assert_string_equal(spec.pool.name, "w");
	assert_true(spec.pool.read_only);
}

static void what_is_added_comes_back(void **state)
{
	static const char comment[] = "all;poolmem=1 supernode:parallel=tp=2;poolmem=16;nodes=n[1-2] ;poolmem=7";
	struct sn_jobspec spec;
	char *nodes;

	(void)state;
	assert_int_equal(sn_jobcomment_poolmem(comment), 16);
	assert_int_equal(sn_jobcomment_read(comment, 8, &spec, NULL), 0);
	assert_int_equal(sn_jobcomment_nodes(comment, &nodes, NULL), 0);
	assert_string_equal(nodes, "n[1-2]");
	free(nodes);
	assert_int_equal(sn_jobcomment_poolmem("supernode:parallel=tp=2;poolmem=18446744073709551615"), UINT64_MAX);
	/* none, or none that makes sense */
	for (const char **bad = (const char *[]){ "", "supernode:parallel=tp=2", "parallel=tp=2;poolmem=3",
		     "supernode:parallel=tp=2 ;poolmem=3", "supernode:a;poolmem=", "supernode:a;poolmem=-1",
		     "supernode:a;poolmem=3x", "supernode:a;poolmem=18446744073709551616",
		     "supernode:a;poolmem=000000000000000000000000000003", NULL }; *bad; bad++)
		assert_int_equal(sn_jobcomment_poolmem(*bad), 0);
	assert_int_equal(sn_jobcomment_poolmem(NULL), 0);
}

static void what_is_not_ours_is_said(void **state)
{
	struct sn_jobspec spec;
	struct sn_err err;

	(void)state;
	assert_int_equal(sn_jobcomment_read(NULL, 8, &spec, &err), -ENOENT);
	assert_int_equal(sn_jobcomment_read("the site's", 8, &spec, &err), -ENOENT);
	assert_int_equal(sn_jobcomment_read("supernode:pool=x", 8, &spec, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_come_back),
		cmocka_unit_test(what_is_added_comes_back),
		cmocka_unit_test(what_is_not_ours_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
