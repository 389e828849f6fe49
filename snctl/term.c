/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * term.c - what the terminal can do, and tables and JSON on standard output.
 */
#include "config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "snctl/term.h"

unsigned int term_width_of(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;

	if (!ioctl(fd, TIOCGWINSZ, &size) && size.ws_col >= 20)
		return size.ws_col;
	if (columns && atoi(columns) >= 20 && atoi(columns) <= 10000)
		return (unsigned int)atoi(columns);
	return 80;
}

unsigned int term_width(void)
{
	return term_width_of(STDOUT_FILENO);
}

bool term_has_colour(void)
{
	const char *term = getenv("TERM");
	const char *no_color = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") &&
	       !(no_color && *no_color);
}

void json_string(FILE *f, const char *s)
{
	putc('"', f);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < 0x20)
			fprintf(f, "\\u%04x", c);
		else
			putc(c, f);
	}
	putc('"', f);
}

void table_init(struct table *table, const char *const *head)
{
	memset(table, 0, sizeof(*table));
	table->head = head;
	while (head[table->n_columns])
		table->n_columns++;
}

void table_add(struct table *table, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	if (table->failed)
		return;
	if (table->n == table->size) {
		size_t size = table->size ? 2 * table->size : 64;
		char **cell = reallocarray(table->cell, size, sizeof(*cell));

		if (!cell) {
			table->failed = true;
			return;
		}
		table->cell = cell;
		table->size = size;
	}
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		table->failed = true;
	else
		table->cell[table->n++] = text;
	va_end(ap);
}

/* Columns of the terminal: a character of UTF-8 is one, whatever its bytes. */
static unsigned int columns_of(const char *text)
{
	unsigned int n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void print_row(const struct table *t, FILE *f, char *const *cell,
		      const unsigned int *width)
{
	for (uint32_t c = 0; c < t->n_columns; c++) {
		const char *text = cell ? cell[c] : t->head[c] + 1;
		bool last = c + 1 == t->n_columns;

		int pad = (int)(width[c] - columns_of(text));

		if (t->head[c][0] == '>')
			fprintf(f, "%*s%s%s", pad, "", text, last ? "" : "  ");
		else
			fprintf(f, "%s%*s", text, last ? 0 : pad + 2, "");
	}
	putc('\n', f);
}

void table_print(const struct table *t, FILE *f, size_t max_rows)
{
	size_t rows = t->n / t->n_columns;
	size_t shown = max_rows && rows > max_rows ? max_rows : rows;
	unsigned int width[16] = { 0 };

	if (t->failed) {
		fputs("(no memory for the table)\n", f);
		return;
	}
	for (uint32_t c = 0; c < t->n_columns; c++) {
		width[c] = columns_of(t->head[c] + 1);
		for (size_t r = 0; r < shown; r++) {
			unsigned int n = columns_of(t->cell[r * t->n_columns + c]);

			width[c] = n > width[c] ? n : width[c];
		}
	}
	print_row(t, f, NULL, width);
	for (size_t r = 0; r < shown; r++)
		print_row(t, f, t->cell + r * t->n_columns, width);
	if (shown < rows)
		fprintf(f, "… and %zu more\n", rows - shown);
}

void table_done(struct table *table)
{
	for (size_t i = 0; i < table->n; i++)
		free(table->cell[i]);
	free(table->cell);
	memset(table, 0, sizeof(*table));
}
