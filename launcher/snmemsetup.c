/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snmemsetup.c - who a rank is, from its options and environment; where the nodes of the
 * job are, from layout.json.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/snmem_state.h"
#include "launcher/writeat.h"

#define FILE_MAX (256u << 20)

/* ---- layout.json ----------------------------------------------------------------------- */

static const char *text_of(json_object *from, const char *key)
{
	json_object *at;

	return json_object_is_type(from, json_type_object) &&
		json_object_object_get_ex(from, key, &at) &&
		json_object_is_type(at, json_type_string) ? json_object_get_string(at) : NULL;
}

static json_object *array_of(json_object *from, const char *key)
{
	json_object *at;

	return json_object_is_type(from, json_type_object) &&
		json_object_object_get_ex(from, key, &at) &&
		json_object_is_type(at, json_type_array) ? at : NULL;
}

/* Nodes with ranks, in order. */
static int take_nodes(struct snmem *mem, json_object *nodes)
{
	size_t n = json_object_array_length(nodes);

	mem->node = calloc(n + 1, sizeof(*mem->node));
	if (!mem->node)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		json_object *from = json_object_array_get_idx(nodes, i), *ranks;
		struct mem_node *node = &mem->node[mem->n_nodes];
		const char *name = text_of(from, "name"), *in = text_of(from, "supernode");
		const char *address = text_of(from, "address");

		if (!name || !in || strpbrk(name, " /\n") || *name == '.')
			return -EBADMSG;
		if (!json_object_object_get_ex(from, "ranks", &ranks) ||
		    json_object_get_int(ranks) < 1)
			continue;
		if (!address || !*address || strpbrk(address, " \n"))
			address = name;
		snprintf(node->name, sizeof(node->name), "%s", name);
		snprintf(node->address, sizeof(node->address), "%s", address);
		snprintf(node->supernode, sizeof(node->supernode), "%s", in);
		mem->n_nodes++;
	}
	return mem->n_nodes ? 0 : -EBADMSG;
}

static int take_ranks(struct snmem *mem, json_object *ranks)
{
	if (json_object_array_length(ranks) != mem->world)
		return -EBADMSG;
	mem->where = calloc(mem->world, sizeof(*mem->where));
	if (!mem->where)
		return -ENOMEM;
	for (uint32_t r = 0; r < mem->world; r++) {
		json_object *pair = json_object_array_get_idx(ranks, r);
		const char *name = json_object_is_type(pair, json_type_array) ?
			json_object_get_string(json_object_array_get_idx(pair, 0)) : NULL;

		for (size_t i = 0; name && i < mem->n_nodes; i++)
			if (!strcmp(mem->node[i].name, name))
				mem->where[r] = mem->node[i].name;
		if (!mem->where[r])
			return -EBADMSG;
	}
	return 0;
}

static int read_layout(struct snmem *mem, int job)
{
	char *text = NULL;
	size_t len;
	int rc = sn_read_at(job, "layout.json", FILE_MAX, &text, &len);
	json_object *root = rc ? NULL : json_tokener_parse(text);
	json_object *nodes = array_of(root, "nodes"), *ranks = array_of(root, "ranks");

	if (!rc)
		rc = nodes && ranks ? 0 : -EBADMSG;
	if (!rc)
		rc = take_nodes(mem, nodes);
	if (!rc)
		rc = take_ranks(mem, ranks);
	json_object_put(root);
	free(text);
	return rc;
}

static void find_neighbour(struct snmem *mem)
{
	const char **in = calloc(mem->n_nodes, sizeof(*in));
	size_t me = SIZE_MAX;

	mem->neighbour = SIZE_MAX;
	for (size_t i = 0; in && i < mem->n_nodes; i++) {
		in[i] = mem->node[i].supernode;
		if (!strcmp(mem->node[i].name, mem->own_node))
			me = i;
	}
	if (in && me != SIZE_MAX)
		mem->neighbour = mem_neighbour(in, mem->n_nodes, me);
	free(in);
}

