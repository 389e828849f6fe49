/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snmemsafe.c - which iteration survives the loss of a node, for snrun to see
 * (memsafe.h).
 *
 * A shard is safe when the neighbour has it, too. The neighbour's first rank, which takes
 * the copies in, sees when it has those of all ranks whose neighbour it is, and says so in
 * the job directory: in one file a node, at each save, so that rank 0 need not ask all.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "launcher/memsafe.h"
#include "launcher/snmem_state.h"
#include "launcher/writeat.h"

int mem_safe_begin(struct snmem *mem)
{
	const char **in = calloc(mem->n_nodes, sizeof(*in));
	size_t to;

	mem->guest = calloc(mem->world, sizeof(*mem->guest));
	if (!in || !mem->guest) {
		free(in);
		return -ENOMEM;
	}
	for (size_t i = 0; i < mem->n_nodes; i++)
		in[i] = mem->node[i].supernode;
	for (size_t i = 0; i < mem->n_nodes; i++) {
		to = mem_neighbour(in, mem->n_nodes, i);
		if (to == SIZE_MAX || strcmp(mem->node[to].name, mem->own_node))
			continue;
		for (uint32_t r = 0; r < mem->world; r++)
			if (mem->where[r] == mem->node[i].name) {
				mem->guest[r] = true;
				mem->n_guests++;
			}
	}
	free(in);
	return 0;
}

static bool has_all(const struct snmem *mem, struct mem_id id)
{
	char name[MEM_NAME];
	struct stat st;

	for (id.rank = 0; id.rank < mem->world; id.rank++) {
		if (!mem->guest[id.rank])
			continue;
		mem_name(&id, name);
		if (fstatat(mem->dir, name, &st, AT_SYMLINK_NOFOLLOW))
			return false;
	}
	return true;
}

void mem_safe_took(void *arg, const struct mem_id *id)
{
	struct snmem *mem = arg;
	char name[MEM_NAME + sizeof(SN_MEMSAFE_END)], text[96];
	struct iovec part = { .iov_base = text };

	if (id->generation != mem->generation || id->world != mem->world)
		return;
	snprintf(name, sizeof(name), "%s" SN_MEMSAFE_END, mem->own_node);
	/* Several copies come in at once, and the file has one temporary name. */
	pthread_mutex_lock(&mem->safe_lock);
	if (id->iteration > mem->safe && has_all(mem, *id)) {
		part.iov_len = (size_t)snprintf(text, sizeof(text), "%u %" PRIu64 " %u %u\n", id->generation,
						id->iteration, mem->n_guests, mem->world);
		if (!sn_write_at(mem->job, name, &part, 1, false))
			mem->safe = id->iteration;
	}
	pthread_mutex_unlock(&mem->safe_lock);
}
