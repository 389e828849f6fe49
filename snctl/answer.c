/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.c - one answer of the engine: ranks to cards, and as JSON.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snctl/place.h"
#include "snctl/term.h"
#include "topology/hostlist.h"
#include "topology/rankmap.h"

uint64_t snctl_lowest_cards(uint64_t mask, uint32_t n)
{
	uint64_t ret = 0;

	for (; mask && n; n--) {
		ret |= mask & -mask;
		mask &= mask - 1;
	}
	return ret;
}

char *snctl_hostlist(const struct sn_topo *topo, const uint32_t *node, uint32_t n)
{
	const char **name = calloc(n + 1, sizeof(*name));
	char *text;

	if (!name)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		name[i] = topo->node[node[i]].name;
	text = sn_hostlist_compress(name, n);
	free(name);
	return text;
}

void snctl_answer_done(struct snctl_answer *answer)
{
	sn_placement_done(&answer->placement);
	free(answer->rank_node);
	free(answer->rank_card);
	answer->rank_node = NULL;
	answer->rank_card = NULL;
}

/* The k-th rank of a node takes the node's k-th free card. */
static int map_ranks(struct snctl_answer *a, struct sn_err *err)
{
	const struct sn_placement *p = &a->placement;
	uint32_t world = a->spec->layout.world;
	struct sn_rankmap_node *node;
	struct sn_rankmap map = { 0 };
	int rc;

	node = calloc(p->n_nodes + 1, sizeof(*node));
	a->rank_node = calloc(world, sizeof(*a->rank_node));
	a->rank_card = calloc(world, sizeof(*a->rank_card));
	if (!node || !a->rank_node || !a->rank_card) {
		free(node);
		return sn_err_set(err, -ENOMEM, "no memory for %u ranks", world);
	}
	for (uint32_t i = 0; i < p->n_nodes; i++) {
		node[i].supernode = a->topo->node[p->node[i].node].supernode;
		node[i].ranks = p->node[i].ranks;
		node[i].unit = a->topo->node[p->node[i].node].unit;
	}
	rc = sn_rankmap_build(&a->spec->layout, node, p->n_nodes, &map, err);
	free(node);
	if (rc)
		return rc;
	for (uint32_t r = 0; r < world; r++) {
		uint32_t n = p->node[map.node[r]].node;
		uint64_t free_cards = a->state->node[n].free;

		for (uint32_t k = map.local[r]; k && free_cards; k--)
			free_cards &= free_cards - 1;
		a->rank_node[r] = n;
		a->rank_card[r] = free_cards ? (uint8_t)__builtin_ctzll(free_cards) : 0;
		if (!free_cards)
			rc = -EPROTO;
	}
	sn_rankmap_done(&map);
	if (rc)
		return sn_err_set(err, rc,
				  "internal error: a node was given more ranks than it has free cards");
	return 0;
}

int snctl_answer_make(struct snctl_answer *answer, struct sn_err *err)
{
	const struct sn_place_state state = {
		.node = answer->state->node,
		.supernode = answer->state->supernode,
	};
	struct sn_place_request request;
	int rc;

	memset(&answer->placement, 0, sizeof(answer->placement));
	answer->rank_node = NULL;
	answer->rank_card = NULL;
	sn_place_request_init(&request, answer->spec);
	rc = sn_place(answer->topo, &state, &request, &answer->placement, err);
	if (rc)
		return rc;
	rc = map_ranks(answer, err);
	if (rc)
		snctl_answer_done(answer);
	return rc;
}

void snctl_layout_json(const struct sn_layout *l, FILE *f)
{
	fprintf(f, "{\"tp\":%u,\"cp\":%u,\"ep\":%u,\"etp\":%u,\"pp\":%u,\"dp\":%u,\"world\":%u,\"order\":\"%s\"}",
		l->tp, l->cp, l->ep, l->etp, l->pp, l->dp, l->world,
		sn_order_name(l->order));
}

