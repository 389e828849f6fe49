/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * avoid.h - nodes and cards that ranks have left, and until when they stay away.
 *
 * An entry lasts to the end of the run where somebody said so, or nothing will tell that
 * the cause has gone. One of the daemon's lasts until the cause has gone in Slurm's books:
 * a node is in service again, cards have no mark any more, at all looks of `well` seconds.
 * A node that is just lost needs no entry: Slurm takes it out of the job, and gives it to
 * nobody until it is in service.
 */
#ifndef SN_LAUNCHER_AVOID_H
#define SN_LAUNCHER_AVOID_H

#include <stdbool.h>
#include <stdint.h>

struct sn_avoid {
	char *node;
	uint64_t cards; /* bits; 0: all of the node */
	uint32_t well; /* s that it must have been well; 0: to the end of the run */
	int64_t well_at; /* ms, since when it is; 0: it is not, or nobody knows */
};

struct sn_avoids {
	struct sn_avoid *entry;
	uint32_t n;
	uint32_t changes; /* so far: who has told others of all sees that there are new ones */
};

/* 1: it is new; 0: the same is there already, and its time begins again; -ENOMEM. */
int sn_avoids_add(struct sn_avoids *avoids, const char *node, uint64_t cards, uint32_t well);
/* The last one that was new was in vain. */
void sn_avoids_take_back(struct sn_avoids *avoids);
/* Is all of the node to be avoided? Which of its cards are, besides? */
bool sn_avoids_is_node(const struct sn_avoids *avoids, const char *node);
uint64_t sn_avoids_cards(const struct sn_avoids *avoids, const char *node);

/* A node as Slurm has it. */
struct sn_avoid_view {
	bool known; /* false: Slurm did not say */
	bool in_service; /* jobs may start there, where cards are free */
	uint64_t masked; /* cards */
};
/* See it at now (ms, of a clock that only goes forward). True: an entry has ended. */
bool sn_avoids_see(struct sn_avoids *avoids, const char *node, const struct sn_avoid_view *view,
		   int64_t now);

void sn_avoids_done(struct sn_avoids *avoids);

#endif
