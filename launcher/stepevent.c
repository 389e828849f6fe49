/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepevent.c - what srun says about its step, one line at a time.
 */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/stepevent.h"

static const char *after(const char *text, const char *word)
{
	size_t len = strlen(word);

	return strncmp(text, word, len) ? NULL : text + len;
}

static bool number(const char *text, const char **ret_end, uint32_t *ret)
{
	unsigned long n;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	n = strtoul(text, &end, 10);
	if (n > UINT32_MAX)
		return false;
	*ret = (uint32_t)n;
	*ret_end = end;
	return true;
}

static bool copy_nodes(struct sn_event *ret, const char *text, size_t len)
{
	/* Cut short it would be another list. */
	if (!len || len >= sizeof(ret->nodes))
		return false;
	memcpy(ret->nodes, text, len);
	ret->nodes[len] = '\0';
	return true;
}

/* "n[001,003]: tasks 0-7,9: Killed" */
static bool parse_tasks(const char *text, struct sn_event *ret)
{
	const char *colon = strstr(text, ": task"), *p, *end;
	uint32_t code;

	if (!colon)
		return false;
	p = colon + strlen(": task");
	p += *p == 's';
	if (*p != ' ' || !number(p + 1, &end, &ret->rank))
		return false;
	end = strstr(end, ": ");
	if (!end)
		return false;
	/* One place is enough to look at; a list too long is none. */
	if (memchr(text, ' ', (size_t)(colon - text)) ||
	    !copy_nodes(ret, text, (size_t)(colon - text)))
		ret->nodes[0] = '\0';
	p = after(end, ": Exited with exit code ");
	if (p) {
		ret->kind = SN_EVENT_EXIT;
		if (!number(p, &end, &code) || code > 255)
			return false;
		ret->code = (int)code;
		return true;
	}
	ret->kind = SN_EVENT_SIGNAL;
	ret->out_of_memory = after(end, ": Out Of Memory") != NULL;
	return true;
}

static bool parse_lost(const char *text, struct sn_event *ret)
{
	const char *p = after(text, "Node failure on "), *end;

	ret->kind = SN_EVENT_NODE;
	if (p)
		return copy_nodes(ret, p, strcspn(p, " \n"));
	p = after(text, "Task launch for ");
	if (p && (p = strstr(p, " failed on node "))) {
		p += strlen(" failed on node ");
		return copy_nodes(ret, p, strcspn(p, ": \n"));
	}
	ret->kind = SN_EVENT_NODE_NUMBER;
	p = strstr(text, "io error with slurmstepd on node ");
	if (p)
		return number(p + strlen("io error with slurmstepd on node "),
			      &end, &ret->number);
	p = strstr(text, "io error and missing step on node ");
	if (!p)
		p = strstr(text, "step missing and io error on node ");
	return p && number(p + strlen("io error and missing step on node "), &end,
			   &ret->number);
}

bool sn_event_parse(const char *line, struct sn_event *ret)
{
	const char *text = after(line, "srun: error: ");
	struct sn_event event = { 0 };

	if (!text)
		return false;
	if (!parse_lost(text, &event)) {
		memset(&event, 0, sizeof(event));
		if (!parse_tasks(text, &event))
			return false;
	}
	*ret = event;
	return true;
}
