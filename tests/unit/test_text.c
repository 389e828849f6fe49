/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "topology/text.h"

typedef int (*parse_fn)(const char *text, uint64_t *ret, struct sn_err *err);

struct good { const char *text; uint64_t value; };

static void takes(parse_fn parse, const struct good *g, size_t n)
{
	struct sn_err err;
	uint64_t v;
	size_t i;

	for (i = 0; i < n; i++) {
		v = ~g[i].value;
		err.text[0] = '\0';
		if (parse(g[i].text, &v, &err) || v != g[i].value)
			fail_msg("%s gives %llu, not %llu: %s", g[i].text,
				 (unsigned long long)v,
				 (unsigned long long)g[i].value, err.text);
	}
}

/* Refuses each with a sentence, without touching the output. */
static void refuses(parse_fn parse, const char *const *text, size_t n)
{
	struct sn_err err;
	uint64_t v;
	size_t i;

	for (i = 0; i < n; i++) {
		v = 4711;
		err.text[0] = '\0';
		if (parse(text[i], &v, &err) != -EINVAL || v != 4711 ||
		    strlen(err.text) < 20)
			fail_msg("\"%s\" is not refused well: %llu, \"%s\"",
				 text[i], (unsigned long long)v, err.text);
		assert_int_equal(parse(text[i], &v, NULL), -EINVAL);
	}
}

#define N(a) (sizeof(a) / sizeof((a)[0]))

static void sizes(void **state)
{
	static const struct good good[] = {
		{ "0", 0 }, { "17", 17 }, { "1K", 1024 }, { "48T", 48ull << 40 },
		{ "784G", 784ull << 30 }, { "2P", 2ull << 50 }, { "64M", 64 << 20 },
		{ "1.5T", 3ull << 39 }, { "1536G", 3ull << 39 }, { "64k", 65536 },
		{ "0.5K", 512 }, { "64GB", 64ull << 30 }, { "64GiB", 64ull << 30 },
		{ "64gib", 64ull << 30 }, { "12B", 12 }, { "007K", 7168 },
		/* 1.1 · 1024 = 1126.4 */
		{ "1.1K", 1126 }, /* and 1740.8 */ { "1.7K", 1741 }, { "1.0009765625K", 1025 },
		{ "9223372036854775807", INT64_MAX }, { "8191P", 8191ull << 50 },
		{ "1.000000000000000000000000000001K", 1024 },
	};
	static const char *const bad[] = {
		"", " ", "-1", "+1", " 1", "1 ", "x", "K", ".5T", "1.T", "1.5",
		"1.5B", "1KK", "1iB", "1Ki", "1KBs", "0x10", "1e3", "1,5T",
		"9223372036854775808", "18446744073709551616", "8192P",
		"99999999999999999999999999999999999999999999999999P", "nan",
		"1E", "\xff", "1\n",
	};

	(void)state;
	takes(sn_parse_size, good, N(good));
	refuses(sn_parse_size, bad, N(bad));
}

static void latencies(void **state)
{
	static const struct good good[] = {
		{ "1u", 1000 }, { "20us", 20000 }, { "300n", 300 }, { "300ns", 300 },
		{ "1m", 1000000 }, { "2ms", 2000000 }, { "1.5u", 1500 }, { "1s", 1000000000 },
		{ "0n", 0 },
	};
	static const char *const bad[] = {
		"", "1", "u", "-1u", "1U", "1uu", "1ss", "1us ", "1h", "1 u",
		"99999999999999999999s", "1.u",
	};

	(void)state;
	takes(sn_parse_latency, good, N(good));
	refuses(sn_parse_latency, bad, N(bad));
}

static void powers(void **state)
{
	static const struct good good[] = {
		{ "1W", 1000 }, { "400kW", 400000000 }, { "2.5MW", 2500000000 },
		{ "0.001W", 1 }, { "5KW", 5000000 }, { "7w", 7000 },
	};
	static const char *const bad[] = {
		"", "400", "k", "400k", "1mW", "1GW", "-1W", "1WW", "1kWh",
		"99999999999999999999MW",
	};

	(void)state;
	takes(sn_parse_power, good, N(good));
	refuses(sn_parse_power, bad, N(bad));
}

