/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healtharrive.h - which rank keeps the others waiting, from the records of their
 * collectives.
 *
 * In a collective the slow rank is the one that arrives last; its own call is the
 * shortest. But a rank may also arrive last because it waited in another
 * communicator for the really slow one. So a rank is judged by its *own time*: from
 * the end of whatever operation it was in before, of any communicator, to its
 * arrival. Waiting is no part of that, and as both are times of one clock, it does
 * not matter how far the nodes' clocks are apart.
 *
 * Members of a communicator do the same work between two operations of it, as far
 * as the layout goes, so their own times are compared there: each rank in the
 * communicator of three members or more in which it spends most. What comes out is
 * the ratio to the median of the members, the metric own_time of the health engine,
 * with peers in the same supernode.
 *
 * Not seen: slow links (they lengthen operations for all members), and ranks whose
 * work differs by right, such as experts with more tokens: where that lasts, take
 * own_time out of HealthMetrics.
 */
#ifndef SN_TOPOLOGY_HEALTHARRIVE_H
#define SN_TOPOLOGY_HEALTHARRIVE_H

#include <stdint.h>

#include "topology/err.h"
#include "topology/records.h"

/* Own times of less, all operations together, are noise of the host. */
#define SN_ARRIVE_MIN 1000000u /* ns */
#define SN_ARRIVE_MEMBERS 3

struct sn_arrival {
	uint32_t rank;
	double ratio; /* own time to the median member's; at least 1e-3 */
	uint64_t own, median; /* ns an operation */
	uint32_t ops; /* that it is made of */
	/* For the sentence: clocks set right by the ends, which are the same moment
	 * for all members. */
	uint32_t last; /* of these operations it was the last to arrive at */
	int64_t late; /* ns behind the median member; the median operation */
	uint32_t comm; /* sn_records_text() */
};

struct sn_arrivals {
	struct sn_arrival *arrival; /* ascending by rank */
	uint32_t n;
	uint32_t gen;
	uint64_t round; /* counts up; the step of the samples */
};

/* What was taken already, so that reading the same records again gives nothing. */
struct sn_arrive_key { uint64_t key, seq; };
struct sn_arrive {
	struct sn_arrive_key *seen;
	uint32_t n, size;
	uint32_t gen;
	uint64_t round;
};
void sn_arrive_init(struct sn_arrive *a);
void sn_arrive_done(struct sn_arrive *a);

/* What is new in the records of their newest generation. -ENOMEM. */
int sn_arrive_take(struct sn_arrive *a, const struct sn_records *rec,
		   struct sn_arrivals *ret, struct sn_err *err);
void sn_arrivals_done(struct sn_arrivals *arrivals);

#endif
