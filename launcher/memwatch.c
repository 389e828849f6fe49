/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memwatch.c - what a node's cards and its pool region hold, what is advised, and
 * how that is written.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "launcher/memwatch.h"

/* Three numbers; what is between them is blanks and at most one comma. */
static bool parse_line(const char *p, const char *end, uint64_t ret[3])
{
	for (int i = 0; i < 3; i++) {
		uint64_t v = 0;

		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		if (i && p < end && *p == ',')
			for (p++; p < end && (*p == ' ' || *p == '\t');)
				p++;
		if (p == end || !isdigit((unsigned char)*p))
			return false;
		for (; p < end && isdigit((unsigned char)*p); p++) {
			if (v > (UINT64_MAX - 9) / 10)
				return false;
			v = v * 10 + (uint64_t)(*p - '0');
		}
		if (p < end && !strchr(" \t,\r", *p))
			return false;
		ret[i] = v;
	}
	while (p < end && isspace((unsigned char)*p))
		p++;
	return p == end;
}

int sn_memwatch_parse(const char *text, uint64_t unit, const char *who,
		      struct sn_memwatch_card *ret, uint32_t *ret_n,
		      struct sn_err *err)
{
	uint64_t seen = 0;
	unsigned int line = 0;
	uint32_t n = 0;

	while (*text) {
		size_t len = strcspn(text, "\n");
		const char *end = text + len, *p = text;
		uint64_t v[3];

		line++;
		text = end + (*end != '\0');
		while (p < end && isspace((unsigned char)*p))
			p++;
		if (p == end || *p == '#')
			continue;
		if (!parse_line(p, end, v))
			return sn_err_set(err, -EINVAL,
					  "%s: line %u: \"%.*s\": want CARD USED TOTAL, three whole numbers",
					  who, line, (int)(len < 60 ? len : 60), end - len);
		if (v[0] >= SN_MEMWATCH_CARDS || seen >> v[0] & 1)
			return sn_err_set(err, -EINVAL, "%s: line %u: card %" PRIu64 " %s",
					  who, line, v[0], v[0] < SN_MEMWATCH_CARDS ?
					  "is there twice" : "is over 63");
		if (v[1] > v[2] || v[2] > SN_SIZE_MAX / unit)
			return sn_err_set(err, -EINVAL,
					  "%s: line %u: %" PRIu64 " used of %" PRIu64 " cannot be",
					  who, line, v[1], v[2]);
		seen |= UINT64_C(1) << v[0];
		ret[n++] = (struct sn_memwatch_card){ (uint32_t)v[0], v[1] * unit, v[2] * unit };
	}
	*ret_n = n;
	return 0;
}

int sn_memwatch_init(struct sn_memwatch *watch, const struct sn_policy *policy,
		     uint32_t hold, uint32_t rest, struct sn_err *err)
{
	int rc = 0;

	memset(watch, 0, sizeof(*watch));
	for (uint32_t c = 0; !rc && c < SN_MEMWATCH_CARDS; c++)
		rc = sn_watermark_init(&watch->mark[c], policy->card_memory_high,
				       policy->card_memory_low, hold, rest, err);
	if (rc)
		return sn_err_prefix(err, rc, "CardMemoryHigh, CardMemoryLow: ");
	rc = sn_watermark_init(&watch->pool_mark, policy->pool_high,
			       policy->pool_low, hold, rest, err);
	return rc ? sn_err_prefix(err, rc, "PoolHigh, PoolLow: ") : 0;
}

bool sn_memwatch_sample(struct sn_memwatch *watch,
			const struct sn_memwatch_card *card, uint32_t n,
			const struct sn_poolprog_usage *pool, uint64_t now)
{
	bool changed = false;

	watch->n_cards = n;
	for (uint32_t i = 0; i < n; i++) {
		watch->card[i] = card[i];
		changed |= sn_watermark_sample(&watch->mark[card[i].card],
					       card[i].used, card[i].total, now);
	}
	watch->has_pool = pool != NULL;
	if (pool) {
		watch->pool = *pool;
		changed |= sn_watermark_sample(&watch->pool_mark, pool->used,
					       pool->size, now);
	}
	return changed;
}

enum sn_advice sn_memwatch_advice(const struct sn_memwatch *watch)
{
	enum sn_advice all = SN_ADVICE_NONE;

	for (uint32_t i = 0; i < watch->n_cards; i++) {
		enum sn_advice one = watch->mark[watch->card[i].card].advice;

		if (one == SN_ADVICE_SWAP_OUT)
			return one;
		if (one == SN_ADVICE_SWAP_IN)
			all = one;
	}
	return all;
}

static void add_count(struct json_object *to, const char *key, uint64_t value)
{
	if (value != UINT64_MAX)
		json_object_object_add(to, key, json_object_new_int64((int64_t)value));
}

static struct json_object *pool_object(const struct sn_memwatch *watch)
{
	struct json_object *pool = json_object_new_object();

	json_object_object_add(pool, "advice", json_object_new_string(sn_advice_name(watch->pool_mark.advice)));
	add_count(pool, "used", watch->pool.used);
	add_count(pool, "size", watch->pool.size);
	add_count(pool, "hits", watch->pool.hits);
	add_count(pool, "misses", watch->pool.misses);
	add_count(pool, "swap_ins", watch->pool.swap_ins);
	add_count(pool, "swap_outs", watch->pool.swap_outs);
	if (watch->pool.bus_load >= 0)
		json_object_object_add(pool, "bus_load", json_object_new_double(watch->pool.bus_load));
	return pool;
}

void sn_memwatch_write(const struct sn_memwatch *watch, const char *node,
		       uint64_t time, struct sn_buf *ret)
{
	struct json_object *root = json_object_new_object();
	struct json_object *cards = json_object_new_array();

	json_object_object_add(root, "node", json_object_new_string(node));
	json_object_object_add(root, "time", json_object_new_int64((int64_t)time));
	json_object_object_add(root, "advice", json_object_new_string(sn_advice_name(sn_memwatch_advice(watch))));
	for (uint32_t i = 0; i < watch->n_cards; i++) {
		struct json_object *card = json_object_new_object();

		json_object_object_add(card, "card", json_object_new_int((int)watch->card[i].card));
		add_count(card, "used", watch->card[i].used);
		add_count(card, "total", watch->card[i].total);
		json_object_object_add(card, "advice", json_object_new_string(sn_advice_name(watch->mark[watch->card[i].card].advice)));
		json_object_array_add(cards, card);
	}
	json_object_object_add(root, "cards", cards);
	if (watch->has_pool)
		json_object_object_add(root, "pool", pool_object(watch));
	sn_buf_add(ret, "%s\n", json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN));
	json_object_put(root);
}
