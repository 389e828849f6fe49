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

#include <arpa/inet.h>

#include "elastic/auth.h"

#define SLURM 64030
#define USER 1000

static uint32_t ip(const char *text)
{
	struct in_addr in;

	assert_int_equal(inet_pton(AF_INET, text, &in), 1);
	return in.s_addr;
}

static struct sn_auth_who who(uint32_t uid, bool at_controller)
{
	return (struct sn_auth_who){ .uid = uid, .slurm_uid = SLURM, .at_controller = at_controller,
				     .from = "10.0.0.9" };
}

static void origins(void **state)
{
	struct sn_auth_origin o;

	(void)state;
	/* munged knows its address: that is it, whatever way the request came. */
	sn_auth_find_origin(ip("10.0.0.3"), ip("10.0.0.4"), false, &o);
	assert_true(!o.local && o.addr == ip("10.0.0.3"));
	sn_auth_find_origin(ip("10.0.0.3"), 0, true, &o);
	assert_true(!o.local && o.addr == ip("10.0.0.3"));
	/* It does not, as where the host's name is 127.0.1.1. */
	sn_auth_find_origin(ip("127.0.1.1"), ip("10.0.0.4"), false, &o);
	assert_true(!o.local && o.addr == ip("10.0.0.4"));
	sn_auth_find_origin(0, ip("10.0.0.4"), false, &o);
	assert_true(!o.local && o.addr == ip("10.0.0.4"));
	sn_auth_find_origin(ip("127.0.0.1"), ip("127.0.0.1"), false, &o);
	assert_true(o.local);
	sn_auth_find_origin(ip("127.0.0.1"), 0, true, &o);
	assert_true(o.local);
	/* Over IPv6 nothing is known, and that is nowhere. */
	sn_auth_find_origin(0, 0, false, &o);
	assert_true(!o.local && !o.addr);
}

static void who_is_believed(void **state)
{
	struct sn_auth_who root = who(0, false), root_ctl = who(0, true), slurm = who(SLURM, false),
		user = who(USER, true);
	struct sn_err err;

	(void)state;
	assert_int_equal(sn_auth_report(&root, "n3", true, NULL, &err), SN_AUTH_FULL);
	assert_int_equal(sn_auth_report(&root_ctl, "n3", false, NULL, &err), SN_AUTH_FULL);
	assert_int_equal(sn_auth_report(&slurm, "n3", false, NULL, &err), SN_AUTH_FULL);
	assert_int_equal(sn_auth_report(&root, "n3", false, NULL, &err), SN_AUTH_REFUSED);
	assert_non_null(strstr(err.text, "10.0.0.9"));
	assert_non_null(strstr(err.text, "n3"));
	assert_int_equal(sn_auth_report(&user, "n3", true, NULL, &err), SN_AUTH_REFUSED);
	assert_non_null(strstr(err.text, "1000"));
	/* An operator is no witness. */
	user.operator = true;
	assert_int_equal(sn_auth_report(&user, "n3", true, NULL, &err), SN_AUTH_REFUSED);
	/* Where SlurmUser is root, root still speaks for his own node alone. */
	root.slurm_uid = 0;
	assert_int_equal(sn_auth_report(&root, "n3", false, NULL, &err), SN_AUTH_REFUSED);
	assert_int_equal(sn_auth_report(&root, "n3", true, NULL, &err), SN_AUTH_FULL);
}

static void owners_hint(void **state)
{
	struct sn_auth_who user = who(USER, false), root = who(0, false);
	struct sn_auth_job job = { .known = true, .uid = USER, .has_cards = true };
	struct sn_err err;

	(void)state;
	assert_int_equal(sn_auth_report(&user, "n3", false, &job, &err), SN_AUTH_HINT);
	job.has_cards = false;
	assert_int_equal(sn_auth_report(&user, "n3", false, &job, &err), SN_AUTH_REFUSED);
	job.has_cards = true;
	job.uid = USER + 1;
	assert_int_equal(sn_auth_report(&user, "n3", false, &job, &err), SN_AUTH_REFUSED);
	job.uid = USER;
	job.known = false;
	assert_int_equal(sn_auth_report(&user, "n3", false, &job, &err), SN_AUTH_REFUSED);
	/* Root elsewhere is not helped by a job of root's. */
	job = (struct sn_auth_job){ .known = true, .uid = 0, .has_cards = true };
	assert_int_equal(sn_auth_report(&root, "n3", false, &job, &err), SN_AUTH_REFUSED);
	/* And what came of a probe is never a hint. */
	assert_int_equal(sn_auth_probe(&user, "n3", true, &err), SN_AUTH_REFUSED);
	assert_int_equal(sn_auth_probe(&root, "n3", true, &err), SN_AUTH_FULL);
	assert_int_equal(sn_auth_probe(&root, "n3", false, &err), SN_AUTH_REFUSED);
}

static void operators(void **state)
{
	struct sn_auth_who user = who(USER, true), root = who(0, false), slurm = who(SLURM, false);
	struct sn_err err;

	(void)state;
	assert_true(sn_auth_may_operate(&root, &err));
	assert_true(sn_auth_may_operate(&slurm, &err));
	assert_false(sn_auth_may_operate(&user, &err));
	assert_non_null(strstr(err.text, "Operators"));
	user.operator = true;
	assert_true(sn_auth_may_operate(&user, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(origins),
		cmocka_unit_test(who_is_believed),
		cmocka_unit_test(owners_hint),
		cmocka_unit_test(operators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
