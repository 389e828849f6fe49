/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cardbook.c - the marks on a node's cards and domains, read.
 *
 * People write this text, too. A mark is believed whatever is inside it, and a book
 * that cannot be read has all cards in it: one that is masked in error does less
 * harm than a bad one given out.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "launcher/cardbook.h"
#include "launcher/cardbook_internal.h"
#include "launcher/extratext.h"
#include "snctl/jsonread.h"

#define WHO SN_EXTRA_WHO

static const char *const health_word[] = {
	[SN_CARDHEALTH_NONE] = "",
	[SN_CARDHEALTH_SUSPECT] = "suspect",
	[SN_CARDHEALTH_PROBING] = "probing",
	[SN_CARDHEALTH_QUARANTINED] = "quarantined",
	[SN_CARDHEALTH_MANUAL] = "manual",
};
#define N_HEALTH (sizeof(health_word) / sizeof(health_word[0]))

const char *sn_cardhealth_word(enum sn_cardhealth state)
{
	return state < N_HEALTH ? health_word[state] : "";
}

void sn_cardbook_why(char ret[SN_CARDBOOK_WHY_MAX], const char *text)
{
	struct sn_err clean;
	size_t n;

	/* Sentences have the same needs. */
	sn_err_set(&clean, 0, "%s", text);
	n = strlen(clean.text);
	if (n >= SN_CARDBOOK_WHY_MAX) {
		n = SN_CARDBOOK_WHY_MAX - 1;
		while (n && ((unsigned char)clean.text[n] & 0xc0) == 0x80)
			n--;
	}
	memcpy(ret, clean.text, n);
	ret[n] = '\0';
}

/* A card's number as it is written: no sign, space or leading zero. */
static int card_number(const char *key, uint32_t *ret)
{
	uint32_t n = 0;

	if (!key[0] || (key[0] == '0' && key[1]) || strlen(key) > 2)
		return -EINVAL;
	for (; *key; key++) {
		if (*key < '0' || *key > '9')
			return -EINVAL;
		n = n * 10 + (uint32_t)(*key - '0');
	}
	*ret = n;
	return n < SN_CARDBOOK_CARDS ? 0 : -EINVAL;
}

/* null is no mark. */
static bool has_mark(struct json_object *in, const char *key,
		     struct json_object **ret)
{
	return json_object_object_get_ex(in, key, ret) && *ret;
}

static int read_card(const char *key, struct json_object *value,
		     struct sn_cardbook *ret, struct sn_err *err)
{
	struct json_object *mark;
	uint32_t card;
	int rc = 0;

	if (card_number(key, &card))
		return sn_err_set(err, -EINVAL,
				  WHO ": \"cards\" has \"%.20s\", which is no card's number; want 0 to %d",
				  key, SN_CARDBOOK_CARDS - 1);
	if (!json_object_is_type(value, json_type_object)) {
		ret->drained |= value ? UINT64_C(1) << card : 0;
		return value ? sn_err_set(err, -EINVAL,
					  WHO ": card %u has %s, which counts as a mark; want an object",
					  card, snctl_json_kind(value)) : 0;
	}
	if (has_mark(value, SN_CARDBOOK_DRAIN, &mark)) {
		ret->drained |= UINT64_C(1) << card;
		if (!json_object_is_type(mark, json_type_object))
			rc = -EINVAL;
	}
	if (has_mark(value, SN_CARDBOOK_HEALTH, &mark)) {
		ret->unhealthy |= UINT64_C(1) << card;
		if (!json_object_is_type(mark, json_type_object))
			rc = -EINVAL;
	}
	if (rc)
		sn_err_set(err, rc, WHO ": a mark of card %u is no object; it counts all the same",
			   card);
	return rc;
}

/* err is NULL or has the sentence so far. */
static int mask_all(struct sn_cardbook *ret, int rc, struct sn_err *err)
{
	struct sn_err what;

	ret->masked = ret->drained = UINT64_MAX;
	ret->unreadable = true;
	if (!err)
		return rc;
	what = *err;
	return sn_err_set(err, rc, "%s; until that is put right all cards of the node are masked",
			  what.text);
}

static int read_cards(struct json_object *root, struct sn_cardbook *ret,
		      struct sn_err *err)
{
	struct json_object *cards;
	int rc = 0, one;

	if (!has_mark(root, SN_CARDBOOK_CARDS_KEY, &cards))
		return 0;
	if (!json_object_is_type(cards, json_type_object)) {
		sn_err_set(err, -EINVAL, WHO ": \"cards\" is %s; want an object",
			   snctl_json_kind(cards));
		return mask_all(ret, -EINVAL, err);
	}
	json_object_object_foreach(cards, key, value) {
		one = read_card(key, value, ret, rc ? NULL : err);
		rc = rc ? rc : one;
	}
	ret->masked = ret->drained | ret->unhealthy;
	return rc;
}

