/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_pool.c - what a site's pool and card memory programs say, and the book of
 * named regions in a node's extra. The first byte chooses.
 */
#include "config.h"

#include "fuzz.h"
#include "launcher/memwatch.h"
#include "launcher/poolbook.h"
#include "launcher/poolprog.h"

static void book(const char *text, struct sn_err *err)
{
	struct sn_poolbook_entry *all, found, mine = { "sn-fuzz", 5, 4096, 1 };
	char *with;
	size_t n;

	if (sn_poolbook_read(text, &all, &n, err)) {
		fuzz_check_err(err);
		return;
	}
	if (!sn_poolbook_write(text, &mine, &with, err)) {
		MUST(!sn_poolbook_find(with, "sn-fuzz", &found, NULL) && found.bytes == 4096);
		free(with);
	}
	free(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data + (size ? 1 : 0), size ? size - 1 : 0);
	struct sn_memwatch_card card[SN_MEMWATCH_CARDS];
	struct sn_poolprog_place place;
	struct sn_poolprog_usage usage;
	struct sn_err err = { "" };
	uint32_t n;

	switch (size ? data[0] % 4 : 0) {
	case 0:
		if (sn_poolprog_parse_place(text, size ? size - 1 : 0, "p", &place, &err))
			fuzz_check_err(&err);
		else
			MUST(place.dir[0] == '/');
		break;
	case 1:
		if (sn_poolprog_parse_usage(text, size ? size - 1 : 0, "p", &usage, &err))
			fuzz_check_err(&err);
		else
			MUST(usage.used <= usage.size && usage.bus_load <= 1);
		break;
	case 2:
		book(text, &err);
		break;
	default:
		if (sn_memwatch_parse(text, 1 << 20, "p", card, &n, &err))
			fuzz_check_err(&err);
		else
			for (uint32_t i = 0; i < n; i++)
				MUST(card[i].card < SN_MEMWATCH_CARDS && card[i].used <= card[i].total);
	}
	free(text);
	return 0;
}
