/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal.c - the lines of the journal; see journalfile.c for the file.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "elastic/journal.h"
#include "snctl/jsonread.h"

#define FORMAT 1
#define SUM_HEAD ",\"sum\":\""
#define SUM_DIGITS 16
#define ID_MAX (UINT64_C(1) << 53) /* which any JSON reader takes whole */
#define SUM_LEN (sizeof(SUM_HEAD) - 1 + SUM_DIGITS + 2) /* with "} */

/* FNV-1a: against a disk's errors, not against people. */
static uint64_t sum_of(const char *text, size_t len)
{
	uint64_t sum = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
	return sum;
}

/* ---- writing ---------------------------------------------------------------------------- */

/* o is put. */
static int line_of(struct json_object *o, char **ret, struct sn_err *err)
{
	const char *text = o ? json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN) : NULL;
	size_t len = text ? strlen(text) - 1 : 0; /* without the last brace */
	int rc = 0;

	if (!text || asprintf(ret, "%.*s" SUM_HEAD "%016llx\"}\n", (int)len, text,
			      (unsigned long long)sum_of(text, len)) < 0)
		rc = sn_err_set(err, -ENOMEM, "no memory");
	json_object_put(o);
	return rc;
}

static struct json_object *wrap(const char *key, struct json_object *inner)
{
	struct json_object *o = json_object_new_object();

	if (o && inner && !json_object_object_add(o, key, inner))
		return o;
	json_object_put(inner);
	json_object_put(o);
	return NULL;
}

static void add(struct json_object *o, bool *failed, const char *key, struct json_object *value)
{
	if (!value || !o || json_object_object_add(o, key, value)) {
		json_object_put(value);
		*failed = true;
	}
}

int sn_journal_begin(const struct sn_act *act, bool dry, char **ret, struct sn_err *err)
{
	struct json_object *o = json_object_new_object();
	bool failed = false;

	add(o, &failed, "id", json_object_new_uint64(act->id));
	add(o, &failed, "kind", json_object_new_string(sn_act_kind_name(act->kind)));
	if (act->job) {
		add(o, &failed, "job", json_object_new_int64(act->job));
		add(o, &failed, "restarts", json_object_new_int64(act->restarts));
	}
	if (*act->node)
		add(o, &failed, "node", json_object_new_string(act->node));
	if (act->kind == SN_ACT_TELL)
		add(o, &failed, "op", json_object_new_string(sn_control_name(act->op)));
	if (act->dp)
		add(o, &failed, "dp", json_object_new_int64(act->dp));
	if (act->cards)
		add(o, &failed, "cards", json_object_new_uint64(act->cards));
	if (*act->region) {
		add(o, &failed, "region", json_object_new_string(act->region));
		add(o, &failed, "incarnation", json_object_new_uint64(act->incarnation));
	}
	add(o, &failed, "at", json_object_new_double(act->at));
	add(o, &failed, "why", json_object_new_string(act->why));
	if (failed) {
		json_object_put(o);
		return sn_err_set(err, -ENOMEM, "no memory");
	}
	return line_of(wrap(dry ? "dry" : "begin", o), ret, err);
}

int sn_journal_end(uint64_t id, enum sn_act_end how, const char *text, char **ret,
		   struct sn_err *err)
{
	struct json_object *o = json_object_new_object();
	bool failed = false;

	add(o, &failed, "id", json_object_new_uint64(id));
	add(o, &failed, "how", json_object_new_string(sn_act_end_name(how)));
	add(o, &failed, "text", json_object_new_string(text));
	if (failed) {
		json_object_put(o);
		return sn_err_set(err, -ENOMEM, "no memory");
	}
	return line_of(wrap("end", o), ret, err);
}

static int head_line(uint64_t next, char **ret, struct sn_err *err)
{
	struct json_object *o = json_object_new_object();
	bool failed = false;

	add(o, &failed, "format", json_object_new_int(FORMAT));
	add(o, &failed, "next", json_object_new_uint64(next));
	if (failed) {
		json_object_put(o);
		return sn_err_set(err, -ENOMEM, "no memory");
	}
	return line_of(o, ret, err);
}

int sn_journal_text(const struct sn_act *open, uint32_t n, uint64_t next, char **ret,
		    size_t *ret_len, struct sn_err *err)
{
	char *line = NULL, *text = NULL, *more;
	size_t len = 0, add_len;
	int rc = 0;

	for (uint32_t i = 0; i <= n && !rc; i++) {
		rc = i ? sn_journal_begin(&open[i - 1], false, &line, err) : head_line(next, &line, err);
		if (rc)
			break;
		add_len = strlen(line);
		more = realloc(text, len + add_len + 1);
		if (more) {
			text = more;
			memcpy(text + len, line, add_len + 1);
			len += add_len;
		} else {
			rc = sn_err_set(err, -ENOMEM, "no memory");
		}
		free(line);
	}
	if (rc) {
		free(text);
		return rc;
	}
	*ret = text;
	*ret_len = len;
	return 0;
}

/* ---- reading ---------------------------------------------------------------------------- */

static const char *text_of(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	return json_object_object_get_ex(o, key, &v) && json_object_is_type(v, json_type_string) ?
		json_object_get_string(v) : "";
}

