/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer_print.c - the picture of where a job's groups went.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snctl/picture.h"
#include "snctl/place.h"
#include "snctl/term.h"
#include "topology/groups.h"
#include "topology/hostlist.h"

#define ROWS_SHOWN 32

static const char *const head[] = {
	"<SUPERNODE", ">ATOMS", ">NODES", ">CARDS", ">LEFT", "<NODELIST", NULL,
};

/* atom[rank] where atoms are not runs of ranks, too. */
static uint32_t *atoms_of_ranks(const struct sn_layout *layout)
{
	uint32_t *atom = calloc(layout->world, sizeof(*atom));

	if (atom && sn_layout_blocks(layout, SN_IN_SUPERNODE, atom)) {
		free(atom);
		return NULL;
	}
	return atom;
}

static void paint_node(const struct snctl_answer *a, uint32_t n, char *cells)
{
	const struct sn_place_node *node = &a->state->node[n];

	for (uint32_t c = 0; c < a->cards; c++) {
		uint64_t bit = UINT64_C(1) << c;

		if (node->free & bit)
			cells[c] = PICTURE_FREE;
		else if (node->flags & SN_NODE_ABSENT)
			cells[c] = PICTURE_DOWN;
		else
			cells[c] = PICTURE_OTHER;
	}
}

static int print_picture(const struct snctl_answer *a, const uint32_t *atom, FILE *f)
{
	const struct sn_placement *p = &a->placement;
	struct picture_row *row = calloc(p->n_supernodes + 1, sizeof(*row));
	char *cells = malloc((size_t)a->topo->n_nodes * a->cards + 1);
	bool by_card;

	if (!row || !cells) {
		free(row);
		free(cells);
		return -ENOMEM;
	}
	for (uint32_t n = 0; n < a->topo->n_nodes; n++)
		paint_node(a, n, cells + (size_t)n * a->cards);
	for (uint32_t i = 0; i < p->n_spares; i++) {
		uint32_t n = p->spare[i].node;
		uint64_t m = snctl_lowest_cards(a->state->node[n].free,
						p->spare[i].cards);

		for (; m; m &= m - 1)
			cells[(size_t)n * a->cards + (unsigned int)__builtin_ctzll(m)] =
				PICTURE_SPARE;
	}
	for (uint32_t r = 0; r < a->spec->layout.world; r++)
		cells[(size_t)a->rank_node[r] * a->cards + a->rank_card[r]] =
			picture_symbol(atom[r]);
	for (uint32_t i = 0; i < p->n_supernodes; i++) {
		const struct sn_topo_supernode *s =
			&a->topo->supernode[p->supernode[i].supernode];

		row[i].name = s->name;
		row[i].n_nodes = s->n_nodes;
		row[i].cells = cells + (size_t)s->first_node * a->cards;
	}
	by_card = picture_print(f, row, p->n_supernodes, a->cards, ROWS_SHOWN,
				term_width(), term_has_colour());
	fprintf(f, "A letter is an atom, one character a %s; . free%s%s\n",
		by_card ? "card" : "node", by_card ? "" : ", + partly used, * several atoms",
		p->n_spares ? ", ~ spare; # busy, x down" : "; # busy, x down");
	free(row);
	free(cells);
	return 0;
}

