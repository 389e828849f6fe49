/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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
		cmocka_unit_test(what_is_not_ours_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
