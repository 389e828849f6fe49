/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snmemplan.c - what nodes tell each other of their shards, and which iteration is the
 * last complete one. Texts in, texts out.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/snmem_internal.h"

#define SERVER_FORMAT "%s %s %u %s"
#define LINE 512

/* ---- lines -------------------------------------------------------------------------- */

struct lines {
	const char *at;
	char line[LINE];
};

/* False at the end, or where a line is too long or has no end. */
static bool next(struct lines *l)
{
	size_t n = strcspn(l->at, "\n");

	if (!l->at[n] || n >= LINE)
		return false;
	memcpy(l->line, l->at, n);
	l->line[n] = '\0';
	l->at += n + 1;
	return true;
}

static bool is_token(const char *text)
{
	return strlen(text) == MEM_TOKEN &&
		strspn(text, "0123456789abcdef") == MEM_TOKEN;
}

static bool read_server(const char *text, struct mem_server *ret)
{
	unsigned port;
	int end = -1;

	memset(ret, 0, sizeof(*ret));
	if (sscanf(text, "%127s %127s %u %32s%n", ret->node, ret->address, &port,
		   ret->token, &end) != 4 || end < 0 || text[end] || !port || port > 65535 ||
	    !is_token(ret->token))
		return false;
	ret->port = (uint16_t)port;
	return true;
}

static bool read_session(struct lines *l, uint64_t *ret)
{
	int end = -1;

	return next(l) && sscanf(l->line, "snmem 1 %16" SCNx64 "%n", ret, &end) == 1 &&
		end > 0 && !l->line[end];
}

struct text {
	char *text;
	size_t len, size;
	bool failed;
};

__attribute__((format(printf, 2, 3)))
static void add(struct text *to, const char *fmt, ...)
{
	char line[LINE];
	va_list ap;
	char *grown;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line))
		to->failed = true;
	if (!to->failed && to->len + (size_t)n + 1 > to->size) {
		grown = realloc(to->text, to->size * 2 + LINE);
		to->failed = !grown;
		if (grown) {
			to->text = grown;
			to->size = to->size * 2 + LINE;
		}
	}
	if (to->failed)
		return;
	memcpy(to->text + to->len, line, (size_t)n + 1);
	to->len += (size_t)n;
}

static char *finish(struct text *to)
{
	add(to, "end\n");
	if (!to->failed)
		return to->text;
	free(to->text);
	return NULL;
}

static void add_server(struct text *to, const struct mem_server *s)
{
	add(to, "server " SERVER_FORMAT "\n", s->node, s->address, s->port, s->token);
}

/* ---- a node's list --------------------------------------------------------------------- */

char *mem_list_format(const struct mem_list *list)
{
	struct text to = { 0 };

	add(&to, "snmem 1 %016" PRIx64 "\n", list->session);
	add_server(&to, &list->server);
	for (size_t i = 0; i < list->n; i++)
		add(&to, "shard %" PRIu64 " %u %u %u\n", list->shard[i].iteration,
		    list->shard[i].generation, list->shard[i].world, list->shard[i].rank);
	return finish(&to);
}

void mem_list_done(struct mem_list *list)
{
	free(list->shard);
	list->shard = NULL;
	list->n = 0;
}

static bool read_shard(const char *line, struct mem_id *ret)
{
	int end = -1;

	return sscanf(line, "shard %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu32 "%n",
		      &ret->iteration, &ret->generation, &ret->world, &ret->rank,
		      &end) == 4 && end > 0 && !line[end] && ret->world <= MEM_WORLD_MAX &&
		ret->rank < ret->world;
}

int mem_list_parse(const char *text, struct mem_list *ret)
{
	struct mem_list list = { 0 };
	struct lines l = { .at = text };
	struct mem_id *grown;

	if (!read_session(&l, &list.session) || !next(&l) ||
	    strncmp(l.line, "server ", 7) || !read_server(l.line + 7, &list.server))
		return -EBADMSG;
	while (next(&l)) {
		if (!strcmp(l.line, "end") && !*l.at) {
			*ret = list;
			return 0;
		}
		grown = realloc(list.shard, (list.n + 1) * sizeof(*grown));
		if (!grown) {
			free(list.shard);
			return -ENOMEM;
		}
		list.shard = grown;
		memset(&grown[list.n], 0, sizeof(*grown));
		if (!read_shard(l.line, &grown[list.n++]))
			break;
	}
	free(list.shard);
	return -EBADMSG;
}

/* ---- the decision ----------------------------------------------------------------------- */

struct found {
	struct mem_id id;
	uint32_t list;
};

/* Later iterations first, then later generations; then by rank and list. */
static int by_iteration(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->id.iteration != y->id.iteration)
		return x->id.iteration > y->id.iteration ? -1 : 1;
	if (x->id.generation != y->id.generation)
		return x->id.generation > y->id.generation ? -1 : 1;
	if (x->id.world != y->id.world)
		return x->id.world > y->id.world ? -1 : 1;
	if (x->id.rank != y->id.rank)
		return x->id.rank < y->id.rank ? -1 : 1;
	return x->list < y->list ? -1 : x->list > y->list;
}

static bool same(const struct mem_id *a, const struct mem_id *b)
{
	return a->iteration == b->iteration && a->generation == b->generation &&
		a->world == b->world;
}

/* From `first` on: how many are of the same iteration; *ret_ranks: of how many ranks. */
static size_t run_of(const struct found *f, size_t n, size_t first, uint32_t *ret_ranks)
{
	size_t i = first;

	*ret_ranks = 0;
	for (; i < n && same(&f[i].id, &f[first].id); i++)
		*ret_ranks += i == first || f[i].id.rank != f[i - 1].id.rank;
	return i - first;
}

