/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobcomment.c - a job's options, read back from its admin_comment.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/jobcomment.h"
#include "topology/text.h"

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

/* What follows ";KEY=", up to *ret_len; NULL: it is not there. */
static const char *find(const char *comment, const char *key, size_t *ret_len)
{
	const char *at = comment ? strstr(comment, SN_JOBCOMMENT_MARK) : NULL;
	const char *end = at ? at + strcspn(at, " \t\n") : NULL;

	at = at ? strstr(at, key) : NULL;
	if (!at || at >= end)
		return NULL;
	at += strlen(key);
	*ret_len = strcspn(at, "; \t\n");
	return at;
}

int sn_jobcomment_nodes(const char *comment, char **ret, struct sn_err *err)
{
	size_t len;
	const char *at = find(comment, SN_JOBCOMMENT_NODES, &len);

	if (!at)
		return sn_err_set(err, -ENOENT,
				  "the job's admin_comment does not say on which nodes it began");
	*ret = strndup(at, len);
	return *ret ? 0 : sn_err_set(err, -ENOMEM, "no memory");
}

uint64_t sn_jobcomment_poolmem(const char *comment)
{
	char text[24] = "";
	uint64_t mb;
	size_t len;
	const char *at = find(comment, SN_JOBCOMMENT_POOLMEM, &len);

	if (at && len < sizeof(text))
		memcpy(text, at, len);
	return sn_parse_uint(text, 0, UINT64_MAX, &mb, NULL) ? 0 : mb;
}
