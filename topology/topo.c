/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topo.c - the model of a cluster: nodes, units, supernodes, fabrics.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/topobuild.h"

/*
 * Open addressing over the numbers of an array of the model. The model's
 * structs all begin with their name, so one table serves all four; a slot keeps
 * the upper half of the hash, so that a probe rarely touches the array.
 */
struct table {
	uint64_t *slot; /* hash << 32 | number + 1; 0: empty */
	size_t mask;
	size_t used;
};

struct sn_topo_index {
	struct table node, supernode, unit, fabric;
	/* Room in the model's arrays. */
	size_t nodes_size, supernodes_size, units_size, fabrics_size;
};

/* An array of the model with its table, whatever its type. */
struct array {
	void **base;
	size_t each;
	uint32_t *n;
	size_t *size;
	struct table *table;
};

#define ARRAY(topo, what, count, room) \
	((struct array){ (void **)&(topo)->what, sizeof(*(topo)->what), \
			 &(topo)->count, &(topo)->index->room, \
			 &(topo)->index->what })

static const char *name_of(const struct array *a, size_t i)
{
	return *(char **)((char *)*a->base + i * a->each);
}

/* FNV-1a, stirred, since both halves of the result are used. */
static uint64_t hash_of(const char *name)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3u;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	return h ^ (h >> 32);
}

static uint32_t table_find(const struct array *a, const char *name)
{
	const struct table *t = a->table;
	uint64_t h = hash_of(name);
	size_t i;

	if (!t->slot)
		return SN_NONE;
	for (i = h & t->mask; t->slot[i]; i = (i + 1) & t->mask) {
		uint32_t k = (uint32_t)t->slot[i] - 1;

		if (t->slot[i] >> 32 == h >> 32 && strcmp(name_of(a, k), name) == 0)
			return k;
	}
	return SN_NONE;
}

static void table_put(struct table *t, uint64_t h, uint32_t k)
{
	size_t i = h & t->mask;

	while (t->slot[i])
		i = (i + 1) & t->mask;
	t->slot[i] = (h >> 32) << 32 | (k + 1);
	t->used++;
}

/* Keep a third of the slots empty. The names are hashed anew, as the lower half
 * of the hash is not kept. */
