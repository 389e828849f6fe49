/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recordread.c - the records that snrecord.h's users write, read back.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json.h>

#include "launcher/recordread.h"

#define DEPTH_MAX 8
#define TAIL (8u << 10) /* bytes of a file whose operations are all read */
#define FILE_MAX_BYTES (1u << 30)

struct at {
	struct sn_records *rec;
	const char *file;
	uint32_t line;
	struct json_tokener *tok;
	struct sn_recordread *count;
	size_t from; /* where the line begins */
	size_t started; /* where the last line that says that a process starts does */
	uint32_t started_line;
};

/* The value of a key, if it has that type. A key that is there with another type
 * is an error, which goes into *rc. */
static struct json_object *get(const struct at *at, struct json_object *o,
			       const char *key, enum json_type type, int *rc,
			       struct sn_err *err)
{
	struct json_object *v;

	if (!json_object_object_get_ex(o, key, &v))
		return NULL;
	if (json_object_get_type(v) == type)
		return v;
	if (!*rc)
		*rc = sn_err_set(err, -EINVAL, "%s:%u: \"%s\" is not %s", at->file,
				 at->line, key, type == json_type_int ? "a whole number" :
				 type == json_type_string ? "a string" : "a list");
	return NULL;
}

/* Whole and not negative, at most max. */
static bool number(const struct at *at, struct json_object *o, const char *key,
		   uint64_t max, uint64_t *ret, int *rc, struct sn_err *err)
{
	struct json_object *v = get(at, o, key, json_type_int, rc, err);
	int64_t n;

	*ret = 0;
	if (!v)
		return false;
	n = json_object_get_int64(v);
	if (n < 0 || (uint64_t)n > max) {
		if (!*rc)
			*rc = sn_err_set(err, -EINVAL,
					 "%s:%u: \"%s\" is %lld; want 0 to %llu",
					 at->file, at->line, key, (long long)n,
					 (unsigned long long)max);
		return false;
	}
	*ret = (uint64_t)n;
	return true;
}

static const char *string(const struct at *at, struct json_object *o, const char *key,
			  int *rc, struct sn_err *err)
{
	struct json_object *v = get(at, o, key, json_type_string, rc, err);
	const char *s = v ? json_object_get_string(v) : NULL;

	if (s && strlen(s) != (size_t)json_object_get_string_len(v)) {
		if (!*rc)
			*rc = sn_err_set(err, -EINVAL, "%s:%u: \"%s\" holds a NUL",
					 at->file, at->line, key);
		return NULL;
	}
	return s;
}

static int members(const struct at *at, struct json_object *o, struct sn_rec_new *new,
		   uint32_t **ret, struct sn_err *err)
{
	struct json_object *v;
	uint32_t *list;
	size_t n;

	*ret = NULL;
	json_object_object_get_ex(o, "members", &v);
	if (json_object_get_type(v) == json_type_string) {
		int rc = 0;

		new->members = string(at, o, "members", &rc, err);
		return rc;
	}
	if (json_object_get_type(v) != json_type_array)
		return sn_err_set(err, -EINVAL,
				  "%s:%u: \"members\" is neither a list of ranks nor a string such as \"0-7\"",
				  at->file, at->line);
	n = json_object_array_length(v);
	if (n > SN_REC_RANKS_MAX)
		return sn_err_set(err, -EINVAL, "%s:%u: %zu members are more than %u",
				  at->file, at->line, n, SN_REC_RANKS_MAX);
	list = malloc((n ? n : 1) * sizeof(*list));
	if (!list)
		return sn_err_set(err, -ENOMEM, "%s: no memory", at->file);
	for (size_t i = 0; i < n; i++) {
		struct json_object *m = json_object_array_get_idx(v, i);
		int64_t r = json_object_get_type(m) == json_type_int ?
			json_object_get_int64(m) : -1;

		if (r < 0 || r >= SN_REC_RANKS_MAX) {
			free(list);
			return sn_err_set(err, -EINVAL,
					  "%s:%u: \"members\" has an entry that is no rank",
					  at->file, at->line);
		}
		list[i] = (uint32_t)r;
	}
	new->list = *ret = list;
	new->n_list = (uint32_t)n;
	return 0;
}

static int take_comm(const struct at *at, struct json_object *o, uint32_t rank,
		     uint32_t gen, const char *comm, struct sn_err *err)
{
	struct sn_rec_new new = { .name = comm, .index = SN_REC_NONE };
	uint32_t *list = NULL;
	uint64_t index;
	int rc = 0;

	new.kind = string(at, o, "kind", &rc, err);
	if (number(at, o, "index", SN_REC_RANKS_MAX, &index, &rc, err))
		new.index = (uint32_t)index;
	number(at, o, "took", INT64_MAX, &new.took, &rc, err);
	if (!rc)
		rc = members(at, o, &new, &list, err);
	if (!rc) {
		rc = sn_records_comm(at->rec, rank, gen, &new, err);
		if (rc)
			sn_err_prefix(err, rc, "%s:%u: ", at->file, at->line);
	}
	free(list);
	return rc;
}

