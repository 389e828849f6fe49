/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layoutspec.c - the writing of a layout, "tp=8,ep=64,etp=1,pp=6,dp=128".
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/layout.h"
#include "topology/text.h"

#define ITEM_MAX 64 /* of one "key=value"; the longest legal one is shorter */

enum key_type { KEY_SIZE, KEY_ORDER, KEY_PRESET, KEY_DOMAIN, KEY_MAP };

/* One table drives parsing, writing and the sentence on unknown keys. */
static const struct key {
	const char *name;
	enum key_type type;
	size_t offset;
} keys[] = {
	{ "tp", KEY_SIZE, offsetof(struct sn_layout, tp) },
	{ "cp", KEY_SIZE, offsetof(struct sn_layout, cp) },
	{ "ep", KEY_SIZE, offsetof(struct sn_layout, ep) },
	{ "etp", KEY_SIZE, offsetof(struct sn_layout, etp) },
	{ "pp", KEY_SIZE, offsetof(struct sn_layout, pp) },
	{ "dp", KEY_SIZE, offsetof(struct sn_layout, dp) },
	{ "order", KEY_ORDER, 0 },
	{ "preset", KEY_PRESET, 0 },
	{ "tp_within", KEY_DOMAIN, offsetof(struct sn_layout, tp_within) },
	{ "cp_within", KEY_DOMAIN, offsetof(struct sn_layout, cp_within) },
	{ "ep_within", KEY_DOMAIN, offsetof(struct sn_layout, ep_within) },
	{ "map", KEY_MAP, 0 },
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))
enum { K_TP, K_CP, K_EP, K_ETP, K_PP, K_DP, K_ORDER, K_PRESET, K_TP_WITHIN,
       K_CP_WITHIN, K_EP_WITHIN, K_MAP };

static const char *const orders[] = { "tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp" };
static const char *const domains[] = { "node", "unit", "supernode", "any" };
static const char *const maps[] = { "contiguous", "auto" };
static const struct { const char *name; enum sn_order order; } presets[] = {
	{ "megatron", SN_ORDER_DP_PP },
	{ "deepspeed", SN_ORDER_DP_PP },
	{ "mesh", SN_ORDER_DP_PP },
	{ "vllm", SN_ORDER_PP_DP },
};

struct parse {
	struct sn_layout l;
	bool given[N_KEYS];
	char order[ITEM_MAX]; /* as typed; read once the sizes are known */
};

const char *sn_order_name(enum sn_order order)
{
	return orders[order];
}

const char *sn_domain_name(enum sn_domain domain)
{
	return domains[domain];
}

static int unknown_key(const char *key, struct sn_err *err)
{
	const char *names[N_KEYS], *near;

	for (size_t k = 0; k < N_KEYS; k++)
		names[k] = keys[k].name;
	near = sn_text_nearest(key, names, N_KEYS);
	return sn_err_set(err, -EINVAL,
			  "unknown key \"%s\"%s%s%s (known: tp, cp, ep, etp, pp, dp, order, preset, tp_within, cp_within, ep_within, map)",
			  key, near ? ": did you mean " : "",
			  near ? near : "", near ? "?" : "");
}

static int parse_axis_size(const char *key, const char *value, uint32_t *ret,
			   struct sn_err *err)
{
	uint64_t n = 0;
	bool number = *value != '\0';

	for (const char *p = value; *p; p++) {
		if (*p < '0' || *p > '9') {
			number = false;
			break;
		}
		if (n <= SN_WORLD_MAX)
			n = n * 10 + (uint64_t)(*p - '0');
	}
	if (!number || n < 1 || n > SN_WORLD_MAX)
		return sn_err_set(err, -EINVAL,
				  "%s=%s: a size is a whole number from 1 to %u",
				  key, value, SN_WORLD_MAX);
	*ret = (uint32_t)n;
	return 0;
}

static int word_of(const char *value, const char *const *words, int n)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(value, words[i]))
			return i;
	return -1;
}

static int parse_value(struct parse *p, size_t k, const char *value,
		       struct sn_err *err)
{
	void *field = (char *)&p->l + keys[k].offset;
	enum sn_domain domain;
	int i;

