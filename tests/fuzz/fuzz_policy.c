/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_policy.c - a supernode.conf that is accepted is within its ranges.
 */
#include "config.h"

#include "fuzz.h"
#include "topology/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sn_policy policy, before;
	struct sn_err err = { "" };

	sn_policy_init(&policy);
	before = policy;
	if (sn_policy_parse((const char *)data, size, "supernode.conf", &policy, &err)) {
		fuzz_check_err(&err);
		MUST(memcmp(&policy, &before, sizeof(policy)) == 0);
	} else {
		MUST(memchr(policy.card_gres, '\0', SN_POLICY_NAME_MAX));
		MUST(policy.card_gres[0] && policy.small_job_cards <= 1u << 24);
	}
	return 0;
}
