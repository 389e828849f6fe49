/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cardlist.h - cards of a node as people write them: "0-3,5".
 */
#ifndef SNCTL_CARDLIST_H
#define SNCTL_CARDLIST_H

#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

#define SNCTL_CARDLIST_MAX 192 /* bytes that any list fits into */

/* Bit c is card c, 0 to 63. -EINVAL: no list, or an empty one. */
int snctl_cards_parse(const char *text, uint64_t *ret, struct sn_err *err);
/* "-" for none. */
void snctl_cards_format(uint64_t cards, char buf[SNCTL_CARDLIST_MAX]);

/* The cards behind the last ':' of "n[001-004]:3", and where that is. */
int snctl_cards_split(const char *text, size_t *ret_colon, uint64_t *ret,
		      struct sn_err *err);

#endif
