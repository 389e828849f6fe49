/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "topology/err.h"

static void set_returns_the_code_and_takes_null(void **state)
{
	struct sn_err err;

	(void)state;
	assert_int_equal(sn_err_set(&err, -EINVAL, "tp=%d", 3), -EINVAL);
	assert_string_equal(err.text, "tp=3");
	assert_int_equal(sn_err_set(NULL, -ENOMEM, "x"), -ENOMEM);
	assert_int_equal(sn_err_prefix(NULL, -ENOMEM, "x"), -ENOMEM);
}

static void control_characters_never_reach_a_terminal(void **state)
{
	struct sn_err err;

	(void)state;
	sn_err_set(&err, -1, "%s", "a\033[31mb\nc\x7f");
	assert_string_equal(err.text, "a?[31mb?c?");
	/* CSI as a single character, in Latin-1 and in UTF-8 */
	sn_err_set(&err, -1, "%s", "a\x9b" "1mb\xc2\x9b" "2m");
	assert_string_equal(err.text, "a?1mb??2m");
	/* cut short, overlong, a surrogate, beyond Unicode */
	sn_err_set(&err, -1, "%s", "\xe4\xb8|\xc0\x80|\xed\xa0\x80|\xf4\x90\x80\x80");
	assert_string_equal(err.text, "??|??|???|????");
	sn_err_set(&err, -1, "%s", "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80");
	assert_string_equal(err.text, "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80");
}

static void long_text_is_cut_at_a_whole_character(void **state)
{
	struct sn_err err;
	char text[2 * SN_ERR_SIZE];
	size_t n;

	(void)state;
	/* U+00E9 is two bytes; an odd start puts the cut inside one. */
	for (n = 0; n + 2 < sizeof(text); n += 2)
		memcpy(text + n, "\xc3\xa9", 2);
	text[n] = '\0';
	sn_err_set(&err, -1, "%s", text);
	n = strlen(err.text);
	assert_true(n < SN_ERR_SIZE);
	assert_int_equal(n % 2, 0);
}

static void prefix_goes_before(void **state)
{
	struct sn_err err;

	(void)state;
	sn_err_set(&err, -1, "bad");
	assert_int_equal(sn_err_prefix(&err, -2, "f:%d: ", 7), -2);
	assert_string_equal(err.text, "f:7: bad");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_returns_the_code_and_takes_null),
		cmocka_unit_test(control_characters_never_reach_a_terminal),
		cmocka_unit_test(long_text_is_cut_at_a_whole_character),
		cmocka_unit_test(prefix_goes_before),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
