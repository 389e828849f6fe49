/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_layoutbad.c - layouts that are refused, and why.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/layout.h"
#include "tests/unit/layoutbed.h"

/* ---- the rule in loops: coordinates of every rank, and blocks ---- */

static void bad_sizes_are_refused(void **state)
{
	static const char *const bad[] = {
		"0", "-1", "2147483648", "4294967297", "18446744073709551617",
		"16777217", "", "x", "+2", "2.5", "0x8", "8k",
	};
	char spec[64], want[64];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(spec, sizeof(spec), "pp=2,tp=%s", bad[i]);
		snprintf(want, sizeof(want), "tp=%s: ", bad[i]);
		REFUSED(spec, 8, want, "from 1 to 16777216");
	}
	REFUSED("tp=16777216,cp=16777216,pp=16777216,dp=16777216", 8,
		"16777216*16777216", "more than 16777216 ranks");
	REFUSED("dp=8192,pp=4096", 8, "1*1*4096*8192");
	REFUSED("etp=16777216,ep=16777216,pp=16777216", 8, "281474976710656");
	assert_int_equal(parse("dp=16777216", 8).world, SN_WORLD_MAX);
}

static void bad_specs_are_refused(void **state)
{
	char longer[4096];

	(void)state;
	REFUSED("", 8, "empty");
	REFUSED("tp=8, pp=2", 8, "white space", "tp=8,");
	REFUSED(" tp=8", 8, "white space");
	REFUSED("tp=8\n", 8, "white space");
	REFUSED("tp=8,,pp=2", 8, "comma");
	REFUSED("tp=8,", 8, "comma");
	REFUSED(",", 8, "comma");
	REFUSED("tp", 8, "\"tp\" is not key=value");
	REFUSED("tp=8,tp=8", 8, "tp is given twice");
	REFUSED("dpx=8", 8, "\"dpx\"", "did you mean dp");
	REFUSED("TP=8", 8, "did you mean tp?");
	REFUSED("ep_withn=node", 8, "did you mean ep_within");
	REFUSED("etp_within=node", 8, "unknown key");
	REFUSED("tp_within=any", 8, "tp_within=any", "unit or supernode");
	REFUSED("ep_within=rack", 8, "supernode or any");
	REFUSED("map=best", 8, "contiguous or auto");
	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	REFUSED(longer, 8, "too long");
	memcpy(longer, "order=", 6);
	REFUSED(longer, 8, "too long");
}

static void the_refusal_shows_the_atoms_of_both_etp(void **state)
{
	(void)state;
	REFUSED("tp=8,ep=64,pp=6,dp=128", 8, "etp must be given",
		"etp=1 an atom is 64 ranks", "etp=8", "512 ranks");
	/* one of the two cannot be */
	REFUSED("tp=4,pp=2,dp=4,ep=8", 8, "etp=1 an atom is 8 ranks", "etp=4",
		"not possible", "64 > 32");
	/* neither size exceeds 1 alone: no guess is needed */
	assert_int_equal(parse("tp=1,ep=8,dp=8", 8).etp, 1);
	assert_int_equal(parse("tp=8,dp=8", 8).etp, 8);
}

static void indivisible_worlds_say_what_would_do(void **state)
{
	(void)state;
	REFUSED("tp=4,pp=2,dp=4,ep=8,etp=4", 8, "64 > 32", "etp=1 or 2",
		"dp=8");
	REFUSED("tp=8,ep=64,etp=1,pp=6,dp=100", 8, "384 does not divide 4800",
		"dp=96 or 104");
	REFUSED("tp=4,pp=2,dp=4,ep=8,etp=1,order=tp-cp-ep-pp-dp", 8, "1*8 = 8",
		"4*1 = 4", "order=tp-cp-ep-dp-pp");
	/* with one stage there is nothing to differ */
	parse("tp=4,dp=4,ep=8,etp=1,order=tp-cp-ep-pp-dp", 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_sizes_are_refused),
		cmocka_unit_test(bad_specs_are_refused),
		cmocka_unit_test(the_refusal_shows_the_atoms_of_both_etp),
		cmocka_unit_test(indivisible_worlds_say_what_would_do),
	};

	return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
