/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cardask.c - have snelasticd drain or resume cards, for operators.
 */
#include "config.h"

#include <errno.h>

#include "snctl/cardask.h"

#ifdef HAVE_MUNGE
#include <json-c/json.h>

#include "elastic/client.h"

#define ASK_MS 20000

static struct json_object *make_request(bool drain, const char *reason, const char *node,
					uint64_t cards)
{
	struct json_object *r = json_object_new_object(), *list = json_object_new_array();

	if (!r || !list) {
		json_object_put(r);
		json_object_put(list);
		return NULL;
	}
	json_object_object_add(r, "op", json_object_new_string(drain ? "card.drain" : "card.resume"));
	json_object_object_add(r, "node", json_object_new_string(node));
	for (int c = 0; c < 64; c++)
		if (cards >> c & 1)
			json_object_array_add(list, json_object_new_int(c));
	json_object_object_add(r, "cards", list);
	if (reason)
		json_object_object_add(r, "why", json_object_new_string(reason));
	return r;
}

int cardask(const char *config, bool drain, const char *reason, const char *node,
	    uint64_t cards, struct sn_err *err)
{
	struct json_object *request = make_request(drain, reason, node, cards), *answer;
	struct sn_elastic_where where;
	struct sn_policy policy;
	struct sn_err why;
	int rc = request ? 0 : sn_err_set(err, -ENOMEM, "no memory");

	if (!rc)
		rc = sn_elastic_find(config, &policy, &where, err);
	if (!rc) {
		rc = sn_elastic_ask(&where, request, ASK_MS, &answer, &why);
		if (!rc)
			json_object_put(answer);
		else if (rc == -EHOSTUNREACH || rc == -ECONNRESET)
			rc = sn_err_set(err, -EHOSTUNREACH,
					"only root and SlurmUser can write node records, operators through snelasticd; %s",
					why.text);
		else
			sn_err_set(err, rc, "%s", why.text);
	}
	json_object_put(request);
	return rc;
}

#else

int cardask(const char *config, bool drain, const char *reason, const char *node,
	    uint64_t cards, struct sn_err *err)
{
	(void)config, (void)drain, (void)reason, (void)node, (void)cards;
	return sn_err_set(err, -EHOSTUNREACH, "only root and SlurmUser can write node records");
}

#endif
