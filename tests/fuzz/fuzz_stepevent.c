/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_stepevent.c - lines of srun's standard error.
 */
#include "config.h"

#include "fuzz.h"
#include "launcher/stepevent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	struct sn_event event;

	if (sn_event_parse(text, &event)) {
		MUST(!strncmp(text, "srun: error: ", 13));
		MUST(memchr(event.nodes, '\0', sizeof(event.nodes)));
		MUST(event.kind != SN_EVENT_NODE || event.nodes[0]);
		MUST(event.code >= 0 && event.code <= 255);
	}
	free(text);
	return 0;
}
