/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marks.c - what snelasticd writes into a node's record.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "elastic/marks.h"
#include "launcher/extratext.h"
#include "snctl/jsonread.h"

#define KEY "snelasticd"
#define BRIEF "sick"

void sn_marks_done(struct sn_marks *marks)
{
	free(marks->card);
	memset(marks, 0, sizeof(*marks));
}

static bool is_true(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	return json_object_object_get_ex(o, key, &v) && json_object_get_boolean(v);
}

static void read_own(const char *extra, struct sn_marks_seen *ret)
{
	struct json_object *o = NULL, *own = NULL, *cards = NULL;

	if (!extra || !strstr(extra, "\"" KEY "\"") ||
	    snctl_json_parse(extra, strlen(extra), "extra", &o, NULL))
		return;
	if (json_object_is_type(o, json_type_object) &&
	    json_object_object_get_ex(o, KEY, &own) && json_object_is_type(own, json_type_object)) {
		ret->own_supernode = is_true(own, "supernode");
		ret->own_unit = is_true(own, "unit");
		if (json_object_object_get_ex(own, "cards", &cards) &&
		    json_object_is_type(cards, json_type_array))
			for (size_t i = 0; i < json_object_array_length(cards); i++) {
				int64_t c = json_object_get_int64(json_object_array_get_idx(cards, i));

				if (c >= 0 && c < SN_CARDBOOK_CARDS)
					ret->own |= UINT64_C(1) << c;
			}
	}
	json_object_put(o);
}

static bool is_ours(const char *extra, enum sn_cardkind kind)
{
	struct sn_cardmark mark;

	return !sn_cardbook_find(extra, kind, 0, &mark, NULL) && !strcmp(mark.by, SN_MARKS_BY);
}

int sn_marks_read(const char *extra, struct sn_marks_seen *ret, struct sn_err *err)
{
	struct sn_cardbook book;
	int rc = sn_cardbook_read(extra, &book, err);

	memset(ret, 0, sizeof(*ret));
	ret->cards = book.unhealthy;
	ret->supernode = book.degraded_supernode;
	ret->unit = book.degraded_unit;
	ret->our_supernode = book.degraded_supernode && is_ours(extra, SN_CARDKIND_SUPERNODE);
	ret->our_unit = book.degraded_unit && is_ours(extra, SN_CARDKIND_UNIT);
	read_own(extra, ret);
	/* That no mark can be read does not say that somebody has resumed the card. */
	if (book.unreadable)
		ret->own = 0;
	return rc;
}

/* *text (free) is replaced. */
static int set(char **text, enum sn_cardkind kind, uint64_t cards,
	       const struct sn_cardmark *mark, struct sn_err *err)
{
	char *fresh;
	int rc = sn_cardbook_set(*text, kind, cards, mark, &fresh, err);

	if (rc)
		return rc;
	free(*text);
	*text = fresh;
	return 0;
}

static bool says(const char *text, enum sn_cardkind kind, uint32_t card,
		 const struct sn_cardmark *mark)
{
	struct sn_cardmark is;

	return !sn_cardbook_find(text, kind, card, &is, NULL) && is.state == mark->state &&
		is.at == mark->at && !strcmp(is.why, mark->why) && !strcmp(is.by, mark->by);
}

static int set_cards(char **text, const struct sn_marks *marks, uint64_t seen,
		     uint64_t gone, struct sn_err *err)
{
	const struct sn_cardmark *mark = marks->card;
	int rc = 0;

	if (seen & ~marks->cards)
		rc = set(text, SN_CARDKIND_HEALTH, seen & ~marks->cards, NULL, err);
	for (uint32_t c = 0; c < SN_CARDBOOK_CARDS && !rc; c++) {
		if (!(marks->cards >> c & 1))
			continue;
		if (!(gone >> c & 1) && !says(*text, SN_CARDKIND_HEALTH, c, mark))
			rc = set(text, SN_CARDKIND_HEALTH, UINT64_C(1) << c, mark, err);
		mark++;
	}
	return rc;
}

static int set_domain(char **text, enum sn_cardkind kind, bool want, bool ours,
		      const struct sn_cardmark *mark, struct sn_err *err)
{
	struct sn_cardmark is;
	bool there = !sn_cardbook_find(*text, kind, 0, &is, NULL);

	if (want && (!there || (ours && !says(*text, kind, 0, mark))))
		return set(text, kind, 0, mark, err);
	return !want && ours ? set(text, kind, 0, NULL, err) : 0;
}

