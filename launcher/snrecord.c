/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snrecord.c - what a rank believes about its communicators, and does in them.
 *
 * Nothing of the rest of the suite is used here: the library is loaded into
 * other people's processes. A line costs one formatting and one write(2) to the
 * page cache. Nothing is held back in memory, since the records are wanted most
 * of those processes that never get to flush anything.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "launcher/snrecord.h"

#define BYTES_DEFAULT (128l << 10)
#define BYTES_MIN 4096
#define NAME_MAX_OURS 128
#define LINE_MAX_OURS 1024

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

#define EXPORT __attribute__((visibility("default")))

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ASCII only: what the reader checks as UTF-8 must not end in half a character. */
static void escape(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; *from && n + 3 < size; from++) {
		unsigned char c = (unsigned char)*from;

		if (c == '"' || c == '\\')
			to[n++] = '\\';
		to[n++] = c < 0x20 || c > 0x7e ? '_' : (char)c;
	}
	to[n] = '\0';
}

/* ---- the file --------------------------------------------------------------------- */

static void give_up(struct snrecord *rec, int code)
{
	if (!rec->error)
		rec->error = code ? code : EIO;
}

static void put(struct snrecord *rec, const char *line, size_t n)
{
	ssize_t done;

	if (rec->error)
		return;
	do
		done = write(rec->fd, line, n);
	while (done < 0 && errno == EINTR);
	/* Half a line is the last one; the reader knows how to pass it over. */
	if (done != (ssize_t)n)
		give_up(rec, done < 0 ? errno : ENOSPC);
	else
		rec->size += done;
}

static void __attribute__((format(printf, 2, 3)))
put_line(struct snrecord *rec, const char *fmt, ...)
{
	char line[LINE_MAX_OURS];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n > 0 && n < (int)sizeof(line))
		put(rec, line, (size_t)n);
}

static void put_start(struct snrecord *rec)
{
	const char *node = getenv("SLURMD_NODENAME");
	char name[NAME_MAX_OURS] = "", host[2 * NAME_MAX_OURS];

	if (!node || !*node) {
		gethostname(name, sizeof(name) - 1);
		node = name;
	}
	escape(host, sizeof(host), node);
	put_line(rec, "{\"v\":1,\"rank\":%d,\"gen\":%d,\"world\":%d,\"host\":\"%s\",\"pid\":%d,\"time\":%llu}\n",
		 rec->rank, rec->gen, rec->world, host, (int)getpid(),
		 (unsigned long long)now());
}

static void put_comm(struct snrecord *rec, const struct comm *c)
{
	size_t size = strlen(c->name) + strlen(c->about) + 96;
	char *line = malloc(size);

	if (!line) {
		give_up(rec, ENOMEM);
		return;
	}
	snprintf(line, size, "{\"rank\":%d,\"gen\":%d,\"comm\":\"%s\"%s}\n",
		 rec->rank, rec->gen, c->name, c->about);
	put(rec, line, strlen(line));
	free(line);
}

static void put_arrival(struct snrecord *rec, const struct comm *c,
			const struct last *l, const struct pair *p)
{
	char peer[32] = "", end[40] = "";

	if (p)
		snprintf(peer, sizeof(peer), ",\"peer\":%d", p->peer);
	if (l->end)
		snprintf(end, sizeof(end), ",\"end\":%llu", (unsigned long long)l->end);
	put_line(rec, "{\"rank\":%d,\"gen\":%d,\"comm\":\"%s\",\"seq\":%llu,\"op\":\"%s\"%s,\"bytes\":%llu,\"arrive\":%llu%s}\n",
		 rec->rank, rec->gen, c->name, (unsigned long long)l->seq, l->op,
		 peer, (unsigned long long)l->bytes, (unsigned long long)l->arrive, end);
}

/* The new file tells all that counts of the old one. */
static void rotate(struct snrecord *rec)
{
	size_t size = strlen(rec->path) + 8;
	char *old = malloc(size), *new = malloc(size);
	int fd = -1, was = rec->fd;

	if (!old || !new) {
		give_up(rec, ENOMEM);
		goto done;
	}
	snprintf(old, size, "%s.1", rec->path);
	snprintf(new, size, "%s.new", rec->path);
	unlink(new);
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0) {
		give_up(rec, errno);
		goto done;
	}
	rec->fd = fd;
	rec->size = 0;
	put_start(rec);
	for (int i = 0; i < rec->n_comms; i++) {
		const struct comm *c = &rec->comm[i];

		put_comm(rec, c);
		if (c->last.seq)
			put_arrival(rec, c, &c->last, NULL);
		for (const struct pair *p = c->pairs; p; p = p->next)
			if (p->last.seq)
				put_arrival(rec, c, &p->last, p);
	}
	if (rec->error || rename(rec->path, old) || rename(new, rec->path)) {
		give_up(rec, errno);
		unlink(new);
		close(fd);
		rec->fd = was;
		goto done;
	}
	close(was);
	/* Many communicators: do not turn over at every line. */
	if (rec->limit < rec->size * 2)
		rec->limit = rec->size * 2;
