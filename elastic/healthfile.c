/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthfile.c - the health engine's state as text, for the state directory.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "elastic/healthfile.h"
#include "snctl/jsonread.h"

#define FORMAT 1

/* ---- writing ------------------------------------------------------------------------- */

static void add_time(struct json_object *o, const char *key, double value)
{
	char text[40];

	if (!isfinite(value))
		return;
	snprintf(text, sizeof(text), "%.9g", value);
	/* Times need more digits than %.9g has. */
	if (fabs(value) >= 1e6)
		snprintf(text, sizeof(text), "%.3f", value);
	json_object_object_add(o, key, json_object_new_double_s(value, text));
}

static void add_int(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)value));
}

static void add_card(struct json_object *o, const struct sn_health_saved *s)
{
	struct json_object *times = json_object_new_array();

	add_int(o, "card", s->card);
	json_object_object_add(o, "state",
			       json_object_new_string(sn_health_state_name(s->info.state)));
	for (uint32_t i = 0; times && i < s->info.n_times && i < SN_HEALTH_TIMES_MAX; i++) {
		char text[40];

		snprintf(text, sizeof(text), "%.3f", s->info.time[i]);
		json_object_array_add(times, json_object_new_double_s(s->info.time[i], text));
	}
	json_object_object_add(o, "times", times);
	add_int(o, "probes", s->info.probes);
	if (s->info.hinted) {
		struct json_object *hinted = json_object_new_object();

		add_int(hinted, "by", s->info.hint_by);
		add_time(hinted, "at", s->info.hint_at);
		json_object_object_add(o, "hinted", hinted);
	}
}

static int add(void *arg, const struct sn_health_saved *s)
{
	static const char *const key[] = { "cards", "domains", "past" };
	struct json_object *list = json_object_object_get(arg, key[s->what]);
	struct json_object *o = json_object_new_object();

	if (!o)
		return -ENOMEM;
	json_object_object_add(o, "name", json_object_new_string(s->name));
	if (s->what == SN_HEALTH_SAVED_CARD)
		add_card(o, s);
	else
		json_object_object_add(o, "domain", json_object_new_string(
			s->domain == SN_HEALTH_UNIT ? "unit" : "supernode"));
	if (s->what == SN_HEALTH_SAVED_PAST) {
		json_object_object_add(o, "metric", json_object_new_string(s->metric));
		add_int(o, "job", s->job);
		add_time(o, "value", s->value);
	} else {
		add_time(o, "since", s->info.since);
		json_object_object_add(o, "why", json_object_new_string(s->info.why));
	}
	if (s->what == SN_HEALTH_SAVED_DOMAIN && s->by_hand)
		json_object_object_add(o, "by_hand", json_object_new_boolean(1));
	return json_object_array_add(list, o) ? -ENOMEM : 0;
}

static int add_freed(struct json_object *root, const struct sn_healthfile_freed *freed,
		     uint32_t n)
{
	struct json_object *list = json_object_new_array(), *o, *cards;

	json_object_object_add(root, "freed", list);
	for (uint32_t i = 0; i < n; i++) {
		o = json_object_new_object();
		cards = json_object_new_array();
		if (!list || !o || !cards) {
			json_object_put(o);
			json_object_put(cards);
			return -ENOMEM;
		}
		json_object_object_add(o, "name", json_object_new_string(freed[i].node));
		for (int c = 0; c < 64; c++)
			if (freed[i].cards >> c & 1)
				json_object_array_add(cards, json_object_new_int(c));
		json_object_object_add(o, "cards", cards);
		json_object_array_add(list, o);
	}
	return 0;
}

int sn_healthfile_write(const struct sn_health *health,
			const struct sn_healthfile_freed *freed, uint32_t n_freed,
			char **ret, size_t *ret_len, struct sn_err *err)
{
	struct json_object *o = json_object_new_object();
	const char *text = NULL;
	int rc = o ? 0 : -ENOMEM;

	*ret = NULL;
	if (o) {
		add_int(o, "format", FORMAT);
		json_object_object_add(o, "cards", json_object_new_array());
		json_object_object_add(o, "domains", json_object_new_array());
		json_object_object_add(o, "past", json_object_new_array());
		rc = sn_health_export(health, add, o);
		if (!rc && n_freed)
			rc = add_freed(o, freed, n_freed);
	}
	if (!rc)
		text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
	if (text)
		*ret = strdup(text);
	*ret_len = *ret ? strlen(*ret) : 0;
	json_object_put(o);
	return *ret ? 0 : sn_err_set(err, rc ? rc : -ENOMEM, "no memory");
}

/* ---- reading ------------------------------------------------------------------------- */

static const char *string_of(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	return json_object_object_get_ex(o, key, &v) &&
		json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
}

static double number_of(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;
	double d = json_object_object_get_ex(o, key, &v) ? json_object_get_double(v) : 0;

	return isfinite(d) ? d : 0;
}

static uint32_t uint_of(struct json_object *o, const char *key)
{
	double d = number_of(o, key);

	return d >= 0 && d < UINT32_MAX ? (uint32_t)d : 0;
}

static int take(struct json_object *o, int what, struct sn_health *health, double now,
		struct sn_err *err)
{
	struct sn_health_saved s = { .what = what };
	struct json_object *v = NULL;
	int state;

