/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy.h - supernode.conf: what a site decides, apart from what it has.
 *
 * Slurm's own style: Key=Value, several on a line, any case of keys, "#" to
 * the end of a line is a comment. One table (sn_policy_keys) drives parsing,
 * the defaults, the sentences about unknown keys and the documentation. Every
 * key has a default, so an empty or missing file is a whole policy.
 */
#ifndef SN_TOPOLOGY_POLICY_H
#define SN_TOPOLOGY_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

#define SN_POLICY_NAME_MAX 32

struct sn_policy {
	char card_gres[SN_POLICY_NAME_MAX]; /* the gres that a card is: "npu" */
	uint32_t small_job_cards; /* jobs up to this many cards are small; 0: none is */
};

enum sn_policy_type { SN_POLICY_NAME, SN_POLICY_UINT };

struct sn_policy_key {
	const char *name;
	enum sn_policy_type type;
	size_t offset; /* in struct sn_policy */
	uint64_t min, max; /* SN_POLICY_UINT */
	const char *preset; /* the default, as it would be written */
	const char *help;
};
extern const struct sn_policy_key sn_policy_keys[]; /* ends with name NULL */

/* Every key at its default. */
void sn_policy_init(struct sn_policy *policy);

/*
 * Parse the text of a supernode.conf. file is what errors begin with, as in
 *	supernode.conf:3: Cardgress=npu: no such key; did you mean CardGres?
 * *ret is filled only on success. -EINVAL.
 */
int sn_policy_parse(const char *text, size_t len, const char *file,
		    struct sn_policy *ret, struct sn_err *err);

#endif