done:
	free(old);
	free(new);
}

static void room(struct snrecord *rec)
{
	if (rec->size >= rec->limit && !rec->error)
		rotate(rec);
}

/* An earlier process may have been killed within a line. */
static void end_line(struct snrecord *rec)
{
	char c = '\n';

	if (rec->size > 0 && pread(rec->fd, &c, 1, rec->size - 1) == 1 && c != '\n')
		put(rec, "\n", 1);
}

static int number_of(const char *name, int otherwise)
{
	const char *text = getenv(name);
	char *end;
	long v;

	if (!text || !*text)
		return otherwise;
	v = strtol(text, &end, 10);
	return *end || v < 0 || v > INT_MAX ? otherwise : (int)v;
}

static char *path_of(const char *dir, int rank)
{
	const char *job = getenv("SUPERNODE_JOB_DIR"), *want = getenv("SUPERNODE_RECORDS");
	char *path, *slash;
	size_t size;

	if (!dir && (!job || !*job || (want && !strcmp(want, "no")))) {
		errno = 0;
		return NULL;
	}
	size = strlen(dir ? dir : job) + 64;
	path = malloc(size);
	if (!path)
		return NULL;
	if (dir)
		snprintf(path, size, "%s/rank-%d.jsonl", dir, rank);
	else
		snprintf(path, size, "%s/records/rank-%d.jsonl", job, rank);
	slash = strrchr(path, '/');
	*slash = '\0';
	if (mkdir(path, 0755) && errno != EEXIST) {
		free(path);
		return NULL;
	}
	*slash = '/';
	return path;
}

EXPORT struct snrecord *snrecord_open(const char *dir, int rank, int world)
{
	struct snrecord *rec;
	struct stat st;
	int code;

	if (rank < 0 || world < 0) {
		errno = EINVAL;
		return NULL;
	}
	rec = calloc(1, sizeof(*rec));
	if (!rec)
		return NULL;
	rec->fd = -1;
	rec->path = path_of(dir, rank);
	if (!rec->path)
		goto fail;
	rec->fd = open(rec->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
	if (rec->fd < 0 || fstat(rec->fd, &st))
		goto fail;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		goto fail;
	}
	pthread_mutex_init(&rec->lock, NULL);
	rec->rank = rank;
	rec->world = world;
	rec->gen = number_of("SUPERNODE_GENERATION", number_of("TORCHELASTIC_RESTART_COUNT", 0));
	rec->limit = number_of("SNRECORD_BYTES", BYTES_DEFAULT);
	if (rec->limit < BYTES_MIN)
		rec->limit = BYTES_MIN;
	rec->size = (long)st.st_size;
	end_line(rec);
	put_start(rec);
	if (rec->error) {
		errno = rec->error;
		goto fail;
	}
	return rec;
fail:
	code = errno;
	if (rec->fd >= 0)
		close(rec->fd);
	free(rec->path);
	free(rec);
	errno = code;
	return NULL;
}

static void comm_done(struct comm *c)
{
	while (c->pairs) {
		struct pair *p = c->pairs;

		c->pairs = p->next;
		free(p);
	}
	free(c->name);
	free(c->about);
}

EXPORT void snrecord_close(struct snrecord *rec)
{
	if (!rec)
		return;
	for (int i = 0; i < rec->n_comms; i++)
		comm_done(&rec->comm[i]);
	free(rec->comm);
	close(rec->fd);
	pthread_mutex_destroy(&rec->lock);
	free(rec->path);
	free(rec);
}

EXPORT int snrecord_error(const struct snrecord *rec)
{
	return rec ? rec->error : 0;
}

/* ---- communicators ------------------------------------------------------------------ */

/* "0-504:8,3": runs of three and more. */
static size_t put_members(char *to, const int *member, int n)
{
	size_t len = 0;

	for (int i = 0; i < n;) {
		int k = 1, step = i + 1 < n ? member[i + 1] - member[i] : 0;

		while (step > 0 && i + k < n && member[i + k] - member[i + k - 1] == step)
			k++;
		if (k < 3)
			k = 1;
		len += (size_t)sprintf(to + len, i ? ",%d" : "%d", member[i]);
		if (k > 1)
			len += (size_t)sprintf(to + len, "-%d", member[i + k - 1]);
		if (k > 1 && step > 1)
			len += (size_t)sprintf(to + len, ":%d", step);
		i += k;
	}
	return len;
}

static char *about_of(const char *kind, const int *member, int n, int index,
		      uint64_t took)
{
	char text[2 * NAME_MAX_OURS], *about = malloc((size_t)n * 12 + sizeof(text) + 128);
	size_t len = 0;

	if (!about)
		return NULL;
	escape(text, sizeof(text), kind ? kind : "");
	if (*text)
		len = (size_t)sprintf(about, ",\"kind\":\"%s\"", text);
	len += (size_t)sprintf(about + len, ",\"members\":\"");
	len += put_members(about + len, member, n);
	len += (size_t)sprintf(about + len, "\",\"index\":%d", index);
	if (took)
		sprintf(about + len, ",\"took\":%llu", (unsigned long long)took);
	return about;
}

