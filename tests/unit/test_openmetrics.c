/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_openmetrics.c - the text is what the standard says. With --print it only prints
 * one with all that a label may bring, for tests/metrics/openmetrics.t.
 */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "elastic/openmetrics.h"

static char *make(void)
{
	static const double bound[] = { 0.5, 1, 1800 };
	static const uint64_t count[] = { 1, 0, 5, 2 };
	struct sn_om om = { .name = NULL };
	char wild[400];
	size_t len;
	char *text;

	for (size_t i = 0; i < sizeof(wild) - 1; i++)
		wild[i] = (char)(i % 255 + 1);
	wild[sizeof(wild) - 1] = '\0';
	sn_om_family(&om, SN_OM_GAUGE, "sn_age_seconds", "seconds", "How \\ old.");
	sn_om_float(&om, NULL, 0, 1.5);
	sn_om_family(&om, SN_OM_COUNTER, "sn_things", NULL, "Things.");
	sn_om_int(&om, (const struct sn_om_label[]){ { "a", "x\"y\\z\n" }, { "b", "" } }, 2,
		  UINT64_MAX);
	sn_om_int(&om, &(struct sn_om_label){ "a", wild }, 1, 3);
	sn_om_family(&om, SN_OM_COUNTER, "sn_work_card_seconds", "card_seconds", "Work.");
	sn_om_float(&om, NULL, 0, 1e18);
	sn_om_float(&om, &(struct sn_om_label){ "a", "minus" }, 1, -1);
	sn_om_float(&om, &(struct sn_om_label){ "a", "none" }, 1, NAN);
	sn_om_float(&om, &(struct sn_om_label){ "a", "all" }, 1, INFINITY);
	sn_om_family(&om, SN_OM_HISTOGRAM, "sn_time_seconds", "seconds", "Times.");
	sn_om_histogram(&om, bound, count, 3, 6000.25);
	sn_om_family(&om, SN_OM_INFO, "sn_build", NULL, "The build.");
	sn_om_int(&om, &(struct sn_om_label){ "version", "1" }, 1, 1);
	sn_om_family(&om, SN_OM_GAUGE, "sn_empty", NULL, "A family without samples.");
	text = sn_om_end(&om, &len);
	if (text && len != strlen(text))
		text[0] = '\0';
	return text;
}

static void has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("there is no %s in\n%s", what, text);
}

static void test_text(void **state)
{
	char *text = make();

	(void)state;
	assert_non_null(text);
	has(text, "# TYPE sn_age_seconds gauge\n# UNIT sn_age_seconds seconds\n"
		  "# HELP sn_age_seconds How \\\\ old.\nsn_age_seconds 1.500\n");
	has(text, "sn_things_total{a=\"x\\\"y\\\\z\\n\",b=\"\"} 18446744073709551615\n");
	has(text, "sn_work_card_seconds_total 1e+18\n");
	has(text, "sn_time_seconds_bucket{le=\"0.5\"} 1\nsn_time_seconds_bucket{le=\"1.0\"} 1\n"
		  "sn_time_seconds_bucket{le=\"1800.0\"} 6\nsn_time_seconds_bucket{le=\"+Inf\"} 8\n"
		  "sn_time_seconds_count 8\nsn_time_seconds_sum 6000.250\n");
	has(text, "sn_build_info{version=\"1\"} 1\n");
	/* What is no number, or none of a counter, is not there. */
	assert_null(strstr(text, "minus"));
	assert_null(strstr(text, "none"));
	assert_null(strstr(text, "all"));
	for (const char *p = text; *p; p++)
		assert_true(*p == '\n' || (*p >= 0x20 && *p < 0x7f));
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
	free(text);
}

static void test_empty(void **state)
{
	struct sn_om om = { .name = NULL };
	size_t len;
	char *text = sn_om_end(&om, &len);

	(void)state;
	assert_string_equal(text, "# EOF\n");
	assert_int_equal(len, 6);
	free(text);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_empty),
	};

	if (argc > 1 && !strcmp(argv[1], "--print")) {
		char *text = make();

		fputs(text ? text : "", stdout);
		free(text);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
