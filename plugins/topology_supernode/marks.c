/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marks.c - what node records say in their `extra`.
 */
#include "plugins/compat.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/log.h"

#include "plugins/topology_supernode/marks.h"

struct cached {
	char *text; /* that was parsed */
	struct marks marks;
};

static const struct marks no_marks;

/* By the node's index. Entries stay where they are when the table grows. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cached **table;
static uint32_t table_size;
static char told[SN_ERR_SIZE];

/* A site may have put the same text on each of 10,000 nodes. */
static void tell(const node_record_t *node_ptr, const struct sn_err *err)
{
	if (!strcmp(told, err->text))
		return;
	memcpy(told, err->text, sizeof(told));
	error("topology/supernode: node %s: %s", node_ptr->name, err->text);
}

static void parse(const node_record_t *node_ptr, struct marks *ret)
{
	struct sn_err err;

	if (sn_cardbook_read(node_ptr->extra, &ret->cards, &err))
		tell(node_ptr, &err);
	if (sn_poolbook_read(node_ptr->extra, &ret->pool, &ret->n_pool, &err))
		tell(node_ptr, &err);
}

static struct cached *entry_of(uint32_t inx)
{
	if (inx >= table_size) {
		uint32_t size = inx + 1 > (uint32_t)node_record_count ?
			inx + 1 : (uint32_t)node_record_count;
		struct cached **more = realloc(table, size * sizeof(*more));

		if (!more)
			return NULL;
		memset(more + table_size, 0, (size - table_size) * sizeof(*more));
		table = more;
		table_size = size;
	}
	if (!table[inx])
		table[inx] = calloc(1, sizeof(*table[inx]));
	return table[inx];
}

static void forget(struct cached *entry)
{
	free(entry->text);
	free(entry->marks.pool);
	memset(entry, 0, sizeof(*entry));
}

const struct marks *marks_of(const node_record_t *node_ptr)
{
	struct cached *entry;

	/* Most nodes have none. */
	if (!node_ptr->extra || !node_ptr->extra[0])
		return &no_marks;
	pthread_mutex_lock(&lock);
	entry = entry_of(node_ptr->index);
	if (entry && (!entry->text || strcmp(entry->text, node_ptr->extra))) {
		forget(entry);
		entry->text = strdup(node_ptr->extra);
		parse(node_ptr, &entry->marks);
	}
	pthread_mutex_unlock(&lock);
	return entry ? &entry->marks : &no_marks;
}

const struct sn_poolbook_entry *marks_region(const node_record_t *node_ptr,
					     const char *name)
{
	const struct marks *marks = marks_of(node_ptr);

	for (size_t k = 0; k < marks->n_pool; k++)
		if (!strcmp(marks->pool[k].name, name))
			return &marks->pool[k];
	return NULL;
}

void marks_each_masked(void (*fn)(uint32_t node_inx, uint64_t masked, void *arg),
		       void *arg)
{
	node_record_t *node_ptr;
	int i;

	for (i = 0; (node_ptr = next_node(&i)); i++) {
		uint64_t masked = marks_of(node_ptr)->cards.masked;

		if (masked)
			fn((uint32_t)i, masked, arg);
	}
}

void marks_done(void)
{
	for (uint32_t i = 0; i < table_size; i++) {
		if (table[i])
			forget(table[i]);
		free(table[i]);
	}
	free(table);
	table = NULL;
	table_size = 0;
	told[0] = '\0';
}
