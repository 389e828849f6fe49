/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * picture.c - supernodes as rows of cells, one character a card.
 */
#include "config.h"

#include <string.h>

#include "snctl/picture.h"

/* Without 'x', which is a node that is down, and 'O', which reads as 0. */
static const char symbols[] =
	"ABCDEFGHIJKLMNPQRSTUVWXYZabcdefghijklmnopqrstuvwyz0123456789";

char picture_symbol(uint32_t i)
{
	return symbols[i % (sizeof(symbols) - 1)];
}

static void put_cell(FILE *f, char c, bool colour)
{
	/* Neighbours differ; red is for what is down. */
	static const int colours[10] = { 32, 33, 34, 35, 36, 92, 93, 94, 95, 96 };
	const char *at = strchr(symbols, c);

	if (!colour)
		putc(c, f);
	else if (c == PICTURE_FREE)
		fprintf(f, "\033[2m%c\033[0m", c);
	else if (c == PICTURE_DOWN)
		fprintf(f, "\033[31m%c\033[0m", c);
	else if (at)
		fprintf(f, "\033[%dm%c\033[0m", colours[(at - symbols) % 10], c);
	else
		putc(c, f);
}

static char summary(const char *cells, uint32_t cards)
{
	char used = 0;
	bool some_free = false, some_down = false;

	for (uint32_t c = 0; c < cards; c++) {
		if (cells[c] == ' ') /* the node has fewer cards than others */
			continue;
		if (cells[c] == PICTURE_FREE)
			some_free = true;
		else if (cells[c] == PICTURE_DOWN)
			some_down = true;
		else if (used && used != cells[c])
			return '*';
		else
			used = cells[c];
	}
	if (!used)
		return some_free ? PICTURE_FREE : PICTURE_DOWN;
	return some_free || some_down ? '+' : used;
}

bool picture_print(FILE *f, const struct picture_row *row, uint32_t n_rows,
		   uint32_t cards, uint32_t max_rows, unsigned int width,
		   bool colour)
{
	uint32_t shown = max_rows && n_rows > max_rows ? max_rows : n_rows;
	unsigned int name_width = 0, room;
	uint32_t most = 0, a_line;
	bool by_card;

	for (uint32_t r = 0; r < shown; r++) {
		unsigned int n = (unsigned int)strlen(row[r].name);

		name_width = n > name_width ? n : name_width;
		most = row[r].n_nodes > most ? row[r].n_nodes : most;
	}
	room = width > name_width + 6 ? width - name_width - 2 : 4;
	/* Up to three lines a supernode are still a picture. */
	a_line = room / (cards + 1);
	by_card = a_line && (most <= a_line || (most <= 3 * a_line && shown <= 12));
	if (!by_card)
		a_line = room;
	if (by_card && most > a_line && a_line > 8)
		a_line -= a_line % 8;
	for (uint32_t r = 0; r < shown; r++) {
		for (uint32_t n = 0; n < row[r].n_nodes; n++) {
			const char *cells = row[r].cells + (size_t)n * cards;

			if (n % a_line == 0)
				fprintf(f, "%s%-*s ", n ? "\n" : "", (int)name_width,
					n ? "" : row[r].name);
			if (!by_card) {
				put_cell(f, summary(cells, cards), colour);
				continue;
			}
			putc(' ', f);
			for (uint32_t c = 0; c < cards; c++)
				put_cell(f, cells[c], colour);
		}
		putc('\n', f);
	}
	if (shown < n_rows)
		fprintf(f, "… and %u more\n", n_rows - shown);
	return by_card;
}
