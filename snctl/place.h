/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place.h - one answer of the engine, made ready for printing.
 */
#ifndef SNCTL_PLACE_H
#define SNCTL_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "snctl/state.h"
#include "topology/err.h"
#include "topology/jobspec.h"
#include "topology/place.h"
#include "topology/topo.h"

struct snctl_answer {
	const struct sn_topo *topo;
	const struct snctl_state *state;
	const struct sn_jobspec *spec;
	uint32_t cards; /* of a node, in pictures */
	struct sn_placement placement;
	uint32_t *rank_node; /* [world] number in topo */
	uint8_t *rank_card; /* [world] */
};

/* Place and map the ranks. Codes as sn_place(). answer->topo, state, spec and
 * cards are set by the caller; on success it is the caller's
 * (snctl_answer_done). */
int snctl_answer_make(struct snctl_answer *answer, struct sn_err *err);
void snctl_answer_done(struct snctl_answer *answer);

void snctl_answer_json(const struct snctl_answer *answer, FILE *f);
int snctl_answer_print(const struct snctl_answer *answer, FILE *f,
		       struct sn_err *err);

/* What to warn of: degraded domains are used. */
#define SNCTL_WARNING_MAX 1024
bool snctl_answer_warning(const struct snctl_answer *answer, char *buf,
			  size_t size);

/* The lowest `n` of the cards in `mask`, or all of them. */
uint64_t snctl_lowest_cards(uint64_t mask, uint32_t n);

/* {"tp":8,…,"world":6144,"order":"tp-cp-ep-dp-pp"} */
void snctl_layout_json(const struct sn_layout *layout, FILE *f);

/* A hostlist of `n` nodes by their number in topo; owned by the caller. */
char *snctl_hostlist(const struct sn_topo *topo, const uint32_t *node, uint32_t n);

#endif
