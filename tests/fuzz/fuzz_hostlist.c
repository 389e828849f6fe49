/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_hostlist.c - what expands, compresses to what expands to the same.
 */
#include "config.h"

#include "fuzz.h"
#include "topology/hostlist.h"

/* A list of millions is legal and slow; one run should be neither. */
#define NAMES_MAX 20000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sn_names names = { .name = NULL }, back = { .name = NULL };
	char *text = fuzz_string(data, size), *short_text;
	struct sn_err err = { "" };
	size_t i;

	if (sn_hostlist_expand(text, &names, &err)) {
		fuzz_check_err(&err);
		MUST(names.n == 0);
	} else if (names.n <= NAMES_MAX) {
		short_text = sn_hostlist_compress((const char *const *)names.name, names.n);
		MUST(short_text);
		MUST(sn_hostlist_expand(short_text, &back, &err) == 0);
		MUST(back.n == names.n);
		for (i = 0; i < names.n; i++) {
			MUST(strcmp(names.name[i], back.name[i]) == 0);
			MUST(sn_name_cmp(names.name[i], back.name[i]) == 0);
			if (i)
				MUST((sn_name_cmp(names.name[i - 1], names.name[i]) < 0) ==
				     (sn_name_cmp(names.name[i], names.name[i - 1]) > 0));
		}
		free(short_text);
	}
	sn_names_done(&names);
	sn_names_done(&back);
	free(text);
	return 0;
}
