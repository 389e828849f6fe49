/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_records.c - the records of ranks, and what verify says about them. The
 * first byte: 1 reads as of a long file, 2 compares with a layout.
 */
#include "config.h"

#include "fuzz.h"
#include "launcher/recordread.h"
#include "topology/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int how = size ? data[0] : 0;
	char *text = fuzz_string(data + (size ? 1 : 0), size ? size - 1 : 0);
	struct sn_verify_opts opts = { .now = UINT64_C(1800000000000000000) };
	struct sn_recordread count = { 0 };
	struct sn_err err = { "" };
	struct sn_findings found;
	struct sn_records rec;
	struct sn_layout layout;

	MUST(!sn_layout_parse("tp=2,pp=2,dp=2", 0, &layout, NULL));
	sn_records_init(&rec);
	if (sn_recordread_text(&rec, text, size ? size - 1 : 0, "rank-0.jsonl", how & 1, &count, &err)) {
		fuzz_check_err(&err);
	} else {
		if (how & 2)
			opts.layout = &layout;
		if (sn_verify(&rec, &opts, &found, &err)) {
			fuzz_check_err(&err);
		} else {
			MUST(found.ranks > 0);
			for (uint32_t i = 0; i < found.n; i++) {
				MUST(found.find[i].text[0]);
				MUST(found.find[i].n_ranks > 0);
				MUST(!i || found.find[i].kind >= found.find[i - 1].kind);
			}
			sn_findings_done(&found);
		}
	}
	sn_records_done(&rec);
	free(text);
	return 0;
}