static int take_op(const struct at *at, struct json_object *o, uint32_t rank,
		   uint32_t gen, const char *comm, uint64_t seq, struct sn_err *err)
{
	uint64_t bytes, arrive, end, peer;
	const char *op;
	bool arrives, has_peer, send;
	int rc = 0;

	op = string(at, o, "op", &rc, err);
	number(at, o, "bytes", INT64_MAX, &bytes, &rc, err);
	arrives = number(at, o, "arrive", INT64_MAX, &arrive, &rc, err);
	number(at, o, "end", INT64_MAX, &end, &rc, err);
	has_peer = number(at, o, "peer", SN_REC_RANKS_MAX - 1, &peer, &rc, err);
	if (rc)
		return rc;
	if (!arrives && !end)
		return sn_err_set(err, -EINVAL,
				  "%s:%u: an operation with neither \"arrive\" nor \"end\"",
				  at->file, at->line);
	if ((arrives || has_peer) && !op)
		return sn_err_set(err, -EINVAL, "%s:%u: \"op\" is missing", at->file,
				  at->line);
	if (!has_peer) {
		rc = sn_records_op(at->rec, rank, gen, comm, seq, arrives ? op : NULL,
				   bytes, arrive, end, err);
	} else {
		send = !strcmp(op, "send");
		if (!send && strcmp(op, "recv"))
			return sn_err_set(err, -EINVAL,
					  "%s:%u: \"op\" with a \"peer\" is send or recv",
					  at->file, at->line);
		rc = sn_records_p2p(at->rec, rank, gen, comm, send ? rank : (uint32_t)peer,
				    send ? (uint32_t)peer : rank, seq, !arrives, bytes,
				    arrive, end, err);
	}
	return rc ? sn_err_prefix(err, rc, "%s:%u: ", at->file, at->line) : 0;
}

static int take_line(struct at *at, struct json_object *o, struct sn_err *err)
{
	uint64_t rank, gen, seq, world, pid, time;
	const char *comm, *host;
	bool has_rank, has_seq;
	int rc = 0;

	if (json_object_get_type(o) != json_type_object)
		return sn_err_set(err, -EINVAL, "%s:%u: is no JSON object", at->file, at->line);
	has_rank = number(at, o, "rank", SN_REC_RANKS_MAX - 1, &rank, &rc, err);
	number(at, o, "gen", UINT32_MAX, &gen, &rc, err);
	comm = string(at, o, "comm", &rc, err);
	has_seq = number(at, o, "seq", INT64_MAX, &seq, &rc, err);
	if (rc)
		return rc;
	if (!has_rank)
		return sn_err_set(err, -EINVAL, "%s:%u: \"rank\" is missing", at->file, at->line);
	if (comm && has_seq)
		return take_op(at, o, (uint32_t)rank, (uint32_t)gen, comm, seq, err);
	if (comm && json_object_object_get_ex(o, "members", NULL))
		return take_comm(at, o, (uint32_t)rank, (uint32_t)gen, comm, err);
	if (comm)
		return sn_err_set(err, -EINVAL,
				  "%s:%u: \"comm\" without \"members\" (a communicator) or \"seq\" (an operation)",
				  at->file, at->line);
	host = string(at, o, "host", &rc, err);
	number(at, o, "world", SN_REC_RANKS_MAX, &world, &rc, err);
	number(at, o, "pid", UINT32_MAX, &pid, &rc, err);
	number(at, o, "time", INT64_MAX, &time, &rc, err);
	if (!rc)
		rc = sn_records_start(at->rec, (uint32_t)rank, (uint32_t)gen, (uint32_t)world,
				      host, (uint32_t)pid, time, err);
	at->started = at->from;
	at->started_line = at->line - 1;
	return rc;
}

static int parse_line(struct at *at, const char *line, size_t len, struct sn_err *err)
{
	enum json_tokener_error code;
	struct json_object *o;
	int rc;

	json_tokener_reset(at->tok);
	o = json_tokener_parse_ex(at->tok, line, (int)len);
	code = json_tokener_get_error(at->tok);
	at->count->lines++;
	if (code == json_tokener_continue) {
		at->count->cut++;
		return 0;
	}
	if (code != json_tokener_success || json_tokener_get_parse_end(at->tok) < len) {
		json_object_put(o);
		return sn_err_set(err, -EINVAL, "%s:%u: is no line of JSON: %s", at->file,
				  at->line, code == json_tokener_success ?
				  "something follows the object" :
				  json_tokener_error_desc(code));
	}
	rc = take_line(at, o, err);
	json_object_put(o);
	return rc;
}

static bool is_op(const char *line, size_t len)
{
	return memmem(line, len, "\"seq\":", 6) != NULL;
}

enum which { ALL, NO_OPS, ONLY_OPS };

static int parse_lines(struct at *at, const char *text, size_t from, size_t to,
		       enum which which, struct sn_err *err)
{
	const char *p = text + from, *end = text + to;
	int rc = 0;

