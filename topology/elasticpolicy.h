/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elasticpolicy.h - which means the controller may use, by account: supernode.conf's
 * ElasticPolicy. Pure.
 *
 *	account=research,guests:no-requeue,no-shrink;account=prod:no-move;default:off
 *
 * Rules stand between semicolons, each of them for some accounts or, as "default",
 * for all that no rule names; blanks around words count for nothing. The words are
 * no-restart, no-swap, no-replace, no-move, no-shrink and no-requeue, which forbid
 * one of the ladder's means (ladder.h), off, which has the controller leave jobs
 * alone, and all, which forbids nothing. An account is named once. To mask a card, to
 * ignore what hits nobody and to give up is always allowed.
 */
#ifndef SN_TOPOLOGY_ELASTICPOLICY_H
#define SN_TOPOLOGY_ELASTICPOLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/ladder.h"

#define SN_ELASTIC_ACCOUNT_MAX 64 /* with the NUL */
#define SN_ELASTIC_RULES_MAX 64 /* accounts named */

struct sn_elastic_rule {
	char account[SN_ELASTIC_ACCOUNT_MAX];
	uint32_t forbidden; /* bits 1 << enum sn_means */
	bool off;
};

struct sn_elastic_policy {
	struct sn_elastic_rule rule[SN_ELASTIC_RULES_MAX];
	uint32_t n;
	struct sn_elastic_rule other; /* for accounts that no rule names */
};

/* "": everything is allowed to all. -EINVAL with a sentence that begins with the key;
 * *ret is then as it was. */
int sn_elastic_policy_parse(const char *text, struct sn_elastic_policy *ret,
			    struct sn_err *err);
/* Accounts in any letter case, as Slurm has them; never NULL. */
const struct sn_elastic_rule *sn_elastic_policy_find(const struct sn_elastic_policy *policy,
						     const char *account);
/* For struct sn_ladder_job's allowed: never 0. */
uint32_t sn_elastic_allowed(const struct sn_elastic_rule *rule);

#endif
