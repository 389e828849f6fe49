/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timeouts.h - timeouts of the communication libraries, by what the job's own
 * collectives take.
 *
 * A timeout that is right for one job is a false alarm for a larger one and an
 * hour's wait for a smaller. Once a job's records tell how long its ranks are in
 * their collectives, ten times that is suggested, within what the library takes
 * and never below its default: 5 times where ten are more than it takes.
 */
#ifndef SN_TOPOLOGY_TIMEOUTS_H
#define SN_TOPOLOGY_TIMEOUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/records.h"

#define SN_USUAL_MIN 20 /* of fewer collectives nothing is concluded */

/* What the records show. */
struct sn_usual {
	uint32_t n_ops; /* finished collectives */
	uint64_t exec; /* ns from arrival to end, the 99th percentile */
	uint64_t middle; /* ns, their median */
	uint32_t n_created; /* communicators of which it is known */
	uint64_t connect; /* ns to create one, the longest */
	uint64_t largest; /* bytes, the largest message */
};
/* -ENOMEM. */
int sn_usual_measure(const struct sn_records *rec, struct sn_usual *ret,
		     struct sn_err *err);

enum sn_timeout {
	SN_TIMEOUT_HCCL_CONNECT, /* HCCL_CONNECT_TIMEOUT */
	SN_TIMEOUT_HCCL_EXEC, /* HCCL_EXEC_TIMEOUT */
	SN_TIMEOUT_COMM, /* torch's timeout of a process group, NCCL's and gloo's */
	SN_TIMEOUTS
};
struct sn_timeout_range {
	const char *name; /* of the variable */
	uint32_t preset, max; /* s, the library's own default and limit */
};
extern const struct sn_timeout_range sn_timeout_ranges[SN_TIMEOUTS];

/*
 * Seconds for one of them; 0: not enough is known. preset: the default that
 * holds at this site, at least the library's. *ret_short: even the library's
 * limit is less than 5 times what is usual.
 */
uint32_t sn_timeout_suggest(enum sn_timeout which, const struct sn_usual *usual,
			    uint32_t preset, bool *ret_short);

/* HCCL_BUFFSIZE in MB: the largest message and 20 %; 0: nothing is known. */
uint32_t sn_buffsize_suggest(const struct sn_usual *usual);

#endif
