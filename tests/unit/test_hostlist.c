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

#include <cmocka.h>

#include "topology/hostlist.h"
#include "topology/text.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* The names of a list, with blanks between them. */
static char *expanded(const char *text)
{
	struct sn_names names = { .name = NULL };
	struct sn_buf buf = { .text = NULL };
	struct sn_err err;
	size_t i;

	if (sn_hostlist_expand(text, &names, &err))
		fail_msg("%s: %s", text, err.text);
	sn_buf_add(&buf, "%s", "");
	for (i = 0; i < names.n; i++)
		sn_buf_add(&buf, "%s%s", i ? " " : "", names.name[i]);
	sn_names_done(&names);
	return buf.text;
}

static void expands(void **state)
{
	static const char *const t[][2] = {
		{ "n1", "n1" },
		{ "n[1-3]", "n1 n2 n3" },
		{ "n[001-003,060],login1", "n001 n002 n003 n060 login1" },
		{ "n[08-11]", "n08 n09 n10 n11" },
		{ "n[8-11]", "n8 n9 n10 n11" },
		{ "n[1-3,7]", "n1 n2 n3 n7" },
		/* order and duplicates are the caller's */
		{ "n[3,1,2],n1", "n3 n1 n2 n1" },
		{ "r[1-2]n[01-03]", "r1n01 r1n02 r1n03 r2n01 r2n02 r2n03" },
		{ "a[1-2]b[1-2]c[1-2]", "a1b1c1 a1b1c2 a1b2c1 a1b2c2 a2b1c1 a2b1c2 a2b2c1 a2b2c2" },
		{ "n[1-2]-ib,m[5].x", "n1-ib n2-ib m5.x" },
		{ "[1-2]", "1 2" },
		{ " n1 , n2\tn3\n", "n1 n2 n3" },
		{ "n[0-0]", "n0" },
		{ "n[000]", "n000" },
		{ "", "" },
		{ "  ", "" },
		{ "n[001-3]", "n001 n002 n003" },
		{ "n[1,01,001]", "n1 n01 n001" },
		{ "n[999999999999999999]", "n999999999999999999" },
		{ "\xc3\xa9[1-2]", "\xc3\xa9" "1 \xc3\xa9" "2" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < N(t); i++) {
		char *s = expanded(t[i][0]);

		assert_string_equal(s, t[i][1]);
		free(s);
	}
}

static void refuses(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *says;
	} t[] = {
		{ "n[1-3", -EINVAL, "not closed" },
		{ "n[", -EINVAL, "not closed" },
		{ "n[1,", -EINVAL, "not closed" },
		{ "n]", -EINVAL, "without its [" },
		{ "n[]", -EINVAL, "not a number" },
		{ "n[a-b]", -EINVAL, "not a number" },
		{ "n[1-]", -EINVAL, "not a number" },
		{ "n[-1]", -EINVAL, "not a number" },
		{ "n[1--2]", -EINVAL, "not a number" },
		{ "n[1,,2]", -EINVAL, "not a number" },
		{ "n[1,]", -EINVAL, "not a number" },
		{ "n[1 -2]", -EINVAL, "not a number" },
		{ "n[[1-2]]", -EINVAL, "not a number" },
		{ "n[3-1]", -EINVAL, "[1-3]" },
		{ "n[1-010]", -EINVAL, "[001-010]" },
		{ "n1,,n2", -EINVAL, "empty name" },
		{ ",n1", -EINVAL, "empty name" },
		{ ",", -EINVAL, "empty name" },
		{ "n1,", -EINVAL, "ends with a comma" },
		{ "n=1", -EINVAL, "0x3d" },
		{ "n\001", -EINVAL, "0x01" },
		{ "n\"1\"", -EINVAL, "0x22" },
		{ "n[9999999999999999999]", -EINVAL, "18 digits" },
		{ "n[0-4294967295]", -E2BIG, "4194304" },
		{ "n[0-999999999999999999]", -E2BIG, "4194304" },
		{ "n[1-2048]m[1-2049]", -E2BIG, "4194304" },
		{ "n[1-4194304],x", -E2BIG, "4194304" },
		{ "n[1-4194304,0]", -E2BIG, "4194304" },
		{ "a[1-4194304]b[1-4194304]c[1-4194304]d[1-4194304]", -E2BIG, "4194304" },
		{ "a[1]b[1]c[1]d[1]e[1]f[1]g[1]h[1]i[1]", -EINVAL, "more than 8 brackets" },
	};
	struct sn_names names = { .name = NULL };
	struct sn_err err;
	size_t i;

	(void)state;
	assert_int_equal(sn_names_add(&names, "before"), 0);
	for (i = 0; i < N(t); i++) {
		err.text[0] = '\0';
		if (sn_hostlist_expand(t[i].text, &names, &err) != t[i].code ||
		    !strstr(err.text, t[i].says))
			fail_msg("%s: \"%s\" does not say \"%s\"", t[i].text,
				 err.text, t[i].says);
		/* The list is as it was. */
		assert_int_equal(names.n, 1);
		assert_string_equal(names.name[0], "before");
		assert_int_equal(sn_hostlist_expand(t[i].text, &names, NULL), t[i].code);
	}
	sn_names_done(&names);
	/* Also where it has been empty: nothing that would have to be freed. */
	for (i = 0; i < N(t); i++) {
		assert_int_equal(sn_hostlist_expand(t[i].text, &names, NULL), t[i].code);
		assert_null(names.name);
	}
}

