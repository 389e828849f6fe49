/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthstat.h - the arithmetic of the health engine: is a card slower than its
 * peers, and is that chance?
 *
 * A card's *excess* in a row (one step of one job in one supernode) is how much
 * worse it is than the median of its peers: 0.2 is 20 % slower. The mean of its
 * last 3 and last 8 excesses, less what is usual for the card, is held against the
 * spread that the same means have over the peers (MAD, scaled to a standard
 * deviation). So noise that is correlated in time widens the limit by itself, and
 * cards may differ a little for ever: nothing is assumed of either.
 *
 * Two more safeguards, for noise is not Gaussian:
 *  - in a mean, no sample counts for more than SN_STAT_CLIP * sqrt(w) standard
 *    deviations of the mean of w, so that a single outlier marks nobody;
 *  - how often such means lie far out is counted (struct sn_tail); where that is
 *    more often than Gaussian noise would, the limit is raised, at most so far
 *    that w samples in a row that all lie beyond the clip still mark.
 */
#ifndef SN_TOPOLOGY_HEALTHSTAT_H
#define SN_TOPOLOGY_HEALTHSTAT_H

#include <stddef.h>
#include <stdint.h>

/* The windows: one sample, three, eight. */
enum { SN_WIN_1, SN_WIN_3, SN_WIN_8, SN_WINS };
#define SN_STAT_RING 8
extern const uint32_t sn_stat_width[SN_WINS];
extern const double sn_stat_root[SN_WINS]; /* square roots of the widths */
#define SN_STAT_CLIP 4.5

/* Reorders v. n is at least 1; of an even number the mean of the middle two. */
double sn_stat_median(double *v, size_t n);
/* Overwrites v; 1.4826 times the median distance from `median`, which is the
 * standard deviation of a Gaussian. */
double sn_stat_spread(double *v, size_t n, double median);

/* The last samples of a card. */
struct sn_ring {
	float v[SN_STAT_RING];
	uint8_t n, pos; /* how many are there; where the next one goes */
	uint16_t learnt; /* samples in usual, at most SN_STAT_LEARNT */
	float usual; /* what lasts of the card's difference from its peers */
};
#define SN_STAT_LEARNT 64
void sn_ring_push(struct sn_ring *ring, double v);
/* The mean of the last w, less what is usual, each at most clip. w is at most
 * ring->n. */
double sn_ring_mean(const struct sn_ring *ring, uint32_t w, double clip);
/* Learn from v what is usual: no single sample moves it by more than
 * sigma / 16, nor all together over max. */
void sn_ring_learn(struct sn_ring *ring, double v, double sigma, double max);

/* How far out values lie, in standard deviations: 8 bins an octave from 1 on. */
#define SN_TAIL_BINS 64
struct sn_tail {
	uint32_t bin[SN_TAIL_BINS];
	uint32_t n; /* all values, also those below 1 */
};
void sn_tail_add(struct sn_tail *tail, double z);
/* By how much to raise a limit that is right for Gaussian noise; at least 1. */
double sn_tail_factor(const struct sn_tail *tail);
/* What more than two values lay beyond; 0: none did. */
double sn_tail_seen(const struct sn_tail *tail);

#endif
