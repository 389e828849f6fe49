/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * progress.h - a line on the terminal for work that takes over a second: what is done,
 * how much of it, and for how long by now.
 *
 * It is on standard error, only where that is a terminal, and is gone before the work's
 * result is printed. A thread of its own draws it, so that work which waits, or computes
 * in one piece, needs no hooks; where there is none to be had there is no line.
 */
#ifndef SNCTL_PROGRESS_H
#define SNCTL_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/* From here on the program does that: "reading the records". What it did before, if
 * anything, has ended. `what` is to live until the end. */
void progress_begin(const char *what);
/* `done` of `total` of it is done; any number of times, also where none has begun.
 * total 0: nobody knows how much there is. */
void progress_at(uint64_t done, uint64_t total);
/* Before anything is printed. Also where none has begun. */
void progress_end(void);

/* The line, at most width columns (and size - 1 bytes) of it. */
void progress_format(char *buf, size_t size, const char *what, uint64_t done,
		     uint64_t total, uint64_t seconds, unsigned int width);

#endif
