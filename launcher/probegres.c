/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probegres.c - which device files gres.conf gives a node's cards.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "launcher/probe.h"
#include "topology/hostlist.h"

/* As Slurm has them: what is beyond is not read at all. */
#define NODES_MAX (1u << 16)
#define FILES_MAX 1024

struct gres {
	const char *name, *node;
	struct sn_probe_device *device;
	uint32_t n;
	bool detects;
};

static uint32_t number_of(const char *path, uint32_t otherwise)
{
	size_t n = strlen(path), at = n;

	while (at && isdigit((unsigned char)path[at - 1]))
		at--;
	return at < n && n - at <= 6 ? (uint32_t)strtoul(path + at, NULL, 10) :
		otherwise;
}

static bool has_node(const char *list, const char *node)
{
	struct sn_names names = { 0 };
	bool has = false;

	if (sn_hostlist_expand_max(list, NODES_MAX, &names, NULL))
		return false;
	for (size_t i = 0; i < names.n && !has; i++)
		has = !strcmp(names.name[i], node);
	sn_names_done(&names);
	return has;
}

static void add_files(struct gres *g, const char *list)
{
	struct sn_names files = { 0 };

	if (sn_hostlist_expand_max(list, FILES_MAX, &files, NULL))
		return;
	for (size_t i = 0; i < files.n && g->n < SN_PROBE_CARDS; i++) {
		struct sn_probe_device *d = &g->device[g->n];

		*d = (struct sn_probe_device){ .number = 0 };
		if (strlen(files.name[i]) >= sizeof(d->path))
			continue;
		snprintf(d->path, sizeof(d->path), "%s", files.name[i]);
		d->number = number_of(d->path, g->n);
		g->n++;
	}
	sn_names_done(&files);
}

static int take_line(void *arg, const struct sn_conf_line *line,
		     struct sn_err *err)
{
	const char *name = NULL, *file = NULL, *nodes = NULL;
	struct gres *g = arg;

	(void)err;
	for (size_t i = 0; i < line->n; i++) {
		const struct sn_conf_pair *pair = &line->pair[i];

		if (!strcasecmp(pair->key, "Name"))
			name = pair->value;
		else if (!strcasecmp(pair->key, "File"))
			file = pair->value;
		else if (!strcasecmp(pair->key, "NodeName"))
			nodes = pair->value;
		else if (!strcasecmp(pair->key, "AutoDetect") &&
			 strcasecmp(pair->value, "off"))
			g->detects = true;
	}
	if (name && file && !strcmp(name, g->name) &&
	    (!nodes || has_node(nodes, g->node)))
		add_files(g, file);
	return 0;
}

int sn_probe_gres(const char *text, size_t len, const char *file,
		  sn_conf_read_fn read, void *ctx, const char *gres,
		  const char *node, struct sn_probe_device *ret,
		  uint32_t *ret_n, bool *ret_detects, struct sn_err *err)
{
	struct gres g = { .name = gres, .node = node, .device = ret };
	int rc = sn_conf_parse(text, len, file, read, ctx, take_line, &g, err);

	*ret_n = rc ? 0 : g.n;
	*ret_detects = g.detects;
	return rc;
}

void sn_probe_pattern(const char *pattern, const char *node, uint32_t card,
		      char *buf, size_t size)
{
	size_t n = 0;

	for (; *pattern && n + 1 < size; pattern++) {
		int more;

		if (pattern[0] != '%' || (pattern[1] != 'c' && pattern[1] != 'n')) {
			buf[n++] = *pattern;
			continue;
		}
		more = pattern[1] == 'c' ?
			snprintf(buf + n, size - n, "%u", card) :
			snprintf(buf + n, size - n, "%s", node);
		n += more > 0 ? (size_t)more : 0;
		if (n >= size)
			n = size - 1;
		pattern++;
	}
	if (size)
		buf[n] = '\0';
}
