/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_checkpoint.c - --checkpoint's value, before the first NUL, and what is found
 * in a marker or as its name, after it.
 */
#include "config.h"

#include "fuzz.h"
#include "topology/checkpoint.h"

static void look(const struct sn_ckpt *ckpt, const char *text, size_t len)
{
	struct sn_ckpt_mark mark = { .ino = 7 }, none = { .there = false };

	sn_ckpt_read(ckpt, text, text, len, &mark);
	MUST(mark.there || !mark.has_iteration);
	MUST(mark.has_iteration || !mark.iteration);
	MUST(mark.there || ckpt->pattern || ckpt->number == SN_CKPT_MUST);
	MUST(sn_ckpt_is_new(&none, &mark) == mark.there);
	MUST(!sn_ckpt_is_new(&mark, &mark) && !sn_ckpt_later(&mark, &mark));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	size_t at = strlen(text) < size ? strlen(text) + 1 : size;
	char *words[] = { text, text + at, NULL };
	struct sn_ckpt ckpt;
	struct sn_err err = { "" };
	uint32_t soft, hard;

	if (sn_ckpt_parse(text, NULL, &ckpt, &err)) {
		fuzz_check_err(&err);
	} else {
		MUST(strlen(ckpt.marker) < SN_CKPT_PATH_MAX);
		MUST(!ckpt.preset->marker || *ckpt.marker);
		MUST(sn_ckpt_signal_name(ckpt.signal));
		sn_ckpt_limits(&ckpt, 120, 600, &soft, &hard);
		MUST(soft && soft <= hard);
		look(&ckpt, text + at, size - at);
	}
	for (const struct sn_ckpt_preset *p = sn_ckpt_presets; p->name; p++)
		if (!sn_ckpt_parse(p->name, words, &ckpt, NULL))
			look(&ckpt, text + at, size - at);
	free(text);
	return 0;
}
