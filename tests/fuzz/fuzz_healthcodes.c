/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_healthcodes.c - a table of fault codes that is accepted says of each of its
 * codes what its line says; the same text as HealthMetrics makes sound metrics, and as
 * ElasticCosts sound costs.
 */
#include "config.h"

#include "fuzz.h"
#include "topology/healthcode.h"
#include "topology/healthconf.h"
#include "topology/ladder.h"

static void check_codes(const uint8_t *data, size_t size)
{
	struct sn_health_codes codes;
	struct sn_err err = { "" };

	if (sn_health_codes_parse((const char *)data, size, "codes", &codes, &err)) {
		fuzz_check_err(&err);
		return;
	}
	for (uint32_t i = 0; i < codes.n; i++) {
		const struct sn_health_code *c = &codes.code[i];
		const char *text;

		MUST((unsigned int)c->level < SN_LEVELS && c->text);
		MUST(strlen(c->code) > 0 && strlen(c->code) < SN_HEALTH_CODE_MAX);
		if (c->prefix)
			continue;
		/* One that begins with 0x again is looked up without it. */
		if (c->code[0] == '0' && c->code[1] == 'x')
			continue;
		MUST(sn_health_code_level(&codes, c->code, SN_LEVEL_RESTART, &text) == c->level);
		MUST(text == c->text);
	}
	sn_health_codes_done(&codes);
}

static void check_costs(const char *text)
{
	struct sn_ladder_costs costs;
	struct sn_err err = { "" };

	if (sn_ladder_costs_parse(text, &costs, &err))
		fuzz_check_err(&err);
	else
		MUST(costs.restart >= 0 && costs.slow >= 0 && costs.horizon <= 1e9);
}

static void check_metrics(const uint8_t *data, size_t size)
{
	struct sn_policy policy;
	struct sn_health_conf conf;
	struct sn_err err = { "" };
	char *text = fuzz_string(data, size < SN_POLICY_TEXT_MAX ? size : SN_POLICY_TEXT_MAX - 1);

	sn_policy_init(&policy);
	snprintf(policy.health_metrics, sizeof(policy.health_metrics), "%s", text);
	if (sn_health_conf_init(&policy, &conf, &err)) {
		fuzz_check_err(&err);
	} else {
		MUST(conf.n_metrics <= SN_METRICS_MAX);
		for (uint32_t i = 0; i < conf.n_metrics; i++) {
			MUST(sn_health_metric(&conf, conf.metric[i].name) == i);
			MUST(conf.metric[i].limit - conf.metric[i].limit == 0);
			MUST(conf.metric[i].kind != SN_METRIC_RISE || conf.metric[i].limit > 0);
		}
	}
	check_costs(text);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_codes(data, size);
	check_metrics(data, size);
	return 0;
}
