/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthcode.c - fault codes: how grave each is.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "topology/healthcode.h"
#include "topology/text.h"

static const char *const level_name[SN_LEVELS] = {
	"NotHandleFault", "RestartRequest", "RestartBusiness", "SubHealthFault",
	"FreeRestartNPU", "RestartNPU", "PreSeparateNPU", "SeparateNPU",
	"ManuallySeparateNPU",
};

static const struct sn_health_effect effect[SN_LEVELS] = {
	[SN_LEVEL_RESTART_REQUEST] = { .counts = true },
	[SN_LEVEL_RESTART_BUSINESS] = { .counts = true, .suspect = true },
	[SN_LEVEL_SUB_HEALTH] = { .counts = true, .suspect = true },
	[SN_LEVEL_FREE_RESTART] = { .counts = true, .suspect = true,
		.reset = SN_RESET_WHEN_IDLE },
	[SN_LEVEL_RESTART] = { .counts = true, .suspect = true, .leave = true,
		.reset = SN_RESET_NOW },
	[SN_LEVEL_PRE_SEPARATE] = { .counts = true, .suspect = true, .isolate = true },
	[SN_LEVEL_SEPARATE] = { .counts = true, .suspect = true, .isolate = true,
		.leave = true },
	[SN_LEVEL_MANUALLY_SEPARATE] = { .counts = true, .suspect = true,
		.isolate = true, .manual = true, .leave = true },
};

/* What the suite's sources say, and NVIDIA's XIDs that are the card's own fault
 * (its catalogue: "Xid Errors"); those of applications (13, 31, 43, 45) are not. */
static const struct { const char *code; enum sn_health_level level; const char *text; } built_in[] = {
	{ "card-lost", SN_LEVEL_SEPARATE, "the device is not there" },
	{ "driver-hang", SN_LEVEL_SEPARATE, "the driver does not answer" },
	{ "probe-failed", SN_LEVEL_PRE_SEPARATE, "the probe failed" },
	{ "ecc-fatal", SN_LEVEL_SEPARATE, "an uncorrectable memory error" },
	{ "link-down", SN_LEVEL_PRE_SEPARATE, "a link is down" },
	{ "over-temperature", SN_LEVEL_SUB_HEALTH, "too hot" },
	{ "preflight", SN_LEVEL_SUB_HEALTH, "the preflight failed" },
	{ "sick", SN_LEVEL_SUB_HEALTH, "reported sick" },
	{ "xid-13", SN_LEVEL_NOT_HANDLE, "an application's error" },
	{ "xid-31", SN_LEVEL_NOT_HANDLE, "an application's page fault" },
	{ "xid-43", SN_LEVEL_NOT_HANDLE, "a stopped application" },
	{ "xid-45", SN_LEVEL_NOT_HANDLE, "an application's clean-up" },
	{ "xid-48", SN_LEVEL_FREE_RESTART, "a double bit memory error" },
	{ "xid-63", SN_LEVEL_NOT_HANDLE, "a page or row was retired" },
	{ "xid-64", SN_LEVEL_FREE_RESTART, "a page or row could not be retired" },
	{ "xid-74", SN_LEVEL_PRE_SEPARATE, "an NVLink error" },
	{ "xid-79", SN_LEVEL_SEPARATE, "the card fell off the bus" },
	{ "xid-94", SN_LEVEL_RESTART_BUSINESS, "a contained memory error" },
	{ "xid-95", SN_LEVEL_RESTART, "an uncontained memory error" },
	{ "xid-119", SN_LEVEL_RESTART, "the card's processor does not answer" },
	{ "xid-120", SN_LEVEL_RESTART, "the card's processor failed" },
};

const char *sn_health_level_name(enum sn_health_level level)
{
	return (unsigned int)level < SN_LEVELS ? level_name[level] : "?";
}

int sn_health_level_find(const char *word)
{
	for (int i = 0; i < SN_LEVELS; i++)
		if (!strcasecmp(word, level_name[i]))
			return i;
	return -1;
}

const struct sn_health_effect *sn_health_effect(enum sn_health_level level)
{
	return &effect[(unsigned int)level < SN_LEVELS ? level : SN_LEVEL_NOT_HANDLE];
}