static void names_have_a_limit(void **state)
{
	struct sn_names names = { .name = NULL };
	char text[512];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[255] = '\0';
	assert_int_equal(sn_hostlist_expand(text, &names, NULL), 0);
	memcpy(text + 252, "[1000]", 7);
	assert_int_equal(sn_hostlist_expand(text, &names, NULL), -EINVAL);
	memcpy(text + 252, "[100]", 6);
	assert_int_equal(sn_hostlist_expand(text, &names, NULL), 0);
	assert_int_equal(names.n, 2);
	sn_names_done(&names);
}

static void compresses(void **state)
{
	/* Each list is what its expansion compresses to. */
	static const char *const t[][2] = {
		{ "", "" },
		{ "n1", "n1" },
		{ "n1,n2,n3", "n[1-3]" },
		{ "n001,n002,n003,n060,login1", "n[001-003,060],login1" },
		{ "n9,n10", "n[9-10]" },
		{ "n09,n10", "n[09-10]" },
		{ "n99,n100", "n[99-100]" },
		{ "n9,n010", "n[9,010]" },
		{ "n09,n010", "n[09,010]" },
		{ "n3,n2,n1", "n[3,2,1]" },
		{ "n1,n1", "n[1,1]" },
		{ "a,b,a", "a,b,a" },
		{ "r1n1,r1n2,r2n1,r2n2", "r1n[1-2],r2n[1-2]" },
		{ "n1-ib,n2-ib", "n1-ib,n2-ib" },
		{ "1,2", "[1-2]" },
		{ "n,n1", "n,n1" },
	};
	struct sn_names names = { .name = NULL };
	char *s;
	size_t i;

	(void)state;
	for (i = 0; i < N(t); i++) {
		assert_int_equal(sn_hostlist_expand(t[i][0], &names, NULL), 0);
		s = sn_hostlist_compress((const char *const *)names.name, names.n);
		assert_string_equal(s, t[i][1]);
		free(s);
		sn_names_done(&names);
	}
}

/* Whatever the names, compressing and expanding gives them back in order. */
static void round_trips(void **state)
{
	static const char *const prefix[] = { "n", "r1n", "", "x-", "n0", "n12345678901234567890" };
	uint32_t rnd = 12345;
	int round, i;

	(void)state;
	for (round = 0; round < 2000; round++) {
		struct sn_names names = { .name = NULL }, back = { .name = NULL };
		int n = 1 + round % 12;
		unsigned v = 0;
		char name[64], *s;

		for (i = 0; i < n; i++) {
			rnd = rnd * 1664525 + 1013904223;
			/* Mostly counting up, so that there are ranges, around
			 * changes of width. */
			v = rnd >> 29 ? v + 1 : (rnd >> 8) % 3 * 45 + 7;
			snprintf(name, sizeof(name), "%s%0*u",
				 prefix[(rnd >> 24) % 16 ? 0 : (rnd >> 12) % 6],
				 (int)((rnd >> 20) % 8 ? 2 : (rnd >> 16) % 4), v);
			assert_int_equal(sn_names_add(&names, name), 0);
		}
		s = sn_hostlist_compress((const char *const *)names.name, names.n);
		assert_int_equal(sn_hostlist_expand(s, &back, NULL), 0);
		assert_int_equal(back.n, names.n);
		for (i = 0; i < n; i++)
			assert_string_equal(back.name[i], names.name[i]);
		free(s);
		sn_names_done(&names);
		sn_names_done(&back);
	}
}

static void names_in_order(void **state)
{
	/* Each is less than the next. */
	static const char *const order[] = {
		"", "-", "1", "2", "10", "a", "n", "n-1", "n1", "n01x", "n1y", "n02", "n2", "n9", "n10",
		"n10a", "n11", "n99999999999999999999", "n100000000000000000000", "na",
	};
	size_t i, j;

	(void)state;
	for (i = 0; i < N(order); i++) {
		assert_int_equal(sn_name_cmp(order[i], order[i]), 0);
		for (j = i + 1; j < N(order); j++) {
			if (sn_name_cmp(order[i], order[j]) >= 0 ||
			    sn_name_cmp(order[j], order[i]) <= 0)
				fail_msg("%s is not before %s", order[i], order[j]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expands),
		cmocka_unit_test(refuses),
		cmocka_unit_test(names_have_a_limit),
		cmocka_unit_test(compresses),
		cmocka_unit_test(round_trips),
		cmocka_unit_test(names_in_order),
	};

	return cmocka_run_group_tests_name("hostlist", tests, NULL, NULL);
}