EXPORT int snrecord_comm(struct snrecord *rec, const char *name, const char *kind,
			 const int *members, int n, int index, uint64_t took_ns)
{
	char text[2 * NAME_MAX_OURS];
	struct comm c = { 0 }, *grown;
	int at = 0, rc = -ENOMEM;

	if (!rec || !name || !members || n < 1 || n > 1 << 24)
		return -EINVAL;
	for (int i = 0; i < n; i++)
		if (members[i] < 0)
			return -EINVAL;
	escape(text, sizeof(text), name);
	c.name = strdup(text);
	c.about = about_of(kind, members, n, index, took_ns);
	pthread_mutex_lock(&rec->lock);
	while (at < rec->n_comms && strcmp(rec->comm[at].name, text))
		at++;
	if (!c.name || !c.about)
		goto fail;
	if (at == rec->n_comms) {
		grown = realloc(rec->comm, ((size_t)at + 1) * sizeof(*grown));
		if (!grown)
			goto fail;
		rec->comm = grown;
		rec->n_comms++;
	} else {
		if (!strcmp(rec->comm[at].about, c.about))
			c.last = rec->comm[at].last;
		comm_done(&rec->comm[at]);
	}
	rec->comm[at] = c;
	room(rec);
	put_comm(rec, &rec->comm[at]);
	pthread_mutex_unlock(&rec->lock);
	return at;
fail:
	pthread_mutex_unlock(&rec->lock);
	comm_done(&c);
	return rc;
}

/* ---- operations ----------------------------------------------------------------------- */

static uint64_t begin(struct snrecord *rec, const struct comm *c, struct last *l,
		      const struct pair *p, const char *op, uint64_t bytes)
{
	room(rec);
	escape(l->op, sizeof(l->op), op);
	l->seq++;
	l->bytes = bytes;
	l->end = 0;
	l->arrive = now();
	put_arrival(rec, c, l, p);
	return l->seq;
}

EXPORT uint64_t snrecord_begin(struct snrecord *rec, int comm, const char *op,
			       uint64_t bytes)
{
	uint64_t seq = 0;

	if (!rec || comm < 0 || !op)
		return 0;
	pthread_mutex_lock(&rec->lock);
	if (comm < rec->n_comms)
		seq = begin(rec, &rec->comm[comm], &rec->comm[comm].last, NULL, op, bytes);
	pthread_mutex_unlock(&rec->lock);
	return seq;
}

static void end(struct snrecord *rec, const struct comm *c, struct last *l,
		const struct pair *p, uint64_t seq)
{
	uint64_t t = now();
	char peer[64] = "";

	if (p)
		snprintf(peer, sizeof(peer), ",\"op\":\"%s\",\"peer\":%d",
			 p->send ? "send" : "recv", p->peer);
	if (l->seq == seq)
		l->end = t;
	put_line(rec, "{\"rank\":%d,\"gen\":%d,\"comm\":\"%s\",\"seq\":%llu%s,\"end\":%llu}\n",
		 rec->rank, rec->gen, c->name, (unsigned long long)seq, peer,
		 (unsigned long long)t);
}

EXPORT void snrecord_end(struct snrecord *rec, int comm, uint64_t seq)
{
	if (!rec || comm < 0 || !seq)
		return;
	pthread_mutex_lock(&rec->lock);
	if (comm < rec->n_comms)
		end(rec, &rec->comm[comm], &rec->comm[comm].last, NULL, seq);
	pthread_mutex_unlock(&rec->lock);
}

static struct pair *pair_of(struct comm *c, bool send, int peer, bool make)
{
	struct pair *p = c->pairs;

	while (p && (p->peer != peer || p->send != send))
		p = p->next;
	if (p || !make)
		return p;
	p = calloc(1, sizeof(*p));
	if (p) {
		p->peer = peer;
		p->send = send;
		p->next = c->pairs;
		c->pairs = p;
	}
	return p;
}

EXPORT uint64_t snrecord_p2p_begin(struct snrecord *rec, int comm, int send, int peer,
				   uint64_t bytes)
{
	uint64_t seq = 0;
	struct pair *p;

	if (!rec || comm < 0 || peer < 0)
		return 0;
	pthread_mutex_lock(&rec->lock);
	if (comm < rec->n_comms) {
		p = pair_of(&rec->comm[comm], send != 0, peer, true);
		if (p)
			seq = begin(rec, &rec->comm[comm], &p->last, p,
				    send ? "send" : "recv", bytes);
	}
	pthread_mutex_unlock(&rec->lock);
	return seq;
}

EXPORT void snrecord_p2p_end(struct snrecord *rec, int comm, int send, int peer,
			     uint64_t seq)
{
	struct pair *p;

	if (!rec || comm < 0 || peer < 0 || !seq)
		return;
	pthread_mutex_lock(&rec->lock);
	if (comm < rec->n_comms) {
		p = pair_of(&rec->comm[comm], send != 0, peer, false);
		if (p)
			end(rec, &rec->comm[comm], &p->last, p, seq);
	}
	pthread_mutex_unlock(&rec->lock);
}