static bool is_code_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == ':';
}

/* Lower case, without 0x; false if it can be no code. */
static bool normal(const char *code, size_t len, char out[SN_HEALTH_CODE_MAX])
{
	if (len > 2 && code[0] == '0' && (code[1] | 0x20) == 'x') {
		code += 2;
		len -= 2;
	}
	if (!len || len >= SN_HEALTH_CODE_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_code_char(code[i]))
			return false;
		out[i] = (char)tolower((unsigned char)code[i]);
	}
	out[len] = '\0';
	return true;
}

struct line {
	const char *file;
	uint32_t number;
	const char *p, *end;
};

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static size_t word(struct line *line, const char **ret)
{
	while (line->p < line->end && blank(*line->p))
		line->p++;
	*ret = line->p;
	while (line->p < line->end && !blank(*line->p))
		line->p++;
	return (size_t)(line->p - *ret);
}

static int bad_level(const struct line *line, const char *what, size_t len,
		     struct sn_err *err)
{
	char name[64], shown[32];
	const char *near;

	snprintf(name, sizeof(name), "%.*s", (int)len, what);
	near = sn_text_nearest(name, level_name, SN_LEVELS);
	return sn_err_set(err, -EINVAL,
			  "%s:%u: \"%s\": no such level%s%s; want one of NotHandleFault, RestartRequest, RestartBusiness, SubHealthFault, FreeRestartNPU, RestartNPU, PreSeparateNPU, SeparateNPU, ManuallySeparateNPU",
			  line->file, line->number,
			  sn_text_clip(name, shown, sizeof(shown)),
			  near ? ", did you mean " : "", near ? near : "");
}

static int no_memory(struct sn_err *err)
{
	return sn_err_set(err, -ENOMEM, "no memory for the fault codes");
}

static int add(struct sn_health_codes *codes, const char *code, bool prefix,
	       enum sn_health_level level, const char *text, size_t len,
	       uint32_t number, struct sn_err *err)
{
	uint32_t n = codes->n;
	struct sn_health_code *new;

	if (!(n & (n - 1))) {
		new = realloc(codes->code, (n ? (size_t)n * 2 : 1) * sizeof(*new));
		if (!new)
			return no_memory(err);
		codes->code = new;
	}
	new = &codes->code[n];
	*new = (struct sn_health_code){ strdup(code), prefix, level,
					strndup(text, len), number };
	codes->n++;
	if (!new->code || !new->text)
		return no_memory(err);
	if (prefix && strlen(code) > codes->longest)
		codes->longest = (uint32_t)strlen(code);
	return 0;
}

static int take_line(struct line *line, struct sn_health_codes *codes,
		     struct sn_err *err)
{
	char code[SN_HEALTH_CODE_MAX], name[SN_HEALTH_CODE_MAX], shown[32];
	const char *w, *level;
	size_t len, level_len;
	bool prefix;
	int found;

	len = word(line, &w);
	if (!len || *w == '#')
		return 0;
	prefix = w[len - 1] == '*';
	if (prefix && len == 1)
		return sn_err_set(err, -EINVAL,
				  "%s:%u: \"*\" alone would stand for every code; set HealthUnknownCode in supernode.conf",
				  line->file, line->number);
	if (!normal(w, len - prefix, code)) {
		snprintf(name, sizeof(name), "%.*s", (int)len, w);
		return sn_err_set(err, -EINVAL,
				  "%s:%u: \"%s\": want a code of at most %d letters, digits, _ - . and :, with * at the end for any rest",
				  line->file, line->number,
				  sn_text_clip(name, shown, sizeof(shown)),
				  SN_HEALTH_CODE_MAX - 1);
	}
	level_len = word(line, &level);
	if (!level_len || *level == '#')
		return sn_err_set(err, -EINVAL,
				  "%s:%u: %s: want \"CODE LEVEL TEXT\", such as \"%s SubHealthFault a slow link\"",
				  line->file, line->number, code, code);
	snprintf(name, sizeof(name), "%.*s", (int)level_len, level);
	found = level_len < sizeof(name) ? sn_health_level_find(name) : -1;
	if (found < 0)
		return bad_level(line, level, level_len, err);
	while (line->p < line->end && blank(*line->p))
		line->p++;
	while (line->end > line->p && blank(line->end[-1]))
		line->end--;
	len = (size_t)(line->end - line->p);
	if (len > SN_HEALTH_CODE_TEXT_MAX)
		return sn_err_set(err, -EINVAL,
				  "%s:%u: %s: the text has %zu bytes, of %d allowed",
				  line->file, line->number, code, len,
				  SN_HEALTH_CODE_TEXT_MAX);
	if (codes->n == SN_HEALTH_CODES_MAX)
		return sn_err_set(err, -EINVAL, "%s:%u: more than %d codes",
				  line->file, line->number, SN_HEALTH_CODES_MAX);
	return add(codes, code, prefix, (enum sn_health_level)found, line->p, len,
		   line->number, err);
}

