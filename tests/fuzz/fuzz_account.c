/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_account.c - account.json, and what a job's owner tells snelasticd: what is taken
 * can be, and goes on.
 */
#include "config.h"

#include <stdlib.h>

#include "fuzz.h"
#include "launcher/accountjson.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *again;
	struct sn_account_file file, back;
	struct sn_err err = { "" };

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (sn_account_parse(text, &file, &err)) {
		fuzz_check_err(&err);
		free(text);
		return 0;
	}
	free(text);
	MUST(sn_ettr_ratio(&file.account) >= 0 && sn_ettr_ratio(&file.account) <= 1);
	MUST(!sn_ettr_check(&file.account, NULL));
	/* Any event can follow, but at the limits of what can be. */
	if (file.account.at > 1e10 || file.account.held_sum > 1e15 ||
	    file.account.missing > 1e15 || file.account.recoveries.sum > 1e15)
		return 0;
	for (int kind = 0; kind < SN_ETTR_KINDS; kind++) {
		const struct sn_ettr_event e = {
			.kind = (enum sn_ettr_kind)kind, .at = file.account.at + 1,
		};

		back = file;
		MUST(!sn_ettr_event(&back.account, &e, NULL));
		MUST(!sn_ettr_check(&back.account, NULL));
	}
	again = sn_account_format(&file);
	MUST(again); /* huge sums lose their milliseconds and no more */
	MUST(!sn_account_parse(again, &back, &err));
	free(again);
	return 0;
}
