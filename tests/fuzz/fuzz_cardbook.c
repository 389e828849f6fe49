/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_cardbook.c - the marks on cards in a node's extra. The first byte chooses a
 * card and a kind of mark.
 */
#include "config.h"

#include "fuzz.h"
#include "launcher/cardbook.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data + (size ? 1 : 0), size ? size - 1 : 0);
	enum sn_cardkind kind = (enum sn_cardkind)(size ? data[0] >> 6 : 0);
	uint32_t card = size ? data[0] & 63 : 0;
	uint64_t bit = UINT64_C(1) << card;
	bool domain = kind == SN_CARDKIND_SUPERNODE || kind == SN_CARDKIND_UNIT;
	struct sn_cardmark mark = { SN_CARDHEALTH_MANUAL, 1, "root", "fuzz" }, got;
	struct sn_cardbook is, then;
	struct sn_err err = { "" };
	char *with = NULL, *without = NULL;

	if (sn_cardbook_read(text, &is, &err))
		fuzz_check_err(&err);
	MUST(is.masked == (is.drained | is.unhealthy));
	if (!sn_cardbook_find(text, kind, card, &got, NULL) && !domain)
		MUST((kind == SN_CARDKIND_DRAIN ? is.drained : is.unhealthy) & bit);
	sn_cardbook_why(mark.why, *text ? text : "-");
	if (!sn_cardbook_set(text, kind, bit, &mark, &with, &err)) {
		MUST(!sn_cardbook_find(with, kind, card, &got, NULL));
		MUST(!strcmp(got.why, mark.why) && got.at == 1);
		(void)sn_cardbook_read(with, &then, NULL);
		MUST(then.masked == (is.masked | (domain ? 0 : bit)));
		MUST(!sn_cardbook_set(with, kind, bit, NULL, &without, NULL));
		MUST(sn_cardbook_find(without, kind, card, &got, NULL));
	}
	free(with);
	free(without);
	free(text);
	return 0;
}
