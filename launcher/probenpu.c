/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probenpu.c - what npu-smi and hccn_tool say.
 *
 * `npu-smi info` is a table of two lines a chip, between bars:
 *
 *	| NPU   Name       | Health       | Power(W)  Temp(C)   Hugepages-Usage(page) |
 *	| Chip  Phy-ID     | Bus-Id       | AICore(%) Memory-Usage(MB) HBM-Usage(MB)  |
 *	+==================+==============+===========================================+
 *	| 0     Ascend910  | OK           | 165.1     36        0    / 0              |
 *	| 0     0          | 0000:9D:00.0 | 0         0    / 0      3131 / 65536      |
 *
 * and below it one of processes. Older versions have "Device" for "Phy-ID", or
 * neither, no HBM column where there is none, and other widths.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "launcher/probetext.h"

#define HEADINGS 8
#define CELLS 5

/* What the heading of the table's last column names, in order. */
enum column { COL_OTHER, COL_POWER, COL_TEMP, COL_MEMORY, COL_HBM };

struct npu {
	struct sn_probe_facts *facts;
	enum column upper[HEADINGS], lower[HEADINGS]; /* of the third cell */
	bool has_number; /* the lower line's first cell has a Phy-ID or Device */
	bool in_processes;
	bool in_table; /* both headings were seen */
	struct sn_probe_card *open; /* whose lower line is to come */
	bool more_chips; /* some NPU has more than one */
	bool numbered; /* some card's number was told */
};

static uint32_t cut_cells(struct span line, struct span *cell)
{
	struct span text = line;
	uint32_t n = 0;

	/* Before the first bar and after the last there is nothing. */
	if (!line.n || line.at[0] != '|')
		return 0;
	text.at++;
	text.n--;
	while (n < CELLS && span_cut(&text, '|', &cell[n]))
		n++;
	if (n && !cell[n - 1].n)
		n--;
	return n;
}

static void read_headings(struct span cell, enum column *ret)
{
	struct span word;

	for (uint32_t i = 0; i < HEADINGS; i++) {
		ret[i] = COL_OTHER;
		if (!span_word(&cell, &word))
			continue;
		if (span_has(word, "power"))
			ret[i] = COL_POWER;
		else if (span_has(word, "temp"))
			ret[i] = COL_TEMP;
		else if (span_has(word, "hbm"))
			ret[i] = COL_HBM;
		else if (span_has(word, "memory"))
			ret[i] = COL_MEMORY;
	}
}

/* A heading, or not. */
static bool take_heading(struct npu *npu, const struct span *cell, uint32_t n)
{
	if (n >= 2 && span_has(cell[1], "process") && span_has(cell[0], "npu")) {
		npu->in_processes = true;
		npu->open = NULL;
		return true;
	}
	if (n < 3)
		return false;
	if (span_is(cell[1], "health")) {
		read_headings(cell[2], npu->upper);
		npu->in_processes = false;
		return true;
	}
	if (span_has(cell[1], "bus")) {
		read_headings(cell[2], npu->lower);
		npu->has_number = span_has(cell[0], "phy") ||
			span_has(cell[0], "device");
		npu->in_table = true;
		return true;
	}
	return false;
}

static enum sn_probe_health health_of(struct span s)
{
	static const struct { const char *word; enum sn_probe_health health; } words[] = {
		{ "ok", SN_PROBE_OK }, { "normal", SN_PROBE_OK },
		{ "warning", SN_PROBE_WARNING }, { "alarm", SN_PROBE_ALARM },
		{ "critical", SN_PROBE_CRITICAL }, { "fault", SN_PROBE_CRITICAL },
		{ "offline", SN_PROBE_LOST }, { "lost", SN_PROBE_LOST },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (span_is(s, words[i].word))
			return words[i].health;
	return SN_PROBE_NOT_TOLD;
}

/* The next value of a cell: "92.5", or "3131 / 65536", blanks or not. */
static bool next_value(struct span *rest, struct span *ret, struct span *ret_total)
{
	struct span ahead, next;
	const char *slash;

	*ret_total = (struct span){ NULL, 0 };
	if (!span_word(rest, ret))
		return false;
	slash = memchr(ret->at, '/', ret->n);
	if (!slash) {
		ahead = *rest;
		if (!span_word(&ahead, &next) || *next.at != '/')
			return true;
		*rest = ahead;
		*ret_total = (struct span){ next.at + 1, next.n - 1 };
	} else {
		*ret_total = (struct span){ slash + 1,
					    ret->n - (size_t)(slash - ret->at) - 1 };
		ret->n = (size_t)(slash - ret->at);
	}
	if (!ret_total->n)
		(void)span_word(rest, ret_total);
	return true;
}

static void take_values(const enum column *column, struct span cell,
			struct sn_probe_card *card)
{
	struct span word, total, rest = cell;