static int compare(const char *code, bool prefix, const struct sn_health_code *b)
{
	int d = strcmp(code, b->code);

	return d ? d : (int)prefix - (int)b->prefix;
}

static int by_code(const void *a, const void *b)
{
	const struct sn_health_code *x = a;

	return compare(x->code, x->prefix, b);
}

int sn_health_codes_parse(const char *text, size_t len, const char *file,
			  struct sn_health_codes *ret, struct sn_err *err)
{
	struct sn_health_codes codes = { 0 };
	struct line line = { file, 0, text, text };
	const char *p = text, *end = text + len;
	int rc = 0;

	if (len && memchr(text, '\0', len))
		return sn_err_set(err, -EINVAL,
				  "%s: not a text file: it holds a NUL byte", file);
	while (!rc && p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));

		line.p = p;
		line.end = eol ? eol : end;
		line.number++;
		rc = take_line(&line, &codes, err);
		p = line.end < end && eol ? eol + 1 : end;
	}
	if (!rc && codes.n)
		qsort(codes.code, codes.n, sizeof(*codes.code), by_code);
	for (uint32_t i = 1; !rc && i < codes.n; i++) {
		const struct sn_health_code *a = &codes.code[i - 1], *b = a + 1;

		if (compare(a->code, a->prefix, b))
			continue;
		rc = sn_err_set(err, -EINVAL,
				"%s:%u: %s%s is in line %u already; keep one", file,
				a->line > b->line ? a->line : b->line, a->code,
				a->prefix ? "*" : "",
				a->line > b->line ? b->line : a->line);
	}
	if (rc) {
		sn_health_codes_done(&codes);
		return rc;
	}
	*ret = codes;
	return 0;
}

void sn_health_codes_done(struct sn_health_codes *codes)
{
	for (uint32_t i = 0; i < codes->n; i++) {
		free(codes->code[i].code);
		free(codes->code[i].text);
	}
	free(codes->code);
	memset(codes, 0, sizeof(*codes));
}

static const struct sn_health_code *find(const struct sn_health_codes *codes,
					 const char *code, bool prefix)
{
	uint32_t lo = 0, hi = codes->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int d = compare(code, prefix, &codes->code[mid]);

		if (!d)
			return &codes->code[mid];
		if (d < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

enum sn_health_level sn_health_code_level(const struct sn_health_codes *codes,
					  const char *code,
					  enum sn_health_level unknown,
					  const char **ret_text)
{
	const struct sn_health_code *found = NULL;
	char key[SN_HEALTH_CODE_MAX];
	const char *text = "";
	int level = -1;

	if (!normal(code, strlen(code), key)) {
		level = (int)unknown;
	} else if (codes && codes->n) {
		found = find(codes, key, false);
		for (size_t n = strlen(key) + 1; !found && n-- > 1;) {
			key[n] = '\0';
			if (n <= codes->longest)
				found = find(codes, key, true);
		}
		normal(code, strlen(code), key);
	}
	if (found) {
		level = (int)found->level;
		text = found->text;
	}
	for (size_t i = 0; level < 0 && i < sizeof(built_in) / sizeof(*built_in); i++)
		if (!strcmp(key, built_in[i].code)) {
			level = (int)built_in[i].level;
			text = built_in[i].text;
		}
	if (ret_text)
		*ret_text = text;
	return level < 0 ? unknown : (enum sn_health_level)level;
}
