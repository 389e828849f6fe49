/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory.c - checkpoints in memory by snmem.h, between those on disk: a shard is the
 * marker's line, the rank's part as on disk, and zeros up to --memory-size.
 *
 * Nothing depends on them: without a region, or with one too small, the training goes
 * on with what is on disk.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/trainer/trainer.h"

#define LINE 256

static void complain(const struct trainer *t, const char *why)
{
	fprintf(stderr, "sntrain: rank %u: memory: %s\n", t->self.rank, why);
}

void tr_memory_open(struct trainer *t)
{
	char tag[4096 + 64], why[512];
	const struct snmem_options options = {
		.rank = (int)t->self.rank, .world = (int)t->self.world,
		.local_rank = (int)t->self.local_rank, .generation = (int)t->self.generation,
		.tag = tag, .wait_ms = t->opt.meet_s * 1000,
	};
	uint64_t iteration = 0;
	int world = 0, rc;

	if (!t->opt.memory_every)
		return;
	snprintf(tag, sizeof(tag), "%s %llu %u", t->opt.state_dir ? t->opt.state_dir : "",
		 (unsigned long long)t->opt.seed, t->opt.payload);
	t->memory = snmem_open(&options, why, sizeof(why));
	if (!t->memory) {
		complain(t, why);
		return;
	}
	rc = snmem_last(t->memory, &iteration, &world);
	if (rc && rc != -ENOENT)
		complain(t, snmem_error(t->memory));
	if (rc || iteration > UINT32_MAX)
		return;
	t->memory_step = (uint32_t)iteration;
	t->memory_world = (uint32_t)world;
}

void tr_memory_save(struct trainer *t)
{
	size_t size = t->opt.memory_size > 2 * LINE ? t->opt.memory_size : 2 * LINE;
	char *data;

	if (!t->memory || t->begun % t->opt.memory_every || t->begun == t->resume)
		return;
	data = calloc(1, size);
	if (!data)
		return;
	tr_marker_text(t, t->begun, data, LINE);
	tr_part_text(t, data + LINE, LINE);
	if (snmem_save(t->memory, t->begun, data, size) && !t->complained) {
		t->complained = true;
		complain(t, snmem_error(t->memory));
	}
	free(data);
}

int tr_memory_load(struct trainer *t, uint32_t of, char marker[256], char part[256],
		   struct sn_err *err)
{
	void *data = NULL;
	size_t len = 0;
	int rc = snmem_load(t->memory, (int)of, &data, &len);

	if (!rc && len < 2 * LINE)
		rc = -EBADMSG;
	if (rc) {
		free(rc == -EBADMSG ? data : NULL);
		return sn_err_set(err, rc, "memory: %s", snmem_error(t->memory));
	}
	memcpy(marker, data, LINE);
	memcpy(part, (char *)data + LINE, LINE);
	marker[LINE - 1] = part[LINE - 1] = '\0';
	free(data);
	return 0;
}
