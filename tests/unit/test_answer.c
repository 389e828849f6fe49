/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snctl/place.h"

static const char conf[] =
	"SupernodeName=sn[1-4] Nodes=n[01-16] NodesPerSupernode=4 SpareNodes=1\n"
	"FabricName=f Supernodes=sn[1-4]\n";

static void lowest_cards_are_the_lowest(void **state)
{
	(void)state;
	assert_true(snctl_lowest_cards(0xf0, 2) == 0x30);
	assert_true(snctl_lowest_cards(0xf0, 9) == 0xf0);
	assert_true(snctl_lowest_cards(UINT64_MAX, 64) == UINT64_MAX);
	assert_true(snctl_lowest_cards(UINT64_C(1) << 63, 1) == UINT64_C(1) << 63);
	assert_true(snctl_lowest_cards(0, 3) == 0);
}

/* Whatever the state: no card twice, only free ones, ascending on a node, and
 * every atom in one supernode. */
static void ranks_get_free_cards_of_their_own(void **unused)
{
	unsigned int seed = 1, placed = 0;

	(void)unused;
	for (int round = 0; round < 200; round++) {
		struct sn_jobspec_text text = { .parallel = "tp=2,ep=4,etp=1,dp=8" };
		struct sn_jobspec spec;
		struct snctl_state state;
		struct snctl_answer a = { .cards = 8, .state = &state, .spec = &spec };
		struct sn_topo *topo;
		struct sn_err err;
		uint64_t taken[16] = { 0 };
		int rc;

		assert_int_equal(sn_jobspec_parse(&text, 8, &spec, &err), 0);
		assert_int_equal(sn_topo_parse(conf, strlen(conf), "t", NULL, NULL, &topo, &err), 0);
		assert_int_equal(snctl_state_init(topo, 8, &state, &err), 0);
		for (uint32_t n = 0; n < topo->n_nodes; n++)
			state.node[n].free = rand_r(&seed) & rand_r(&seed) & 0xff;
		a.topo = topo;
		rc = snctl_answer_make(&a, &err);
		if (rc)
			assert_int_equal(rc, -ENOSPC);
		for (uint32_t r = 0; !rc && r < spec.layout.world; r++) {
			uint32_t n = a.rank_node[r];
			uint64_t bit = UINT64_C(1) << a.rank_card[r];

			assert_true(state.node[n].free & bit);
			assert_false(taken[n] & bit);
			/* Ranks come to a node in order, and cards with them. */
			assert_true(!taken[n] || bit > taken[n]);
			taken[n] |= bit;
			/* An atom is 4 consecutive ranks here. */
			assert_int_equal(topo->node[n].supernode,
					 topo->node[a.rank_node[r - r % 4]].supernode);
		}
		placed += !rc;
		if (!rc)
			snctl_answer_done(&a);
		snctl_state_done(&state);
		sn_topo_destroy(topo);
	}
	assert_in_range(placed, 50, 199); /* both answers occur */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lowest_cards_are_the_lowest),
		cmocka_unit_test(ranks_get_free_cards_of_their_own),
	};

	return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}
