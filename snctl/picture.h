/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * picture.h - supernodes as rows of cells, one character a card.
 *
 * Where the widest row does not fit, one character stands for a node: that of
 * its cards if they are all the same, '+' partly used, '*' used by several.
 */
#ifndef SNCTL_PICTURE_H
#define SNCTL_PICTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PICTURE_FREE '.'
#define PICTURE_DOWN 'x' /* no usable card, or one that is masked */
#define PICTURE_SPARE '~'
#define PICTURE_OTHER '#' /* in use by something that has no symbol */

struct picture_row {
	const char *name;
	const char *cells; /* n_nodes · cards characters */
	uint32_t n_nodes;
};

/* The symbol of the i-th job or atom; they repeat after 60. */
char picture_symbol(uint32_t i);

/* Returns whether each card has a character. max_rows 0: all. */
bool picture_print(FILE *f, const struct picture_row *row, uint32_t n_rows,
		   uint32_t cards, uint32_t max_rows, unsigned int width,
		   bool colour);

#endif
