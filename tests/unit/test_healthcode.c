/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/healthcode.h"

static int parse(const char *text, struct sn_health_codes *codes, struct sn_err *err)
{
	err->text[0] = '\0';
	return sn_health_codes_parse(text, strlen(text), "codes", codes, err);
}

static void exact_then_the_longest_prefix_then_built_in_then_unknown(void **state)
{
	struct sn_health_codes codes;
	struct sn_err err;
	const char *text;

	(void)state;
	assert_int_equal(parse("# ours\n\n"
			       "0x80E01801\tSeparateNPU  HBM multi bit ECC  \r\n"
			       "80E0*  subhealthfault\n"
			       "80*    NotHandleFault # is text here\n"
			       "xid-79 ManuallySeparateNPU by hand", &codes, &err), 0);
	assert_int_equal(codes.n, 4);
	assert_int_equal(sn_health_code_level(&codes, "80e01801", SN_LEVEL_RESTART, &text),
			 SN_LEVEL_SEPARATE);
	assert_string_equal(text, "HBM multi bit ECC");
	assert_int_equal(sn_health_code_level(&codes, "0X80E01802", SN_LEVEL_RESTART, &text),
			 SN_LEVEL_SUB_HEALTH);
	assert_string_equal(text, "");
	assert_int_equal(sn_health_code_level(&codes, "80E", SN_LEVEL_RESTART, &text),
			 SN_LEVEL_NOT_HANDLE);
	assert_string_equal(text, "# is text here");
	/* a prefix stands for itself, too */
	assert_int_equal(sn_health_code_level(&codes, "80E0", SN_LEVEL_RESTART, NULL),
			 SN_LEVEL_SUB_HEALTH);
	assert_int_equal(sn_health_code_level(&codes, "8", SN_LEVEL_RESTART, NULL),
			 SN_LEVEL_RESTART);
	/* the site's word on a built-in one wins */
	assert_int_equal(sn_health_code_level(&codes, "XID-79", SN_LEVEL_RESTART, NULL),
			 SN_LEVEL_MANUALLY_SEPARATE);
	assert_int_equal(sn_health_code_level(NULL, "XID-79", SN_LEVEL_RESTART, NULL),
			 SN_LEVEL_SEPARATE);
	assert_int_equal(sn_health_code_level(NULL, "a b", SN_LEVEL_SUB_HEALTH, &text),
			 SN_LEVEL_SUB_HEALTH);
	assert_int_equal(sn_health_code_level(&codes, "", SN_LEVEL_SUB_HEALTH, &text),
			 SN_LEVEL_SUB_HEALTH);
	sn_health_codes_done(&codes);
}

static void slips_are_named_with_their_line(void **state)
{
	static const struct { const char *text, *says; } bad[] = {
		{ "a SubHealthFault\nb\n", "codes:2: b: want" },
		{ "b #x\n", "codes:1: b: want" },
		{ "\n\na SeparatNPU x", "codes:3: \"SeparatNPU\": no such level, did you mean SeparateNPU" },
		{ "a/b SeparateNPU", "codes:1: \"a/b\": want a code" },
		{ "* SeparateNPU", "codes:1: \"*\" alone" },
		{ "a*b SeparateNPU", "codes:1: \"a*b\"" },
		{ "0x SeparateNPU\n0x0x1 RestartNPU\n0X0X1 RestartNPU", "codes:3: 0x1 is in line 2" },
		{ "a SeparateNPU\nb RestartNPU\n0xA RestartNPU", "codes:3: a is in line 1 already" },
		{ "a* SeparateNPU\na RestartNPU\nA* RestartNPU", "codes:3: a* is in line 1 already" },
	};
	struct sn_health_codes codes;
	struct sn_err err;
	char text[300];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int rc = parse(bad[i].text, &codes, &err);

		if (rc != -EINVAL || !strstr(err.text, bad[i].says))
			fail_msg("%s: %d %s", bad[i].text, rc, err.text);
	}
	memset(text, 'x', sizeof(text));
	memcpy(text, "a SeparateNPU ", 14);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(parse(text, &codes, &err), -EINVAL);
	assert_non_null(strstr(err.text, "285 bytes, of 100 allowed"));
	assert_int_equal(sn_health_codes_parse("a\0b", 3, "codes", &codes, &err), -EINVAL);
	assert_int_equal(parse("", &codes, &err), 0);
	assert_int_equal(codes.n, 0);
	sn_health_codes_done(&codes);
}

static void levels_grow_graver(void **state)
{
	(void)state;
	for (int i = 0; i < SN_LEVELS; i++) {
		enum sn_health_level level = (enum sn_health_level)i;
		const struct sn_health_effect *e = sn_health_effect(level);

		assert_int_equal(sn_health_level_find(sn_health_level_name(level)), i);
		assert_int_equal(e->suspect, i >= SN_LEVEL_RESTART_BUSINESS);
		assert_int_equal(e->isolate, i >= SN_LEVEL_PRE_SEPARATE);
		assert_int_equal(e->manual, i == SN_LEVEL_MANUALLY_SEPARATE);
		assert_int_equal(e->counts, i != SN_LEVEL_NOT_HANDLE);
		assert_int_equal(e->leave, i == SN_LEVEL_RESTART || i >= SN_LEVEL_SEPARATE);
	}
	assert_int_equal(sn_health_effect(SN_LEVEL_FREE_RESTART)->reset, SN_RESET_WHEN_IDLE);
	assert_int_equal(sn_health_effect(SN_LEVEL_RESTART)->reset, SN_RESET_NOW);
	assert_int_equal(sn_health_level_find("separatenpu"), SN_LEVEL_SEPARATE);
	assert_int_equal(sn_health_level_find(""), -1);
	assert_int_equal(sn_health_level_find("NotHandle"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_then_the_longest_prefix_then_built_in_then_unknown),
		cmocka_unit_test(slips_are_named_with_their_line),
		cmocka_unit_test(levels_grow_graver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
