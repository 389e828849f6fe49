/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preflight.h - which nodes of a job are not fit to start on, from what each of
 * them measured.
 *
 * Nodes are held against each other: the version that most have is right, the
 * middle clock is right, a link is slow against the median of all. In the ring
 * node i measures the link to the next; a slow node has two slow links, its
 * neighbours have one, so that a node is as good as its better link.
 */
#ifndef SN_TOPOLOGY_PREFLIGHT_H
#define SN_TOPOLOGY_PREFLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"

struct sn_pf_node {
	const char *name;
	bool present; /* it answered to the end */
	const char *silent; /* not present: during what it fell silent; "start" */
	uint32_t waited; /* s that it was given for that */
	char **version; /* [n_versions] what each command said; NULL: nothing */
	bool has_clock;
	int64_t clock; /* ns that it is before snrun's */
	uint64_t clock_error; /* ns that this may be wrong */
	uint64_t memory; /* bytes available */
	char *check, *expected, *found; /* of a check that it failed itself */
	bool has_link;
	uint64_t latency; /* ns, the best round trip to the next in the ring */
	uint64_t bandwidth; /* bytes/s to it */
};

struct sn_pf_limits {
	const char *const *version; /* [n_versions] the commands */
	uint32_t n_versions;
	uint64_t clock; /* ns between a node and the middle; 0: not checked */
	uint64_t memory; /* bytes at least; 0: not checked */
	uint32_t slow; /* times the median; 0: not checked */
};

struct sn_pf_fault {
	uint32_t node;
	char *check, *expected, *found;
	char *text; /* a sentence with all of it */
};

struct sn_pf_faults {
	struct sn_pf_fault *fault;
	uint32_t n;
	uint64_t latency, bandwidth; /* medians; 0: not measured */
};

/* A latency counts as slow only from here on: below, the host's own scheduling
 * is what is measured. */
#define SN_PF_LATENCY_MIN 500000u /* ns */

/* Ascending by node, at most one fault of a kind for each. -ENOMEM. */
int sn_preflight_judge(const struct sn_pf_node *node, uint32_t n,
		       const struct sn_pf_limits *limits,
		       struct sn_pf_faults *ret, struct sn_err *err);
void sn_pf_faults_done(struct sn_pf_faults *faults);

#endif
