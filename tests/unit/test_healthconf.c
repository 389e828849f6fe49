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

#include "topology/healthconf.h"

static int conf_of(const char *text, struct sn_health_conf *conf, struct sn_err *err)
{
	struct sn_policy policy;

	err->text[0] = '\0';
	assert_int_equal(sn_policy_parse(text, strlen(text), "supernode.conf", &policy, err), 0);
	return sn_health_conf_init(&policy, conf, err);
}

static void keys_become_thresholds(void **state)
{
	struct sn_health_conf conf;
	struct sn_err err;

	(void)state;
	assert_int_equal(conf_of("HealthSlow=15 HealthScore=62 HealthGross=0 HealthDomain=20 HealthPeers=7 "
				 "HealthWindow=10 HealthSettle=250 HealthDomainHold=60 HealthProbeTimeout=9 "
				 "HealthProbeRetry=8 HealthProbeTries=2 HealthHold=77 HealthEscalate=5 "
				 "HealthEscalateTime=3600 HealthRecover=11 HealthUnknownCode=separatenpu "
				 "HealthJobReports=trust", &conf, &err), 0);
	assert_true(conf.slow > 0.1499 && conf.slow < 0.1501);
	assert_true(conf.score > 6.199 && conf.score < 6.201);
	assert_true(conf.gross == 0 && conf.settle == 0.25 && conf.window == 10);
	assert_true(conf.domain_slow == 0.2 && conf.domain_hold == 60);
	assert_true(conf.probe_timeout == 9 && conf.probe_retry == 8 && conf.hold == 77);
	assert_int_equal(conf.peers, 7);
	assert_int_equal(conf.probe_tries, 2);
	assert_int_equal(conf.escalate, 5);
	assert_int_equal(conf.recover, 11);
	assert_true(conf.escalate_time == 3600 && conf.trust_jobs);
	assert_int_equal(conf.unknown, SN_LEVEL_SEPARATE);
	assert_int_equal(conf_of("", &conf, &err), 0);
	assert_int_equal(conf.escalate, 3);
	assert_true(conf.escalate_time == 86400 && !conf.trust_jobs);
	assert_int_equal(conf.unknown, SN_LEVEL_SUB_HEALTH);
}

static void a_site_has_metrics_of_its_own(void **state)
{
	struct sn_health_conf conf;
	struct sn_err err;
	uint32_t at, n;

	(void)state;
	assert_int_equal(conf_of("", &conf, &err), 0);
	n = conf.n_metrics;
	assert_false(conf.metric[sn_health_metric(&conf, "Step_Time")].low);
	assert_true(conf.metric[sn_health_metric(&conf, "flops")].low);
	assert_int_equal(sn_health_metric(&conf, "fan"), SN_METRICS_MAX);
	assert_int_equal(conf_of("HealthMetrics=\"hbm_temp=high:104.5 busbw=LOW  fan=low:500 replays=rise:10 "
				 "temperature=high:80 clock=off nothing=off\"", &conf, &err), 0);
	assert_int_equal(conf.n_metrics, n + 3);
	at = sn_health_metric(&conf, "hbm_temp");
	assert_int_equal(conf.metric[at].kind, SN_METRIC_LIMIT);
	assert_true(conf.metric[at].limit == 104.5 && !conf.metric[at].low);
	at = sn_health_metric(&conf, "busbw");
	assert_int_equal(conf.metric[at].kind, SN_METRIC_PEERS);
	assert_true(conf.metric[at].low);
	at = sn_health_metric(&conf, "fan");
	assert_true(conf.metric[at].low && conf.metric[at].limit == 500);
	at = sn_health_metric(&conf, "replays");
	assert_int_equal(conf.metric[at].kind, SN_METRIC_RISE);
	assert_true(conf.metric[sn_health_metric(&conf, "temperature")].limit == 80);
	assert_int_equal(sn_health_metric(&conf, "clock"), SN_METRICS_MAX);
}

static void slips_are_shown(void **state)
{
	static const char *const bad[] = {
		"fan", "fan=", "fan=high:", "fan=high:x", "fan=high:1e5", "fan=high:nan", "=low",
		"fan=rise", "fan=rise:0", "fan=off:1", "f/n=low", "fan=lower", "fan=high:1,5",
		"averyveryveryveryverylongnamethatisone=low", "fan=high:1234567890123456",
	};
	struct sn_health_conf conf;
	struct sn_err err;
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		memset(&conf, 0x5a, sizeof(conf));
		snprintf(text, sizeof(text), "HealthMetrics=\"busbw=low %s\"", bad[i]);
		if (conf_of(text, &conf, &err) != -EINVAL ||
		    strncmp(err.text, "HealthMetrics: \"", 16) || conf.n_metrics != 0x5a5a5a5a)
			fail_msg("%s: %s", bad[i], err.text);
	}
	/* 64 in all */
	snprintf(text, sizeof(text), "HealthMetrics=\"");
	for (int i = 0; i < 26; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%c=low ", 'a' + i);
	strcat(text, "\"");
	assert_int_equal(conf_of(text, &conf, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_become_thresholds),
		cmocka_unit_test(a_site_has_metrics_of_its_own),
		cmocka_unit_test(slips_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
