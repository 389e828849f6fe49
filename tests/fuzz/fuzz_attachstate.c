/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_attachstate.c - what snruns say of themselves: what is taken holds together.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "elastic/attachstate.h"
#include "fuzz.h"
#include "snctl/jsonread.h"

#define NODES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct json_object *o = NULL;
	struct sn_attach_state s;
	struct sn_err err = { "" };
	uint64_t ranks = 0;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (snctl_json_parse(text, size, "f", &o, &err)) {
		free(text);
		return 0;
	}
	if (sn_attach_state_parse(o, NODES, &s, &err)) {
		fuzz_check_err(&err);
	} else {
		MUST(sn_attach_phase_name(s.phase));
		MUST(s.name.n <= NODES && s.spare.n <= NODES);
		for (size_t i = 0; i < s.name.n; i++) {
			MUST(s.node[i].first == ranks && s.node[i].ranks);
			ranks += s.node[i].ranks;
			MUST(sn_attach_state_find(&s, s.name.name[i]) <= i);
		}
		MUST(ranks == s.ranks);
		MUST(s.since_safe == s.since_safe && s.checkpoint_seconds == s.checkpoint_seconds);
		sn_attach_state_done(&s);
	}
	json_object_put(o);
	free(text);
	return 0;
}