	switch (keys[k].type) {
	case KEY_SIZE:
		return parse_axis_size(keys[k].name, value, field, err);
	case KEY_ORDER:
		snprintf(p->order, sizeof(p->order), "%s", value);
		return 0;
	case KEY_PRESET:
		for (size_t n = 0; n < sizeof(presets) / sizeof(presets[0]); n++)
			if (!strcmp(value, presets[n].name)) {
				p->l.preset = (enum sn_preset)n;
				return 0;
			}
		return sn_err_set(err, -EINVAL,
				  "preset=%s: not megatron, deepspeed, mesh or vllm",
				  value);
	case KEY_DOMAIN:
		i = word_of(value, domains, k == K_EP_WITHIN ? 4 : 3);
		if (i < 0)
			return sn_err_set(err, -EINVAL,
					  "%s=%s: not node, unit%s supernode%s",
					  keys[k].name, value,
					  k == K_EP_WITHIN ? "," : " or",
					  k == K_EP_WITHIN ? " or any" : "");
		domain = (enum sn_domain)i;
		memcpy(field, &domain, sizeof(domain));
		return 0;
	case KEY_MAP:
		i = word_of(value, maps, 2);
		if (i < 0)
			return sn_err_set(err, -EINVAL,
					  "map=%s: not contiguous or auto",
					  value);
		p->l.map = (enum sn_map)i;
		return 0;
	}
	return -EINVAL;
}

static int parse_item(struct parse *p, const char *item, size_t len,
		      struct sn_err *err)
{
	char buf[ITEM_MAX];
	char *value;

	if (!len)
		return sn_err_set(err, -EINVAL,
				  "nothing between two commas, or at an end: items are key=value, separated by single commas");
	if (len >= sizeof(buf))
		return sn_err_set(err, -EINVAL,
				  "\"%.*s...\" is too long for a key=value",
				  ITEM_MAX - 1, item);
	memcpy(buf, item, len);
	buf[len] = '\0';
	value = strchr(buf, '=');
	if (!value)
		return sn_err_set(err, -EINVAL,
				  "\"%s\" is not key=value, as in tp=8", buf);
	*value++ = '\0';
	for (size_t k = 0; k < N_KEYS; k++) {
		if (strcmp(buf, keys[k].name))
			continue;
		if (p->given[k])
			return sn_err_set(err, -EINVAL,
					  "%s is given twice, the second time as %s=%s",
					  buf, buf, value);
		p->given[k] = true;
		return parse_value(p, k, value, err);
	}
	return unknown_key(buf, err);
}

static int bad_order(const struct parse *p, const char *why,
		     struct sn_err *err)
{
	return sn_err_set(err, -EINVAL,
			  "order=%s: %s; the two that work are order=%s and order=%s, of which axes of size 1 may be left out",
			  p->order, why, orders[0], orders[1]);
}

/* Whether the axes of text, in their order, are among those of order. The
 * axes met are set in seen[K_*]. */
static bool is_suborder(const char *text, const char *order, bool *seen)
{
	const char *at = order;

	while (*text) {
		size_t n = strcspn(text, "-");

		while (*at && (strncmp(at, text, n) ||
			       (at[n] != '-' && at[n] != '\0') || !n))
			at += strcspn(at, "-") + (at[strcspn(at, "-")] == '-');
		if (!*at)
			return false;
		for (size_t k = K_TP; k <= K_DP; k++)
			if (strlen(keys[k].name) == n &&
			    !strncmp(keys[k].name, text, n))
				seen[k] = true;
		at += n + (at[n] == '-');
		text += n;
		if (*text == '-' && !*++text)
			return false;
	}
	return true;
}

static int take_order(struct parse *p, struct sn_err *err)
{
	enum sn_order preset = presets[p->l.preset].order;
	bool seen[N_KEYS] = { false };
	bool sub[2];
	static const int axes[] = { K_TP, K_CP, K_EP, K_DP, K_PP };

	if (!p->given[K_ORDER]) {
		p->l.order = preset;
		return 0;
	}
	if (!p->order[0])
		return bad_order(p, "no order", err);
	for (int o = 0; o < 2; o++) {
		bool met[N_KEYS] = { false };

		sub[o] = is_suborder(p->order, orders[o], met);
		if (sub[o])
			memcpy(seen, met, sizeof(seen));
	}
	if (!sub[0] && !sub[1])
		return bad_order(p, "not an order that is supported", err);
	for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++) {
		const struct key *key = &keys[axes[i]];
		char why[64];
		uint32_t size;

		memcpy(&size, (char *)&p->l + key->offset, sizeof(size));
		if (seen[axes[i]] || size == 1)
			continue;
		snprintf(why, sizeof(why), "it leaves out %s=%u", key->name,
			 size);
		return bad_order(p, why, err);
	}
	/* Where both fit, dp or pp was left out, and they do not differ. */
	p->l.order = sub[preset] ? preset : (enum sn_order)!preset;
	if (p->l.order != preset && p->l.preset != SN_PRESET_MEGATRON)
		return sn_err_set(err, -EINVAL,
				  "order=%s contradicts preset=%s, whose order is %s",
				  p->order, presets[p->l.preset].name,
				  orders[preset]);
	return 0;
}

