/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_ranktable.c - rank tables of any version.
 */
#include "config.h"

#include "fuzz.h"
#include "launcher/ranktable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	struct sn_err err = { "" };
	struct sn_ranktable table;

	if (sn_ranktable_parse(text, size, "t", &table, &err)) {
		fuzz_check_err(&err);
		free(text);
		return 0;
	}
	MUST(table.n_ranks && table.n_servers && table.n_servers <= table.n_ranks);
	for (uint32_t r = 0; r < table.n_ranks; r++) {
		MUST(table.rank[r].server_id && table.rank[r].server < table.n_servers);
		MUST(!!table.rank[r].levels == (table.version == SN_RANK_TABLE_2_0));
	}
	sn_ranktable_done(&table);
	free(text);
	return 0;
}
