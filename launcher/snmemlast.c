/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snmemlast.c - the last complete iteration, found by all ranks together.
 *
 * In the job directory, memckpt/NODE is what a node has, written by its first rank when
 * it begins, and memckpt/decided what rank 0 has found in them (memckpt/NODE@has is
 * snmemsafe.c's). A session, which is made of the generation and the rendezvous address
 * of the ranks, tells those of this start from older ones.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "launcher/snmem_state.h"
#include "launcher/writeat.h"

#define DECIDED "decided"
#define FILE_MAX (256u << 20)
#define LOOK_MS 20

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static int make_token(char token[MEM_TOKEN + 1])
{
	unsigned char raw[MEM_TOKEN / 2];

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return -EIO;
	for (size_t i = 0; i < sizeof(raw); i++)
		sprintf(token + 2 * i, "%02x", raw[i]);
	return 0;
}

/* NULL: there was no memory for it. */
static int tell(const struct snmem *mem, const char *name, char *text)
{
	const struct iovec part = { text, text ? strlen(text) : 0 };

	return text ? sn_write_at(mem->job, name, &part, 1, true) : -ENOMEM;
}

/* This node's list; its first rank is the one that serves. */
static int publish(struct snmem *mem)
{
	struct mem_list own = { .session = mem->session };
	const struct mem_serve_options with = {
		.dir = mem->dir, .tag = mem->tag, .session = mem->session, .keep = mem->keep,
		.token = own.server.token, .took = mem_safe_took, .arg = mem,
	};
	char *text;
	int rc = make_token(own.server.token);

	/* What is torn, or an earlier job's, goes; nobody writes here yet. */
	if (!rc)
		rc = mem_scan(mem->dir, mem->tag, true, &own.shard, &own.n);
	if (!rc)
		rc = mem_safe_begin(mem);
	if (!rc)
		rc = mem_serve_start(&with, &mem->serve, &own.server.port);
	if (rc) {
		free(own.shard);
		return rc;
	}
	snprintf(own.server.node, sizeof(own.server.node), "%s", mem->own_node);
	snprintf(own.server.address, sizeof(own.server.address), "%s", mem->own_node);
	for (size_t i = 0; i < mem->n_nodes; i++)
		if (!strcmp(mem->node[i].name, mem->own_node))
			snprintf(own.server.address, sizeof(own.server.address), "%s",
				 mem->node[i].address);
	text = mem_list_format(&own);
	rc = tell(mem, mem->own_node, text);
	free(text);
	free(own.shard);
	return rc;
}

int mem_list_of(struct snmem *mem, const char *node, struct mem_list *ret)
{
	char *text = NULL;
	size_t len;
	int rc = sn_read_at(mem->job, node, FILE_MAX, &text, &len) ? -ENOENT : mem_list_parse(text, ret);

	free(text);
	if (!rc && ret->session != mem->session) {
		mem_list_done(ret);
		rc = -ENOENT;
	}
	return rc;
}

/* Where all of memory is lost, or never had it. */
static void look_at_flushed(struct snmem *mem, struct mem_decision *d)
{
	struct mem_id *all = NULL, last = { 0 };
	size_t n = 0;

	if (!mem_names(mem->flush, &all, &n) && mem_complete(all, n, &last) &&
	    (!d->found || last.iteration > d->id.iteration)) {
		mem_decision_done(d);
		d->found = true;
		d->id = last;
		d->n_servers = 0;
	}
	free(all);
}

static int decide(struct snmem *mem, int64_t end)
{
	struct mem_list *list = calloc(mem->n_nodes, sizeof(*list));
	bool *have = calloc(mem->n_nodes, sizeof(*have));
	struct mem_decision d = { 0 };
	size_t n = 0, there = 0;
	char *text = NULL;
	int rc = list && have ? 0 : -ENOMEM;

	/* Half of the time is for the others to read it. */
	while (!rc && there < mem->n_nodes && now_ms() < end - mem->wait_ms / 2) {
		for (size_t i = 0; i < mem->n_nodes; i++)
			if (!have[i] && !mem_list_of(mem, mem->node[i].name, &list[n])) {
				have[i] = true;
				there++;
				n++;
			}
		if (there < mem->n_nodes)
			pause_ms(LOOK_MS);
	}
	if (!rc)
		rc = mem_decide(list, (uint32_t)n, mem->session, mem->where, mem->world, &d);
	if (!rc && mem->flush >= 0)
		look_at_flushed(mem, &d);
	if (!rc) {
		text = mem_decision_format(&d);
		rc = tell(mem, DECIDED, text);
	}
	for (size_t i = 0; list && i < n; i++)
		mem_list_done(&list[i]);
	mem_decision_done(&d);
	free(list);
	free(have);
	free(text);
	return rc;
}

static int read_decision(struct snmem *mem, int64_t end)
{
	do {
		char *text = NULL;
		size_t len;
		int rc = sn_read_at(mem->job, DECIDED, FILE_MAX, &text, &len) ? -ENOENT :
			mem_decision_parse(text, &mem->decision);

		free(text);
		if (!rc && mem->decision.session == mem->session)
			return 0;
		if (!rc)
			mem_decision_done(&mem->decision);
		pause_ms(LOOK_MS);
	} while (now_ms() < end);
	return -ETIMEDOUT;
}

EXPORT int snmem_last(struct snmem *mem, uint64_t *ret_iteration, int *ret_world)
{
	int64_t end;
	int rc = 0;

	if (!mem || mem->begun)
		return -EINVAL;
	end = now_ms() + mem->wait_ms;
	if (!mem->local_rank)
		rc = publish(mem);
	if (!rc && !mem->rank)
		rc = decide(mem, end);
	if (!rc)
		rc = read_decision(mem, end);
	if (rc) {
		mem_failed(mem, "nodes do not find each other's shards: %s", strerror(-rc));
		return rc;
	}
	/* A time that is given up must not come back. Other ranks here may be at work
	 * already. */
	if (!mem->local_rank)
		mem_remove_after(mem->dir, mem->generation, mem->decision.found ?
				 mem->decision.id.iteration : 0);
	mem->begun = true;
	if (!mem->decision.found)
		return -ENOENT;
	*ret_iteration = mem->decision.id.iteration;
	*ret_world = (int)mem->decision.id.world;
	return 0;
}
