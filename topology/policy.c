/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy.c - supernode.conf: what a site decides, apart from what it has.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "topology/policy.h"

const struct sn_policy_key sn_policy_keys[] = {
	{ "CardGres", SN_POLICY_NAME, offsetof(struct sn_policy, card_gres),
	  0, 0, "npu",
	  "the generic resource that one card is, as in slurm.conf's GresTypes: npu, gpu" },
	{ "SmallJobCards", SN_POLICY_UINT,
	  offsetof(struct sn_policy, small_job_cards), 0, 1u << 24, "0",
	  "jobs that take at most this many cards are small; 0: none is" },
	{ NULL, SN_POLICY_UINT, 0, 0, 0, NULL, NULL },
};

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

static int set_value(const struct place *at, const struct sn_policy_key *key,
		     const char *value, size_t len, struct sn_policy *policy,
		     struct sn_err *err)
{
	if (key->type == SN_POLICY_NAME)
		return set_name(at, key, value, len, policy, err);
	return set_uint(at, key, value, len, policy, err);
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

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static int parse_line(const struct place *at, const char *p, const char *end,
		      struct sn_policy *policy, bool *seen, struct sn_err *err)
{
	while (p < end) {
		const struct sn_policy_key *key;
		const char *word, *value;
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
		for (value = ++p; p < end && !is_blank(*p) && *p != '#';)
			p++;
		rc = set_value(at, key, value, (size_t)(p - value), policy, err);
		if (rc)
			return rc;
	}
	return 0;
}

int sn_policy_parse(const char *text, size_t len, const char *file,
		    struct sn_policy *ret, struct sn_err *err)
{
	bool seen[sizeof(sn_policy_keys) / sizeof(sn_policy_keys[0])] = { false };
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
