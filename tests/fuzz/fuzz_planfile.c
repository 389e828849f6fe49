/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_planfile.c - layout.json, read back. What is taken is a whole plan.
 */
#include "config.h"

#include "fuzz.h"
#include "launcher/planfiles.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	struct sn_err err = { "" };
	struct sn_plan plan;

	if (sn_planfile_parse(text, size, &plan, &err)) {
		fuzz_check_err(&err);
		free(text);
		return 0;
	}
	for (uint32_t r = 0; r < plan.layout.world; r++) {
		const struct sn_plan_node *node;

		MUST(plan.rank_node[r] < plan.n_nodes);
		node = &plan.node[plan.rank_node[r]];
		MUST(plan.rank_local[r] < node->ranks && node->ranks <= node->n_cards);
		MUST(plan.rank_at[node->first + plan.rank_local[r]] == r);
		MUST(plan.rank_card[r] == node->card[plan.rank_local[r]]);
		MUST(node->supernode < plan.n_supernodes);
	}
	sn_plan_done(&plan);
	free(text);
	return 0;
}