	for (uint32_t i = 0; i < HEADINGS && next_value(&rest, &word, &total); i++) {
		double v;

		switch (column[i]) {
		case COL_POWER:
			if (span_number(word, &v))
				card->power = v;
			break;
		case COL_TEMP:
			if (span_number(word, &v))
				card->temperature = v;
			break;
		case COL_MEMORY:
			/* The chip's own; the HBM counts where there is some. */
			if (card->memory_total != SN_PROBE_UNKNOWN)
				break;
			/* fall through */
		case COL_HBM:
			if (!total.n || !span_count(total))
				break;
			card->memory_used = span_bytes(word, 1 << 20);
			card->memory_total = span_bytes(total, 1 << 20);
			break;
		case COL_OTHER:
			break;
		}
	}
}

static void take_upper(struct npu *npu, const struct span *cell)
{
	struct span first = cell[0], word;
	uint64_t unit;

	if (!span_word(&first, &word))
		return;
	unit = span_count(word);
	if (unit > 1u << 16)
		return;
	npu->open = probe_add_card(npu->facts);
	if (!npu->open)
		return;
	npu->open->unit = (uint32_t)unit;
	npu->open->health = health_of(cell[1]);
	span_copy(cell[1], npu->open->said, sizeof(npu->open->said));
	take_values(npu->upper, cell[2], npu->open);
}

static void take_lower(struct npu *npu, const struct span *cell)
{
	struct sn_probe_card *card = npu->open;
	struct span first = cell[0], word;
	uint64_t n;

	npu->open = NULL;
	if (span_word(&first, &word) && (n = span_count(word)) < 1u << 16)
		card->chip = (uint32_t)n;
	npu->more_chips |= card->chip > 0;
	if (npu->has_number && span_word(&first, &word) &&
	    (n = span_count(word)) < 1u << 16) {
		card->number = (uint32_t)n;
		npu->numbered = true;
	}
	if (span_has(cell[1], ":")) {
		span_copy(cell[1], card->bus, sizeof(card->bus));
		for (char *p = card->bus; *p; p++)
			if (*p >= 'A' && *p <= 'F')
				*p = (char)(*p - 'A' + 'a');
	}
	take_values(npu->lower, cell[2], card);
}

/* | 0       0                 | 12345         | python3   | 28931     | */
static void take_process(struct npu *npu, const struct span *cell, uint32_t n)
{
	struct span first = cell[0], word;
	uint64_t unit, chip = 0, pid = n > 1 ? span_count(cell[1]) : 0;

	if (n < 3 || pid == SN_PROBE_UNKNOWN || !span_word(&first, &word))
		return;
	unit = span_count(word);
	if (span_word(&first, &word))
		chip = span_count(word);
	for (uint32_t i = 0; i < npu->facts->n_cards; i++) {
		struct sn_probe_card *card = &npu->facts->card[i];

		if (card->unit != unit || card->chip != chip)
			continue;
		/* The number is settled at the end. */
		probe_add_process(npu->facts, i, pid, n > 3 ?
				  span_bytes(cell[3], 1 << 20) :
				  SN_PROBE_UNKNOWN, cell[2]);
		return;
	}
}

static void take_line(struct npu *npu, struct span line)
{
	struct span cell[CELLS], word;
	uint32_t n;

	line = span_trim(line);
	if (span_has(line, "npu-smi") && !npu->facts->version[0]) {
		struct span rest = line;

		while (span_word(&rest, &word))
			if (span_is(word, "npu-smi") && span_word(&rest, &word)) {
				span_copy(word, npu->facts->version,
					  sizeof(npu->facts->version));
				break;
			}
	}
	n = cut_cells(line, cell);
	if (!n || take_heading(npu, cell, n))
		return;
	if (npu->in_processes)
		take_process(npu, cell, n);
	else if (npu->in_table && n >= 3 && npu->open)
		take_lower(npu, cell);
	else if (npu->in_table && n >= 3)
		take_upper(npu, cell);
}

static void settle_numbers(struct npu *npu)
{
	struct sn_probe_facts *facts = npu->facts;

	for (uint32_t i = 0; i < facts->n_cards && !npu->numbered; i++)
		if (!npu->more_chips)
			facts->card[i].number = facts->card[i].unit;
	for (uint32_t i = 0; i < facts->n_processes; i++)
		facts->process[i].number =
			facts->card[facts->process[i].number].number;
}

int sn_probe_npu(const char *text, size_t len, struct sn_probe_facts *ret,
		 struct sn_err *err)
{
	struct npu npu = { .facts = ret };
	struct span rest = { text, len }, line;
	char begin[64];

