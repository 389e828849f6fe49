/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.c - what a request says, checked.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/report.h"
#include "launcher/cardbook.h"
#include "snctl/jsonread.h"

static int want(struct sn_err *err, const char *key, const char *what,
		const struct json_object *is)
{
	return sn_err_set(err, -EINVAL, "\"%s\": want %s, not %s", key, what,
			  is ? snctl_json_kind(is) : "nothing");
}

int sn_request_string(struct json_object *o, const char *key, bool absent, char *ret,
		      size_t size, struct sn_err *err)
{
	struct json_object *v = NULL;
	const char *text;
	size_t len;

	*ret = '\0';
	if (!json_object_object_get_ex(o, key, &v) && absent)
		return 0;
	if (!v || !json_object_is_type(v, json_type_string))
		return want(err, key, "a string", v);
	text = json_object_get_string(v);
	len = (size_t)json_object_get_string_len(v);
	if (len >= size)
		return sn_err_set(err, -EINVAL, "\"%s\": %zu bytes, of %zu allowed", key,
				  len, size - 1);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return sn_err_set(err, -EINVAL,
					  "\"%s\": control characters are not allowed", key);
	memcpy(ret, text, len + 1);
	return 0;
}

int sn_request_uint(struct json_object *o, const char *key, uint64_t max,
		    uint64_t *ret, struct sn_err *err)
{
	struct json_object *v = NULL;
	int64_t n;

	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	if (!v || !json_object_is_type(v, json_type_int))
		return want(err, key, "a whole number", v);
	n = json_object_get_int64(v);
	if (n < 0 || (uint64_t)n > max)
		return sn_err_set(err, -EINVAL, "\"%s\": %lld is not from 0 to %llu", key,
				  (long long)n, (unsigned long long)max);
	*ret = (uint64_t)n;
	return 0;
}

int sn_request_cards(struct json_object *o, uint64_t *ret, struct sn_err *err)
{
	struct json_object *v = NULL;
	size_t n;

	*ret = 0;
	if (!json_object_object_get_ex(o, "cards", &v) || !json_object_is_type(v, json_type_array))
		return want(err, "cards", "an array of numbers", v);
	n = json_object_array_length(v);
	for (size_t i = 0; i < n; i++) {
		struct json_object *c = json_object_array_get_idx(v, i);
		int64_t card = c && json_object_is_type(c, json_type_int) ?
			json_object_get_int64(c) : -1;

		if (card < 0 || card > 63)
			return sn_err_set(err, -EINVAL,
					  "\"cards\": want numbers from 0 to 63");
		*ret |= UINT64_C(1) << card;
	}
	return *ret ? 0 : sn_err_set(err, -EINVAL, "\"cards\": which? the array is empty");
}

static int get_card(struct json_object *o, uint32_t *ret, struct sn_err *err)
{
	uint64_t card = UINT64_MAX;
	int rc;

	if (!json_object_is_type(o, json_type_object))
		return sn_err_set(err, -EINVAL, "want an object, not %s",
				  o ? snctl_json_kind(o) : "null");
	rc = sn_request_uint(o, "card", SN_CARDBOOK_CARDS - 1, &card, err);
	if (!rc && card == UINT64_MAX)
		rc = sn_err_set(err, -EINVAL, "\"card\" is missing");
	*ret = (uint32_t)card;
	return rc;
}

static int get_double(struct json_object *o, const char *key, double *ret,
		      struct sn_err *err)
{
	struct json_object *v = NULL;

	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	if (!v || (!json_object_is_type(v, json_type_double) &&
		   !json_object_is_type(v, json_type_int)))
		return want(err, key, "a number", v);
	*ret = json_object_get_double(v);
	return isfinite(*ret) ? 0 : want(err, key, "a finite number", v);
}