static int read_degraded(struct json_object *root, struct sn_cardbook *ret,
			 struct sn_err *err)
{
	struct json_object *degraded, *mark;

	if (!has_mark(root, SN_CARDBOOK_DEGRADED_KEY, &degraded))
		return 0;
	if (!json_object_is_type(degraded, json_type_object))
		return sn_err_set(err, -EINVAL,
				  WHO ": \"degraded\" is %s; want an object",
				  snctl_json_kind(degraded));
	ret->degraded_supernode = has_mark(degraded, SN_CARDBOOK_SUPERNODE, &mark);
	ret->degraded_unit = has_mark(degraded, SN_CARDBOOK_UNIT, &mark);
	for (size_t i = 0; i < 2; i++) {
		static const char *const domain[] = { SN_CARDBOOK_SUPERNODE, SN_CARDBOOK_UNIT };

		if (has_mark(degraded, domain[i], &mark) && !json_object_is_type(mark, json_type_object))
			return sn_err_set(err, -EINVAL,
					  WHO ": the mark of a degraded %s is %s, and counts all the same; want an object",
					  domain[i], snctl_json_kind(mark));
	}
	return 0;
}

int sn_cardbook_read(const char *extra, struct sn_cardbook *ret,
		     struct sn_err *err)
{
	struct json_object *root;
	int rc, degraded;

	memset(ret, 0, sizeof(*ret));
	/* Most nodes have none. A key may be written with escapes. */
	if (!extra || (!strstr(extra, "\"" SN_CARDBOOK_CARDS_KEY "\"") &&
		       !strstr(extra, "\"" SN_CARDBOOK_DEGRADED_KEY "\"") &&
		       !strstr(extra, "\\u")))
		return 0;
	rc = sn_extratext_parse(extra, &root, err);
	if (rc && strstr(extra, "\"" SN_CARDBOOK_CARDS_KEY "\""))
		return mask_all(ret, rc, err);
	if (rc || !root)
		return rc;
	rc = read_cards(root, ret, err);
	degraded = read_degraded(root, ret, rc ? NULL : err);
	json_object_put(root);
	return rc ? rc : degraded;
}

/* ---- one mark ------------------------------------------------------------------------- */

static void read_mark(struct json_object *mark, struct sn_cardmark *ret)
{
	struct json_object *value;
	char text[SN_CARDBOOK_WHY_MAX];

	if (!json_object_is_type(mark, json_type_object))
		return;
	if (json_object_object_get_ex(mark, "at", &value) &&
	    json_object_is_type(value, json_type_int) &&
	    json_object_get_int64(value) > 0)
		ret->at = (uint64_t)json_object_get_int64(value);
	if (json_object_object_get_ex(mark, "by", &value) &&
	    json_object_is_type(value, json_type_string)) {
		sn_cardbook_why(text, json_object_get_string(value));
		if (strlen(text) < sizeof(ret->by))
			memcpy(ret->by, text, strlen(text) + 1);
	}
	if (json_object_object_get_ex(mark, "why", &value) &&
	    json_object_is_type(value, json_type_string))
		sn_cardbook_why(ret->why, json_object_get_string(value));
	if (json_object_object_get_ex(mark, "state", &value) &&
	    json_object_is_type(value, json_type_string))
		for (size_t i = 1; i < N_HEALTH; i++)
			if (!strcmp(json_object_get_string(value), health_word[i]))
				ret->state = (enum sn_cardhealth)i;
}

static bool find_mark(struct json_object *root, enum sn_cardkind kind,
		      uint32_t card, struct json_object **ret)
{
	struct json_object *in;
	char key[16];

	if (kind == SN_CARDKIND_SUPERNODE || kind == SN_CARDKIND_UNIT)
		return has_mark(root, SN_CARDBOOK_DEGRADED_KEY, &in) &&
			json_object_is_type(in, json_type_object) &&
			has_mark(in, cardbook_kind_key(kind), ret);
	snprintf(key, sizeof(key), "%u", card);
	if (!has_mark(root, SN_CARDBOOK_CARDS_KEY, &in) ||
	    (json_object_is_type(in, json_type_object) && !has_mark(in, key, &in)))
		return false;
	/* As read_cards() and read_card() have it. */
	if (!json_object_is_type(in, json_type_object)) {
		*ret = in;
		return kind == SN_CARDKIND_DRAIN;
	}
	return has_mark(in, cardbook_kind_key(kind), ret);
}

int sn_cardbook_find(const char *extra, enum sn_cardkind kind, uint32_t card,
		     struct sn_cardmark *ret, struct sn_err *err)
{
	struct json_object *root, *mark;
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = sn_extratext_parse(extra, &root, err);
	if (rc)
		return rc;
	if (root && card < SN_CARDBOOK_CARDS && find_mark(root, kind, card, &mark))
		read_mark(mark, ret);
	else
		rc = sn_err_set(err, -ENOENT, "there is no such mark");
	json_object_put(root);
	return rc;
}