static int parse_3_to_9(const char *text, uint64_t *ret, struct sn_err *err)
{
	return sn_parse_uint(text, 3, 9, ret, err);
}

static int parse_any(const char *text, uint64_t *ret, struct sn_err *err)
{
	return sn_parse_uint(text, 0, UINT64_MAX, ret, err);
}

static void integers(void **state)
{
	static const struct good good[] = { { "3", 3 }, { "9", 9 }, { "005", 5 } };
	static const struct good any[] = { { "0", 0 }, { "18446744073709551615", UINT64_MAX } };
	static const char *const bad[] = {
		"", "2", "10", "0", "-3", "+3", "3.0", "3 ", " 3", "4K", "0x5",
		/* 2^64 + 4 */
		"18446744073709551620",
		"99999999999999999999999999999999999999999",
	};
	static const char *const over[] = { "18446744073709551616", "18446744073709551620" };
	struct sn_err err;
	uint64_t v;

	(void)state;
	takes(parse_3_to_9, good, N(good));
	takes(parse_any, any, N(any));
	refuses(parse_3_to_9, bad, N(bad));
	refuses(parse_any, over, N(over));
	sn_parse_uint("10", 3, 9, &v, &err);
	assert_non_null(strstr(err.text, "from 3 to 9"));
}

static void format_is_shortest_and_exact(void **state)
{
	static const struct good g[] = {
		{ "20T", 20ull << 40 }, { "1536G", 1536ull << 30 }, { "17", 17 },
		{ "0", 0 }, { "1K", 1024 }, { "1025", 1025 }, { "1P", 1ull << 50 },
		{ "2048P", 2ull << 60 },
	};
	char buf[32];
	uint64_t v;
	size_t i;

	(void)state;
	for (i = 0; i < N(g); i++) {
		sn_format_size(g[i].value, buf, sizeof(buf));
		assert_string_equal(buf, g[i].text);
		assert_int_equal(sn_parse_size(buf, &v, NULL), 0);
		assert_true(v == g[i].value);
	}
}

static void nearest(void **state)
{
	static const char *const known[] = { "Nodes", "SpareNodes", "Shape", "tp", "ep" };

	(void)state;
	assert_string_equal(sn_text_nearest("node", known, 5), "Nodes");
	assert_string_equal(sn_text_nearest("SparNodes", known, 5), "SpareNodes");
	assert_string_equal(sn_text_nearest("SPARENODE", known, 5), "SpareNodes");
	assert_string_equal(sn_text_nearest("Shap", known, 5), "Shape");
	assert_null(sn_text_nearest("Weather", known, 5));
	assert_null(sn_text_nearest("zz", known, 5));
	assert_null(sn_text_nearest("", known, 5));
	assert_null(sn_text_nearest("Nodes", known, 0));
	assert_null(sn_text_nearest("ThisWordIsFarLongerThanAnyKeyCouldEverBe", known, 5));
}

static void clip(void **state)
{
	char buf[8];

	(void)state;
	assert_string_equal(sn_text_clip("abcdefg", buf, sizeof(buf)), "abcdefg");
	assert_string_equal(sn_text_clip("abcdefgh", buf, sizeof(buf)), "abcd...");
	/* The cut would be inside the second two-byte character. */
	assert_string_equal(sn_text_clip("abc\xc3\xa9\xc3\xa9", buf, sizeof(buf)), "abc\xc3\xa9\xc3\xa9");
	assert_string_equal(sn_text_clip("abc\xc3\xa9\xc3\xa9" "d", buf, sizeof(buf)), "abc...");
}

static void buffer_grows(void **state)
{
	struct sn_buf buf = { .text = NULL };
	int i;

	(void)state;
	for (i = 0; i < 1000; i++)
		sn_buf_add(&buf, "%03d,", i);
	assert_false(buf.failed);
	assert_int_equal(buf.len, 4000);
	assert_int_equal(strlen(buf.text), 4000);
	assert_memory_equal(buf.text + 3996, "999,", 5);
	sn_buf_done(&buf);
	assert_null(buf.text);
	sn_buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(latencies),
		cmocka_unit_test(powers),
		cmocka_unit_test(integers),
		cmocka_unit_test(format_is_shortest_and_exact),
		cmocka_unit_test(nearest),
		cmocka_unit_test(clip),
		cmocka_unit_test(buffer_grows),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
