/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snrecord_internal.h - how the parts of libsnrecord fit: snrecord.c is what
 * programs call, snrecordfile.c writes the lines.
 */
#ifndef SN_LAUNCHER_SNRECORD_INTERNAL_H
#define SN_LAUNCHER_SNRECORD_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME_MAX_OURS 128

struct last {
	uint64_t seq, bytes, arrive, end;
	char op[32];
};

struct pair {
	int peer;
	bool send;
	struct last last;
	struct pair *next;
};

struct comm {
	char *name; /* as JSON writes it, without quotes */
	char *about; /* ,"kind":…,"members":…,"index":… */
	struct last last;
	struct pair *pairs;
};

struct snrecord {
	pthread_mutex_t lock;
	char *path;
	int fd, rank, world, gen;
	long size, limit;
	int error;
	struct comm *comm;
	int n_comms;
};

uint64_t rec_now(void); /* CLOCK_REALTIME ns */
/* ASCII only: what the reader checks as UTF-8 must not end in half a character. */
void rec_escape(char *to, size_t size, const char *from);
/* At most 1 KiB, in one write. After a failure nothing more is written. */
void rec_line(struct snrecord *rec, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void rec_start(struct snrecord *rec);
void rec_comm(struct snrecord *rec, const struct comm *c);
void rec_arrival(struct snrecord *rec, const struct comm *c,
		 const struct last *l, const struct pair *p);
/* Before a line: turn the file over if it is full. */
void rec_room(struct snrecord *rec);
/* An earlier process may have been killed within a line. */
void rec_end_line(struct snrecord *rec);

#endif