static int take_sample(struct json_object *o, void *to, struct sn_err *err)
{
	struct sn_report_sample *s = to;
	uint64_t gen = 0;
	int rc = get_card(o, &s->card, err);

	s->value = s->time = NAN;
	s->step = SN_HEALTH_NO_STEP;
	if (!rc)
		rc = sn_request_string(o, "metric", false, s->metric, sizeof(s->metric), err);
	if (!rc)
		rc = get_double(o, "value", &s->value, err);
	if (!rc && isnan(s->value))
		rc = sn_err_set(err, -EINVAL, "\"value\" is missing");
	if (!rc)
		rc = get_double(o, "time", &s->time, err);
	if (!rc)
		rc = sn_request_uint(o, "step", (uint64_t)1 << 53, &s->step, err);
	if (!rc)
		rc = sn_request_uint(o, "gen", UINT32_MAX, &gen, err);
	s->gen = (uint32_t)gen;
	return rc;
}

static int take_fault(struct json_object *o, void *to, struct sn_err *err)
{
	struct sn_report_fault *f = to;
	int rc = get_card(o, &f->card, err);

	if (!rc)
		rc = sn_request_string(o, "code", true, f->code, sizeof(f->code), err);
	if (!rc && !*f->code)
		strcpy(f->code, "sick");
	if (!rc)
		rc = sn_request_string(o, "text", true, f->text, sizeof(f->text), err);
	return rc;
}

static int take_probe(struct json_object *o, void *to, struct sn_err *err)
{
	struct sn_report_probe *p = to;
	struct json_object *v = NULL;
	int rc = get_card(o, &p->card, err);

	if (!rc && (!json_object_object_get_ex(o, "passed", &v) ||
		    !json_object_is_type(v, json_type_boolean)))
		rc = want(err, "passed", "true or false", v);
	p->passed = !rc && json_object_get_boolean(v);
	if (!rc)
		rc = sn_request_string(o, "text", true, p->text, sizeof(p->text), err);
	return rc;
}

static int take_array(struct json_object *o, const char *key, size_t size,
		      int (*take)(struct json_object *o, void *to, struct sn_err *err),
		      void **ret, uint32_t *ret_n, struct sn_err *err)
{
	struct json_object *v = NULL;
	size_t n;
	int rc = 0;

	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	if (!v || !json_object_is_type(v, json_type_array))
		return want(err, key, "an array", v);
	n = json_object_array_length(v);
	if (n > SN_REPORT_ITEMS_MAX)
		return sn_err_set(err, -EINVAL, "\"%s\": %zu of %u allowed; send it in parts",
				  key, n, SN_REPORT_ITEMS_MAX);
	*ret = calloc(n + 1, size);
	if (!*ret)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (size_t i = 0; i < n && !rc; i++) {
		rc = take(json_object_array_get_idx(v, i), (char *)*ret + i * size, err);
		if (rc)
			sn_err_prefix(err, rc, "%s[%zu]: ", key, i);
	}
	*ret_n = (uint32_t)n;
	return rc;
}

int sn_report_parse(struct json_object *request, struct sn_report *ret,
		    struct sn_err *err)
{
	uint64_t job = 0;
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = sn_request_string(request, "node", false, ret->node, sizeof(ret->node), err);
	if (!rc)
		rc = sn_request_string(request, "source", true, ret->source,
				       sizeof(ret->source), err);
	if (!rc)
		rc = sn_request_uint(request, "job", UINT32_MAX - 1, &job, err);
	ret->job = (uint32_t)job;
	if (!rc)
		rc = take_array(request, "samples", sizeof(*ret->sample), take_sample,
				(void **)&ret->sample, &ret->n_samples, err);
	if (!rc)
		rc = take_array(request, "faults", sizeof(*ret->fault), take_fault,
				(void **)&ret->fault, &ret->n_faults, err);
	if (!rc)
		rc = take_array(request, "probes", sizeof(*ret->probe), take_probe,
				(void **)&ret->probe, &ret->n_probes, err);
	if (!rc && !*ret->node)
		rc = sn_err_set(err, -EINVAL, "\"node\": which? it is empty");
	if (rc)
		sn_report_done(ret);
	return rc;
}

void sn_report_done(struct sn_report *report)
{
	free(report->sample);
	free(report->fault);
	free(report->probe);
	memset(report, 0, sizeof(*report));
}
