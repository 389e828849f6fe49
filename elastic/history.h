/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history.h - events on disk, in SQLite, and nothing but history: the daemon needs
 * none of it to act, so whatever is wrong with it costs only the past.
 *
 * Calls block on the disk and belong into one thread. A damaged file is moved
 * aside and a new one begun; a full disk is an error now, and tried again later.
 */
#ifndef SN_ELASTIC_HISTORY_H
#define SN_ELASTIC_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "elastic/events.h"
#include "topology/err.h"

#define SN_HISTORY_FILE "history.db"
/* So many of the latest stay whatever their date: clocks jump. */
#define SN_HISTORY_KEEP 10000
/* More than so many do not, whatever theirs: disks are finite. About 200 MiB. */
#define SN_HISTORY_MOST 1000000

struct sn_history;

/* *ret_last is the highest id in it, 0 if there is none. *ret_note (SN_ERR_SIZE) is
 * not "" where a damaged file was moved aside. -ENOSYS: built without SQLite. */
int sn_history_open(const char *dir, struct sn_history **ret, uint64_t *ret_last,
		    struct sn_err *ret_note, struct sn_err *err);
void sn_history_close(struct sn_history *history); /* NULL is fine */

/* All or none. -EUCLEAN: the file is damaged, close and open anew; -ENOSPC and
 * others: try again later. */
int sn_history_add(struct sn_history *history, const struct sn_event *event, uint32_t n,
		   struct sn_err *err);
/* As sn_events_find. */
int sn_history_find(struct sn_history *history, const struct sn_event_filter *filter,
		    struct sn_event **ret, uint32_t *ret_n, struct sn_err *err);
/* Those before a time go, but for SN_HISTORY_KEEP, and all but the latest most: some
 * thousands in a call, *ret_more where there are still some. */
int sn_history_purge(struct sn_history *history, double before, uint32_t most,
		     bool *ret_more, struct sn_err *err);

#endif
