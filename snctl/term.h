/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * term.h - what the terminal can do, and tables and JSON on standard output.
 */
#ifndef SNCTL_TERM_H
#define SNCTL_TERM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

unsigned int term_width_of(int fd); /* of a terminal; else COLUMNS, else 80 */
unsigned int term_width(void); /* of standard output */
bool term_has_colour(void); /* a terminal, TERM not dumb, NO_COLOR not set */

/* s as a JSON string, with its quotes. */
void json_string(FILE *f, const char *s);

/* A table that is laid out when it is printed. Column widths follow the
 * widest cell; a name "<TEXT" aligns left, ">TEXT" right. */
struct table {
	const char *const *head; /* NULL ends it */
	uint32_t n_columns;
	char **cell;
	size_t n, size;
	bool failed; /* no memory: table_print says so */
};
void table_init(struct table *table, const char *const *head);
void table_add(struct table *table, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* max_rows 0: all; else the rest are counted in a last line. */
void table_print(const struct table *table, FILE *f, size_t max_rows);
void table_done(struct table *table);

#endif
