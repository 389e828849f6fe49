/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * showcards.h - snctl show cards: the cards of each node, and the masked ones.
 */
#ifndef SNCTL_SHOWCARDS_H
#define SNCTL_SHOWCARDS_H

#include "snctl/live.h"
#include "snctl/term.h"

extern const char *const card_head[];
int show_cards(const struct live *live, struct table *t, struct sn_err *err);

/* A line for each mark of a card. */
extern const char *const mask_head[];
int show_masks(const struct live *live, struct table *t, struct sn_err *err);

#endif
