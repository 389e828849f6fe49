/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ladder.h - what to do for a job that has lost something: the cheapest means that
 * works. Pure: the state in, a plan out.
 *
 * The means, from the mildest:
 *
 *	ignore		nothing that the job runs on is hit
 *	mask		a card is only suspected: it is masked and probed, the job runs on;
 *			or it is sick, and there is nothing better to be had for now
 *	restart		the step, on the nodes that it has
 *	swap		spares that the job holds in the same supernode take over
 *	replace		a job that may use SpareNodes stands in, in the same supernode
 *	move		the atoms that are hit go to another supernode
 *	shrink		fewer data-parallel replicas, a legal size
 *	requeue		a checkpoint where one can still be made, and start anew
 *	give-up
 *
 * Each has a cost in card-seconds: what is lost since the last safe point (or the
 * checkpoint that is made first), the time until ranks run again, cards idle or
 * missing for as long as it lasts, protection that is used up. A requeued job waits
 * for what takes over no less than a shrunk one does, but with all of its cards. The
 * cheapest that can be done is chosen; of equal ones the milder.
 *
 * Rules that stand above costs:
 *  - a suspected card moves nothing;
 *  - a sick one is left at the next safe point by a job that is elastic or has
 *    something to take over; it stays only while nothing but a requeue is left, and
 *    that is dearer;
 *  - where the batch host is lost, only requeue and give-up are left, as the job's
 *    script is gone;
 *  - a node that was lost `flaps` times of late and came back does not count as back;
 *  - a job that fails by itself without progress is not restarted for ever.
 *
 * Several failures, also while a recovery is under way, are one state: the caller
 * gives all that stand, and asks again when there are more. For several jobs that
 * one supernode's loss hits, ask for one after the other and take off what each plan
 * uses (sn_ladder_take).
 */
#ifndef SN_TOPOLOGY_LADDER_H
#define SN_TOPOLOGY_LADDER_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/sizes.h"

enum sn_means {
	SN_MEANS_IGNORE, SN_MEANS_MASK, SN_MEANS_RESTART, SN_MEANS_SWAP,
	SN_MEANS_REPLACE, SN_MEANS_MOVE, SN_MEANS_SHRINK, SN_MEANS_REQUEUE,
	SN_MEANS_GIVE_UP, SN_MEANS_KINDS
};
const char *sn_means_name(enum sn_means means); /* "ignore", …, "give-up" */

enum sn_failure_kind {
	SN_FAIL_SUSPECT, /* a card, not yet probed */
	SN_FAIL_SICK, /* a card that is confirmed slow or faulty, and still runs */
	SN_FAIL_CARD, /* a card is gone */
	SN_FAIL_NODE, /* a node is gone */
	SN_FAIL_SUPERNODE, /* all of one is gone */
	SN_FAIL_BATCH, /* the batch host is gone; its cards too */
	SN_FAIL_STEP, /* ranks ended by themselves, the nodes are well */
};

struct sn_failure {
	enum sn_failure_kind kind;
	uint32_t domain; /* of the job's; not for STEP */
	uint32_t node; /* any number that tells the domain's nodes apart */
	const char *name; /* for the sentence: of the node or card; NULL: none */
	uint32_t cards; /* of the job's ranks that are hit; 0: a spare, or none */
	uint32_t atom, n_atoms; /* the atoms that these ranks are in */
	bool spare; /* it is one of the job's spare nodes */
	bool back; /* NODE: it is up again */
	uint32_t times; /* NODE: how often it was lost of late */
};

/* A supernode that the job is in, and what is to be had there now. */
struct sn_ladder_domain {
	const char *name;
	uint32_t cards; /* of the job, spares too, before the failures */
	uint32_t atoms; /* of the job's ranks */
	uint32_t spares; /* spare nodes of the job, before the failures */
	uint32_t spare_cards; /* cards that a rank's node gives, as one spare does */
	uint32_t spare_nodes; /* SpareNodes and other free nodes for a stand-in */
};

struct sn_ladder_costs {
	/* Seconds until ranks run again, without the loss of steps. */
	double restart, swap, replace, move, shrink, requeue;
	double horizon; /* how long a smaller or slower job is likely to stay so */
	double spare; /* card-seconds that each card of a used spare counts for */
	double spare_node; /* the same for SpareNodes, which others may need */
	double slow; /* fraction of the job's speed that a sick card costs */
	uint32_t flaps; /* losses after which a node that is back is not trusted */
	uint32_t no_progress; /* restarts without progress that are too many */
};

struct sn_ladder_job {
	struct sn_sizes sizes; /* min = max: not elastic */
	uint32_t dp; /* of the moment */
	bool elastic;
	bool running; /* ranks are alive, so that those not lost can be warned */
	bool can_checkpoint; /* it knows the protocol */
	bool can_requeue;
	double since_safe; /* s of work that would be lost now */
	/* The same by checkpoints in memory, which survive the loss of one node, but neither
	 * that of more nor a requeue; < 0: there are none. */
	double since_memory;
	double checkpoint; /* s that one takes */
	uint32_t restarts; /* without progress between them */
	uint32_t allowed; /* bits 1 << enum sn_means; 0: all. give-up always is */
	const struct sn_ladder_domain *domain;
	uint32_t n_domains;
	uint32_t atoms_elsewhere; /* that fit into supernodes not hit, whole */
	/* Whether the live cards take this size; NULL: sn_sizes_fit() over the
	 * domains' cards. Asked from the largest down. */
	bool (*fits)(void *arg, uint32_t dp);
	void *arg;
};

#define SN_LADDER_WHY 320

struct sn_ladder_use { uint32_t spares, spare_nodes, atoms; };
struct sn_ladder_plan {
	enum sn_means means;
	bool safe_point; /* ask for a checkpoint first, and act on its marker */
	bool probe; /* SUSPECT cards are among the failures: mask and probe them */
	uint32_t dp; /* from then on */
	uint32_t atoms; /* to re-place elsewhere */
	struct sn_ladder_use *use; /* [n_domains], yours to free with _done */
	uint32_t n_domains;
	double cost; /* card-seconds */
	struct { bool can; double cost; } option[SN_MEANS_KINDS];
	char why[SN_LADDER_WHY]; /* one sentence */
};

/* -EINVAL for a state that cannot be (a domain out of range, a dp that is no legal
 * size, times that are no numbers), -ENOMEM. */
int sn_ladder(const struct sn_ladder_job *job, const struct sn_ladder_costs *costs,
	      const struct sn_failure *failure, uint32_t n_failures,
	      struct sn_ladder_plan *ret, struct sn_err *err);
void sn_ladder_plan_done(struct sn_ladder_plan *plan);

/* What other jobs can no longer have: domains in the same order as the job's. */
void sn_ladder_take(const struct sn_ladder_plan *plan,
		    struct sn_ladder_domain *domain, uint32_t *atoms_elsewhere);

void sn_ladder_costs_init(struct sn_ladder_costs *costs); /* the defaults */
/* supernode.conf's ElasticCosts over the defaults: words NAME=NUMBER of the fields'
 * names, slow in percent. -EINVAL with a sentence that begins with the key. */
int sn_ladder_costs_parse(const char *text, struct sn_ladder_costs *ret,
			  struct sn_err *err);

#endif
