/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probetext.c - lines, words and numbers of the vendors' tools.
 */
#include "config.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "launcher/probetext.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

bool span_line(struct span *text, struct span *ret)
{
	const char *end;

	if (!text->n)
		return false;
	end = memchr(text->at, '\n', text->n);
	ret->at = text->at;
	ret->n = end ? (size_t)(end - text->at) : text->n;
	text->n -= ret->n + (end ? 1 : 0);
	text->at += ret->n + (end ? 1 : 0);
	return true;
}

struct span span_trim(struct span s)
{
	while (s.n && is_blank(*s.at)) {
		s.at++;
		s.n--;
	}
	while (s.n && is_blank(s.at[s.n - 1]))
		s.n--;
	return s;
}

bool span_cut(struct span *text, char by, struct span *ret)
{
	const char *end;

	if (!text->at)
		return false;
	end = memchr(text->at, by, text->n);
	ret->at = text->at;
	ret->n = end ? (size_t)(end - text->at) : text->n;
	if (end) {
		text->n -= ret->n + 1;
		text->at = end + 1;
	} else {
		text->at = NULL;
		text->n = 0;
	}
	*ret = span_trim(*ret);
	return true;
}

bool span_word(struct span *text, struct span *ret)
{
	*text = span_trim(*text);
	ret->at = text->at;
	ret->n = 0;
	while (ret->n < text->n && !is_blank(text->at[ret->n]))
		ret->n++;
	text->at += ret->n;
	text->n -= ret->n;
	return ret->n > 0;
}

bool span_is(struct span s, const char *word)
{
	return s.n == strlen(word) && !strncasecmp(s.at, word, s.n);
}

bool span_has(struct span s, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= s.n; i++)
		if (!strncasecmp(s.at + i, word, n))
			return true;
	return false;
}

void span_copy(struct span s, char *buf, size_t size)
{
	size_t n = 0;

	for (; n < s.n && n + 1 < size; n++)
		buf[n] = s.at[n] >= 0x20 && s.at[n] < 0x7f ? s.at[n] : '?';
	if (size)
		buf[n] = '\0';
}

bool span_number(struct span s, double *ret)
{
	double v = 0, scale = 0;
	bool minus = false, any = false;
	size_t i = 0;

	s = span_trim(s);
	if (i < s.n && s.at[i] == '-') {
		minus = true;
		i++;
	}
	for (; i < s.n; i++) {
		char c = s.at[i];

		if (c == ',' && any && !scale)
			continue;
		if (c == '.' && !scale) {
			scale = 1;
			continue;
		}
		if (c < '0' || c > '9')
			break;
		any = true;
		if (v > 1e17)
			return false;
		if (scale) {
			scale /= 10;
			v += (c - '0') * scale;
		} else {
			v = v * 10 + (c - '0');
		}
	}
	if (any)
		*ret = minus ? -v : v;
	return any;
}

uint64_t span_count(struct span s)
{
	double v;

	return span_number(s, &v) && v >= 0 && v < 1e15 ? (uint64_t)v :
		SN_PROBE_UNKNOWN;
}

uint64_t span_bytes(struct span s, uint64_t unit)
{
	double v;

	if (!span_number(s, &v) || v < 0)
		return SN_PROBE_UNKNOWN;
	if (span_has(s, "kib") || span_has(s, "kb"))
		unit = 1ull << 10;
	else if (span_has(s, "mib") || span_has(s, "mb"))
		unit = 1ull << 20;
	else if (span_has(s, "gib") || span_has(s, "gb"))
		unit = 1ull << 30;
	v *= (double)unit;
	return v < 1e18 ? (uint64_t)v : SN_PROBE_UNKNOWN;
}

bool span_pair(struct span line, struct span *ret_key, struct span *ret_value)
{
	size_t at = SIZE_MAX;

	for (size_t i = 0; i < line.n; i++) {
		if (line.at[i] != ':')
			continue;
		if (at == SIZE_MAX)
			at = i;
		if ((i && is_blank(line.at[i - 1])) ||
		    i + 1 == line.n || is_blank(line.at[i + 1])) {
			at = i;
			break;
		}
	}
	if (at == SIZE_MAX)
		return false;
	*ret_key = span_trim((struct span){ line.at, at });
	*ret_value = span_trim((struct span){ line.at + at + 1,
					      line.n - at - 1 });
	return ret_key->n > 0;
}

struct sn_probe_card *probe_add_card(struct sn_probe_facts *facts)
{
	struct sn_probe_card *card;

	if (facts->n_cards == SN_PROBE_CARDS)
		return NULL;
	card = &facts->card[facts->n_cards];
	*card = (struct sn_probe_card){
		.number = facts->n_cards, .unit = facts->n_cards,
		.temperature = SN_PROBE_NO_VALUE, .power = SN_PROBE_NO_VALUE,
		.memory_used = SN_PROBE_UNKNOWN, .memory_total = SN_PROBE_UNKNOWN,
		.ecc_fatal = SN_PROBE_UNKNOWN, .ecc_corrected = SN_PROBE_UNKNOWN,
		.retired_pages = SN_PROBE_UNKNOWN, .row_remaps = SN_PROBE_UNKNOWN,
		.link_errors = SN_PROBE_UNKNOWN, .crc_errors = SN_PROBE_UNKNOWN,
		.numa = -1,
	};
	facts->n_cards++;
	return card;
}

void probe_add_process(struct sn_probe_facts *facts, uint32_t number,
		       uint64_t pid, uint64_t memory, struct span name)
{
	struct sn_probe_process *p;

	if (!pid || pid > INT32_MAX ||
	    facts->n_processes == SN_PROBE_PROCESSES)
		return;
	p = &facts->process[facts->n_processes++];
	*p = (struct sn_probe_process){
		.number = number, .pid = (uint32_t)pid, .memory = memory,
	};
	span_copy(name, p->name, sizeof(p->name));
}

void probe_add(uint64_t *to, uint64_t n)
{
	if (n == SN_PROBE_UNKNOWN)
		return;
	*to = *to == SN_PROBE_UNKNOWN ? n : *to + n;
}
