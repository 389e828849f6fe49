/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolnames.c - the pool regions with names of a live cluster.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snctl/poolnames.h"

static int add(struct pool_names *names, const struct live *live, uint32_t node,
	       const struct sn_poolbook_entry *entry)
{
	struct pool_name *name = pool_names_find(names, entry->name), *grown;
	uint32_t *nodes;

	if (!name) {
		grown = realloc(names->name, ((size_t)names->n + 1) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		names->name = grown;
		name = &grown[names->n++];
		*name = (struct pool_name){
			.entry = *entry,
			.supernode = live->topo->node[node].supernode,
		};
		name->entry.bytes = 0;
	}
	nodes = realloc(name->node, ((size_t)name->n_nodes + 1) * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	name->node = nodes;
	nodes[name->n_nodes++] = node;
	name->entry.bytes += entry->bytes;
	return 0;
}

bool pool_name_has_job(const struct pool_name *name, const struct live_job *job)
{
	return job->has_spec && job->spec.pool.per == SN_POOL_NAMED &&
		job->info->user_id == name->entry.uid &&
		!strcmp(job->spec.pool.name, name->entry.name);
}

int pool_names_load(const struct live *live, struct pool_names *ret,
		    struct sn_err *err)
{
	int rc = 0;

	memset(ret, 0, sizeof(*ret));
	for (uint32_t n = 0; !rc && n < live->topo->n_nodes; n++) {
		struct sn_poolbook_entry *all = NULL;
		size_t count = 0;

		if (!live->node[n].info)
			continue;
		rc = sn_poolbook_read(live->node[n].info->extra, &all, &count, err);
		if (rc)
			sn_err_prefix(err, rc, "node %s: ", live->topo->node[n].name);
		for (size_t k = 0; !rc && k < count; k++)
			if (add(ret, live, n, &all[k]))
				rc = sn_err_set(err, -ENOMEM, "no memory");
		free(all);
	}
	for (uint32_t i = 0; !rc && i < ret->n; i++)
		for (uint32_t j = 0; j < live->n_jobs; j++) {
			if (!pool_name_has_job(&ret->name[i], &live->job[j]))
				continue;
			if (live->job[j].running)
				ret->name[i].running++;
			else
				ret->name[i].waiting++;
		}
	if (rc)
		pool_names_done(ret);
	return rc;
}

void pool_names_done(struct pool_names *names)
{
	for (uint32_t i = 0; i < names->n; i++)
		free(names->name[i].node);
	free(names->name);
	memset(names, 0, sizeof(*names));
}

struct pool_name *pool_names_find(const struct pool_names *names, const char *name)
{
	for (uint32_t i = 0; i < names->n; i++)
		if (!strcmp(names->name[i].entry.name, name))
			return &names->name[i];
	return NULL;
}
