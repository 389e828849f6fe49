/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timeouts.c - timeouts by what the job's own collectives take.
 *
 * The limit of HCCL_EXEC_TIMEOUT is that of the older Atlas products; newer ones
 * take more, and no job of either should wait that long.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/timeouts.h"

#define SECOND 1000000000u
#define TIMES 10
#define TIMES_MIN 5
#define MB (1u << 20)

const struct sn_timeout_range sn_timeout_ranges[SN_TIMEOUTS] = {
	[SN_TIMEOUT_HCCL_CONNECT] = { "HCCL_CONNECT_TIMEOUT", 120, 7200 },
	[SN_TIMEOUT_HCCL_EXEC] = { "HCCL_EXEC_TIMEOUT", 1836, 17340 },
	[SN_TIMEOUT_COMM] = { "SUPERNODE_COMM_TIMEOUT", 600, 86400 },
};

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int sn_usual_measure(const struct sn_records *rec, struct sn_usual *ret,
		     struct sn_err *err)
{
	struct sn_usual u = { 0 };
	uint64_t *took;
	size_t n = 0;

	for (uint32_t r = 0; r < rec->n_ranks; r++)
		for (uint32_t c = 0; c < rec->rank[r].n_comms; c++)
			n += rec->rank[r].comm[c].n_ops;
	took = malloc((n + 1) * sizeof(*took));
	if (!took)
		return sn_err_set(err, -ENOMEM, "no memory for %zu operations", n);
	for (uint32_t r = 0; r < rec->n_ranks; r++)
		for (uint32_t c = 0; c < rec->rank[r].n_comms; c++) {
			const struct sn_rec_comm *comm = &rec->rank[r].comm[c];

			if (comm->took)
				u.n_created++;
			if (comm->took > u.connect)
				u.connect = comm->took;
			for (uint32_t i = 0; i < comm->n_ops; i++) {
				const struct sn_rec_op *op = &comm->op[i];

				if (op->bytes > u.largest)
					u.largest = op->bytes;
				/* A clock that was set back in between. */
				if (op->end && op->end >= op->arrive)
					took[u.n_ops++] = op->end - op->arrive;
			}
		}
	if (u.n_ops) {
		qsort(took, u.n_ops, sizeof(*took), by_size);
		u.middle = took[(u.n_ops - 1) / 2];
		u.exec = took[(uint64_t)(u.n_ops - 1) * 99 / 100];
	}
	free(took);
	*ret = u;
	return 0;
}

/* Seconds, rounded up, never more than fits. */
static uint64_t seconds(uint64_t ns, unsigned int times)
{
	uint64_t s = ns / SECOND, rest = ns % SECOND;

	return s * times + (rest * times + SECOND - 1) / SECOND;
}

uint32_t sn_timeout_suggest(enum sn_timeout which, const struct sn_usual *usual,
			    uint32_t preset, bool *ret_short)
{
	const struct sn_timeout_range *range = &sn_timeout_ranges[which];
	uint64_t ns = usual->exec, s;

	*ret_short = false;
	if (which == SN_TIMEOUT_HCCL_CONNECT) {
		if (!usual->n_created)
			return 0;
		ns = usual->connect;
	} else if (usual->n_ops < SN_USUAL_MIN) {
		return 0;
	}
	s = seconds(ns, TIMES);
	if (s < range->preset)
		s = range->preset;
	if (s < preset)
		s = preset;
	if (s > range->max) {
		s = range->max;
		*ret_short = seconds(ns, TIMES_MIN) > s;
	}
	return (uint32_t)s;
}

uint32_t sn_buffsize_suggest(const struct sn_usual *usual)
{
	uint64_t bytes = usual->largest;

	if (bytes > (uint64_t)UINT32_MAX * MB / 2)
		bytes = (uint64_t)UINT32_MAX * MB / 2;
	return (uint32_t)((bytes + bytes / 5 + MB - 1) / MB);
}
