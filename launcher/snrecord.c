/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snrecord.c - what a rank believes about its communicators, and does in them.
 *
 * Nothing of the rest of the suite is used here: the library is loaded into
 * other people's processes.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/snrecord.h"
#include "launcher/snrecord_internal.h"

#define BYTES_DEFAULT (128l << 10)
#define BYTES_MIN 4096

#define EXPORT __attribute__((visibility("default")))

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

/* Under plain srun nobody has made the job's directory yet. It is the user's alone,
 * for snrun, later in the job, takes no other. */
static int make_dirs(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int failed;

		*slash = '\0';
		failed = mkdir(path, 0700) && errno != EEXIST && access(path, F_OK);
		*slash = '/';
		if (failed)
			return -1;
	}
	return mkdir(path, 0755) && errno != EEXIST ? -1 : 0;
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
	if (mkdir(path, 0755) && errno != EEXIST &&
	    (dir || errno != ENOENT || make_dirs(path))) {
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
	rec_end_line(rec);
	rec_start(rec);
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
	rec_escape(text, sizeof(text), kind ? kind : "");
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
	rec_escape(text, sizeof(text), name);
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
	rec_room(rec);
	rec_comm(rec, &rec->comm[at]);
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
	rec_room(rec);
	rec_escape(l->op, sizeof(l->op), op);
	l->seq++;
	l->bytes = bytes;
	l->end = 0;
	l->arrive = rec_now();
	rec_arrival(rec, c, l, p);
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
	uint64_t t = rec_now();
	char peer[64] = "";

	if (p)
		snprintf(peer, sizeof(peer), ",\"op\":\"%s\",\"peer\":%d",
			 p->send ? "send" : "recv", p->peer);
	if (l->seq == seq)
		l->end = t;
	rec_line(rec, "{\"rank\":%d,\"gen\":%d,\"comm\":\"%s\",\"seq\":%llu%s,\"end\":%llu}\n",
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
