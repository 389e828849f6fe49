/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolask.c - have snelasticd make or delete a pool region with a name.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "snctl/poolask.h"

#define ALONE "only root and SlurmUser can write node records, others have snelasticd do it"

#ifdef HAVE_MUNGE
#include <json-c/json.h>

#include "elastic/client.h"

#define ASK_MS 30000

static void add_text(struct json_object *o, const char *key, const char *text)
{
	if (text)
		json_object_object_add(o, key, json_object_new_string(text));
}

static struct json_object *make_request(bool create, const struct poolplan_ask *ask)
{
	struct json_object *o = json_object_new_object();

	if (!o)
		return NULL;
	add_text(o, "op", create ? "pool.create" : "pool.delete");
	add_text(o, "name", ask->name);
	if (!create)
		return o;
	add_text(o, "size", ask->size);
	add_text(o, "supernode", ask->supernode);
	add_text(o, "nodes", ask->nodes);
	if (ask->job)
		json_object_object_add(o, "job", json_object_new_int64(ask->job));
	if (ask->has_uid)
		json_object_object_add(o, "uid", json_object_new_int64(ask->uid));
	return o;
}

static uint64_t number(struct json_object *o, const char *key)
{
	struct json_object *v = json_object_object_get(o, key);

	return v && json_object_get_int64(v) > 0 ? (uint64_t)json_object_get_int64(v) : 0;
}

static void read_answer(struct json_object *o, struct poolask_done *ret)
{
	const char *supernode = json_object_get_string(json_object_object_get(o, "supernode"));

	ret->uid = (uint32_t)number(o, "uid");
	ret->bytes = number(o, "bytes");
	ret->nodes = (uint32_t)number(o, "nodes");
	ret->waiting = (uint32_t)number(o, "waiting");
	snprintf(ret->supernode, sizeof(ret->supernode), "%s", supernode ? supernode : "");
}

int poolask(const char *config, bool create, const struct poolplan_ask *ask,
	    struct poolask_done *ret, struct sn_err *err)
{
	struct json_object *request = make_request(create, ask), *answer;
	struct sn_elastic_where where;
	struct sn_policy policy;
	struct sn_err why;
	int rc = request ? 0 : sn_err_set(err, -ENOMEM, "no memory");

	memset(ret, 0, sizeof(*ret));
	if (!rc)
		rc = sn_elastic_find(config, &policy, &where, err);
	if (rc) {
		json_object_put(request);
		return rc;
	}
	rc = sn_elastic_ask(&where, request, ASK_MS, &answer, &why);
	if (!rc) {
		read_answer(answer, ret);
		json_object_put(answer);
	} else if (rc == -EHOSTUNREACH) {
		sn_err_set(err, rc, ALONE "; %s", why.text);
	} else if (rc == -ETIMEDOUT || rc == -ECONNRESET) {
		rc = sn_err_set(err, -ETIMEDOUT,
				"%s; it may be done or not, snctl pool list shows that", why.text);
	} else {
		/* "again": what stands against it may end. */
		rc = sn_err_set(err, rc == -EAGAIN ? -EBUSY : rc, "%s", why.text);
	}
	json_object_put(request);
	return rc;
}

#else

int poolask(const char *config, bool create, const struct poolplan_ask *ask,
	    struct poolask_done *ret, struct sn_err *err)
{
	(void)config, (void)create, (void)ask;
	memset(ret, 0, sizeof(*ret));
	return sn_err_set(err, -EHOSTUNREACH, ALONE ", and this snctl was built without munge, and so cannot ask it");
}

#endif
