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

#include "topology/conf.h"

/* "LINE:key=value|key=value;" of each line. */
static int note(void *arg, const struct sn_conf_line *line, struct sn_err *err)
{
	struct sn_buf *buf = arg;
	size_t i;

	(void)err;
	assert_true(line->n > 0);
	assert_int_equal(line->line, line->pair[0].line);
	for (i = 0; i < line->n; i++)
		sn_buf_add(buf, "%s%u:%s=%s", i ? "|" : "", line->pair[i].line,
			   line->pair[i].key, line->pair[i].value);
	sn_buf_add(buf, ";");
	return 0;
}

static void pairs_and_their_lines(void **state)
{
	static const char *const t[][2] = {
		{ "a=1", "1:a=1;" },
		{ "a=1 b=2\nc=3", "1:a=1|1:b=2;2:c=3;" },
		{ "\n#x\n a=1\t\r\n", "3:a=1;" },
		{ "a=1 \\\n b=2 \\\n\\\n c=3\nd=4", "1:a=1|2:b=2|4:c=3;5:d=4;" },
		/* a pair over a join stands where its key does */
		{ "a\\\n=1 b=\\\n2", "1:a=1|2:b=2;" },
		{ "\\\n\\\na=1", "3:a=1;" },
		{ "a=x\\#y b=\\\\ c=z#d=e", "1:a=x#y|1:b=\\|1:c=z;" },
		/* an escaped backslash at the end joins nothing */
		{ "a=x\\\\\nb=1", "1:a=x\\;2:b=1;" },
		{ "a=\"x y\" b=\"1\"", "1:a=x y|1:b=1;" },
		{ "a=b=c", "1:a=b=c;" },
		{ "a = 1 b= 2 c =3", "1:a=1|1:b=2|1:c=3;" },
		/* not an Include without a blank after it */
		{ "IncludeX=1 include=2", "1:IncludeX=1|1:include=2;" },
		{ "a=\xc3\xa9", "1:a=\xc3\xa9;" },
		{ "a=1\\", "1:a=1;" },
		{ "", "" }, { "\\", "" }, { "\n\n", "" }, { "#", "" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct sn_buf buf = { .text = NULL };
		struct sn_err err;

		sn_buf_add(&buf, "%s", "");
		if (sn_conf_parse(t[i][0], strlen(t[i][0]), "f", NULL, NULL, note, &buf, &err))
			fail_msg("%s: %s", t[i][0], err.text);
		assert_string_equal(buf.text, t[i][1]);
		sn_buf_done(&buf);
	}
}

static int stop(void *arg, const struct sn_conf_line *line, struct sn_err *err)
{
	++*(int *)arg;
	sn_err_set(err, -EPERM, "no");
	return sn_conf_at(err, -EPERM, line, &line->pair[line->n - 1]);
}

static void the_taker_can_end_it(void **state)
{
	struct sn_err err;
	int calls = 0;

	(void)state;
	assert_int_equal(sn_conf_parse("\na=1 \\\n b=2\nc=3", 15, "f", NULL, NULL, stop, &calls, &err), -EPERM);
	assert_int_equal(calls, 1);
	assert_string_equal(err.text, "f:3: b=2: no");
}

struct values {
	char *text;
	uint64_t number, size, latency, power, word;
};

static const struct sn_option table[] = {
	{ "Text", SN_OPT_TEXT, 1, offsetof(struct values, text), 0, 0, NULL, "x", "h" },
	{ "Number", SN_OPT_UINT, 1, offsetof(struct values, number), 2, 9, NULL, "5", "h" },
	{ "Size", SN_OPT_SIZE, 1, offsetof(struct values, size), 1, 1024, NULL, "1K", "h" },
	{ "Latency", SN_OPT_LATENCY, 2, offsetof(struct values, latency), 1, 5000, NULL, NULL, "h" },
	{ "Power", SN_OPT_POWER, 2, offsetof(struct values, power), 1, UINT64_MAX, NULL, "2W", "h" },
	{ "Word", SN_OPT_WORD, 3, offsetof(struct values, word), 0, 0, "on|one|off", "off", "h" },
};
#define ROWS (sizeof(table) / sizeof(table[0]))

static void options(void **state)
{
	struct values v = { .latency = 77 };
	struct sn_err err;

	(void)state;
	assert_int_equal(sn_options_init(table, ROWS, &v, &err), 0);
	assert_string_equal(v.text, "x");
	assert_int_equal(v.number, 5);
	assert_int_equal(v.size, 1024);
	assert_int_equal(v.latency, 77);
	assert_int_equal(v.power, 2000);
	assert_int_equal(v.word, 2);

	assert_int_equal(sn_option_find(table, ROWS, "NUMBER"), 1);
	assert_int_equal(sn_option_find(table, ROWS, "Numbers"), ROWS);
	assert_int_equal(sn_option_find(table, ROWS, ""), ROWS);

	/* A second text takes the place of the first. */
	assert_int_equal(sn_option_set(&table[0], "yy", &v, &err), 0);
	assert_string_equal(v.text, "yy");
	assert_int_equal(sn_option_set(&table[5], "ONE", &v, &err), 0);
	assert_int_equal(v.word, 1);
	assert_int_equal(sn_option_set(&table[5], "on", &v, &err), 0);
	assert_int_equal(v.word, 0);

	/* Refusals leave the value alone. */
	assert_int_equal(sn_option_set(&table[5], "o", &v, &err), -EINVAL);
	assert_int_equal(sn_option_set(&table[5], "on|one", &v, &err), -EINVAL);
	assert_int_equal(sn_option_set(&table[5], "", &v, &err), -EINVAL);
	assert_int_equal(v.word, 0);
	assert_int_equal(sn_option_set(&table[1], "10", &v, &err), -EINVAL);
	assert_int_equal(v.number, 5);
	assert_int_equal(sn_option_set(&table[2], "2K", &v, &err), -EINVAL);
	assert_non_null(strstr(err.text, "too large"));
	assert_int_equal(sn_option_set(&table[2], "0", &v, &err), -EINVAL);
	assert_int_equal(v.size, 1024);
	assert_int_equal(sn_option_set(&table[3], "6u", &v, &err), -EINVAL);
	assert_int_equal(sn_option_set(&table[3], "5u", &v, &err), 0);
	assert_int_equal(v.latency, 5000);
	free(v.text);
}

static void unknown_keys(void **state)
{
	struct sn_err err;

	(void)state;
	assert_int_equal(sn_option_unknown(table, ROWS, 1, "Text", "Nmber", &err), -EINVAL);
	assert_string_equal(err.text, "Nmber is not a key; did you mean Number?");
	/* Only what the line takes is suggested. */
	assert_int_equal(sn_option_unknown(table, ROWS, 2, "Power", "Nmber", &err), -EINVAL);
	assert_null(strstr(err.text, "Number"));
	assert_int_equal(sn_option_unknown(table, ROWS, 2, "Power", "number", &err), -EINVAL);
	assert_string_equal(err.text, "Number does not belong on a Power line, which takes Latency, Power, Word");
	assert_int_equal(sn_option_unknown(table, ROWS, 2, "Power", "zzz", NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_and_their_lines),
		cmocka_unit_test(the_taker_can_end_it),
		cmocka_unit_test(options),
		cmocka_unit_test(unknown_keys),
	};

	return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
