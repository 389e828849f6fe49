/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snrecordfile.c - the file of a record: whole lines, a bounded size.
 *
 * A line costs one formatting and one write(2) to the page cache. Nothing is held
 * back in memory, since the records are wanted most of those processes that never
 * get to flush anything.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launcher/snrecord_internal.h"

#define LINE_MAX_OURS 1024

uint64_t rec_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void rec_escape(char *to, size_t size, const char *from)
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

void rec_line(struct snrecord *rec, const char *fmt, ...)
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

void rec_start(struct snrecord *rec)
{
	const char *node = getenv("SLURMD_NODENAME");
	char name[NAME_MAX_OURS] = "", host[2 * NAME_MAX_OURS];

	if (!node || !*node) {
		gethostname(name, sizeof(name) - 1);
		node = name;
	}
	rec_escape(host, sizeof(host), node);
	rec_line(rec, "{\"v\":1,\"rank\":%d,\"gen\":%d,\"world\":%d,\"host\":\"%s\",\"pid\":%d,\"time\":%llu}\n",
		 rec->rank, rec->gen, rec->world, host, (int)getpid(),
		 (unsigned long long)rec_now());
}

void rec_comm(struct snrecord *rec, const struct comm *c)
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

void rec_arrival(struct snrecord *rec, const struct comm *c,
		 const struct last *l, const struct pair *p)
{
	char peer[32] = "", end[40] = "";

	if (p)
		snprintf(peer, sizeof(peer), ",\"peer\":%d", p->peer);
	if (l->end)
		snprintf(end, sizeof(end), ",\"end\":%llu", (unsigned long long)l->end);
	rec_line(rec, "{\"rank\":%d,\"gen\":%d,\"comm\":\"%s\",\"seq\":%llu,\"op\":\"%s\"%s,\"bytes\":%llu,\"arrive\":%llu%s}\n",
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
	rec_start(rec);
	for (int i = 0; i < rec->n_comms; i++) {
		const struct comm *c = &rec->comm[i];

		rec_comm(rec, c);
		if (c->last.seq)
			rec_arrival(rec, c, &c->last, NULL);
		for (const struct pair *p = c->pairs; p; p = p->next)
			if (p->last.seq)
				rec_arrival(rec, c, &p->last, p);
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

void rec_room(struct snrecord *rec)
{
	if (rec->size >= rec->limit && !rec->error)
		rotate(rec);
}

void rec_end_line(struct snrecord *rec)
{
	char c = '\n';

	if (rec->size > 0 && pread(rec->fd, &c, 1, rec->size - 1) == 1 && c != '\n')
		put(rec, "\n", 1);
}