static void supernodes_json(const struct snctl_answer *a, FILE *f)
{
	const struct sn_placement *p = &a->placement;

	fputs("[", f);
	for (uint32_t i = 0; i < p->n_supernodes; i++) {
		const struct sn_placed_supernode *s = &p->supernode[i];
		uint32_t *node = calloc(s->n + 1, sizeof(*node));
		uint64_t cards = 0;
		char *nodes;

		for (uint32_t n = 0; n < s->n; n++) {
			cards += p->node[s->first + n].ranks;
			if (node)
				node[n] = p->node[s->first + n].node;
		}
		nodes = node ? snctl_hostlist(a->topo, node, s->n) : NULL;
		fputs(i ? ",{\"name\":" : "{\"name\":", f);
		json_string(f, a->topo->supernode[s->supernode].name);
		fprintf(f, ",\"atoms\":%u,\"nodes\":", s->atoms);
		json_string(f, nodes ? nodes : "");
		fprintf(f, ",\"cards\":%llu,\"left_free_cards\":%llu}",
			(unsigned long long)cards,
			(unsigned long long)s->left_free);
		free(nodes);
		free(node);
	}
	fputs("]", f);
}

static void node_card_json(const struct snctl_answer *a, FILE *f, bool first,
			   uint32_t node, unsigned int card)
{
	fputs(first ? "[" : ",[", f);
	json_string(f, a->topo->node[node].name);
	fprintf(f, ",%u]", card);
}

/* The sentences that go with an answer; nothing where all is well. */
static void warnings_json(const struct snctl_answer *a, FILE *f)
{
	char text[SNCTL_WARNING_MAX];

	if (!snctl_answer_warning(a, text, sizeof(text)))
		return;
	fputs(", \"warnings\": [", f);
	json_string(f, text);
	fputs("]", f);
}

bool snctl_answer_warning(const struct snctl_answer *a, char *buf, size_t size)
{
	return sn_degraded_warning(&a->state->degraded, a->topo, &a->placement,
				   buf, size) > 0;
}

void snctl_answer_json(const struct snctl_answer *a, FILE *f)
{
	const struct sn_placement *p = &a->placement;
	const struct sn_score *score = &p->score;
	const struct sn_layout *l = &a->spec->layout;
	bool first = true;

	fputs("{\"feasible\": true, \"layout\": ", f);
	snctl_layout_json(l, f);
	fprintf(f, ", \"atom\": {\"ranks\":%u,\"count\":%u}, \"supernodes\": ",
		l->atom, l->world / l->atom);
	supernodes_json(a, f);
	fputs(", \"ranks\": [", f);
	for (uint32_t r = 0; r < l->world; r++)
		node_card_json(a, f, !r, a->rank_node[r], a->rank_card[r]);
	fputs("], \"spares\": [", f);
	for (uint32_t i = 0; i < p->n_spares; i++) {
		const struct sn_placed_spare *s = &p->spare[i];
		uint64_t cards = snctl_lowest_cards(a->state->node[s->node].free,
						    s->cards);

		for (; cards; cards &= cards - 1) {
			node_card_json(a, f, first, s->node,
				       (unsigned int)__builtin_ctzll(cards));
			first = false;
		}
	}
	fprintf(f, "], \"score\": {\"supernodes\":%u,\"fabrics\":[", score->supernodes);
	for (uint32_t i = 0; i < score->n_levels; i++)
		fprintf(f, "%s%u", i ? "," : "", score->fabrics[i]);
	fprintf(f, "],\"units\":%u,\"nodes\":%u,\"weight\":%llu,\"left_in_supernodes\":%llu,\"left_in_nodes\":%llu",
		score->units, score->nodes, (unsigned long long)score->weight,
		(unsigned long long)score->left_in_supernodes,
		(unsigned long long)score->left_in_nodes);
	if (score->degraded)
		fprintf(f, ",\"degraded\":%u", score->degraded);
	fputs("}", f);
	warnings_json(a, f);
	fputs("}\n", f);
}