static int set_own(char **text, const struct sn_marks *marks, bool supernode, bool unit,
		   struct sn_err *err)
{
	struct json_object *o = NULL, *own, *cards;
	char *fresh;
	int rc = 0;

	if (**text)
		rc = snctl_json_parse(*text, strlen(*text), "extra", &o, err);
	else
		o = json_object_new_object();
	if (!rc && !json_object_is_type(o, json_type_object))
		rc = sn_err_set(err, -EINVAL, "extra is no JSON object");
	if (rc) {
		json_object_put(o);
		return rc;
	}
	json_object_object_del(o, KEY);
	if (marks->cards || supernode || unit) {
		own = json_object_new_object();
		cards = json_object_new_array();
		for (int c = 0; c < SN_CARDBOOK_CARDS; c++)
			if (marks->cards >> c & 1)
				json_object_array_add(cards, json_object_new_int(c));
		json_object_object_add(own, "cards", cards);
		if (supernode)
			json_object_object_add(own, "supernode", json_object_new_boolean(1));
		if (unit)
			json_object_object_add(own, "unit", json_object_new_boolean(1));
		json_object_object_add(o, KEY, own);
	}
	rc = sn_extratext_print(o, "take what is not needed out of it", &fresh, err);
	json_object_put(o);
	if (rc)
		return rc;
	free(*text);
	*text = fresh;
	return 0;
}

static void find_gone(const struct sn_marks_seen *seen, const struct sn_marks *marks,
		      struct sn_marks_gone *ret)
{
	ret->cards = marks->cards & seen->own & ~seen->cards & ~marks->anew;
	ret->supernode = marks->supernode && seen->own_supernode && !seen->supernode &&
		!marks->anew_supernode;
	ret->unit = marks->unit && seen->own_unit && !seen->unit && !marks->anew_unit;
}

static int write_all(const char *extra, const struct sn_marks *marks, char **ret,
		     struct sn_marks_gone *ret_gone, struct sn_err *err)
{
	char *text = strdup(extra ? extra : "");
	struct sn_marks_gone gone = { 0 };
	struct sn_marks_seen seen = { 0 };
	bool supernode, unit;
	int rc = text ? 0 : sn_err_set(err, -ENOMEM, "no memory");

	*ret = NULL;
	if (!rc) {
		(void)sn_marks_read(text, &seen, NULL);
		find_gone(&seen, marks, &gone);
		rc = set_cards(&text, marks, seen.cards, gone.cards, err);
	}
	if (!rc)
		rc = set_domain(&text, SN_CARDKIND_SUPERNODE, marks->supernode && !gone.supernode,
				seen.our_supernode, &marks->supernode_mark, err);
	if (!rc)
		rc = set_domain(&text, SN_CARDKIND_UNIT, marks->unit && !gone.unit, seen.our_unit,
				&marks->unit_mark, err);
	/* A domain that an administrator degrades as well is his, and not to be missed
	 * as ours when he takes it away. */
	supernode = marks->supernode && (!seen.supernode || seen.our_supernode);
	unit = marks->unit && (!seen.unit || seen.our_unit);
	if (!rc && (marks->cards != seen.own || supernode != seen.own_supernode ||
		    unit != seen.own_unit))
		rc = set_own(&text, marks, supernode, unit, err);
	if (rc)
		free(text);
	else
		*ret = text;
	if (ret_gone)
		*ret_gone = gone;
	return rc;
}

int sn_marks_write(const char *extra, const struct sn_marks *marks, char **ret,
		   struct sn_marks_gone *ret_gone, struct sn_err *err)
{
	struct sn_cardmark card[SN_CARDBOOK_CARDS];
	struct sn_marks brief = *marks;
	int rc = write_all(extra, marks, ret, ret_gone, err);

	if (rc != -E2BIG)
		return rc;
	/* Rather a mark without its reason than none. */
	brief.card = card;
	for (int i = 0; i < __builtin_popcountll(marks->cards); i++) {
		card[i] = marks->card[i];
		strcpy(card[i].why, BRIEF);
	}
	strcpy(brief.supernode_mark.why, BRIEF);
	strcpy(brief.unit_mark.why, BRIEF);
	return write_all(extra, &brief, ret, ret_gone, err);
}