bool mem_complete(const struct mem_id *shard, size_t n, struct mem_id *ret)
{
	struct found *f = malloc((n + 1) * sizeof(*f));
	bool found = false;
	uint32_t ranks;

	for (size_t i = 0; f && i < n; i++)
		f[i] = (struct found){ shard[i], 0 };
	if (f)
		qsort(f, n, sizeof(*f), by_iteration);
	for (size_t at = 0, len; f && at < n && !found; at += len) {
		len = run_of(f, n, at, &ranks);
		found = ranks == f[at].id.world;
		if (found) {
			*ret = f[at].id;
			ret->rank = 0;
		}
	}
	free(f);
	return found;
}

static int take(const struct mem_list *list, uint32_t n, const struct found *f, size_t len,
		const char *const *where, uint32_t world, struct mem_decision *ret)
{
	ret->id = f->id;
	ret->id.rank = 0;
	ret->server = calloc(n, sizeof(*ret->server));
	ret->at = malloc(f->id.world * sizeof(*ret->at));
	if (!ret->server || !ret->at) {
		mem_decision_done(ret);
		return -ENOMEM;
	}
	ret->n_servers = n;
	for (uint32_t i = 0; i < n; i++)
		ret->server[i] = list[i].server;
	for (size_t i = 0; i < len; i++) {
		uint32_t rank = f[i].id.rank;
		bool first = !i || f[i - 1].id.rank != rank;

		if (first || (where && world == f->id.world && where[rank] &&
			      !strcmp(where[rank], list[f[i].list].server.node)))
			ret->at[rank] = f[i].list;
	}
	ret->found = true;
	return 0;
}

int mem_decide(const struct mem_list *list, uint32_t n, uint64_t session,
	       const char *const *where, uint32_t world, struct mem_decision *ret)
{
	struct found *f;
	size_t total = 0, len, at = 0;
	uint32_t ranks;
	int rc = 0;

	*ret = (struct mem_decision){ .session = session };
	for (uint32_t i = 0; i < n; i++)
		total += list[i].n;
	f = malloc((total + 1) * sizeof(*f));
	if (!f)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		for (size_t k = 0; k < list[i].n; k++)
			f[at++] = (struct found){ list[i].shard[k], i };
	qsort(f, total, sizeof(*f), by_iteration);
	for (at = 0; at < total && !ret->found && !rc; at += len) {
		len = run_of(f, total, at, &ranks);
		if (ranks == f[at].id.world)
			rc = take(list, n, f + at, len, where, world, ret);
	}
	free(f);
	return rc;
}

void mem_decision_done(struct mem_decision *d)
{
	free(d->server);
	free(d->at);
	d->server = NULL;
	d->at = NULL;
	d->found = false;
}

char *mem_decision_format(const struct mem_decision *d)
{
	struct text to = { 0 };

	add(&to, "snmem 1 %016" PRIx64 "\n", d->session);
	if (!d->found) {
		add(&to, "none\n");
		return finish(&to);
	}
	add(&to, "take %" PRIu64 " %u %u %u\n", d->id.iteration, d->id.generation,
	    d->id.world, d->n_servers);
	for (uint32_t i = 0; i < d->n_servers; i++)
		add_server(&to, &d->server[i]);
	for (uint32_t i = 0; d->n_servers && i < d->id.world; i++)
		add(&to, "%u\n", d->at[i]);
	return finish(&to);
}

static bool read_index(const char *line, uint32_t below, uint32_t *ret)
{
	int end = -1;

	return sscanf(line, "%" SCNu32 "%n", ret, &end) == 1 && end > 0 && !line[end] &&
		*ret < below;
}

static int read_taken(struct lines *l, struct mem_decision *d)
{
	int end = -1;

	if (sscanf(l->line, "take %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu32 "%n",
		   &d->id.iteration, &d->id.generation, &d->id.world, &d->n_servers,
		   &end) != 4 || end < 0 || l->line[end] || !d->id.world ||
	    d->id.world > MEM_WORLD_MAX || d->n_servers > d->id.world * 2 + 65536)
		return -EBADMSG;
	d->found = true;
	if (!d->n_servers)
		return 0;
	/* A file with so many lines has so many bytes: no room is made on its word. */
	if (strlen(l->at) < (size_t)d->n_servers * 8 + (size_t)d->id.world * 2)
		return -EBADMSG;
	d->server = calloc(d->n_servers, sizeof(*d->server));
	d->at = calloc(d->id.world, sizeof(*d->at));
	if (!d->server || !d->at)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->n_servers; i++)
		if (!next(l) || strncmp(l->line, "server ", 7) ||
		    !read_server(l->line + 7, &d->server[i]))
			return -EBADMSG;
	for (uint32_t i = 0; i < d->id.world; i++)
		if (!next(l) || !read_index(l->line, d->n_servers, &d->at[i]))
			return -EBADMSG;
	return 0;
}

int mem_decision_parse(const char *text, struct mem_decision *ret)
{
	struct mem_decision d = { 0 };
	struct lines l = { .at = text };
	int rc = read_session(&l, &d.session) && next(&l) ? 0 : -EBADMSG;

	if (!rc && strcmp(l.line, "none"))
		rc = read_taken(&l, &d);
	if (!rc && (!next(&l) || strcmp(l.line, "end") || *l.at))
		rc = -EBADMSG;
	if (rc)
		mem_decision_done(&d);
	else
		*ret = d;
	return rc;
}

/* ---- neighbours ------------------------------------------------------------------------- */

size_t mem_neighbour(const char *const *supernode, size_t n, size_t node)
{
	for (size_t i = 1; i < n; i++)
		if (!strcmp(supernode[(node + i) % n], supernode[node]))
			return (node + i) % n;
	return n > 1 ? (node + 1) % n : SIZE_MAX;
}
