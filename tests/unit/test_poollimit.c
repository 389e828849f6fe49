/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "snctl/poollimit.h"

#define G (UINT64_C(1) << 30)

static const struct poollimit base = {
	.supernode = "sn03", .want = 2 * G, .there = 16 * G, .held = 4 * G, .memory = 16 * G,
	.limited = true, .percent = 50, .percent_user = 25, .uid = 1000,
	.by_users = 4 * G, .by_user = 1 * G,
};

static int check(struct poollimit limit, const char *says)
{
	struct sn_err err = { "" };
	int rc = poollimit_check(&limit, &err);

	if (says && !strstr(err.text, says))
		fail_msg("\"%s\" does not say \"%s\"", err.text, says);
	return rc;
}

static void room(void **state)
{
	struct poollimit l = base;

	(void)state;
	assert_int_equal(check(l, NULL), 0);
	l.limited = false;
	l.want = 12 * G;
	assert_int_equal(check(l, NULL), 0);
	l.want++;
	assert_int_equal(check(l, "wanted, and of supernode sn03's pool 12G are free"), -ENOSPC);
	/* More is held than there is, as after a node was lost. */
	l.want = 1;
	l.there = 3 * G;
	assert_int_equal(check(l, "pool 0 are free"), -ENOSPC);
	l.there = l.held = UINT64_MAX;
	assert_int_equal(check(l, NULL), -ENOSPC);
	l.want = UINT64_MAX;
	l.held = 1;
	assert_int_equal(check(l, NULL), -ENOSPC);
}

static void what_users_may_hold(void **state)
{
	struct poollimit l = base;

	(void)state;
	l.want = 3 * G; /* 1 + 3 is a quarter of 16; 4 + 3 less than half */
	assert_int_equal(check(l, NULL), 0);
	l.want++;
	assert_int_equal(check(l, "regions with names of user 1000 hold 1G of supernode sn03's pool; PoolNamedUser=25 in supernode.conf lets them hold 4G of its 16G"), -EDQUOT);
	l = base;
	l.by_users = 7 * G;
	assert_int_equal(check(l, "2G are wanted, and regions with names of users hold 7G of supernode sn03's pool; PoolNamed=50 in supernode.conf lets them hold 8G of its 16G"), -EDQUOT);
	l.want = 1 * G;
	assert_int_equal(check(l, NULL), 0);
	/* root is asked for neither. */
	l.limited = false;
	l.want = 8 * G;
	assert_int_equal(check(l, NULL), 0);
	l = base;
	l.percent_user = 0;
	l.want = 1;
	assert_int_equal(check(l, "PoolNamedUser=0"), -EDQUOT);
}

static void not_at_all(void **state)
{
	struct poollimit l = base;

	(void)state;
	l.percent = 0;
	l.want = 1;
	assert_int_equal(check(l, "PoolNamed is 0 in supernode.conf, so only root and SlurmUser"), -EDQUOT);
	/* Also where the pool is full: that sentence would send him waiting. */
	l.held = l.there;
	assert_int_equal(check(l, "PoolNamed is 0"), -EDQUOT);
	l.limited = false;
	l.held = 0;
	assert_int_equal(check(l, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(room),
		cmocka_unit_test(what_users_may_hold),
		cmocka_unit_test(not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
