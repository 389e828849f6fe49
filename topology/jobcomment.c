/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobcomment.c - a job's options, read back from its admin_comment.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/jobcomment.h"

int sn_jobcomment_read(const char *comment, uint32_t cards_per_node,
		       struct sn_jobspec *ret, struct sn_err *err)
{
	struct sn_jobspec_text text = { 0 };
	const struct { const char *key; const char **value; } keys[] = {
		{ "parallel", &text.parallel }, { "pool", &text.pool },
		{ "spares", &text.spares }, { "elastic", &text.elastic },
		{ "role", &text.role }, { "service", &text.service },
		{ "replaces", &text.replaces },
	};
	const char *at = comment ? strstr(comment, SN_JOBCOMMENT_MARK) : NULL;
	char *copy, *save = NULL;
	int rc;

	if (!at)
		return sn_err_set(err, -ENOENT,
				  "the job's admin_comment does not say what it was submitted with");
	copy = strdup(at + strlen(SN_JOBCOMMENT_MARK));
	if (!copy)
		return sn_err_set(err, -ENOMEM, "no memory");
	copy[strcspn(copy, " \t\n")] = '\0';
	for (char *item = strtok_r(copy, ";", &save); item;
	     item = strtok_r(NULL, ";", &save)) {
		char *equal = strchr(item, '=');

		if (!equal)
			continue;
		*equal = '\0';
		for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			if (!strcmp(item, keys[i].key))
				*keys[i].value = equal + 1;
	}
	rc = sn_jobspec_parse(&text, cards_per_node, ret, err);
	free(copy);
	return rc;
}

int sn_jobcomment_nodes(const char *comment, char **ret, struct sn_err *err)
{
	const char *at = comment ? strstr(comment, SN_JOBCOMMENT_MARK) : NULL;
	const char *end = at ? at + strcspn(at, " \t\n") : NULL;
	const char *key = at ? strstr(at, SN_JOBCOMMENT_NODES) : NULL;

	if (!key || key >= end)
		return sn_err_set(err, -ENOENT,
				  "the job's admin_comment does not say on which nodes it began");
	key += strlen(SN_JOBCOMMENT_NODES);
	*ret = strndup(key, strcspn(key, "; \t\n"));
	return *ret ? 0 : sn_err_set(err, -ENOMEM, "no memory");
}
