/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_gresidx.c - Slurm's strings of generic resources: counts, bits and lists of one
 * string agree.
 */
#include "config.h"

#include "fuzz.h"
#include "snctl/gresidx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	uint32_t all[GRES_INDEX_MAX], few[5];
	uint64_t count, bits, listed = 0;
	size_t n, n_few, want;
	bool known;

	count = gres_count(text, "npu");
	bits = gres_indices(text, "npu", &known);
	n = gres_list(text, "npu", all, GRES_INDEX_MAX);
	MUST(n <= GRES_INDEX_MAX);
	for (size_t i = 0; i < n; i++) {
		MUST(all[i] < GRES_INDEX_MAX && (!i || all[i] > all[i - 1]));
		if (all[i] < 64)
			listed |= UINT64_C(1) << all[i];
	}
	/* What is told is listed; what is counted only, besides. */
	MUST((bits & ~listed) == 0);
	MUST(!known || bits == listed);
	want = count < GRES_INDEX_MAX ? count : GRES_INDEX_MAX;
	if (!strstr(text, "(IDX:"))
		MUST(n == want && known == !count && !bits);
	n_few = gres_list(text, "npu", few, 5);
	MUST(n_few == (n < 5 ? n : 5));
	for (size_t i = 0; i < n_few; i++)
		MUST(few[i] == all[i]);
	free(text);
	return 0;
}
