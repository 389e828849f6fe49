/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tres.h - find the cards in a TRES list, "gres/npu:910b:8,gres/nic:1".
 */
#ifndef SN_PLUGINS_JOB_SUBMIT_SUPERNODE_TRES_H
#define SN_PLUGINS_JOB_SUBMIT_SUPERNODE_TRES_H

#include <stdbool.h>
#include <stdint.h>

struct tres_cards {
	uint64_t count;
	char type[64]; /* "" for none */
	char *rest; /* the list without them, NULL if nothing is left; free() */
};

/* False if the list has no cards; then *ret is empty. */
bool tres_find_cards(const char *list, const char *card_gres,
		     struct tres_cards *ret);

#endif
