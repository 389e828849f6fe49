/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobspec.h - what a user asks of the suite for a job: the values of
 * --parallel, --pool, --spares, --elastic, --role, --service, --replaces.
 *
 * The same parser serves SPANK (in the client), job_submit (in slurmctld),
 * snctl and snrun, so that all say the same sentence.
 */
#ifndef SN_TOPOLOGY_JOBSPEC_H
#define SN_TOPOLOGY_JOBSPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/layout.h"

enum sn_pool_per { SN_POOL_NONE, SN_POOL_TOTAL, SN_POOL_SUPERNODE, SN_POOL_NODE, SN_POOL_CARD, SN_POOL_NAMED };
enum sn_role { SN_ROLE_NONE, SN_ROLE_TRAIN, SN_ROLE_PREFILL, SN_ROLE_DECODE, SN_ROLE_INFER };

#define SN_NAME_MAX 64 /* of a pool region or service, with the NUL */

struct sn_pool {
	enum sn_pool_per per;
	uint64_t size; /* bytes: of the job, or per supernode/node/card */
	uint64_t bandwidth; /* bytes/s, divided as size is; 0: none */
	char name[SN_NAME_MAX]; /* SN_POOL_NAMED */
	bool read_only;
};

struct sn_elastic {
	uint32_t min_dp, max_dp;
	uint32_t gbs, mbs; /* 0: not given */
	/* 0: the layout's dp is the size wanted. Else that is want, and the
	 * layout's dp is the base's: job_submit writes it so. */
	uint32_t want;
};

struct sn_jobspec {
	bool has_parallel;
	struct sn_layout layout;
	struct sn_pool pool;
	uint32_t spares;
	bool has_elastic;
	struct sn_elastic elastic;
	enum sn_role role;
	char service[SN_NAME_MAX];
	uint32_t replaces; /* id of the job some of whose nodes it replaces; 0: none */
};

/* The options as typed; NULL or "" means not given. */
struct sn_jobspec_text {
	const char *parallel, *pool, *spares, *elastic, *role, *service,
		*replaces;
};

/* -EINVAL with a sentence that begins with the option's name, "--pool=5X: …".
 * Options that only make sense with --parallel (--spares, --elastic) are
 * refused without it. */
int sn_jobspec_parse(const struct sn_jobspec_text *text,
		     uint32_t cards_per_node, struct sn_jobspec *ret,
		     struct sn_err *err);

#endif
