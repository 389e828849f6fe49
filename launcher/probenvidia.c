/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probenvidia.c - what nvidia-smi says.
 *
 * `nvidia-smi -q` is a tree by indentation:
 *
 *	GPU 00000000:07:00.0
 *	    Minor Number                          : 0
 *	    FB Memory Usage
 *	        Total                             : 81920 MiB
 *	        Used                              : 12 MiB
 *	    ECC Errors
 *	        Volatile
 *	            DRAM Uncorrectable            : 0
 *
 * A key counts in the sections that it stands in, whatever their depth, so that a
 * section that a version adds in between does no harm.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "launcher/probetext.h"

#define DEPTH 8

struct section {
	size_t indent;
	struct span name;
};

struct smi {
	struct sn_probe_facts *facts;
	struct sn_probe_card *card;
	struct section section[DEPTH];
	uint32_t n_sections;
	uint64_t pid; /* of the process at hand, 0: none */
	struct span process;
	uint64_t old_double, old_single; /* of drivers before 450: their totals */
};

static bool in(const struct smi *smi, const char *name)
{
	for (uint32_t i = 0; i < smi->n_sections; i++)
		if (span_has(smi->section[i].name, name))
			return true;
	return false;
}

static bool is_no(struct span value)
{
	return !value.n || span_has(value, "n/a") || span_has(value, "not supported");
}

static void begin_card(struct smi *smi, struct span bus)
{
	struct sn_probe_card *card = probe_add_card(smi->facts);

	smi->card = card;
	smi->n_sections = 0;
	smi->pid = 0;
	if (!card)
		return;
	/* 00000000:07:00.0 is 0000:07:00.0 to Linux. */
	if (bus.n > 12 && bus.at[8] == ':') {
		bus.at += 4;
		bus.n -= 4;
	}
	span_copy(bus, card->bus, sizeof(card->bus));
	for (char *p = card->bus; *p; p++)
		if (*p >= 'A' && *p <= 'F')
			*p = (char)(*p - 'A' + 'a');
	card->health = SN_PROBE_OK;
}

