/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policyparse.c - the text of a supernode.conf, by the table in policy.c.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "topology/policy.h"
#include "topology/text.h"

/* A value may stand in a sentence only as far as a line reaches. */
#define SHOWN 64

struct place {
	const char *file;
	unsigned int line;
};

static const struct sn_policy_key *find_key(const char *name, size_t len)
{
	const struct sn_policy_key *key;

	for (key = sn_policy_keys; key->name; key++)
		if (strlen(key->name) == len &&
		    !strncasecmp(key->name, name, len))
			return key;
	return NULL;
}

/* Letters that both words begin or end with: enough to catch a slip. */
static size_t likeness(const char *word, size_t len, const char *name)
{
	size_t n = strlen(name), head = 0, tail = 0;

	while (head < len && head < n &&
	       tolower((unsigned char)word[head]) ==
	       tolower((unsigned char)name[head]))
		head++;
	while (tail < len - head && tail < n - head &&
	       tolower((unsigned char)word[len - 1 - tail]) ==
	       tolower((unsigned char)name[n - 1 - tail]))
		tail++;
	return head + tail;
}

static int unknown_key(const struct place *at, const char *word, size_t len,
		       struct sn_err *err)
{
	const struct sn_policy_key *key, *best = sn_policy_keys;

	for (key = sn_policy_keys; key->name; key++)
		if (likeness(word, len, key->name) >
		    likeness(word, len, best->name))
			best = key;
	return sn_err_set(err, -EINVAL,
			  "%s:%u: %.*s: no such key; did you mean %s (%s)?",
			  at->file, at->line, (int)(len < SHOWN ? len : SHOWN),
			  word, best->name, best->help);
}

static int set_name(const struct place *at, const struct sn_policy_key *key,
		    const char *value, size_t len, struct sn_policy *policy,
		    struct sn_err *err)
{
	char *to = (char *)policy + key->offset;
	size_t n;

	for (n = 0; n < len; n++)
		if (!isalnum((unsigned char)value[n]) && value[n] != '_' &&
		    value[n] != '-')
			break;
	if (!len || n < len || len >= SN_POLICY_NAME_MAX)
		return sn_err_set(err, -EINVAL,
				  "%s:%u: %s=%.*s: want a name of 1 to %d letters, digits, '_' or '-', such as %s",
				  at->file, at->line, key->name,
				  (int)(len < SHOWN ? len : SHOWN), value,
				  SN_POLICY_NAME_MAX - 1, key->preset);
	memcpy(to, value, len);
	to[len] = '\0';
	return 0;
}

static int set_uint(const struct place *at, const struct sn_policy_key *key,
		    const char *value, size_t len, struct sn_policy *policy,
		    struct sn_err *err)
{
	uint64_t v = 0;
	uint32_t v32;
	size_t n;

	for (n = 0; n < len && isdigit((unsigned char)value[n]); n++) {
		v = v * 10 + (uint64_t)(value[n] - '0');
		if (v > key->max)
			break;
	}
	if (!len || n < len || v < key->min)
		return sn_err_set(err, -EINVAL,
				  "%s:%u: %s=%.*s: want a whole number from %llu to %llu",
				  at->file, at->line, key->name,
				  (int)(len < SHOWN ? len : SHOWN), value,
				  (unsigned long long)key->min,
				  (unsigned long long)key->max);
	v32 = (uint32_t)v;
	memcpy((char *)policy + key->offset, &v32, sizeof(v32));
	return 0;
}

static int set_text(const struct place *at, const struct sn_policy_key *key,
		    const char *value, size_t len, struct sn_policy *policy,
		    struct sn_err *err)
{
	char *to = (char *)policy + key->offset;

	if (len >= SN_POLICY_TEXT_MAX)
		return sn_err_set(err, -EINVAL,
				  "%s:%u: %s: the value has %zu characters, of %d allowed; put it into a script or file and name that",
				  at->file, at->line, key->name, len,
				  SN_POLICY_TEXT_MAX - 1);
	memcpy(to, value, len);
	to[len] = '\0';
	return 0;
}

static int set_choice(const struct place *at, const struct sn_policy_key *key,
		      const char *value, size_t len, struct sn_policy *policy,
		      struct sn_err *err)
{
	const char *word = key->choices;
	uint32_t n = 0;

	for (;;) {
		size_t size = strcspn(word, "|");

		if (size == len && !strncasecmp(word, value, len)) {
			memcpy((char *)policy + key->offset, &n, sizeof(n));
			return 0;
		}
		if (!word[size])
			break;
		word += size + 1;
		n++;
	}
	return sn_err_set(err, -EINVAL, "%s:%u: %s=%.*s: want one of %s",
			  at->file, at->line, key->name,
			  (int)(len < SHOWN ? len : SHOWN), value,
			  key->choices);
}

static int set_size(const struct place *at, const struct sn_policy_key *key,
		    const char *value, size_t len, struct sn_policy *policy,
		    struct sn_err *err)
{
	char text[SHOWN];
	struct sn_err why;
	uint64_t bytes;

	snprintf(text, sizeof(text), "%.*s", (int)len, value);
	if (len >= sizeof(text) || sn_parse_size(text, &bytes, &why))
		return sn_err_set(err, -EINVAL,
				  "%s:%u: %s=%s: want a size in bytes, with K, M, G or T for powers of 1024, such as 16G",
				  at->file, at->line, key->name, text);
	memcpy((char *)policy + key->offset, &bytes, sizeof(bytes));
	return 0;
}

static int set_words(const struct place *at, const struct sn_policy_key *key,
		     const char *value, size_t len, struct sn_policy *policy,
		     struct sn_err *err)
{
	size_t n;
	const char *word = sn_policy_bad_word(key->type, value, len, &n);

