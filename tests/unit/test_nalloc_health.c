/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_nalloc_health.c - the health engine without memory: see nalloc.h.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "nalloc.h"
#include "topology/health.h"
#include "topology/healtharrive.h"

static const char topo_text[] =
	"SupernodeName=sn[1-2] Nodes=n[1-4] NodesPerSupernode=2\nUnitName=u[1-4] Nodes=n[1-4] NodesPerUnit=1\n";

static struct sn_topo *topo;

static int judge(struct sn_health *h, struct sn_health_actions *actions, struct sn_err *err)
{
	int rc = 0;

	for (uint64_t step = 0; !rc && step < 14; step++) {
		for (uint32_t i = 0; !rc && i < 16; i++) {
			struct sn_health_sample s = {
				.node = i / 8, .card = i % 8, .metric = "compute_time",
				.value = i == 3 && step > 4 ? 2 : step > 8 && i > 7 ? 1.5 : 1,
				.step = step, .job = 1, .time = 1e9,
			};

			rc = sn_health_sample(h, &s, 1e9 + (double)step, actions, err);
		}
		if (!rc)
			rc = sn_health_tick(h, 1e9 + (double)step, actions, err);
	}
	return rc;
}

static int engine(void *arg, struct sn_err *err)
{
	struct sn_health_actions actions = { 0 };
	struct sn_health_fault fault = { .node = 3, .card = 30, .code = "card-lost" };
	struct sn_health_conf conf;
	struct sn_policy policy;
	struct sn_health *h = NULL;
	int rc;

	(void)arg;
	sn_policy_init(&policy);
	assert_int_equal(sn_health_conf_init(&policy, &conf, err), 0);
	rc = sn_health_create(topo, &conf, NULL, &h, err);
	if (!rc)
		rc = judge(h, &actions, err);
	if (!rc)
		rc = sn_health_fault(h, &fault, 1e9, &actions, err);
	if (!rc)
		rc = sn_health_probe_done(h, 2, 2, false, "x", 1e9, &actions, err);
	if (!rc)
		rc = sn_health_set_domain(h, SN_HEALTH_SUPERNODE, 1, true, "x", 1e9, &actions, err);
	if (!rc)
		rc = sn_health_wanted(h, &actions, err);
	if (!rc) {
		struct sn_health_card_info info;

		sn_health_card(h, 0, 3, &info);
		assert_int_equal(info.state, SN_HEALTH_SUSPECT);
	}
	sn_health_destroy(h);
	sn_health_actions_done(&actions);
	return rc;
}

static int codes(void *arg, struct sn_err *err)
{
	struct sn_health_codes table;
	int rc = sn_health_codes_parse(arg, strlen(arg), "codes", &table, err);

	if (!rc)
		sn_health_codes_done(&table);
	return rc;
}

static int arrivals(void *arg, struct sn_err *err)
{
	struct sn_arrivals out;
	struct sn_arrive a;
	int rc;

	sn_arrive_init(&a);
	rc = sn_arrive_take(&a, arg, &out, err);
	if (!rc) {
		assert_int_equal(out.n, 4);
		sn_arrivals_done(&out);
	}
	sn_arrive_done(&a);
	return rc;
}

static void the_engine(void **state)
{
	(void)state;
	assert_int_equal(sn_topo_parse(topo_text, strlen(topo_text), "t", NULL, NULL, &topo, NULL), 0);
	assert_true(nalloc_check(engine, NULL, 0) > 50);
	sn_topo_destroy(topo);
}

static void the_codes(void **state)
{
	char text[] = "a SubHealthFault x\nb* RestartNPU\nc SeparateNPU\nd SeparateNPU\ne NotHandleFault\n";

	(void)state;
	nalloc_check(codes, text, 0);
}

static void the_arrivals(void **state)
{
	struct sn_records rec;
	struct sn_rec_new comm = { .name = "tp_0", .kind = "tp", .members = "0-3" };

	(void)state;
	sn_records_init(&rec);
	for (uint32_t r = 0; r < 4; r++) {
		comm.index = r;
		sn_records_start(&rec, r, 0, 4, "n", r + 1, 1, NULL);
		sn_records_comm(&rec, r, 0, &comm, NULL);
		for (uint64_t s = 1; s < 10; s++)
			sn_records_op(&rec, r, 0, "tp_0", s, "all_reduce", 8,
				      s * 10000000 + r, s * 10000000 + 5000000, NULL);
	}
	nalloc_check(arrivals, &rec, 0);
	sn_records_done(&rec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_engine),
		cmocka_unit_test(the_codes),
		cmocka_unit_test(the_arrivals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
