/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preflightrun.h - the preflight as snrun calls it, and how its parts fit.
 *
 * preflight.c: the talk with the tasks. preflightstep.c: their srun. preflightend.c:
 * what came of it. preflightnode.c, preflightring.c: a task.
 */
#ifndef SN_LAUNCHER_PREFLIGHTRUN_H
#define SN_LAUNCHER_PREFLIGHTRUN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launcher/plan.h"
#include "launcher/preflight.h"
#include "topology/err.h"
#include "topology/policy.h"
#include "topology/preflight.h"
#include "topology/records.h"
#include "topology/text.h"

struct sn_preflight_ask {
	const struct sn_policy *policy;
	char *const *environment; /* of snrun */
	sigset_t signals; /* the mask for srun; SIGINT and its like are blocked here */
	/* Kill the step that this srun has started, and wait until it is gone. */
	void (*end_step)(void *ctx, uint32_t srun_pid);
	void (*say)(void *ctx, const char *sentence);
	/* The same as a whole, by the node's number in the plan; may be NULL. */
	void (*found)(void *ctx, uint32_t node, const struct sn_pf_fault *fault);
	void *ctx;
};

/*
 * Check all nodes of the plan. Returns how many are not fit, bad[i] set for each,
 * each told by say(); dir/preflight.json has all that was measured. -EINTR the
 * user has sent a signal; -EIO no node could be asked; -errno.
 */
int sn_preflight(const struct sn_preflight_ask *ask, const struct sn_plan *plan,
		 const char *dir, bool *ret_bad, struct sn_err *err);

/* ---- inside ---- */

struct pf_node {
	struct sn_pf_node is;
	uint32_t port; /* where it listens for the ring */
	bool told; /* which cards it has */
	bool heard; /* in this phase */
	bool dead; /* not asked any more */
};

struct pf_reader {
	int fd;
	char line[2048];
	size_t len;
};

struct pf {
	const struct sn_preflight_ask *ask;
	const struct sn_plan *plan;
	struct pf_node *node; /* [plan->n_nodes] */
	uint32_t last; /* the node that spoke last */
	char *commands; /* what version[] points into */
	const char *version[SN_PREFLIGHT_VERSIONS_MAX];
	uint32_t n_versions;
	pid_t pid;
	int in, signals;
	struct pf_reader out, says;
	char said[256]; /* srun's last words */
	struct sn_buf order; /* what is still to be sent */
	size_t sent;
	uint64_t asked; /* when the order was made */
	int stopped; /* the signal */
	int64_t begin; /* ms */
};

int sn_pf_init(struct pf *pf, struct sn_err *err);
int sn_pf_launch(struct pf *pf, struct sn_err *err);
int sn_pf_conclude(struct pf *pf, const char *dir, bool *ret_bad, struct sn_err *err);
void sn_pf_done(struct pf *pf);

#endif
