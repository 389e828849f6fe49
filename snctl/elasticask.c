/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elasticask.c - steer a job through snelasticd.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snctl/elasticask.h"

#ifdef HAVE_MUNGE
#include <json-c/json.h>

#include "elastic/client.h"

int elasticask(uint32_t job, const struct sn_control *order, uint32_t timeout_ms,
	       char **ret, struct sn_err *err)
{
	struct json_object *request = json_object_new_object(), *answer = NULL;
	struct sn_elastic_where where;
	struct sn_policy policy;
	const char *text;
	int rc = sn_elastic_find(NULL, &policy, &where, err);

	*ret = NULL;
	json_object_object_add(request, "op", json_object_new_string("elastic.tell"));
	json_object_object_add(request, "job", json_object_new_int64(job));
	json_object_object_add(request, "do", sn_control_json(order));
	if (!rc)
		rc = sn_elastic_ask(&where, request, timeout_ms, &answer, err);
	if (!rc) {
		text = json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN);
		*ret = text ? strdup(text) : NULL;
		rc = *ret ? 0 : sn_err_set(err, -ENOMEM, "no memory");
	}
	json_object_put(answer);
	json_object_put(request);
	return rc == -ECONNRESET ? -EHOSTUNREACH : rc;
}

#else

int elasticask(uint32_t job, const struct sn_control *order, uint32_t timeout_ms,
	       char **ret, struct sn_err *err)
{
	(void)job, (void)order, (void)timeout_ms;
	*ret = NULL;
	return sn_err_set(err, -EHOSTUNREACH, "this snctl was built without munge, and so cannot ask snelasticd");
}

#endif