static int table_reserve(const struct array *a)
{
	struct table *t = a->table;
	struct table bigger;
	uint32_t i;

	if (t->slot && (t->used + 1) * 3 <= (t->mask + 1) * 2)
		return 0;
	bigger.mask = t->slot ? t->mask * 2 + 1 : 63;
	bigger.used = 0;
	bigger.slot = calloc(bigger.mask + 1, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -ENOMEM;
	for (i = 0; i < *a->n; i++)
		table_put(&bigger, hash_of(name_of(a, i)), i);
	free(t->slot);
	*t = bigger;
	return 0;
}

/* Room for one more in the array and its table, so that push cannot fail. */
static int array_reserve(const struct array *a)
{
	size_t size;
	void *p;

	if (*a->n >= SN_TOPO_NODES_MAX)
		return -E2BIG;
	if (*a->n == *a->size) {
		size = *a->size ? *a->size * 2 : 32;
		p = realloc(*a->base, size * a->each);
		if (!p)
			return -ENOMEM;
		*a->base = p;
		*a->size = size;
	}
	return table_reserve(a);
}

/* Add a zeroed struct of that name. */
static int array_push(const struct array *a, char *name, uint32_t *ret)
{
	char *at;
	int rc;

	*ret = table_find(a, name);
	if (*ret != SN_NONE)
		return -EEXIST;
	rc = array_reserve(a);
	if (rc)
		return rc;
	at = (char *)*a->base + *a->n * a->each;
	memset(at, 0, a->each);
	*(char **)at = name;
	table_put(a->table, hash_of(name), *a->n);
	*ret = (*a->n)++;
	return 0;
}

static struct array nodes_of(const struct sn_topo *topo)
{
	struct sn_topo *t = (struct sn_topo *)topo;

	return ARRAY(t, node, n_nodes, nodes_size);
}

static struct array supernodes_of(const struct sn_topo *topo)
{
	struct sn_topo *t = (struct sn_topo *)topo;

	return ARRAY(t, supernode, n_supernodes, supernodes_size);
}

static struct array units_of(const struct sn_topo *topo)
{
	struct sn_topo *t = (struct sn_topo *)topo;

	return ARRAY(t, unit, n_units, units_size);
}

static struct array fabrics_of(const struct sn_topo *topo)
{
	struct sn_topo *t = (struct sn_topo *)topo;

	return ARRAY(t, fabric, n_fabrics, fabrics_size);
}

struct sn_topo *sn_topo_create(void)
{
	struct sn_topo *topo = calloc(1, sizeof(*topo));

	if (!topo)
		return NULL;
	topo->index = calloc(1, sizeof(*topo->index));
	if (!topo->index) {
		free(topo);
		return NULL;
	}
	return topo;
}

static void array_free(const struct array *a)
{
	uint32_t i;

	for (i = 0; i < *a->n; i++)
		free(*(char **)((char *)*a->base + i * a->each));
	free(*a->base);
	free(a->table->slot);
}

void sn_topo_destroy(struct sn_topo *topo)
{
	struct array a;

	if (!topo)
		return;
	a = nodes_of(topo);
	array_free(&a);
	a = supernodes_of(topo);
	array_free(&a);
	a = units_of(topo);
	array_free(&a);
	a = fabrics_of(topo);
	array_free(&a);
	free(topo->index);
	free(topo);
}

int sn_topo_push_supernode(struct sn_topo *topo, char *name, uint32_t *ret)
{
	struct array a = supernodes_of(topo);
	int rc = array_push(&a, name, ret);

	if (!rc) {
		topo->supernode[*ret].first_node = topo->n_nodes;
		topo->supernode[*ret].fabric = SN_NONE;
	}
	return rc;
}

/* The node goes to the last supernode. */
int sn_topo_push_node(struct sn_topo *topo, char *name, uint32_t *ret)
{
	struct array a = nodes_of(topo);
	int rc = array_push(&a, name, ret);

	if (!rc) {
		topo->node[*ret].supernode = topo->n_supernodes - 1;
		topo->node[*ret].unit = SN_NONE;
		topo->supernode[topo->n_supernodes - 1].n_nodes++;
	}
	return rc;
}

int sn_topo_push_unit(struct sn_topo *topo, char *name, uint32_t *ret)
{
	struct array a = units_of(topo);
	int rc = array_push(&a, name, ret);

	if (!rc)
		topo->unit[*ret].supernode = SN_NONE;
	return rc;
}

int sn_topo_push_fabric(struct sn_topo *topo, char *name, uint32_t *ret)
{
	struct array a = fabrics_of(topo);
	int rc = array_push(&a, name, ret);

	if (!rc)
		topo->fabric[*ret].parent = SN_NONE;
	return rc;
}

/* One name, and nothing that a hostlist would make more or less of. */
static int check_name(const char *name, struct sn_err *err)
{
	struct sn_names names = { .name = NULL };
	char clip[64];
	int rc = 0;

	if (!strchr(name, '['))
		rc = sn_hostlist_expand(name, &names, err);
	if (!rc && (names.n != 1 || strcmp(names.name[0], name) != 0))
		rc = sn_err_set(err, -EINVAL, "\"%s\" is not the name of one node",
				sn_text_clip(name, clip, sizeof(clip)));
	sn_names_done(&names);
	return rc;
}

int sn_topo_add_loose(struct sn_topo *topo, const char *name,
		      struct sn_err *err)
{
	struct array nodes = nodes_of(topo), supernodes = supernodes_of(topo);
	char *node_name = NULL, *supernode_name = NULL;
	char clip[64];
	uint32_t i;
	int rc;

	sn_text_clip(name, clip, sizeof(clip));
	i = sn_topo_find_node(topo, name);
	if (i != SN_NONE)
		return sn_err_set(err, -EEXIST, "node %s is already in supernode %s",
				  clip, topo->supernode[topo->node[i].supernode].name);
	if (sn_topo_find_supernode(topo, name) != SN_NONE)
		return sn_err_set(err, -EEXIST, "node %s is in no supernode, so it would be a supernode of its own, but a supernode has that name already; name the node on its Nodes= list, or rename the supernode",
				  clip);
	rc = check_name(name, err);
	if (rc)
		return rc;
	node_name = strdup(name);
	supernode_name = strdup(name);
	rc = node_name && supernode_name ? array_reserve(&nodes) : -ENOMEM;
	if (!rc)
		rc = array_reserve(&supernodes);
	if (rc) {
		free(node_name);
		free(supernode_name);
		return sn_err_set(err, rc, rc == -ENOMEM ? "out of memory" :
				  "more than %u nodes", SN_TOPO_NODES_MAX);
	}
	/* Neither can fail now: the room is there and the names are new. */
	sn_topo_push_supernode(topo, supernode_name, &i);
	topo->supernode[i].loose = true;
	sn_topo_push_node(topo, node_name, &i);
	return 0;
}

uint32_t sn_topo_find_node(const struct sn_topo *topo, const char *name)
{
	struct array a = nodes_of(topo);

	return table_find(&a, name);
}

uint32_t sn_topo_find_supernode(const struct sn_topo *topo, const char *name)
{
	struct array a = supernodes_of(topo);

	return table_find(&a, name);
}

uint32_t sn_topo_find_unit(const struct sn_topo *topo, const char *name)
{
	struct array a = units_of(topo);

	return table_find(&a, name);
}

uint32_t sn_topo_find_fabric(const struct sn_topo *topo, const char *name)
{
	struct array a = fabrics_of(topo);

	return table_find(&a, name);
}

uint32_t sn_topo_chain(const struct sn_topo *topo, uint32_t s, uint32_t *chain)
{
	uint32_t f = topo->supernode[s].fabric, i, n;

	if (f == SN_NONE)
		return 0;
	n = topo->fabric[f].depth + 1;
	for (i = n; i-- > 0; f = topo->fabric[f].parent)
		chain[i] = f;
	return n;
}
