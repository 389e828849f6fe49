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

#include "elastic/events.h"

static struct sn_events ev;

static int make(void **state)
{
	(void)state;
	return sn_events_init(&ev, 100, NULL);
}

static int drop(void **state)
{
	(void)state;
	sn_events_done(&ev);
	return 0;
}

static void in_order(void **state)
{
	struct sn_event_filter f = { .kind = "health", .limit = 2 };
	struct sn_event *got;
	uint32_t n;

	(void)state;
	assert_null(sn_events_get(&ev, 100));
	for (int i = 0; i < 6; i++)
		sn_events_add(&ev, 5, i % 2 ? "health" : "daemon", i == 5 ? "n2" : "n1", 3, 0, SN_NONE, "e%d", i);
	assert_int_equal(ev.next, 106);
	assert_string_equal(sn_events_get(&ev, 100)->text, "e0");
	assert_null(sn_events_get(&ev, 106));
	assert_int_equal(sn_events_find(&ev, &f, &got, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_int_equal(got[0].id, 103);
	assert_int_equal(got[1].id, 105);
	free(got);
	f = (struct sn_event_filter){ .after = 103, .node = "n1" };
	assert_int_equal(sn_events_find(&ev, &f, &got, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_int_equal(got[0].id, 104);
	free(got);
}

static void the_ring_goes_round(void **state)
{
	struct sn_event_filter f = { 0 };
	struct sn_event *got;
	uint32_t n;

	(void)state;
	for (int i = 0; i < SN_EVENTS_KEPT + 10; i++)
		sn_events_add(&ev, 5, "node", "", SN_NONE, 0, SN_NONE, "e%d", i);
	assert_int_equal(ev.next - ev.first, SN_EVENTS_KEPT);
	assert_null(sn_events_get(&ev, ev.first - 1));
	assert_non_null(sn_events_get(&ev, ev.first));
	assert_int_equal(sn_events_find(&ev, &f, &got, &n, NULL), 0);
	assert_int_equal(n, SN_EVENTS_KEPT);
	assert_int_equal(got[0].id, ev.first);
	assert_int_equal(got[n - 1].id, ev.next - 1);
	free(got);
}

/* What somebody else wrote cannot break a line, nor JSON. */
static void foreign_texts(void **state)
{
	const struct sn_event *e;
	struct json_object *o;
	char longest[600];
	const char *text;

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	/* A character of several bytes at the place of the cut. */
	memcpy(longest + 238, "\xe2\x82\xac", 3);
	e = sn_events_add(&ev, 1e9, "health", "n1", 3, 7, 0, "%s", longest);
	assert_true(strlen(e->text) < sizeof(e->text));
	e = sn_events_add(&ev, 1e9, "health", "n1", 3, 7, 0, "a\nb\x1b[31m\"\xff");
	assert_string_equal(e->text, "a?b?[31m\"?");
	o = sn_event_json(e);
	text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
	assert_non_null(strstr(text, "\"at\":1000000000.000"));
	assert_non_null(strstr(text, "\"card\":3"));
	assert_non_null(strstr(text, "\"uid\":0"));
	json_object_put(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_order, make, drop),
		cmocka_unit_test_setup_teardown(the_ring_goes_round, make, drop),
		cmocka_unit_test_setup_teardown(foreign_texts, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
