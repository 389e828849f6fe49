/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history.c - events on disk, in SQLite.
 *
 * The directory may be on NFS, where SQLite's write-ahead log does not work: a
 * rollback journal it is, with the lock held throughout, for only the daemon in
 * charge opens the file.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "elastic/history.h"

#ifdef HAVE_SQLITE
#include <sqlite3.h>

#define PATH_SIZE 4200
#define PURGE_MAX 5000
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

struct sn_history {
	sqlite3 *db;
	sqlite3_stmt *insert;
};

static int fail(sqlite3 *db, const char *what, struct sn_err *err)
{
	int code = db ? sqlite3_errcode(db) & 0xff : SQLITE_NOMEM;
	int rc = -EIO;

	if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR ||
	    code == SQLITE_SCHEMA || code == SQLITE_FORMAT)
		rc = -EUCLEAN;
	else if (code == SQLITE_FULL)
		rc = -ENOSPC;
	else if (code == SQLITE_NOMEM)
		rc = -ENOMEM;
	return sn_err_set(err, rc, "history: %s: %s", what,
			  db ? sqlite3_errmsg(db) : "no memory");
}

static int run(struct sn_history *h, const char *sql, struct sn_err *err)
{
	return sqlite3_exec(h->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 :
		fail(h->db, sql, err);
}

static int number(struct sn_history *h, const char *sql, uint64_t *ret, struct sn_err *err)
{
	sqlite3_stmt *st = NULL;
	int rc = 0;

	*ret = 0;
	if (sqlite3_prepare_v2(h->db, sql, -1, &st, NULL) != SQLITE_OK ||
	    sqlite3_step(st) != SQLITE_ROW)
		rc = fail(h->db, sql, err);
	else
		*ret = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc;
}

static int check(struct sn_history *h, struct sn_err *err)
{
	sqlite3_stmt *st = NULL;
	const char *text;
	int rc = 0;

	if (sqlite3_prepare_v2(h->db, "PRAGMA quick_check(1)", -1, &st, NULL) != SQLITE_OK ||
	    sqlite3_step(st) != SQLITE_ROW)
		rc = fail(h->db, "quick_check", err);
	else if ((text = (const char *)sqlite3_column_text(st, 0)) && strcmp(text, "ok"))
		rc = sn_err_set(err, -EUCLEAN, "history: %s", text);
	sqlite3_finalize(st);
	return rc;
}

static int prepare(struct sn_history *h, uint64_t *ret_last, struct sn_err *err)
{
	static const char *const sql[] = {
		"PRAGMA locking_mode=EXCLUSIVE",
		"PRAGMA journal_mode=TRUNCATE",
		"PRAGMA synchronous=NORMAL",
		"CREATE TABLE IF NOT EXISTS event (id INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, node TEXT NOT NULL, card INTEGER, job INTEGER NOT NULL, uid INTEGER, text TEXT NOT NULL)",
		"CREATE INDEX IF NOT EXISTS event_node ON event (node, id)",
		"CREATE INDEX IF NOT EXISTS event_at ON event (at)",
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(sql) / sizeof(*sql) && !rc; i++)
		rc = run(h, sql[i], err);
	if (!rc)
		rc = check(h, err);
	if (!rc && sqlite3_prepare_v2(h->db,
			"INSERT OR REPLACE INTO event VALUES (?1,?2,?3,?4,?5,?6,?7,?8)",
			-1, &h->insert, NULL) != SQLITE_OK)
		rc = fail(h->db, "insert", err);
	return rc ? rc : number(h, "SELECT ifnull(max(id),0) FROM event", ret_last, err);
}

static int open_file(const char *path, struct sn_history **ret, uint64_t *ret_last,
		     struct sn_err *err)
{
	struct sn_history *h = calloc(1, sizeof(*h));
	int rc = 0;

	if (!h)
		return sn_err_set(err, -ENOMEM, "no memory");
	if (sqlite3_open_v2(path, &h->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
			    SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		rc = fail(h->db, path, err);
	if (!rc)
		rc = prepare(h, ret_last, err);
	if (rc)
		sn_history_close(h);
	else
		*ret = h;
	return rc;
}

/* Out of the way, not away: somebody may want to look. One is kept. */
static int move_aside(const char *path, const struct sn_err *why,
		      struct sn_err *ret_note, struct sn_err *err)
{
	char other[PATH_SIZE + 16];

	snprintf(other, sizeof(other), "%s.bad", path);
	if (rename(path, other))
		return sn_err_set(err, -errno, "%s; and %s could not be moved aside: %s",
				  why->text, path, strerror(errno));
	sn_err_set(ret_note, 0, "%.600s: moved to %.300s, a new history begins", why->text, other);
	snprintf(other, sizeof(other), "%s-journal", path);
	unlink(other);
	return 0;
}

int sn_history_open(const char *dir, struct sn_history **ret, uint64_t *ret_last,
		    struct sn_err *ret_note, struct sn_err *err)
{
	struct sn_err why = { "" };
	char path[PATH_SIZE];
	int rc;

	*ret = NULL;
	*ret_last = 0;
	ret_note->text[0] = '\0';
	if (snprintf(path, sizeof(path), "%s/" SN_HISTORY_FILE, dir) >= (int)sizeof(path))
		return sn_err_set(err, -ENAMETOOLONG, "history: the path is too long");
	rc = open_file(path, ret, ret_last, &why);
	if (rc == -EUCLEAN) {
		rc = move_aside(path, &why, ret_note, err);
		return rc ? rc : open_file(path, ret, ret_last, err);
	}
	return rc ? sn_err_set(err, rc, "%s", why.text) : 0;
}

void sn_history_close(struct sn_history *history)
{
	if (!history)
		return;
	sqlite3_finalize(history->insert);
	sqlite3_close(history->db);
	free(history);
}

static int insert(struct sn_history *h, const struct sn_event *e, struct sn_err *err)
{
	sqlite3_stmt *st = h->insert;

	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)e->id);
	sqlite3_bind_double(st, 2, e->at);
	sqlite3_bind_text(st, 3, e->kind, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 4, e->node, -1, SQLITE_STATIC);
	if (e->card != SN_NONE)
		sqlite3_bind_int64(st, 5, e->card);
	sqlite3_bind_int64(st, 6, e->job);
	if (e->uid != SN_NONE)
		sqlite3_bind_int64(st, 7, e->uid);
	sqlite3_bind_text(st, 8, e->text, -1, SQLITE_STATIC);
	return sqlite3_step(st) == SQLITE_DONE ? 0 : fail(h->db, "insert", err);
}

int sn_history_add(struct sn_history *history, const struct sn_event *event, uint32_t n,
		   struct sn_err *err)
{
	int rc = run(history, "BEGIN", err);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = insert(history, &event[i], err);
	sqlite3_reset(history->insert);
	if (!rc)
		rc = run(history, "COMMIT", err);
	if (rc && !sqlite3_get_autocommit(history->db))
		(void)run(history, "ROLLBACK", NULL);
	return rc;
}

static void take_row(sqlite3_stmt *st, struct sn_event *e)
{
	memset(e, 0, sizeof(*e));
	e->id = (uint64_t)sqlite3_column_int64(st, 0);
	e->at = sqlite3_column_double(st, 1);
	snprintf(e->kind, sizeof(e->kind), "%s", (const char *)sqlite3_column_text(st, 2));
	snprintf(e->node, sizeof(e->node), "%s", (const char *)sqlite3_column_text(st, 3));
	e->card = sqlite3_column_type(st, 4) == SQLITE_NULL ? SN_NONE :
		(uint32_t)sqlite3_column_int64(st, 4);
	e->job = (uint32_t)sqlite3_column_int64(st, 5);
	e->uid = sqlite3_column_type(st, 6) == SQLITE_NULL ? SN_NONE :
		(uint32_t)sqlite3_column_int64(st, 6);
	snprintf(e->text, sizeof(e->text), "%s", (const char *)sqlite3_column_text(st, 7));
}

int sn_history_find(struct sn_history *history, const struct sn_event_filter *filter,
		    struct sn_event **ret, uint32_t *ret_n, struct sn_err *err)
{
	uint32_t limit = filter->limit ? filter->limit : SN_EVENTS_KEPT, n = 0;
	struct sn_event *all = calloc((size_t)limit + 1, sizeof(*all)), swap;
	sqlite3_stmt *st = NULL;
	int step = SQLITE_DONE, rc = 0;

	if (!all)
		return sn_err_set(err, -ENOMEM, "no memory");
	if (sqlite3_prepare_v2(history->db,
			"SELECT id, at, kind, node, card, job, uid, text FROM event WHERE id > ?1"
			" AND (?2 = '' OR kind = ?2) AND (?3 = '' OR node = ?3) ORDER BY id DESC LIMIT ?4",
			-1, &st, NULL) != SQLITE_OK) {
		rc = fail(history->db, "select", err);
	} else {
		sqlite3_bind_int64(st, 1, (sqlite3_int64)filter->after);
		sqlite3_bind_text(st, 2, filter->kind, -1, SQLITE_STATIC);
		sqlite3_bind_text(st, 3, filter->node, -1, SQLITE_STATIC);
		sqlite3_bind_int64(st, 4, limit);
		while (n < limit && (step = sqlite3_step(st)) == SQLITE_ROW)
			take_row(st, &all[n++]);
		if (step != SQLITE_ROW && step != SQLITE_DONE)
			rc = fail(history->db, "select", err);
	}
	sqlite3_finalize(st);
	if (rc) {
		free(all);
		return rc;
	}
	for (uint32_t i = 0; i < n / 2; i++) {
		swap = all[i];
		all[i] = all[n - 1 - i];
		all[n - 1 - i] = swap;
	}
	*ret = all;
	*ret_n = n;
	return 0;
}

/* Ids have gaps where there was no history for a while: rows are counted. */
static int purge(struct sn_history *h, const char *sql, double before, uint32_t keep,
		 bool *ret_more, struct sn_err *err)
{
	sqlite3_stmt *st = NULL;
	int rc = 0;

	if (sqlite3_prepare_v2(h->db, sql, -1, &st, NULL) != SQLITE_OK)
		return fail(h->db, "delete", err);
	sqlite3_bind_double(st, 1, before);
	sqlite3_bind_int64(st, 2, keep);
	if (sqlite3_step(st) != SQLITE_DONE)
		rc = fail(h->db, "delete", err);
	sqlite3_finalize(st);
	*ret_more |= !rc && sqlite3_changes(h->db) == PURGE_MAX;
	return rc;
}

#define LATEST "(SELECT id FROM event ORDER BY id DESC LIMIT 1 OFFSET ?2)"

int sn_history_purge(struct sn_history *history, double before, uint32_t most,
		     bool *ret_more, struct sn_err *err)
{
	int rc;

	*ret_more = false;
	rc = purge(history, "DELETE FROM event WHERE id IN (SELECT id FROM event WHERE at < ?1 AND"
		   " id <= " LATEST " LIMIT " TEXT(PURGE_MAX) ")",
		   before, SN_HISTORY_KEEP, ret_more, err);
	return rc ? rc : purge(history, "DELETE FROM event WHERE id IN (SELECT id FROM event WHERE"
			       " ?1 = ?1 AND id <= " LATEST " LIMIT " TEXT(PURGE_MAX) ")",
			       0, most, ret_more, err);
}

#else

int sn_history_open(const char *dir, struct sn_history **ret, uint64_t *ret_last,
		    struct sn_err *ret_note, struct sn_err *err)
{
	(void)dir;
	*ret = NULL;
	*ret_last = 0;
	ret_note->text[0] = '\0';
	return sn_err_set(err, -ENOSYS,
			  "there is no history: this build has no SQLite (libsqlite3-dev)");
}

void sn_history_close(struct sn_history *history)
{
	(void)history;
}

int sn_history_add(struct sn_history *history, const struct sn_event *event, uint32_t n,
		   struct sn_err *err)
{
	(void)history, (void)event, (void)n;
	return sn_err_set(err, -ENOSYS, "there is no history");
}

int sn_history_find(struct sn_history *history, const struct sn_event_filter *filter,
		    struct sn_event **ret, uint32_t *ret_n, struct sn_err *err)
{
	(void)history, (void)filter, (void)ret, (void)ret_n;
	return sn_err_set(err, -ENOSYS, "there is no history");
}

int sn_history_purge(struct sn_history *history, double before, uint32_t most,
		     bool *ret_more, struct sn_err *err)
{
	(void)history, (void)before, (void)most;
	*ret_more = false;
	return sn_err_set(err, -ENOSYS, "there is no history");
}

#endif
