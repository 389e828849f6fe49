/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_journal.c - the daemon's journal: what is read of it can be written again and
 * is the same then.
 *
 * Lines have a checksum, which a fuzzer would hardly find: a line that ends in
 * ,"sum":"?"} gets the right one first.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "elastic/journal.h"
#include "fuzz.h"

#define HEAD ",\"sum\":\""

static uint64_t sum_of(const char *text, size_t len)
{
	uint64_t sum = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
	return sum;
}

/* *ret_len: of what is returned (free). */
static char *with_sums(const uint8_t *data, size_t size, size_t *ret_len)
{
	static const char end[] = HEAD "?\"}";
	char *out = malloc(size * 16 + 32);
	size_t len = 0, line = 0;

	if (!out)
		return NULL;
	for (size_t i = 0; i < size; i++) {
		if (data[i] == '\n' && len - line >= sizeof(end) - 1 &&
		    !memcmp(out + len - (sizeof(end) - 1), end, sizeof(end) - 1)) {
			len -= sizeof(end) - 1;
			len += (size_t)sprintf(out + len, HEAD "%016llx\"}",
					       (unsigned long long)sum_of(out + line, len - line));
		}
		out[len++] = (char)data[i];
		if (data[i] == '\n')
			line = len;
	}
	*ret_len = len;
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sn_journal_state state, again;
	size_t len = 0, len2;
	char *text = with_sums(data, size, &len), *fresh;
	char buf[160];

	if (!text)
		return 0;
	if (!sn_journal_parse(text, len, &state, NULL)) {
		for (uint32_t i = 0; i < state.n; i++) {
			const struct sn_act *act = &state.open[i];

			MUST(act->id && act->id < state.next);
			MUST(sn_act_has_object(act));
			MUST(*sn_act_text(act, buf, sizeof(buf)));
		}
		MUST(!sn_journal_text(state.open, state.n, state.next, &fresh, &len2, NULL));
		MUST(!sn_journal_parse(fresh, len2, &again, NULL));
		MUST(!again.damaged && !again.torn);
		MUST(again.n == state.n && again.next == state.next);
		for (uint32_t i = 0; i < state.n; i++) {
			MUST(again.open[i].id == state.open[i].id);
			MUST(sn_act_same(&again.open[i], &state.open[i]));
			MUST(!strcmp(again.open[i].node, state.open[i].node));
		}
		free(fresh);
		sn_journal_state_done(&again);
		sn_journal_state_done(&state);
	}
	free(text);
	return 0;
}
