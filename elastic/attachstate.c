/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attachstate.c - what a job's snrun says of itself.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/attachstate.h"
#include "elastic/report.h"
#include "launcher/accountjson.h"
#include "topology/topo.h"

#define LIST_MAX (256u << 10)
#define TEXT_MAX (size_t)65536 /* of all of it, */
#define TEXT_NODE (size_t)64 /* and for each node */
#define NUMBER_MAX 1e15 /* no figure of a job's is larger */

static const char *const phases[] = {
	[SN_ATTACH_STARTING] = "starting", [SN_ATTACH_RUNNING] = "running",
	[SN_ATTACH_ENDING] = "ending", [SN_ATTACH_PAUSED] = "paused",
	[SN_ATTACH_STUCK] = "stuck", [SN_ATTACH_ENDED] = "ended",
};
#define N_PHASES (sizeof(phases) / sizeof(*phases))

const char *sn_attach_phase_name(enum sn_attach_phase phase)
{
	return phases[phase];
}

static int read_phase(struct json_object *o, enum sn_attach_phase *ret, struct sn_err *err)
{
	char word[32];
	int rc = sn_request_string(o, "state", false, word, sizeof(word), err);

	for (size_t i = 0; !rc && i < N_PHASES; i++)
		if (!strcmp(word, phases[i])) {
			*ret = (enum sn_attach_phase)i;
			return 0;
		}
	if (!rc && !strcmp(word, "pausing")) {
		*ret = SN_ATTACH_ENDING;
		return 0;
	}
	return rc ? rc : sn_err_set(err, -EINVAL, "\"state\": \"%s\" is none of a job's", word);
}

static int read_seconds(struct json_object *o, const char *key, double *ret, struct sn_err *err)
{
	struct json_object *v;

	*ret = -1;
	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	if (!json_object_is_type(v, json_type_double) && !json_object_is_type(v, json_type_int))
		return sn_err_set(err, -EINVAL, "\"%s\" is no number", key);
	*ret = json_object_get_double(v);
	if (!isfinite(*ret) || *ret < 0 || *ret > NUMBER_MAX)
		return sn_err_set(err, -EINVAL, "\"%s\" is no number of seconds", key);
	return 0;
}

static int read_bool(struct json_object *o, const char *key, bool *ret, struct sn_err *err)
{
	struct json_object *v;

	*ret = false;
	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	if (!json_object_is_type(v, json_type_boolean))
		return sn_err_set(err, -EINVAL, "\"%s\" is neither true nor false", key);
	*ret = json_object_get_boolean(v);
	return 0;
}

static int read_names(struct json_object *o, const char *key, uint32_t max,
		      struct sn_names *ret, struct sn_err *err)
{
	struct json_object *v;
	const char *text;
	int rc;

	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	if (!json_object_is_type(v, json_type_string) || json_object_get_string_len(v) > (int)LIST_MAX)
		return sn_err_set(err, -EINVAL, "\"%s\" is no list of nodes", key);
	text = json_object_get_string(v);
	if (!*text)
		return 0;
	rc = sn_hostlist_expand_max(text, max, ret, err);
	return rc ? sn_err_prefix(err, rc, "\"%s\": ", key) : 0;
}

/* One of "on": [nodes, ranks, cards]. */
static int read_run(struct json_object *run, uint32_t ret[2], uint64_t *ret_cards)
{
	struct json_object *v;

	if (!json_object_is_type(run, json_type_array) || json_object_array_length(run) != 3)
		return -EINVAL;
	for (size_t i = 0; i < 3; i++) {
		v = json_object_array_get_idx(run, i);
		if (!json_object_is_type(v, json_type_int))
			return -EINVAL;
		if (i < 2) {
			int64_t n = json_object_get_int64(v);

			if (n < 1 || n > UINT32_MAX)
				return -EINVAL;
			ret[i] = (uint32_t)n;
		} else {
			*ret_cards = json_object_get_uint64(v);
		}
	}
	return 0;
}

static int read_on(struct json_object *o, struct sn_attach_state *s, struct sn_err *err)
{
	struct json_object *list = NULL;
	size_t n = 0, at = 0;
	uint64_t first = 0;

	s->node = calloc(s->name.n + 1, sizeof(*s->node));
	if (!s->node)
		return sn_err_set(err, -ENOMEM, "no memory");
	if (json_object_object_get_ex(o, "on", &list)) {
		if (!json_object_is_type(list, json_type_array))
			return sn_err_set(err, -EINVAL, "\"on\" is no list");
		n = json_object_array_length(list);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t run[2];
		uint64_t cards;

		if (read_run(json_object_array_get_idx(list, i), run, &cards) ||
		    run[0] > s->name.n - at)
			return sn_err_set(err, -EINVAL, "\"on\": entry %zu of %zu is not [nodes, ranks, cards] for some of the %zu nodes", i + 1, n, s->name.n);
		for (uint32_t k = 0; k < run[0]; k++, at++) {
			s->node[at] = (struct sn_attach_node){ (uint32_t)first, run[1], cards };
			first += run[1];
			if (first > s->ranks)
				return sn_err_set(err, -EINVAL, "\"on\" has more than the job's %u ranks", s->ranks);
		}
	}
	if (at != s->name.n || first != s->ranks)
		return sn_err_set(err, -EINVAL, "\"on\" has %zu nodes with %llu ranks, and the job's ranks are %u on %zu",
				  at, (unsigned long long)first, s->ranks, s->name.n);
	return 0;
}

