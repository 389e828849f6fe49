/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_snmem.c - what nodes tell each other of checkpoints in memory; the first byte
 * chooses. What is read can be written, and is the same when it is read again.
 */
#include "config.h"

#include "fuzz.h"
#include "launcher/memsafe.h"
#include "launcher/snmem_internal.h"

static void list(const char *text)
{
	struct mem_list a, b;
	struct mem_decision d;
	char *again;

	if (mem_list_parse(text, &a))
		return;
	again = mem_list_format(&a);
	MUST(again && !mem_list_parse(again, &b));
	MUST(a.n == b.n && a.session == b.session && a.server.port == b.server.port);
	free(again);
	MUST(!mem_decide(&a, 1, a.session, NULL, 0, &d));
	MUST(!d.found || d.id.world <= a.n);
	mem_decision_done(&d);
	mem_list_done(&a);
	mem_list_done(&b);
}

static void decision(const char *text)
{
	struct mem_decision a, b;
	char *again;

	if (mem_decision_parse(text, &a))
		return;
	again = mem_decision_format(&a);
	MUST(again && !mem_decision_parse(again, &b));
	MUST(a.found == b.found && a.id.iteration == b.id.iteration && a.n_servers == b.n_servers);
	for (uint32_t i = 0; a.found && a.n_servers && i < a.id.world; i++)
		MUST(a.at[i] < a.n_servers && a.at[i] == b.at[i]);
	free(again);
	mem_decision_done(&a);
	mem_decision_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data + (size ? 1 : 0), size ? size - 1 : 0);
	struct mem_id id;
	struct sn_memsafe_word word;
	uint64_t iteration;
	char name[MEM_NAME];

	if (!sn_memsafe_parse(text, &word)) {
		MUST(word.ranks && word.ranks <= word.world && word.iteration);
		MUST(sn_memsafe_find(&word, 1, word.generation, &iteration) == (word.ranks == word.world));
	}
	switch (size ? data[0] % 3 : 0) {
	case 0:
		list(text);
		break;
	case 1:
		decision(text);
		break;
	default:
		if (mem_name_parse(text, &id)) {
			mem_name(&id, name);
			MUST(!strcmp(name, text) && id.rank < id.world);
		}
	}
	free(text);
	return 0;
}
