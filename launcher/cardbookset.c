/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cardbookset.c - the marks on a node's cards and domains, written.
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

static int check_mark(enum sn_cardkind kind, const struct sn_cardmark *mark,
		      struct sn_err *err)
{
	char clean[SN_CARDBOOK_WHY_MAX];

	sn_cardbook_why(clean, mark->why);
	if (!mark->why[0] || strcmp(clean, mark->why))
		return sn_err_set(err, -EINVAL,
				  "the reason \"%s\": want one line of 1 to %d bytes, in UTF-8",
				  mark->why, SN_CARDBOOK_WHY_MAX - 1);
	if (!mark->at || mark->at > INT64_MAX)
		return sn_err_set(err, -EINVAL, "a mark without a time");
	if (kind == SN_CARDKIND_HEALTH)
		return mark->state && sn_cardhealth_word(mark->state)[0] ? 0 :
			sn_err_set(err, -EINVAL, "a mark without a state");
	sn_cardbook_why(clean, mark->by);
	return mark->by[0] && !strcmp(clean, mark->by) ? 0 :
		sn_err_set(err, -EINVAL, "the name \"%s\" cannot be written", mark->by);
}

/* The object under key, made where there is none or what is there is no object. */
static struct json_object *get_object(struct json_object *in, const char *key)
{
	struct json_object *value;

	if (json_object_object_get_ex(in, key, &value) &&
	    json_object_is_type(value, json_type_object))
		return value;
	value = json_object_new_object();
	if (value && json_object_object_add(in, key, value)) {
		json_object_put(value);
		return NULL;
	}
	return value;
}

static int put(struct json_object *in, const char *key, struct json_object *value)
{
	if (value && !json_object_object_add(in, key, value))
		return 0;
	json_object_put(value);
	return -ENOMEM;
}

static int put_mark(struct json_object *in, enum sn_cardkind kind,
		    const struct sn_cardmark *mark)
{
	struct json_object *value = get_object(in, cardbook_kind_key(kind));
	int rc = value ? 0 : -ENOMEM;

	if (!rc && kind == SN_CARDKIND_HEALTH)
		rc = put(value, "state",
			 json_object_new_string(sn_cardhealth_word(mark->state)));
	else if (!rc)
		rc = put(value, "by", json_object_new_string(mark->by));
	if (!rc)
		rc = put(value, "at", json_object_new_int64((int64_t)mark->at));
	if (!rc)
		rc = put(value, "why", json_object_new_string(mark->why));
	return rc;
}

/* Without the mark under key in `in`, and without what is empty then. */
static void drop(struct json_object *root, const char *book, const char *card,
		 enum sn_cardkind kind)
{
	struct json_object *in, *of;

	if (!json_object_object_get_ex(root, book, &in) || !in)
		return;
	if (!card) {
		json_object_object_del(in, cardbook_kind_key(kind));
	} else if (json_object_object_get_ex(in, card, &of)) {
		if (json_object_is_type(of, json_type_object)) {
			json_object_object_del(of, cardbook_kind_key(kind));
			if (!json_object_object_length(of))
				json_object_object_del(in, card);
		} else if (kind == SN_CARDKIND_DRAIN) {
			json_object_object_del(in, card);
		}
	}
	if (!json_object_object_length(in))
		json_object_object_del(root, book);
}

static int change(struct json_object *root, const char *book, const char *card,
		  enum sn_cardkind kind, const struct sn_cardmark *mark)
{
	struct json_object *in;

	if (!mark) {
		drop(root, book, card, kind);
		return 0;
	}
	in = get_object(root, book);
	if (in && card)
		in = get_object(in, card);
	return in ? put_mark(in, kind, mark) : -ENOMEM;
}

static int change_all(struct json_object *root, enum sn_cardkind kind,
		      uint64_t cards, const struct sn_cardmark *mark,
		      struct sn_err *err)
{
	bool domain = kind == SN_CARDKIND_SUPERNODE || kind == SN_CARDKIND_UNIT;
	const char *book = domain ? SN_CARDBOOK_DEGRADED_KEY : SN_CARDBOOK_CARDS_KEY;
	struct json_object *is;
	char card[16];
	int rc = 0;

	if (json_object_object_get_ex(root, book, &is) && is &&
	    !json_object_is_type(is, json_type_object))
		return sn_err_set(err, -EINVAL, WHO ": \"%s\" is %s; want an object%s",
				  book, snctl_json_kind(is), domain ? "" :
				  "; until that is put right all cards of the node are masked");
	if (domain)
		rc = change(root, book, NULL, kind, mark);
	for (; !domain && !rc && cards; cards &= cards - 1) {
		snprintf(card, sizeof(card), "%d", __builtin_ctzll(cards));
		rc = change(root, book, card, kind, mark);
	}
	return rc ? sn_err_set(err, rc, "no memory") : 0;
}

int sn_cardbook_set(const char *extra, enum sn_cardkind kind, uint64_t cards,
		    const struct sn_cardmark *mark, char **ret_extra,
		    struct sn_err *err)
{
	struct json_object *root;
	int rc = mark ? check_mark(kind, mark, err) : 0;

	if (!rc)
		rc = sn_extratext_parse(extra, &root, err);
	if (rc)
		return rc;
	if (!root)
		root = json_object_new_object();
	rc = root ? change_all(root, kind, cards, mark, err) :
		sn_err_set(err, -ENOMEM, "no memory");
	if (!rc)
		rc = sn_extratext_print(root, "give shorter reasons, or resume cards first",
					ret_extra, err);
	json_object_put(root);
	return rc;
}
