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

#include <math.h>

#include "elastic/report.h"

static int parse(const char *text, struct sn_report *r, struct sn_err *err)
{
	struct json_object *o = json_tokener_parse(text);
	int rc;

	assert_non_null(o);
	rc = sn_report_parse(o, r, err);
	json_object_put(o);
	return rc;
}

static void as_in_the_contract(void **state)
{
	struct sn_report r;

	(void)state;
	assert_int_equal(parse("{\"op\":\"health.report\",\"node\":\"n003\",\"samples\":[{\"card\":3,\"metric\":\"step_time\",\"value\":1.2,\"step\":17,\"time\":1732900000.5,\"gen\":2},{\"card\":4,\"metric\":\"flops\",\"value\":7}],\"faults\":[{\"card\":63,\"code\":\"xid-79\",\"text\":\"off the bus\"},{\"card\":1}],\"probes\":[{\"card\":0,\"passed\":true}],\"job\":123,\"source\":\"probe\",\"later\":[1]}", &r, NULL), 0);
	assert_string_equal(r.node, "n003");
	assert_string_equal(r.source, "probe");
	assert_int_equal(r.job, 123);
	assert_int_equal(r.n_samples, 2);
	assert_int_equal(r.sample[0].card, 3);
	assert_string_equal(r.sample[0].metric, "step_time");
	assert_true(r.sample[0].value == 1.2 && r.sample[0].time == 1732900000.5);
	assert_int_equal(r.sample[0].step, 17);
	assert_int_equal(r.sample[0].gen, 2);
	assert_true(isnan(r.sample[1].time) && r.sample[1].value == 7);
	assert_true(r.sample[1].step == SN_HEALTH_NO_STEP);
	assert_int_equal(r.n_faults, 2);
	assert_string_equal(r.fault[0].code, "xid-79");
	assert_string_equal(r.fault[0].text, "off the bus");
	assert_string_equal(r.fault[1].code, "sick");
	assert_int_equal(r.n_probes, 1);
	assert_true(r.probe[0].passed);
	sn_report_done(&r);
	assert_int_equal(parse("{\"node\":\"n1\"}", &r, NULL), 0);
	assert_int_equal(r.n_samples + r.n_faults + r.n_probes + r.job, 0);
	sn_report_done(&r);
}

static void what_is_wrong_is_said(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "{}", "\"node\"" },
		{ "{\"node\":\"\"}", "empty" },
		{ "{\"node\":7}", "string" },
		{ "{\"node\":\"n\\u0007\"}", "control" },
		{ "{\"node\":\"n\\u0000x\"}", "control" },
		{ "{\"node\":\"n1\",\"job\":-1}", "\"job\"" },
		{ "{\"node\":\"n1\",\"job\":\"1\"}", "whole number" },
		{ "{\"node\":\"n1\",\"job\":4294967295}", "4294967295" },
		{ "{\"node\":\"n1\",\"samples\":{}}", "array" },
		{ "{\"node\":\"n1\",\"samples\":[7]}", "samples[0]" },
		{ "{\"node\":\"n1\",\"samples\":[null]}", "samples[0]" },
		{ "{\"node\":\"n1\",\"samples\":[{\"metric\":\"a\",\"value\":1}]}", "\"card\" is missing" },
		{ "{\"node\":\"n1\",\"samples\":[{\"card\":64,\"metric\":\"a\",\"value\":1}]}", "64" },
		{ "{\"node\":\"n1\",\"samples\":[{\"card\":-1,\"metric\":\"a\",\"value\":1}]}", "-1" },
		{ "{\"node\":\"n1\",\"samples\":[{\"card\":1.5,\"metric\":\"a\",\"value\":1}]}", "whole number" },
		{ "{\"node\":\"n1\",\"samples\":[{\"card\":1,\"metric\":\"a\"}]}", "\"value\" is missing" },
		{ "{\"node\":\"n1\",\"samples\":[{\"card\":1,\"metric\":\"a\",\"value\":NaN}]}", "finite" },
		{ "{\"node\":\"n1\",\"samples\":[{\"card\":1,\"metric\":\"a\",\"value\":\"1\"}]}", "number" },
		{ "{\"node\":\"n1\",\"samples\":[{\"card\":1,\"metric\":\"a\",\"value\":1,\"step\":-3}]}", "\"step\"" },
		{ "{\"node\":\"n1\",\"samples\":[{\"card\":1,\"metric\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"value\":1}]}", "40 bytes" },
		{ "{\"node\":\"n1\",\"faults\":[{\"card\":1},{\"card\":2,\"code\":7}]}", "faults[1]" },
		{ "{\"node\":\"n1\",\"probes\":[{\"card\":1}]}", "\"passed\"" },
		{ "{\"node\":\"n1\",\"probes\":[{\"card\":1,\"passed\":1}]}", "true or false" },
	};
	struct sn_report r;
	struct sn_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (parse(bad[i].text, &r, &err) != -EINVAL || !strstr(err.text, bad[i].says))
			fail_msg("%s: %s", bad[i].text, err.text);
		assert_null(r.sample);
	}
}

static void not_too_many(void **state)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	struct sn_report r;
	struct sn_err err;

	(void)state;
	json_object_object_add(o, "node", json_object_new_string("n1"));
	for (int i = 0; i <= SN_REPORT_ITEMS_MAX; i++)
		json_object_array_add(list, json_tokener_parse("{\"card\":1}"));
	json_object_object_add(o, "faults", list);
	assert_int_equal(sn_report_parse(o, &r, &err), -EINVAL);
	assert_non_null(strstr(err.text, "8193"));
	json_object_put(o);
}

static void cards(void **state)
{
	static const char *const bad[] = { "{}", "{\"cards\":3}", "{\"cards\":[]}", "{\"cards\":[64]}",
					   "{\"cards\":[-1]}", "{\"cards\":[\"1\"]}", "{\"cards\":[null]}" };
	struct json_object *o = json_tokener_parse("{\"cards\":[63,0,3]}");
	struct sn_err err;
	uint64_t bits;

	(void)state;
	assert_int_equal(sn_request_cards(o, &bits, NULL), 0);
	assert_true(bits == (UINT64_C(1) << 63 | 9));
	json_object_put(o);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		o = json_tokener_parse(bad[i]);
		assert_int_equal(sn_request_cards(o, &bits, &err), -EINVAL);
		json_object_put(o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_in_the_contract),
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(not_too_many),
		cmocka_unit_test(cards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