/* false: it is there and no such number. */
static bool number_of(struct json_object *o, const char *key, uint64_t most, uint64_t *ret)
{
	struct json_object *v = NULL;

	*ret = 0;
	if (!json_object_object_get_ex(o, key, &v))
		return true;
	if (!json_object_is_type(v, json_type_int) ||
	    (json_object_get_int64(v) < 0))
		return false;
	*ret = json_object_get_uint64(v);
	return *ret <= most;
}

static bool read_act(struct json_object *o, struct sn_act *ret)
{
	struct json_object *v = NULL;
	uint64_t job, restarts, dp;
	const char *node = text_of(o, "node"), *region = text_of(o, "region");

	memset(ret, 0, sizeof(*ret));
	if (!number_of(o, "id", ID_MAX, &ret->id) || !ret->id ||
	    !number_of(o, "job", UINT32_MAX, &job) || !number_of(o, "dp", UINT32_MAX, &dp) ||
	    !number_of(o, "restarts", UINT32_MAX, &restarts) ||
	    !number_of(o, "cards", UINT64_MAX, &ret->cards) ||
	    sn_act_kind_find(text_of(o, "kind"), &ret->kind) ||
	    !number_of(o, "incarnation", INT64_MAX, &ret->incarnation) ||
	    strlen(node) >= sizeof(ret->node) || strlen(region) >= sizeof(ret->region))
		return false;
	ret->job = (uint32_t)job;
	ret->restarts = (uint32_t)restarts;
	ret->dp = (uint32_t)dp;
	strcpy(ret->node, node);
	strcpy(ret->region, region);
	if (ret->kind == SN_ACT_TELL && sn_control_find(text_of(o, "op"), &ret->op))
		return false;
	if (!sn_act_has_object(ret))
		return false;
	if (json_object_object_get_ex(o, "at", &v))
		ret->at = json_object_get_double(v);
	if (!isfinite(ret->at))
		return false;
	snprintf(ret->why, sizeof(ret->why), "%s", text_of(o, "why"));
	return true;
}

static int find_open(const struct sn_journal_state *state, uint64_t id)
{
	for (uint32_t i = state->n; i-- > 0;)
		if (state->open[i].id == id)
			return (int)i;
	return -1;
}

static void note_id(struct sn_journal_state *state, uint64_t id)
{
	if (id >= state->next)
		state->next = id + 1;
}

/* -EINVAL: it makes no sense; -ENOMEM. */
static int take_object(struct json_object *o, struct sn_journal_state *state)
{
	struct json_object *in = NULL;
	struct sn_act act, *more;
	uint64_t id;
	int i;

	if (json_object_object_get_ex(o, "begin", &in) && read_act(in, &act)) {
		note_id(state, act.id);
		if (find_open(state, act.id) >= 0)
			return 0;
		more = realloc(state->open, ((size_t)state->n + 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		state->open = more;
		more[state->n++] = act;
		return 0;
	}
	if (json_object_object_get_ex(o, "end", &in) && json_object_is_type(in, json_type_object) &&
	    number_of(in, "id", ID_MAX, &id) && id) {
		note_id(state, id);
		i = find_open(state, id);
		if (i >= 0)
			memmove(&state->open[i], &state->open[i + 1],
				(--state->n - (uint32_t)i) * sizeof(*state->open));
		return 0;
	}
	if (json_object_object_get_ex(o, "dry", &in) && read_act(in, &act)) {
		note_id(state, act.id);
		return 0;
	}
	if (json_object_object_get_ex(o, "format", &in) && json_object_get_int(in) == FORMAT &&
	    number_of(o, "next", ID_MAX, &id)) {
		if (id > state->next)
			state->next = id;
		return 0;
	}
	return -EINVAL;
}

static int take_line(const char *line, size_t len, struct sn_journal_state *state)
{
	struct json_object *o = NULL;
	char sum[SUM_DIGITS + 1];
	size_t body;
	int rc;

	if (len <= SUM_LEN)
		return -EINVAL;
	body = len - SUM_LEN;
	snprintf(sum, sizeof(sum), "%016llx", (unsigned long long)sum_of(line, body));
	if (memcmp(line + body, SUM_HEAD, sizeof(SUM_HEAD) - 1) ||
	    memcmp(line + body + sizeof(SUM_HEAD) - 1, sum, SUM_DIGITS) ||
	    memcmp(line + len - 2, "\"}", 2))
		return -EINVAL;
	rc = snctl_json_parse(line, len, SN_JOURNAL_FILE, &o, NULL);
	if (rc)
		return rc;
	rc = json_object_is_type(o, json_type_object) ? take_object(o, state) : -EINVAL;
	json_object_put(o);
	return rc;
}

int sn_journal_parse(const char *text, size_t len, struct sn_journal_state *ret,
		     struct sn_err *err)
{
	const char *end = text + len, *eol;
	int rc;

	memset(ret, 0, sizeof(*ret));
	for (; text < end; text = eol + 1) {
		eol = memchr(text, '\n', (size_t)(end - text));
		if (!eol) {
			ret->torn = true;
			break;
		}
		rc = take_line(text, (size_t)(eol - text), ret);
		if (rc == -ENOMEM) {
			sn_journal_state_done(ret);
			return sn_err_set(err, rc, "no memory");
		}
		if (rc)
			ret->damaged++;
		else
			ret->lines++;
	}
	return 0;
}

void sn_journal_state_done(struct sn_journal_state *state)
{
	free(state->open);
	memset(state, 0, sizeof(*state));
}