static int read_members(struct json_object *o, struct sn_attach_state *s, struct sn_err *err)
{
	struct json_object *list, *member, *v;
	size_t n;

	if (!json_object_object_get_ex(o, "members", &list))
		return 0;
	if (!json_object_is_type(list, json_type_array))
		return sn_err_set(err, -EINVAL, "\"members\" is no list");
	n = json_object_array_length(list);
	for (size_t i = 0; i < n; i++) {
		const char *state = "";

		member = json_object_array_get_idx(list, i);
		if (!json_object_is_type(member, json_type_object))
			return sn_err_set(err, -EINVAL, "\"members\": entry %zu is no object", i + 1);
		if (json_object_object_get_ex(member, "state", &v) &&
		    json_object_is_type(v, json_type_string))
			state = json_object_get_string(v);
		s->pending += !strcmp(state, "pending");
		s->running += !strcmp(state, "running");
		s->standins += json_object_object_get_ex(member, "replaces", &v) &&
			json_object_get_boolean(v);
	}
	return 0;
}

static int read_all(struct json_object *o, uint32_t max_nodes, struct sn_attach_state *s,
		    struct sn_err *err)
{
	const struct {
		const char *key;
		uint32_t *to;
	} numbers[] = {
		{ "generation", &s->generation }, { "restarts", &s->restarts },
		{ "dp", &s->dp }, { "ranks", &s->ranks }, { "min_dp", &s->min_dp },
		{ "want_dp", &s->want_dp }, { "cap_dp", &s->cap_dp },
		{ "max_dp", &s->max_dp }, { "requests", &s->requests },
	};
	double age = -1;
	int rc = read_phase(o, &s->phase, err);

	for (size_t i = 0; !rc && i < sizeof(numbers) / sizeof(*numbers); i++) {
		uint64_t n = 0;

		rc = sn_request_uint(o, numbers[i].key, UINT32_MAX, &n, err);
		*numbers[i].to = (uint32_t)n;
	}
	if (!rc)
		rc = sn_request_uint(o, "progress", (uint64_t)1 << 53, &s->progress, err);
	if (!rc)
		rc = read_bool(o, "elastic", &s->elastic, err);
	if (!rc)
		rc = read_seconds(o, "since_safe", &s->since_safe, err);
	if (!rc)
		rc = read_seconds(o, "since_memory", &s->since_memory, err);
	if (!rc)
		rc = read_seconds(o, "checkpoint_age", &age, err);
	s->can_checkpoint = !rc && age >= 0;
	if (!rc)
		rc = read_seconds(o, "checkpoint_seconds", &s->checkpoint_seconds, err);
	if (!rc)
		rc = read_names(o, "nodes", max_nodes, &s->name, err);
	if (!rc)
		rc = read_names(o, "spares", max_nodes, &s->spare, err);
	if (!rc)
		rc = read_on(o, s, err);
	return rc ? rc : read_members(o, s, err);
}

int sn_attach_state_parse(struct json_object *o, uint32_t max_nodes,
			  struct sn_attach_state *ret, struct sn_err *err)
{
	struct sn_attach_state s = { 0 };
	struct json_object *account;
	int rc = json_object_is_type(o, json_type_object) ? 0 :
		sn_err_set(err, -EINVAL, "\"state\" is no object");

	if (!rc)
		rc = read_all(o, max_nodes, &s, err);
	/* It is for showing only: a job with a bad one is steered all the same. */
	if (!rc && json_object_object_get_ex(o, "account", &account))
		s.has_account = !sn_account_read(account, &s.account, NULL);
	if (rc)
		sn_attach_state_done(&s);
	else
		*ret = s;
	return rc;
}

int sn_attach_state_fits(const struct sn_attach_state *state, size_t text_len, size_t nodes,
			 struct sn_err *err)
{
	size_t n = state->name.n + state->spare.n;

	if (n > nodes)
		return sn_err_set(err, -EINVAL, "\"state\" names %zu nodes, and the job can have no more than %zu",
				  n, nodes);
	if (text_len > TEXT_MAX + TEXT_NODE * nodes)
		return sn_err_set(err, -EINVAL, "\"state\" has %zu bytes, and of a job of that size no more than %zu are kept",
				  text_len, TEXT_MAX + TEXT_NODE * nodes);
	return 0;
}

void sn_attach_state_done(struct sn_attach_state *state)
{
	sn_names_done(&state->name);
	sn_names_done(&state->spare);
	free(state->node);
	state->node = NULL;
}

uint32_t sn_attach_state_find(const struct sn_attach_state *state, const char *node)
{
	for (size_t i = 0; i < state->name.n; i++)
		if (!strcmp(state->name.name[i], node))
			return (uint32_t)i;
	return SN_NONE;
}
