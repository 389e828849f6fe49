/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_cardlist.c - NODE:CARDS of snctl card.
 */
#include "config.h"

#include "fuzz.h"
#include "snctl/cardlist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), back[SNCTL_CARDLIST_MAX];
	struct sn_err err = { "" };
	uint64_t cards = 0, again = 0;
	size_t colon = 0;

	if (snctl_cards_split(text, &colon, &cards, &err)) {
		fuzz_check_err(&err);
	} else {
		MUST(colon && text[colon] == ':' && cards);
		snctl_cards_format(cards, back);
		MUST(!snctl_cards_parse(back, &again, NULL) && again == cards);
	}
	free(text);
	return 0;
}
