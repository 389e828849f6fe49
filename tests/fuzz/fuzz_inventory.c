/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_inventory.c - inventories of either form. The first byte says whether the
 * text is for one node.
 */
#include "config.h"

#include "fuzz.h"
#include "launcher/inventory.h"
#include "launcher/ranktable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *node = size && data[0] & 1 ? "n001" : NULL;
	char *text = fuzz_string(data + (size ? 1 : 0), size ? size - 1 : 0);
	struct sn_names warnings = { 0 };
	struct sn_err err = { "" };
	struct sn_inventory inv;

	if (sn_inventory_parse(text, size ? size - 1 : 0, "i", node, &inv, &err)) {
		fuzz_check_err(&err);
		free(text);
		return 0;
	}
	for (uint32_t i = 0; i < inv.n_nodes; i++) {
		struct sn_inv_node *n = &inv.node[i];

		MUST(sn_inventory_find(&inv, n->name) == n);
		MUST(n->n_cards && n->n_cards <= SN_INV_CARD_MAX);
		if (!n->super_pod_id)
			n->super_pod_id = strdup("0");
		MUST(n->super_pod_id);
		for (uint32_t c = 0; c < n->n_cards; c++) {
			MUST(n->card[c].card == c);
			MUST(n->card[c].device_id <= SN_RT_DEVICE_MAX);
			MUST(!n->card[c].device_ip || sn_inv_ip_family(n->card[c].device_ip));
		}
	}
	for (int v = SN_RANK_TABLE_1_0; v <= SN_RANK_TABLE_2_0; v++) {
		err.text[0] = '\0';
		if (sn_inventory_fits(&inv, v, size & 1, &err))
			fuzz_check_err(&err);
		MUST(!sn_inventory_warn(&inv, v, &warnings));
	}
	sn_names_done(&warnings);
	sn_inventory_done(&inv);
	free(text);
	return 0;
}