	if (word)
		return sn_err_set(err, -EINVAL, "%s:%u: %s: \"%.*s\": want %s",
				  at->file, at->line, key->name,
				  (int)(n < SHOWN ? n : SHOWN), word,
				  key->type == SN_POLICY_ENV ?
				  "NAME=VALUE, with blanks between several and none in a value, such as \"NCCL_DEBUG=WARN NCCL_IB_TC=106\"" :
				  "PCI addresses with blanks between, such as \"0000:81:00.0 0000:82:00.0\"");
	return set_text(at, key, value, len, policy, err);
}

static int set_value(const struct place *at, const struct sn_policy_key *key,
		     const char *value, size_t len, struct sn_policy *policy,
		     struct sn_err *err)
{
	switch (key->type) {
	case SN_POLICY_NAME:
		return set_name(at, key, value, len, policy, err);
	case SN_POLICY_TEXT:
		return set_text(at, key, value, len, policy, err);
	case SN_POLICY_ENV:
	case SN_POLICY_PCI:
		return set_words(at, key, value, len, policy, err);
	case SN_POLICY_CHOICE:
		return set_choice(at, key, value, len, policy, err);
	case SN_POLICY_SIZE:
		return set_size(at, key, value, len, policy, err);
	default:
		return set_uint(at, key, value, len, policy, err);
	}
}

void sn_policy_init(struct sn_policy *policy)
{
	const struct place at = { "default", 0 };
	const struct sn_policy_key *key;

	memset(policy, 0, sizeof(*policy));
	for (key = sn_policy_keys; key->name; key++)
		set_value(&at, key, key->preset, strlen(key->preset), policy,
			  NULL);
}

enum sn_vendor sn_policy_vendor(const struct sn_policy *policy)
{
	if (policy->vendor != SN_VENDOR_AUTO)
		return policy->vendor;
	if (!strcmp(policy->card_gres, "npu"))
		return SN_VENDOR_ASCEND;
	return strcmp(policy->card_gres, "gpu") ? SN_VENDOR_NONE :
		SN_VENDOR_NVIDIA;
}

const char *sn_policy_devices(const struct sn_policy *policy)
{
	if (strcasecmp(policy->preflight_devices, "auto"))
		return policy->preflight_devices;
	switch (sn_policy_vendor(policy)) {
	case SN_VENDOR_ASCEND:
		return "/dev/davinci%c";
	case SN_VENDOR_NVIDIA:
		return "/dev/nvidia%c";
	default:
		return "";
	}
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* A word, or what stands between double quotes; *ret_next is behind it. */
static int take_value(const struct place *at, const struct sn_policy_key *key,
		      const char *p, const char *end, const char **ret_value,
		      size_t *ret_len, const char **ret_next,
		      struct sn_err *err)
{
	const char *close;

	*ret_value = p;
	if (p < end && *p == '"') {
		p++;
		close = memchr(p, '"', (size_t)(end - p));
		if (!close || (close + 1 < end && !is_blank(close[1]) &&
			       close[1] != '#'))
			return sn_err_set(err, -EINVAL,
					  "%s:%u: %s: %s",
					  at->file, at->line, key->name,
					  close ? "something stands right behind the closing quote; put a blank between" :
					  "the opening quote has no closing one on this line");
		*ret_value = p;
		*ret_len = (size_t)(close - p);
		*ret_next = close + 1;
		return 0;
	}
	while (p < end && !is_blank(*p) && *p != '#')
		p++;
	*ret_len = (size_t)(p - *ret_value);
	*ret_next = p;
	return 0;
}

static int parse_line(const struct place *at, const char *p, const char *end,
		      struct sn_policy *policy, bool *seen, struct sn_err *err)
{
	while (p < end) {
		const struct sn_policy_key *key;
		const char *word, *value = p, *next = p;
		size_t len;
		int rc;

		while (p < end && is_blank(*p))
			p++;
		if (p == end || *p == '#')
			return 0;
		for (word = p; p < end && *p != '=' && *p != '#' && !is_blank(*p);)
			p++;
		len = (size_t)(p - word);
		if (p == end || *p != '=')
			return sn_err_set(err, -EINVAL,
					  "%s:%u: \"%.*s\": want Key=Value, such as CardGres=npu",
					  at->file, at->line,
					  (int)(len < SHOWN ? len : SHOWN), word);
		key = find_key(word, len);
		if (!key)
			return unknown_key(at, word, len, err);
		if (seen[key - sn_policy_keys])
			return sn_err_set(err, -EINVAL,
					  "%s:%u: %s is given twice; keep one",
					  at->file, at->line, key->name);
		seen[key - sn_policy_keys] = true;
		rc = take_value(at, key, p + 1, end, &value, &len, &next, err);
		if (!rc)
			rc = set_value(at, key, value, len, policy, err);
		if (rc)
			return rc;
		p = next;
	}
	return 0;
}

int sn_policy_parse(const char *text, size_t len, const char *file,
		    struct sn_policy *ret, struct sn_err *err)
{
	bool seen[SN_POLICY_KEYS_MAX] = { false };
	struct place at = { file, 0 };
	struct sn_policy policy;
	const char *p = text, *end = text + len;

	if (len && memchr(text, '\0', len))
		return sn_err_set(err, -EINVAL,
				  "%s: not a text file: it holds a NUL byte",
				  file);
	sn_policy_init(&policy);
	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		int rc;

		if (!eol)
			eol = end;
		at.line++;
		rc = parse_line(&at, p, eol, &policy, seen, err);
		if (rc)
			return rc;
		p = eol + (eol < end);
	}
	*ret = policy;
	return 0;
}
