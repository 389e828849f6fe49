/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_map.c - snctl map: a picture of the live cluster.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snctl/cli.h"
#include "snctl/live.h"
#include "snctl/picture.h"
#include "snctl/snctl.h"
#include "snctl/term.h"

/* One character a card; nodes with fewer cards than the most have blanks. */
static char *paint(const struct live *live, uint32_t cards)
{
	const struct sn_topo *topo = live->topo;
	char *cells = malloc((size_t)topo->n_nodes * cards + 1);

	if (!cells)
		return NULL;
	for (uint32_t n = 0; n < topo->n_nodes; n++) {
		const struct live_node *node = &live->node[n];
		uint64_t free_cards = live_free(node);

		for (uint32_t c = 0; c < cards; c++) {
			uint64_t bit = UINT64_C(1) << c;
			char *cell = &cells[(size_t)n * cards + c];

			if (!(node->cards & bit))
				*cell = c || node->cards ? ' ' : PICTURE_DOWN;
			else if (free_cards & bit)
				*cell = PICTURE_FREE;
			else if (node->used & bit)
				*cell = PICTURE_OTHER;
			else
				*cell = PICTURE_DOWN;
		}
	}
	for (uint32_t j = 0; j < live->n_jobs; j++) {
		const struct live_job *job = &live->job[j];

		for (uint32_t i = 0; i < job->n_nodes; i++)
			for (uint64_t m = job->node_cards[i]; m; m &= m - 1) {
				uint32_t c = (uint32_t)__builtin_ctzll(m);

				if (c < cards)
					cells[(size_t)job->node[i] * cards + c] =
						job->spare && job->spare[i] ?
						PICTURE_SPARE : job->symbol;
			}
	}
	return cells;
}

static void print_json(const struct live *live)
{
	const struct sn_topo *topo = live->topo;

	fputs("{\"supernodes\": [", stdout);
	for (uint32_t s = 0; s < topo->n_supernodes; s++) {
		fputs(s ? ",{\"name\":" : "{\"name\":", stdout);
		json_string(stdout, topo->supernode[s].name);
		fputs(",\"nodes\":[", stdout);
		for (uint32_t k = 0; k < topo->supernode[s].n_nodes; k++) {
			uint32_t n = topo->supernode[s].first_node + k;
			const struct live_node *node = &live->node[n];
			uint64_t free_cards = live_free(node);
			bool first = true, more = false;

			fputs(k ? ",{\"name\":" : "{\"name\":", stdout);
			json_string(stdout, topo->node[n].name);
			printf(",\"state\":\"%s\",\"cards\":%d,\"free\":[",
			       live_state_word(node), __builtin_popcountll(node->cards));
			for (uint64_t m = free_cards; m; m &= m - 1) {
				printf(first ? "%d" : ",%d", __builtin_ctzll(m));
				first = false;
			}
			fputs("],\"masked\":[", stdout);
			for (uint64_t m = node->masked; m; m &= m - 1) {
				printf(more ? ",%d" : "%d", __builtin_ctzll(m));
				more = true;
			}
			fputs("]}", stdout);
		}
		fputs("]}", stdout);
	}
	fputs("], \"jobs\": [", stdout);
	for (uint32_t j = 0, printed = 0; j < live->n_jobs; j++) {
		const struct live_job *job = &live->job[j];
		bool first = true;

		if (!job->running)
			continue;
		printf("%s{\"job\":%u,\"cards\":[", printed++ ? "," : "",
		       job->info->job_id);
		for (uint32_t i = 0; i < job->n_nodes; i++)
			for (uint64_t m = job->node_cards[i]; m; m &= m - 1) {
				fputs(first ? "[" : ",[", stdout);
				json_string(stdout, topo->node[job->node[i]].name);
				printf(",%d]", __builtin_ctzll(m));
				first = false;
			}
		fputs("],\"spares\":[", stdout);
		first = true;
		for (uint32_t i = 0; i < job->n_nodes; i++) {
			if (!job->spare || !job->spare[i])
				continue;
			fputs(first ? "" : ",", stdout);
			json_string(stdout, topo->node[job->node[i]].name);
			first = false;
		}
		fputs("]}", stdout);
	}
	fputs("]}\n", stdout);
}

static void print_legend(const struct live *live)
{
	unsigned int width = term_width(), at = 0;

	for (uint32_t j = 0; j < live->n_jobs; j++) {
		const struct live_job *job = &live->job[j];
		char text[96];
		int n;

		if (!job->running || !job->cards)
			continue;
		n = snprintf(text, sizeof(text), "%c %u %.24s", job->symbol,
			     job->info->job_id, job->info->name ? job->info->name : "");
		if (at && at + 3 + (unsigned int)n > width) {
			putchar('\n');
			at = 0;
		}
		at += (unsigned int)printf("%s%s", at ? "   " : "", text);
	}
	if (at)
		putchar('\n');
}

static int print_picture(const struct live *live, struct sn_err *err)
{
	const struct sn_topo *topo = live->topo;
	uint32_t cards = live->most_cards ? live->most_cards : 1;
	struct picture_row *row = calloc(topo->n_supernodes + 1, sizeof(*row));
	char *cells = paint(live, cards);
	bool by_card, spares = false;

	if (!row || !cells) {
		free(row);
		free(cells);
		return sn_err_set(err, -ENOMEM, "no memory for the picture");
	}
	for (uint32_t s = 0; s < topo->n_supernodes; s++) {
		row[s].name = topo->supernode[s].name;
		row[s].n_nodes = topo->supernode[s].n_nodes;
		row[s].cells = cells + (size_t)topo->supernode[s].first_node * cards;
	}
	by_card = picture_print(stdout, row, topo->n_supernodes, cards, 0,
				term_width(), term_has_colour());
	for (uint32_t j = 0; j < live->n_jobs; j++)
		spares |= live->job[j].n_spares > 0;
	printf("\nA row is a supernode, one character a %s: . free, x down or masked%s%s; a letter is a job\n",
	       by_card ? "card" : "node", by_card ? "" : ", + partly used, * several jobs",
	       spares ? ", ~ a job's spare" : "");
	print_legend(live);
	free(row);
	free(cells);
	return 0;
}

int cmd_map(int argc, char **argv)
{
	const char *config = NULL;
	bool json = false;
	const struct cli_opt opts[] = {
		{ "config", "FILE", CLI_STRING, &config, "the topology.conf; by default the one beside slurm.conf", false, 0, 0 },
		{ "json", NULL, CLI_FLAG, &json, "one line of JSON", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.command = "map",
		.usage = "[--json]",
		.about = "Draw the live cluster: a row a supernode, in it each node's cards, and on them\n"
			 "the jobs by letter.",
		.opts = opts,
	};
	struct live live;
	struct sn_err err;
	uint32_t n_args;
	int rc;

	rc = cli_parse(&cli, argc, argv, NULL, &n_args, &err);
	if (rc > 0)
		return SNCTL_DONE;
	if (!rc)
		rc = live_load(config, &live, &err);
	if (rc)
		return snctl_fail("map", SNCTL_USAGE, &err);
	if (json)
		print_json(&live);
	else
		rc = print_picture(&live, &err);
	live_done(&live);
	return rc ? snctl_fail("map", SNCTL_USAGE, &err) : SNCTL_DONE;
}