/* ---- opening ----------------------------------------------------------------------------- */

static int number(int given, const char *first, const char *second, int otherwise)
{
	const char *text = getenv(first);
	char *end;
	long v;

	if (given >= 0)
		return given;
	if (!text && second)
		text = getenv(second);
	if (!text || !*text)
		return otherwise;
	v = strtol(text, &end, 10);
	return *end || v < 0 || v > INT_MAX ? otherwise : (int)v;
}

static const char *text_or(const char *given, const char *name)
{
	if (!given)
		given = getenv(name);
	return given && *given ? given : NULL;
}

static uint64_t sum_text(uint64_t seed, const char *text)
{
	return mem_sum(seed, text ? text : "", text ? strlen(text) : 0);
}

static int refuse(char *why, size_t size, int rc, const char *what, const char *path)
{
	const char *text = rc == -EPERM ? "it is another user's, or others may write to it" :
		rc == -ENOTDIR ? "it is no directory" : rc == -EBADMSG ? "it is not whole, or not of this run" :
		strerror(-rc);

	if (why)
		snprintf(why, size, "%s %s: %s", what, path, text);
	return rc;
}

int mem_set_up(struct snmem *mem, const struct snmem_options *o, char *why, size_t size)
{
	const char *region = text_or(o->region, "SUPERNODE_POOL_DIR");
	const char *job_dir = text_or(o->job_dir, "SUPERNODE_JOB_DIR");
	const char *node = text_or(o->node, "SLURMD_NODENAME");
	char name[MEM_NAME];
	int rank = number(o->rank, "RANK", NULL, -1), job;
	int world = number(o->world, "WORLD_SIZE", NULL, -1), rc;

	if (!region)
		return refuse(why, size, -ENOENT, "no region of the pool:",
			      "SUPERNODE_POOL_DIR is not set, submit with --pool=SIZE/node");
	if (!job_dir || !node || rank < 0 || world <= rank)
		return refuse(why, size, -EINVAL, "not started by snrun:",
			      "SUPERNODE_JOB_DIR, SLURMD_NODENAME, RANK or WORLD_SIZE is lacking");
	mem->rank = (uint32_t)rank;
	mem->world = (uint32_t)world;
	mem->local_rank = number(o->local_rank, "LOCAL_RANK", NULL, 0);
	mem->generation = (uint32_t)number(o->generation, "SUPERNODE_GENERATION",
					   "TORCHELASTIC_RESTART_COUNT", 0);
	mem->keep = o->keep > MEM_KEEP ? o->keep : MEM_KEEP;
	mem->wait_ms = o->wait_ms ? o->wait_ms : 60000;
	mem->flush_every = o->flush_every ? o->flush_every : 1;
	snprintf(mem->own_node, sizeof(mem->own_node), "%s", node);
	mem->tag = sum_text(1, o->tag);
	mem->session = sum_text(sum_text(mem->generation + 2, getenv("MASTER_ADDR")),
				getenv("MASTER_PORT"));
	mem_region_dir(job_dir, name);
	mem->dir = mem_dir(region, name);
	if (mem->dir < 0)
		return refuse(why, size, mem->dir, "the region", region);
	if (o->flush_dir) {
		mem->flush = mem_dir(o->flush_dir, MEM_DIR);
		if (mem->flush < 0)
			return refuse(why, size, mem->flush, "flush_dir", o->flush_dir);
	}
	mem->job = mem_dir(job_dir, MEM_DIR);
	if (mem->job < 0)
		return refuse(why, size, mem->job, "the job directory", job_dir);
	job = open(job_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = job < 0 ? -errno : mem_dir_is_own(job);
	if (!rc)
		rc = read_layout(mem, job);
	if (job >= 0)
		close(job);
	if (rc)
		return refuse(why, size, rc, "layout.json in", job_dir);
	find_neighbour(mem);
	return 0;
}
