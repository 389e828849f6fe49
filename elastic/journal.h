/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal.h - what the daemon has begun to do, on disk before it is done.
 *
 * A file of lines, each one JSON object with a checksum of itself:
 *
 *	{"format":1,"next":8,"sum":"…"}
 *	{"begin":{"id":8,"kind":"requeue","job":12,"restarts":0,…},"sum":"…"}
 *	{"end":{"id":8,"how":"done","text":"…"},"sum":"…"}
 *	{"dry":{"id":9,…},"sum":"…"}	would be done, but for dry-run
 *
 * Appended and fsynced; written anew, with what is not ended, when a daemon takes
 * charge and when it is long. A last line that was not written whole never counted:
 * what it begins was not done, and what it ends is asked of Slurm again. A line that
 * is damaged costs itself alone; the file is then kept as journal.bad.
 */
#ifndef SN_ELASTIC_JOURNAL_H
#define SN_ELASTIC_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elastic/act.h"
#include "topology/err.h"

#define SN_JOURNAL_FILE "journal"
#define SN_JOURNAL_MAX (64u << 20) /* bytes that are read */
#define SN_JOURNAL_LINES 2000 /* and twice what is open: then it is written anew */

/* ---- text; pure ---- */
struct sn_journal_state {
	struct sn_act *open; /* [n], begun and not ended, in order */
	uint32_t n;
	uint64_t next; /* the first id that was never used; 0: not known */
	uint32_t lines; /* that count */
	uint32_t damaged; /* that do not */
	bool torn; /* the last was not written whole */
};

/* -ENOMEM only. */
int sn_journal_parse(const char *text, size_t len, struct sn_journal_state *ret,
		     struct sn_err *err);
void sn_journal_state_done(struct sn_journal_state *state);

/* Lines, to be appended; *ret (free) ends with a newline. -ENOMEM. */
int sn_journal_begin(const struct sn_act *act, bool dry, char **ret, struct sn_err *err);
int sn_journal_end(uint64_t id, enum sn_act_end how, const char *text, char **ret,
		   struct sn_err *err);
/* A whole file. */
int sn_journal_text(const struct sn_act *open, uint32_t n, uint64_t next, char **ret,
		    size_t *ret_len, struct sn_err *err);

/* ---- the file; all of it blocks on the disk ---- */
struct sn_journal {
	char dir[512];
	int fd; /* -1: to be written anew before anything is appended */
	uint64_t size; /* bytes that are known to be on disk */
	uint32_t lines;
};

void sn_journal_init(struct sn_journal *journal, const char *dir);
void sn_journal_done(struct sn_journal *journal);
/* What it says; there may be none. Where lines were damaged ret_note has a sentence,
 * else it is empty. -errno: it cannot be read, and must not be written over. */
int sn_journal_load(const struct sn_journal *journal, struct sn_journal_state *ret,
		    struct sn_err *ret_note, struct sn_err *err);
/* Written anew, whole or not at all; appending goes on there. */
int sn_journal_rewrite(struct sn_journal *journal, const char *text, size_t len,
		       uint32_t lines, struct sn_err *err);
/* On disk when it returns 0; else as if never called. -EAGAIN: it has to be written
 * anew first. */
int sn_journal_append(struct sn_journal *journal, const char *text, uint32_t lines,
		      struct sn_err *err);

#endif
