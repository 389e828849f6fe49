/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_control.c - requests to a running snrun: what is taken is whole.
 */
#include "config.h"

#include <stdlib.h>

#include "fuzz.h"
#include "launcher/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct sn_control c = { .id = "x" };
	struct sn_err err = { "" };

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (sn_control_parse(text, &c, &err)) {
		fuzz_check_err(&err);
	} else {
		MUST(sn_control_name(c.op));
		MUST(c.op != SN_CONTROL_SWAP || *c.node);
		MUST(!c.cards || *c.node);
		MUST(strlen(c.why) < sizeof(c.why) && !strpbrk(c.why, "\n\r\t"));
		MUST(!strcmp(c.id, "x"));
	}
	free(text);
	return 0;
}
