/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_state.c - state.json. The first byte is the number of cards a node.
 */
#include "config.h"

#include "fuzz.h"
#include "snctl/state.h"

static const char conf[] =
	"SupernodeName=sn[1-2] Nodes=n[001-008] NodesPerSupernode=4 PoolMemory=48T\n"
	"SupernodeName=sn3 Nodes=m[1-2]\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t cards = size ? data[0] % SN_CARDS_MAX + 1 : 8;
	uint64_t all = cards == 64 ? UINT64_MAX : (UINT64_C(1) << cards) - 1;
	char *text = fuzz_string(data + (size ? 1 : 0), size ? size - 1 : 0);
	struct sn_err err = { "" };
	struct snctl_state state;
	struct sn_topo *topo;

	MUST(!sn_topo_parse(conf, strlen(conf), "t", NULL, NULL, &topo, NULL));
	/* With its length, so that a NUL inside is seen. */
	if (snctl_state_parse(text, size ? size - 1 : 0, "s.json", topo, cards, &state, &err)) {
		fuzz_check_err(&err);
	} else {
		for (uint32_t n = 0; n < topo->n_nodes; n++) {
			MUST(state.node[n].cards == all);
			MUST(!(state.node[n].free & ~all));
			MUST(!(state.node[n].flags & SN_NODE_ABSENT) || !state.node[n].free);
		}
		MUST(state.supernode[0].pool_free <= UINT64_C(48) << 40);
		snctl_state_done(&state);
	}
	sn_topo_destroy(topo);
	free(text);
	return 0;
}