	memset(ret, 0, sizeof(*ret));
	while (span_line(&rest, &line))
		take_line(&npu, line);
	settle_numbers(&npu);
	if (ret->n_cards)
		return 0;
	rest = (struct span){ text, len };
	do
		line.n = 0;
	while (span_line(&rest, &line) && !span_trim(line).n);
	span_copy(span_trim(line), begin, sizeof(begin));
	return sn_err_set(err, -EINVAL, "npu-smi shows no card; its output begins \"%s\"",
			  begin);
}

bool sn_probe_npu_ecc(const char *text, size_t len, uint32_t unit,
		      struct sn_probe_facts *facts)
{
	struct span rest = { text, len }, line, key, value;
	uint64_t fatal = SN_PROBE_UNKNOWN, corrected = SN_PROBE_UNKNOWN;
	uint64_t pages = SN_PROBE_UNKNOWN, chip = 0;
	bool any = false;

	/* The chip's number stands before or behind its values: then they are
	 * taken at its end, or at that of the text. */
	while (true) {
		bool more = span_line(&rest, &line);
		bool pair = more && span_pair(line, &key, &value);
		uint64_t n;

		if (more && (!pair || !(span_is(key, "chip id")))) {
			if (!pair)
				continue;
			n = span_count(value);
			if (span_has(key, "isolated pages"))
				probe_add(&pages, n);
			else if (span_has(key, "aggregate"))
				continue; /* of all time, over drivers */
			else if (span_has(key, "double bit") && span_has(key, "count"))
				probe_add(&fatal, n);
			else if (span_has(key, "single bit") && span_has(key, "count"))
				probe_add(&corrected, n);
			continue;
		}
		if (more) {
			n = span_count(value);
			chip = n == SN_PROBE_UNKNOWN ? chip : n;
		}
		for (uint32_t i = 0; i < facts->n_cards; i++) {
			struct sn_probe_card *card = &facts->card[i];

			if (card->unit != unit || card->chip != chip ||
			    (fatal & corrected & pages) == SN_PROBE_UNKNOWN)
				continue;
			probe_add(&card->ecc_fatal, fatal);
			probe_add(&card->ecc_corrected, corrected);
			probe_add(&card->retired_pages, pages);
			any = true;
		}
		if (!more)
			return any;
		fatal = corrected = pages = SN_PROBE_UNKNOWN;
	}
}

bool sn_probe_npu_link(const char *text, size_t len, uint32_t number,
		       struct sn_probe_facts *facts)
{
	struct span rest = { text, len }, line, key, value;

	while (span_line(&rest, &line)) {
		bool up, down;

		if (!span_pair(line, &key, &value) || !span_has(key, "link status"))
			continue;
		up = span_is(value, "up");
		down = span_is(value, "down");
		for (uint32_t i = 0; i < facts->n_cards && (up || down); i++)
			if (facts->card[i].number == number) {
				facts->card[i].links_told = true;
				facts->card[i].links_down += down;
				return true;
			}
	}
	return false;
}
