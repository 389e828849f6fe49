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

#include "elastic/healthfile.h"
#include "topology/policy.h"

static const char conf_text[] = "SupernodeName=sn[1-2] Nodes=n[1-8] NodesPerSupernode=4\nUnitName=u[1-4] Nodes=n[1-8] NodesPerUnit=2\n";
static struct sn_topo *topo;
static struct sn_health_conf conf;

static int make(void **state)
{
	struct sn_policy policy;

	(void)state;
	sn_policy_init(&policy);
	return sn_topo_parse(conf_text, strlen(conf_text), "topology.conf", NULL, NULL, &topo, NULL) ||
		sn_health_conf_init(&policy, &conf, NULL);
}

static int drop(void **state)
{
	(void)state;
	sn_topo_destroy(topo);
	return 0;
}

static struct sn_health *engine(void)
{
	struct sn_health *h;

	assert_int_equal(sn_health_create(topo, &conf, NULL, &h, NULL), 0);
	return h;
}

static void fault(struct sn_health *h, uint32_t node, uint32_t card, const char *code, double now)
{
	const struct sn_health_fault f = { .node = node, .card = card, .code = code, .text = "it's \"odd\"" };
	struct sn_health_actions a = { 0 };

	assert_int_equal(sn_health_fault(h, &f, now, &a, NULL), 0);
	sn_health_actions_done(&a);
}

static char *text_of(const struct sn_health *h)
{
	char *text;
	size_t len;

	assert_int_equal(sn_healthfile_write(h, NULL, 0, &text, &len, NULL), 0);
	assert_int_equal(strlen(text), len);
	return text;
}

static void what_matters_comes_back(void **state)
{
	struct sn_health *a = engine(), *b = engine();
	struct sn_health_actions act = { 0 };
	struct sn_health_card_info x, y;
	uint32_t over;
	char *text, *again;

	(void)state;
	fault(a, 2, 3, "sick", 1700000000.25);
	fault(a, 5, 0, "card-lost", 1700000001);
	for (int i = 0; i < 3; i++)
		fault(a, 6, 1, "ecc-fatal", 1700000000 + 100 * i);
	assert_int_equal(sn_health_fault(a, &(struct sn_health_fault){ .node = 7, .card = 4, .code = "sick",
					 .by = 4294967294, .hint = true }, 1700000000.5, &act, NULL), 0);
	assert_int_equal(sn_health_set_domain(a, SN_HEALTH_UNIT, 1, true, "cable", 1700000002, &act, NULL), 0);
	sn_health_actions_done(&act);
	text = text_of(a);
	assert_int_equal(sn_healthfile_read(text, strlen(text), "f", b, 1700000300, &over, NULL), 0);
	assert_int_equal(over, 0);
	for (uint32_t n = 0; n < 8; n++)
		for (uint32_t c = 0; c < 8; c++) {
			sn_health_card(a, n, c, &x);
			sn_health_card(b, n, c, &y);
			assert_int_equal(x.state, y.state);
			assert_int_equal(x.n_times, y.n_times);
			assert_string_equal(x.why, y.why);
			for (uint32_t i = 0; i < x.n_times; i++)
				assert_true(x.time[i] - y.time[i] < 0.001 && y.time[i] - x.time[i] < 0.001);
		}
	sn_health_card(b, 2, 3, &y);
	assert_int_equal(y.state, SN_HEALTH_SUSPECT);
	sn_health_card(b, 7, 4, &y);
	assert_true(y.hinted && y.hint_by == 4294967294 && y.hint_at == 1700000000.5);
	assert_true(sn_health_degraded(b, SN_HEALTH_UNIT, 1, &(double){ 0 }, x.why));
	again = text_of(b);
	assert_string_equal(text, again);
	free(text);
	free(again);
	sn_health_destroy(a);
	sn_health_destroy(b);
}

static void nodes_that_are_loose(void **state)
{
	static const char text[] = "{\"format\":1,\"cards\":[{\"name\":\"x7\",\"card\":1,\"state\":\"quarantined\",\"times\":[5],\"since\":5,\"why\":\"w\"},{\"name\":\"n1\",\"card\":1,\"state\":\"suspect\",\"times\":[5],\"since\":5,\"why\":\"w\"}]}";
	struct sn_health_card_info x;
	struct sn_health *h;
	uint32_t over;

	(void)state;
	h = engine();
	assert_int_equal(sn_healthfile_read(text, strlen(text), "f", h, 6, &over, NULL), 0);
	assert_int_equal(over, 1);
	sn_health_destroy(h);
	assert_int_equal(sn_healthfile_names(text, strlen(text), "f", topo, NULL), 0);
	h = engine();
	assert_int_equal(sn_healthfile_read(text, strlen(text), "f", h, 6, &over, NULL), 0);
	assert_int_equal(over, 0);
	sn_health_card(h, sn_topo_find_node(topo, "x7"), 1, &x);
	assert_int_equal(x.state, SN_HEALTH_QUARANTINED);
	sn_health_destroy(h);
}

/* One entry that makes no sense costs none of the others; a file that is none is
 * refused whole. */
static void damage(void **state)
{
	static const char some[] = "{\"format\":1,\"cards\":[7,{},{\"name\":\"n1\",\"card\":1,\"state\":\"odd\"},{\"name\":\"n1\",\"card\":2,\"state\":\"suspect\",\"since\":5,\"times\":[5],\"why\":\"w\"}],\"domains\":7,\"past\":[null]}";
	static const char *const bad[] = { "", "{", "[]", "{}", "{\"format\":2}", "null" };
	struct sn_health *h = engine();
	struct sn_health_card_info x;
	struct sn_err err;
	uint32_t over;

	(void)state;
	assert_int_equal(sn_healthfile_read(some, strlen(some), "f", h, 6, &over, NULL), 0);
	assert_int_equal(over, 4);
	sn_health_card(h, 0, 2, &x);
	assert_int_equal(x.state, SN_HEALTH_SUSPECT);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(sn_healthfile_read(bad[i], strlen(bad[i]), "f", h, 6, &over, &err), -EINVAL);
		assert_int_equal(sn_healthfile_names(bad[i], strlen(bad[i]), "f", topo, &err), -EINVAL);
	}
	sn_health_destroy(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_matters_comes_back, make, drop),
		cmocka_unit_test_setup_teardown(nodes_that_are_loose, make, drop),
		cmocka_unit_test_setup_teardown(damage, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
