/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_layout.c - a layout that is accepted keeps what layout.h promises.
 */
#include "config.h"

#include "fuzz.h"
#include "topology/layout.h"

#define WALK_MAX 4096 /* ranks that are walked through */

static void check_blocks(const struct sn_layout *l, enum sn_domain domain,
			 uint32_t size)
{
	uint32_t *block = malloc(l->world * sizeof(*block));
	uint32_t *count = calloc(l->world, sizeof(*count));
	uint32_t r, next = 0;

	MUST(block && count);
	MUST(sn_layout_blocks(l, domain, block) == 0);
	for (r = 0; r < l->world; r++) {
		/* numbered by their smallest rank */
		MUST(block[r] <= next);
		next += block[r] == next;
		count[block[r]]++;
	}
	for (r = 0; r < next; r++)
		MUST(count[r] == size);
	free(block);
	free(count);
}

static void check(const struct sn_layout *l)
{
	struct sn_coords c;
	uint32_t r;

	MUST((uint64_t)l->tp * l->cp * l->pp * l->dp == l->world);
	MUST((uint64_t)l->etp * l->ep * l->pp * l->edp == l->world);
	MUST(l->world <= SN_WORLD_MAX);
	MUST(l->unit_block % l->node_block == 0);
	MUST(l->atom % l->unit_block == 0);
	MUST(l->world % l->atom == 0);
	if (l->world > WALK_MAX)
		return;
	for (r = 0; r < l->world; r++) {
		sn_layout_coords(l, r, &c);
		MUST(c.tp < l->tp && c.cp < l->cp && c.dp < l->dp && c.pp < l->pp);
		MUST(c.etp < l->etp && c.ep < l->ep && c.edp < l->edp);
	}
	check_blocks(l, SN_IN_NODE, l->node_block);
	check_blocks(l, SN_IN_UNIT, l->unit_block);
	check_blocks(l, SN_IN_SUPERNODE, l->atom);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sn_layout layout, back, bigger;
	struct sn_err err = { "" };
	char buf[512];
	uint32_t cards;
	char *text;

	if (!size)
		return 0;
	/* The last byte, so that a corpus file reads as its text. */
	cards = data[size - 1] % 17;
	text = fuzz_string(data, size - 1);
	if (sn_layout_parse(text, cards, &layout, &err)) {
		fuzz_check_err(&err);
	} else {
		check(&layout);
		sn_layout_format(&layout, buf, sizeof(buf));
		if (sn_layout_parse(buf, cards, &back, &err)) {
			fprintf(stderr, "%s: %s\n", buf, err.text);
			abort();
		}
		check(&back);
		MUST(back.world == layout.world && back.atom == layout.atom &&
		     back.node_block == layout.node_block && back.order == layout.order);
		bigger = layout;
		if (layout.dp <= SN_WORLD_MAX &&
		    sn_layout_set_dp(&bigger, layout.dp * 2, &err) == 0)
			check(&bigger);
	}
	free(text);
	return 0;
}