static int print_table(const struct snctl_answer *a, FILE *f)
{
	const struct sn_placement *p = &a->placement;
	struct table table;

	table_init(&table, head);
	for (uint32_t i = 0; i < p->n_supernodes && i <= ROWS_SHOWN; i++) {
		const struct sn_placed_supernode *s = &p->supernode[i];
		uint32_t *node = calloc(s->n + 1, sizeof(*node));
		unsigned long long cards = 0;
		char *nodes = NULL;

		for (uint32_t n = 0; n < s->n; n++) {
			cards += p->node[s->first + n].ranks;
			if (node)
				node[n] = p->node[s->first + n].node;
		}
		if (node)
			nodes = snctl_hostlist(a->topo, node, s->n);
		free(node);
		table_add(&table, "%s", a->topo->supernode[s->supernode].name);
		table_add(&table, "%u", s->atoms);
		table_add(&table, "%u", s->n);
		table_add(&table, "%llu", cards);
		table_add(&table, "%llu", (unsigned long long)s->left_free);
		table_add(&table, "%s", nodes ? nodes : "?");
		free(nodes);
	}
	table_print(&table, f, 0);
	if (p->n_supernodes > ROWS_SHOWN + 1)
		fprintf(f, "… and %u more\n", p->n_supernodes - ROWS_SHOWN - 1);
	table_done(&table);
	return 0;
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_score(const struct snctl_answer *a, FILE *f)
{
	const struct sn_score *s = &a->placement.score;
	char text[SNCTL_WARNING_MAX];

	fprintf(f, "%u supernode%s", s->supernodes, plural(s->supernodes));
	for (uint32_t i = 0; i < s->n_levels; i++)
		fprintf(f, "%s%u", i ? "/" : ", fabrics from the top ", s->fabrics[i]);
	if (a->topo->n_units)
		fprintf(f, ", %u unit%s", s->units, plural(s->units));
	fprintf(f, ", %u node%s, weight %llu; left free: %llu in the supernodes, %llu in the nodes\n",
		s->nodes, plural(s->nodes), (unsigned long long)s->weight,
		(unsigned long long)s->left_in_supernodes,
		(unsigned long long)s->left_in_nodes);
	if (snctl_answer_warning(a, text, sizeof(text)))
		fprintf(f, "Warning: %s.\n", text);
	if (!a->placement.exact)
		fputs("The search was cut at its documented bound: supernodes and fabrics are the best, the rest near it.\n", f);
}

/* "0-7", "0,8,…,504", "3". */
static void put_ranks(FILE *f, const uint32_t *rank, uint32_t n)
{
	if (n > 2 && rank[n - 1] - rank[0] == n - 1)
		fprintf(f, "%u-%u", rank[0], rank[n - 1]);
	else if (n > 4)
		fprintf(f, "%u,%u,…,%u", rank[0], rank[1], rank[n - 1]);
	else
		for (uint32_t i = 0; i < n; i++)
			fprintf(f, "%s%u", i ? "," : "", rank[i]);
}

static int print_kind(const struct snctl_answer *a, enum sn_group_kind kind, FILE *f,
		      struct sn_err *err)
{
	struct sn_groups g;
	uint32_t in_node = 0, in_supernode = 0, n = 0;
	uint32_t *node;
	char *nodes;
	int rc = sn_groups_build(&a->spec->layout, kind, &g, err);

	if (rc)
		return rc;
	if (g.size < 2) {
		sn_groups_done(&g);
		return 0;
	}
	for (uint32_t i = 0; i < g.n; i++) {
		const uint32_t *rank = g.rank + (size_t)i * g.size;
		uint32_t first = a->rank_node[rank[0]];
		bool one_node = true, one_supernode = true;

		for (uint32_t k = 1; k < g.size; k++) {
			uint32_t other = a->rank_node[rank[k]];

			one_node = one_node && other == first;
			one_supernode = one_supernode &&
				a->topo->node[other].supernode ==
				a->topo->node[first].supernode;
		}
		in_node += one_node;
		in_supernode += one_supernode;
	}
	node = calloc(g.size, sizeof(*node));
	for (uint32_t k = 0; node && k < g.size; k++)
		if (!n || node[n - 1] != a->rank_node[g.rank[k]])
			node[n++] = a->rank_node[g.rank[k]];
	nodes = node ? snctl_hostlist(a->topo, node, n) : NULL;
	fprintf(f, "  %-3s %6u of %-5u  in one node %3.0f %%, in one supernode %3.0f %%; first: ranks ",
		sn_group_name(kind), g.n, g.size, 100.0 * in_node / g.n,
		100.0 * in_supernode / g.n);
	put_ranks(f, g.rank, g.size);
	if (nodes)
		fprintf(f, " on %.60s%s", nodes, strlen(nodes) > 60 ? "…" : "");
	putc('\n', f);
	free(nodes);
	free(node);
	sn_groups_done(&g);
	return 0;
}

int snctl_answer_print(const struct snctl_answer *a, FILE *f, struct sn_err *err)
{
	static const enum sn_group_kind kinds[] = {
		SN_GROUP_TP, SN_GROUP_CP, SN_GROUP_EP, SN_GROUP_DP, SN_GROUP_PP,
	};
	const struct sn_layout *l = &a->spec->layout;
	uint32_t *atom = atoms_of_ranks(l);
	char text[256];
	int rc;

	if (!atom)
		return sn_err_set(err, -ENOMEM, "no memory for %u ranks", l->world);
	sn_layout_format(l, text, sizeof(text));
	fprintf(f, "%s\n%u ranks in %u atom%s of %u, no atom split:\n\n", text,
		l->world, l->world / l->atom, plural(l->world / l->atom), l->atom);
	rc = print_picture(a, atom, f);
	free(atom);
	if (rc)
		return sn_err_set(err, rc, "no memory for the picture");
	putc('\n', f);
	rc = print_table(a, f);
	putc('\n', f);
	print_score(a, f);
	fputs("Groups:\n", f);
	for (size_t i = 0; !rc && i < sizeof(kinds) / sizeof(*kinds); i++)
		rc = print_kind(a, kinds[i], f, err);
	return rc;
}