static void take_error_words(struct smi *smi, struct span value)
{
	static const char *const words[] = {
		"unknown error", "gpu requires reset", "gpu is lost", "err!",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (span_has(value, words[i])) {
			smi->card->health = SN_PROBE_LOST;
			span_copy(value, smi->card->said,
				  sizeof(smi->card->said));
		}
}

static void take_ecc(struct smi *smi, struct span key, uint64_t n)
{
	struct sn_probe_card *card = smi->card;

	/* "Uncorrectable" has "correctable" in it. */
	if (span_has(key, "uncorrectable"))
		probe_add(&card->ecc_fatal, n);
	else if (span_has(key, "correctable"))
		probe_add(&card->ecc_corrected, n);
	else if (span_is(key, "total") && in(smi, "double bit"))
		probe_add(&card->ecc_fatal, n);
	else if (span_is(key, "total") && in(smi, "single bit"))
		probe_add(&card->ecc_corrected, n);
}

static void take_process(struct smi *smi, struct span key, struct span value)
{
	if (span_is(key, "process id")) {
		smi->pid = span_count(value);
		if (smi->pid == SN_PROBE_UNKNOWN)
			smi->pid = 0;
		smi->process = (struct span){ "", 0 };
	} else if (span_is(key, "name") && smi->pid) {
		smi->process = value;
	} else if (span_has(key, "used gpu memory") && smi->pid) {
		probe_add_process(smi->facts, smi->facts->n_cards - 1, smi->pid,
				  span_bytes(value, 1 << 20), smi->process);
		smi->pid = 0;
	}
}

static void take_pair(struct smi *smi, struct span key, struct span value)
{
	struct sn_probe_card *card = smi->card;
	uint64_t n;
	double v;

	take_error_words(smi, value);
	if (is_no(value))
		return;
	n = span_count(value);
	if (span_is(key, "minor number") && n < 1u << 16)
		card->number = (uint32_t)n;
	else if (span_is(key, "total") && in(smi, "fb memory usage"))
		card->memory_total = span_bytes(value, 1 << 20);
	else if (span_is(key, "used") && in(smi, "fb memory usage"))
		card->memory_used = span_bytes(value, 1 << 20);
	else if (span_is(key, "gpu current temp") && span_number(value, &v))
		card->temperature = v;
	else if (in(smi, "ecc errors") && in(smi, "volatile"))
		take_ecc(smi, key, n);
	else if (in(smi, "retired pages") && span_has(key, "bit ecc"))
		probe_add(&card->retired_pages, n);
	else if (in(smi, "remapped rows") && span_has(key, "correctable error"))
		probe_add(&card->row_remaps, n);
	else if (in(smi, "power readings") && span_has(key, "power draw") &&
		 card->power == SN_PROBE_NO_VALUE && !in(smi, "module") &&
		 span_number(value, &v))
		card->power = v;
	else if (in(smi, "remapped rows") &&
		 span_has(key, "failure") && span_is(value, "yes")) {
		card->health = SN_PROBE_CRITICAL;
		span_copy((struct span){ "row remapping failed", 20 },
			  card->said, sizeof(card->said));
	} else if (in(smi, "process")) {
		take_process(smi, key, value);
	}
}

static void open_section(struct smi *smi, size_t indent, struct span name)
{
	if (smi->n_sections < DEPTH)
		smi->section[smi->n_sections++] = (struct section){ indent, name };
}

static void take_line(struct smi *smi, struct span line)
{
	struct span rest = span_trim(line), word, key, value;
	size_t indent = (size_t)(rest.at - line.at);

	if (!rest.n)
		return;
	if (!indent) {
		if (span_word(&rest, &word) && span_is(word, "gpu") &&
		    span_word(&rest, &word) && span_has(word, ":")) {
			begin_card(smi, word);
			return;
		}
		if (span_pair(line, &key, &value) && span_is(key, "driver version"))
			span_copy(value, smi->facts->version,
				  sizeof(smi->facts->version));
		return;
	}
	if (!smi->card)
		return;
	while (smi->n_sections &&
	       smi->section[smi->n_sections - 1].indent >= indent)
		smi->n_sections--;
	/* "Processes" and "Processes : None" are both there. */
	if (!span_pair(line, &key, &value)) {
		open_section(smi, indent, rest);
		return;
	}
	if (!value.n || span_is(key, "processes")) {
		open_section(smi, indent, key);
		if (!value.n)
			return;
	}
	take_pair(smi, key, value);
	/* What belongs to a process stands deeper than its id. */
	if (span_is(key, "process id"))
		open_section(smi, indent, key);
}

int sn_probe_nvidia(const char *text, size_t len, struct sn_probe_facts *ret,
		    struct sn_err *err)
{
	struct smi smi = { .facts = ret };
	struct span rest = { text, len }, line;
	char begin[64];

	memset(ret, 0, sizeof(*ret));
	while (span_line(&rest, &line))
		take_line(&smi, line);
	for (uint32_t i = 0; i < ret->n_processes; i++)
		ret->process[i].number = ret->card[ret->process[i].number].number;
	if (ret->n_cards)
		return 0;
	rest = (struct span){ text, len };
	do
		line.n = 0;
	while (span_line(&rest, &line) && !span_trim(line).n);
	span_copy(span_trim(line), begin, sizeof(begin));
	return sn_err_set(err, -EINVAL,
			  "nvidia-smi shows no card; its output begins \"%s\"",
			  begin);
}

/*
 *	GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-…)
 *		 Link 0: Replay Errors: 0
 *		 Link 0: Recovery Errors: 0
 *		 Link 0: CRC Errors: 0
 */
bool sn_probe_nvlink(const char *text, size_t len, struct sn_probe_facts *facts)
{
	struct span rest = { text, len }, line, word, cut;
	struct sn_probe_card *card = NULL;
	bool any = false;

	while (span_line(&rest, &line)) {
		struct span s = span_trim(line);

		if (span_word(&s, &word) && span_is(word, "gpu") &&
		    span_word(&s, &word)) {
			uint64_t n = span_count(word);

			card = n < facts->n_cards ? &facts->card[n] : NULL;
			continue;
		}
		if (!card || !span_is(word, "link"))
			continue;
		/* The last piece between colons is the count. */
		s = line;
		while (span_cut(&s, ':', &cut))
			word = cut;
		if (span_count(word) == SN_PROBE_UNKNOWN || !span_has(line, "error"))
			continue;
		probe_add(span_has(line, "crc") ? &card->crc_errors :
			  &card->link_errors, span_count(word));
		card->links_told = any = true;
	}
	return any;
}
