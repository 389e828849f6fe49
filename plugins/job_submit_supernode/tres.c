/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tres.c - find the cards in a TRES list.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/job_submit_supernode/tres.h"

/* "gres/npu", "gres/npu:8", "gres:npu:910b:8" */
static bool is_cards(const char *item, size_t len, const char *card,
		     struct tres_cards *ret)
{
	size_t n = strlen(card);
	const char *p = item, *end = item + len, *colon;

	if (len > 5 && (!strncmp(p, "gres/", 5) || !strncmp(p, "gres:", 5)))
		p += 5;
	if ((size_t)(end - p) < n || strncmp(p, card, n))
		return false;
	p += n;
	if (p < end && *p != ':' && *p != '=')
		return false;
	ret->count = 1;
	while (p < end) {
		char *stop;

		p++;
		for (colon = p; colon < end && *colon != ':' && *colon != '=';)
			colon++;
		if (p < colon && *p >= '0' && *p <= '9' &&
		    (ret->count = strtoull(p, &stop, 10), stop == colon)) {
			;
		} else {
			snprintf(ret->type, sizeof(ret->type), "%.*s",
				 (int)(colon - p), p);
			ret->count = 1;
		}
		p = colon;
	}
	return true;
}

bool tres_find_cards(const char *list, const char *card_gres,
		     struct tres_cards *ret)
{
	bool found = false;
	char *rest = NULL;

	memset(ret, 0, sizeof(*ret));
	while (list && *list) {
		size_t len = strcspn(list, ",;");

		if (is_cards(list, len, card_gres, ret)) {
			found = true;
		} else if (len) {
			char *more = NULL;

			if (asprintf(&more, "%s%s%.*s", rest ? rest : "",
				     rest ? "," : "", (int)len, list) < 0)
				more = NULL;
			free(rest);
			rest = more;
		}
		list += len + (list[len] != '\0');
	}
	if (found)
		ret->rest = rest;
	else
		free(rest);
	return found;
}
