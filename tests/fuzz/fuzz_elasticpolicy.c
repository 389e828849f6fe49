/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_elasticpolicy.c - supernode.conf's ElasticPolicy.
 */
#include "config.h"

#include "fuzz.h"
#include "topology/elasticpolicy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	struct sn_elastic_policy policy;
	struct sn_err err = { "" };

	if (sn_elastic_policy_parse(text, &policy, &err)) {
		fuzz_check_err(&err);
		free(text);
		return 0;
	}
	MUST(policy.n <= SN_ELASTIC_RULES_MAX);
	for (uint32_t i = 0; i < policy.n; i++) {
		const struct sn_elastic_rule *rule = &policy.rule[i];

		MUST(*rule->account && strlen(rule->account) < SN_ELASTIC_ACCOUNT_MAX);
		MUST(sn_elastic_policy_find(&policy, rule->account) == rule);
		MUST(sn_elastic_allowed(rule) & 1u << SN_MEANS_GIVE_UP);
		MUST(sn_elastic_allowed(rule) & 1u << SN_MEANS_MASK);
		MUST(sn_elastic_allowed(rule) & 1u << SN_MEANS_IGNORE);
	}
	MUST(sn_elastic_policy_find(&policy, "") == &policy.other);
	free(text);
	return 0;
}