	if (!json_object_is_type(o, json_type_object))
		return sn_err_set(err, -EINVAL, "an entry is no object");
	s.name = string_of(o, "name");
	s.metric = string_of(o, "metric");
	s.card = uint_of(o, "card");
	s.job = uint_of(o, "job");
	s.value = number_of(o, "value");
	s.by_hand = json_object_get_boolean(json_object_object_get(o, "by_hand"));
	s.domain = strcmp(string_of(o, "domain"), "unit") ? SN_HEALTH_SUPERNODE : SN_HEALTH_UNIT;
	s.info.since = number_of(o, "since");
	snprintf(s.info.why, sizeof(s.info.why), "%s", string_of(o, "why"));
	s.info.probes = uint_of(o, "probes");
	if (json_object_object_get_ex(o, "hinted", &v) && json_object_is_type(v, json_type_object)) {
		s.info.hinted = true;
		s.info.hint_by = uint_of(v, "by");
		s.info.hint_at = number_of(v, "at");
	}
	if (what == SN_HEALTH_SAVED_CARD) {
		state = sn_health_state_find(string_of(o, "state"));
		if (state < 0)
			return sn_err_set(err, -EINVAL, "\"%.40s\" is no state", string_of(o, "state"));
		s.info.state = (enum sn_health_state)state;
		if (json_object_object_get_ex(o, "times", &v) && json_object_is_type(v, json_type_array))
			for (size_t i = 0; i < json_object_array_length(v) && i < SN_HEALTH_TIMES_MAX; i++)
				s.info.time[s.info.n_times++] =
					json_object_get_double(json_object_array_get_idx(v, i));
	}
	return sn_health_import(health, &s, now, err);
}

static int parse(const char *text, size_t len, const char *file, struct json_object **ret,
		 struct sn_err *err)
{
	int rc = snctl_json_parse(text, len, file, ret, err);

	if (rc)
		return rc;
	if (json_object_is_type(*ret, json_type_object) && number_of(*ret, "format") == FORMAT)
		return 0;
	json_object_put(*ret);
	*ret = NULL;
	return sn_err_set(err, -EINVAL, "%s: not in format %d", file, FORMAT);
}

static int add_names(struct json_object *o, const char *key, struct sn_topo *topo,
		     struct sn_err *err)
{
	struct json_object *list = NULL;
	int rc = 0;

	if (!json_object_object_get_ex(o, key, &list) || !json_object_is_type(list, json_type_array))
		return 0;
	for (size_t i = 0; i < json_object_array_length(list) && !rc; i++) {
		struct json_object *card = json_object_array_get_idx(list, i);
		const char *name = json_object_is_type(card, json_type_object) ?
			string_of(card, "name") : "";

		if (*name && sn_topo_find_node(topo, name) == SN_NONE)
			rc = sn_topo_add_loose(topo, name, err);
		if (rc == -EEXIST || rc == -EINVAL)
			rc = 0;
	}
	return rc;
}

int sn_healthfile_names(const char *text, size_t len, const char *file,
			struct sn_topo *topo, struct sn_err *err)
{
	struct json_object *o;
	int rc = parse(text, len, file, &o, err);

	if (rc)
		return rc;
	rc = add_names(o, "cards", topo, err);
	if (!rc)
		rc = add_names(o, "freed", topo, err);
	json_object_put(o);
	return rc;
}

int sn_healthfile_freed(const char *text, size_t len, const char *file,
			void (*fn)(void *arg, const struct sn_healthfile_freed *freed),
			void *arg, struct sn_err *err)
{
	struct json_object *o, *list = NULL, *cards;
	int rc = parse(text, len, file, &o, err);

	if (rc)
		return rc;
	if (!json_object_object_get_ex(o, "freed", &list) || !json_object_is_type(list, json_type_array))
		list = NULL;
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *one = json_object_array_get_idx(list, i);
		struct sn_healthfile_freed freed = { 0 };

		if (!json_object_is_type(one, json_type_object) ||
		    !json_object_object_get_ex(one, "cards", &cards) ||
		    !json_object_is_type(cards, json_type_array))
			continue;
		freed.node = string_of(one, "name");
		for (size_t k = 0; k < json_object_array_length(cards); k++) {
			int64_t c = json_object_get_int64(json_object_array_get_idx(cards, k));

			freed.cards |= c >= 0 && c < 64 ? UINT64_C(1) << c : 0;
		}
		fn(arg, &freed);
	}
	json_object_put(o);
	return 0;
}

int sn_healthfile_read(const char *text, size_t len, const char *file,
		       struct sn_health *health, double now, uint32_t *ret_over,
		       struct sn_err *err)
{
	static const struct {
		const char *key;
		int what;
	} lists[] = {
		{ "cards", SN_HEALTH_SAVED_CARD },
		{ "domains", SN_HEALTH_SAVED_DOMAIN },
		{ "past", SN_HEALTH_SAVED_PAST },
	};
	struct json_object *o = NULL, *list;
	int rc = parse(text, len, file, &o, err);

	*ret_over = 0;
	for (size_t k = 0; k < sizeof(lists) / sizeof(*lists) && !rc; k++) {
		if (!json_object_object_get_ex(o, lists[k].key, &list) ||
		    !json_object_is_type(list, json_type_array))
			continue;
		for (size_t i = 0; i < json_object_array_length(list) && !rc; i++) {
			/* One that makes no sense must not cost the others. */
			rc = take(json_object_array_get_idx(list, i), lists[k].what, health, now, err);
			if (rc == -ENOENT || rc == -EINVAL) {
				++*ret_over;
				rc = 0;
			}
		}
	}
	json_object_put(o);
	return rc;
}