/* "an atom is 64 ranks", or why this etp cannot be. */
static void show_etp(const struct sn_layout *layout, uint32_t etp,
		     uint32_t cards_per_node, char *buf, size_t size)
{
	struct sn_layout l = *layout;
	struct sn_err why = { "" };

	l.etp = etp;
	if (!sn_layout_finish(&l, cards_per_node, &why)) {
		snprintf(buf, size, "an atom is %u ranks", l.atom);
		return;
	}
	/* What would do is said by the sentence around this one. */
	why.text[strcspn(why.text, ";")] = '\0';
	snprintf(buf, size, "the layout is not possible (%s)", why.text);
}

static int refuse_silent_etp(const struct sn_layout *l, uint32_t cards_per_node,
			     struct sn_err *err)
{
	char one[384], as_tp[384];

	show_etp(l, 1, cards_per_node, one, sizeof(one));
	show_etp(l, l->tp, cards_per_node, as_tp, sizeof(as_tp));
	return sn_err_set(err, -EINVAL,
			  "etp must be given where tp=%u and ep=%u both exceed 1: with etp=1 %s, with etp=%u (Megatron-LM's default, tp) %s",
			  l->tp, l->ep, one, l->tp, as_tp);
}

int sn_layout_parse(const char *spec, uint32_t cards_per_node,
		    struct sn_layout *ret, struct sn_err *err)
{
	struct parse p = { .l = {
		.tp = 1, .cp = 1, .ep = 1, .etp = 1, .pp = 1, .dp = 1,
		.tp_within = SN_IN_SUPERNODE, .cp_within = SN_IN_SUPERNODE,
		.ep_within = SN_IN_SUPERNODE, .etp_within = SN_IN_SUPERNODE,
	} };
	const char *item = spec;
	int rc;

	if (!*spec)
		return sn_err_set(err, -EINVAL,
				  "the layout is empty; give sizes, as in tp=8,pp=2,dp=4");
	for (const char *c = spec; *c; c++)
		if (isspace((unsigned char)*c))
			return sn_err_set(err, -EINVAL,
					  "white space after \"%.*s\": write the layout without spaces, as in tp=8,pp=2,dp=4",
					  (int)(c - spec < 200 ? c - spec : 200),
					  spec);
	for (;;) {
		size_t n = strcspn(item, ",");

		rc = parse_item(&p, item, n, err);
		if (rc)
			return rc;
		if (!item[n])
			break;
		item += n + 1;
	}
	if (!p.given[K_ETP])
		p.l.etp = p.l.tp;
	if (!p.given[K_TP_WITHIN] && cards_per_node &&
	    !(cards_per_node % p.l.tp))
		p.l.tp_within = SN_IN_NODE;
	rc = take_order(&p, err);
	if (rc)
		return rc;
	if (!p.given[K_ETP] && p.l.tp > 1 && p.l.ep > 1)
		return refuse_silent_etp(&p.l, cards_per_node, err);
	rc = sn_layout_finish(&p.l, cards_per_node, err);
	if (!rc)
		*ret = p.l;
	return rc;
}

void sn_layout_format(const struct sn_layout *layout, char *buf, size_t size)
{
	const struct sn_layout *l = layout;

	snprintf(buf, size,
		 "tp=%u,cp=%u,ep=%u,etp=%u,pp=%u,dp=%u,order=%s,preset=%s,tp_within=%s,cp_within=%s,ep_within=%s,map=%s",
		 l->tp, l->cp, l->ep, l->etp, l->pp, l->dp, orders[l->order],
		 presets[l->preset].name, domains[l->tp_within],
		 domains[l->cp_within], domains[l->ep_within], maps[l->map]);
}