	while (p < end && !rc) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((eol ? eol : end) - p);

		at->line++;
		at->from = (size_t)(p - text);
		while (len && (p[len - 1] == '\r' || p[len - 1] == ' '))
			len--;
		if (len && (which == ALL || is_op(p, len) == (which == ONLY_OPS)))
			rc = parse_line(at, p, len, err);
		p = eol ? eol + 1 : end;
	}
	return rc;
}

/* A communicator that nothing was read about. */
static bool lacks_ops(const struct sn_records *rec, const char *file)
{
	const char *name = strrchr(file, '/');
	unsigned int rank;

	name = name ? name + 1 : file;
	if (sscanf(name, "rank-%u.jsonl", &rank) != 1 || rank >= rec->n_ranks)
		return true;
	for (uint32_t i = 0; i < rec->rank[rank].n_comms; i++)
		if (!rec->rank[rank].comm[i].n_ops)
			return true;
	return false;
}

int sn_recordread_text(struct sn_records *rec, const char *text, size_t len,
		       const char *file, bool brief, struct sn_recordread *count,
		       struct sn_err *err)
{
	struct at at = { .rec = rec, .file = file, .count = count,
		.tok = json_tokener_new_ex(DEPTH_MAX) };
	const char *eol = NULL;
	size_t tail = 0;
	int rc;

	if (!at.tok)
		return sn_err_set(err, -ENOMEM, "%s: no memory", file);
	json_tokener_set_flags(at.tok, JSON_TOKENER_VALIDATE_UTF8);
	count->files++;
	if (brief && len > 2 * TAIL)
		eol = memchr(text + len - TAIL, '\n', TAIL);
	if (eol) {
		tail = (size_t)(eol + 1 - text);
		count->tails = true;
	}
	rc = parse_lines(&at, text, 0, tail, NO_OPS, err);
	if (!rc)
		rc = parse_lines(&at, text, tail, len, ALL, err);
	if (!rc && tail && lacks_ops(rec, file)) {
		/* Not what an earlier process did. */
		at.line = at.started_line;
		if (at.started < tail)
			rc = parse_lines(&at, text, at.started, tail, ONLY_OPS, err);
	}
	json_tokener_free(at.tok);
	return rc;
}

static int read_one(struct sn_records *rec, int dir, const char *name, const char *path,
		    bool brief, struct sn_recordread *count, struct sn_err *err)
{
	/* O_NONBLOCK: a FIFO must be refused, not waited for. */
	int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC), rc;
	struct stat st;
	size_t len = 0;
	char *text;

	if (fd < 0 || fstat(fd, &st)) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return sn_err_set(err, rc, "%s: %s", path, strerror(-rc));
	}
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX_BYTES) {
		close(fd);
		return sn_err_set(err, -EINVAL, S_ISREG(st.st_mode) ?
				  "%s: is larger than 1 GiB" : "%s: is not a regular file",
				  path);
	}
	text = malloc((size_t)st.st_size + 1);
	while (text && len < (size_t)st.st_size) {
		ssize_t n = read(fd, text + len, (size_t)st.st_size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	rc = text ? sn_recordread_text(rec, text, len, path, brief, count, err) :
		sn_err_set(err, -ENOMEM, "%s: no memory for %lld bytes", path,
			   (long long)st.st_size);
	free(text);
	return rc;
}

static int only_records(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return e->d_name[0] != '.' && n > 6 && !strcmp(e->d_name + n - 6, ".jsonl");
}

int sn_recordread_path(struct sn_records *rec, const char *path, uint32_t max,
		       struct sn_recordread *count, struct sn_err *err)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0, n;
	struct dirent **entry;

	if (dir < 0 && errno == ENOTDIR)
		return read_one(rec, AT_FDCWD, path, path, false, count, err);
	n = dir < 0 ? -1 : scandir(path, &entry, only_records, NULL);
	if (n < 0) {
		rc = sn_err_set(err, -errno, "%s: %s", path, strerror(errno));
		if (dir >= 0)
			close(dir);
		return rc;
	}
	for (int i = 0; i < n; i++) {
		struct sn_buf full = { 0 };
		/* Every k-th where only some are wanted. */
		bool take = !max || (uint32_t)n <= max ||
			(uint64_t)i * max / (uint64_t)n != (uint64_t)(i + 1) * max / (uint64_t)n;

		if (count->at)
			count->at((uint64_t)i, (uint64_t)n);
		if (!rc && take) {
			sn_buf_add(&full, "%s/%s", path, entry[i]->d_name);
			rc = full.failed ? sn_err_set(err, -ENOMEM, "no memory") :
				read_one(rec, dir, entry[i]->d_name, full.text, true, count, err);
			if (rc == -ENOENT) /* turned over in this very moment */
				rc = 0;
		}
		sn_buf_done(&full);
		free(entry[i]);
	}
	free(entry);
	close(dir);
	return rc;
}
