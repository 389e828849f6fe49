/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_stepenv.c - what the tasks' plugin takes from any environment: a
 * SUPERNODE_PLAN, written out again, means the same; a JobDir pattern gives a safe
 * path or none.
 */
#include "config.h"

#include <stdlib.h>

#include "fuzz.h"
#include "launcher/jobdir.h"
#include "launcher/stepenv.h"

static void plan(const char *text)
{
	struct sn_stepenv first, again;
	char out[SN_STEPENV_TEXT_MAX];
	struct sn_err err = { "" };

	if (sn_stepenv_parse(text, &first, &err)) {
		fuzz_check_err(&err);
		return;
	}
	sn_stepenv_format(&first, out, sizeof(out));
	MUST(!sn_stepenv_parse(out, &again, NULL));
	MUST(first.generation == again.generation && first.port == again.port);
	MUST(first.max_restarts == again.max_restarts);
	MUST(!strcmp(first.master, again.master));
}

static void ranks(const char *text)
{
	struct sn_stepenv_rank rank[8];
	struct sn_err err = { "" };

	if (sn_stepenv_ranks_parse(text, rank, 8, &err)) {
		fuzz_check_err(&err);
		return;
	}
	for (int i = 0; i < 8; i++)
		MUST(rank[i].local < rank[i].local_world);
}

static void dir(const char *text)
{
	struct sn_err err = { "" };
	char path[128];

	if (sn_jobdir_expand(text, 4294967295u, "ann", "/home/ann", path,
			     sizeof(path), &err))
		fuzz_check_err(&err);
	else
		MUST(*path == '/' && strlen(path) < sizeof(path) &&
		     !strstr(path, "/../"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	plan(text);
	ranks(text);
	dir(text);
	free(text);
	return 0;
}
