/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inventory.c - the model of an inventory, and what holds for it on any site.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "launcher/inventory.h"
#include "topology/text.h"

const char *sn_rank_table_name(enum sn_rank_table version)
{
	static const char *const name[] = { "none", "1.0", "1.2", "2.0" };

	return name[version];
}

int sn_inv_ip_family(const char *text)
{
	unsigned char buf[16];

	if (inet_pton(AF_INET, text, buf) == 1)
		return 4;
	return inet_pton(AF_INET6, text, buf) == 1 ? 6 : 0;
}

static void card_done(struct sn_inv_card *card)
{
	free(card->device_ip);
	free(card->backup_device_ip);
	json_object_put(card->levels);
}

static void node_done(struct sn_inv_node *node)
{
	for (uint32_t i = 0; i < node->n_cards; i++)
		card_done(&node->card[i]);
	free(node->card);
	free(node->name);
	free(node->server_id);
	free(node->host_ip);
	free(node->super_pod_id);
}

void sn_inventory_done(struct sn_inventory *inv)
{
	for (uint32_t i = 0; i < inv->n_nodes; i++)
		node_done(&inv->node[i]);
	free(inv->node);
	memset(inv, 0, sizeof(*inv));
}

/* Room for one more of n; the array doubles at each power of two. */
static void *grow(void *array, uint32_t n, size_t size)
{
	if (n & (n - 1))
		return array;
	return reallocarray(array, n ? 2 * (size_t)n : 1, size);
}

struct sn_inv_node *sn_inventory_add(struct sn_inventory *inv, const char *name)
{
	struct sn_inv_node *node = grow(inv->node, inv->n_nodes, sizeof(*node));

	if (!node)
		return NULL;
	inv->node = node;
	node += inv->n_nodes;
	memset(node, 0, sizeof(*node));
	node->name = strdup(name);
	if (!node->name)
		return NULL;
	inv->n_nodes++;
	return node;
}

struct sn_inv_card *sn_inv_node_add(struct sn_inv_node *node)
{
	struct sn_inv_card *card = grow(node->card, node->n_cards, sizeof(*card));

	if (!card)
		return NULL;
	node->card = card;
	card += node->n_cards++;
	memset(card, 0, sizeof(*card));
	return card;
}

static int by_name(const void *a, const void *b)
{
	const struct sn_inv_node *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int name_is(const void *key, const void *node)
{
	return strcmp(key, ((const struct sn_inv_node *)node)->name);
}

struct sn_inv_node *sn_inventory_find(const struct sn_inventory *inv,
				      const char *name)
{
	if (!inv->n_nodes)
		return NULL;
	return bsearch(name, inv->node, inv->n_nodes, sizeof(*inv->node), name_is);
}

struct sn_inv_card *sn_inv_node_card(const struct sn_inv_node *node,
				     uint32_t card)
{
	for (uint32_t i = 0; i < node->n_cards; i++)
		if (node->card[i].card == card)
			return &node->card[i];
	return NULL;
}

const char *sn_inv_server_id(const struct sn_inv_node *node)
{
	return node->server_id ? node->server_id : node->name;
}

static int by_card(const void *a, const void *b)
{
	const struct sn_inv_card *x = a, *y = b;

	return x->card < y->card ? -1 : x->card > y->card;
}

static int finish_node(struct sn_inv_node *node, const char *file,
		       struct sn_err *err)
{
	uint32_t n = node->n_cards;

	if (!n)
		return sn_err_set(err, -EINVAL, "%s: %s has no cards; leave the node away, or list them",
				  file, node->name);
	qsort(node->card, n, sizeof(*node->card), by_card);
	for (uint32_t i = 0; i < n; i++) {
		const struct sn_inv_card *card = &node->card[i];

		if (i && card->card == card[-1].card)
			return sn_err_set(err, -EINVAL, "%s: %s: card %u is given twice",
					  file, node->name, card->card);
		if (card->card != i)
			return sn_err_set(err, -EINVAL,
					  "%s: %s: card %u is missing, of cards up to %u; where the server lacks that device, number Slurm's cards by \"card\": 0, 1, …",
					  file, node->name, i, node->card[n - 1].card);
		for (uint32_t k = 0; k < i; k++)
			if (node->card[k].device_id == card->device_id)
				return sn_err_set(err, -EINVAL,
						  "%s: %s: cards %u and %u both have device_id %u",
						  file, node->name, k, i, card->device_id);
	}
	return 0;
}

int sn_inventory_sort(struct sn_inventory *inv, struct sn_err *err)
{
	if (inv->n_nodes)
		qsort(inv->node, inv->n_nodes, sizeof(*inv->node), by_name);
	for (uint32_t i = 1; i < inv->n_nodes; i++)
		if (!strcmp(inv->node[i].name, inv->node[i - 1].name))
			return sn_err_set(err, -EINVAL, "inventory: node %s is given twice",
					  inv->node[i].name);
	return 0;
}

int sn_inventory_finish(struct sn_inventory *inv, const char *file,
			struct sn_err *err)
{
	int rc = sn_inventory_sort(inv, err);

	for (uint32_t i = 0; i < inv->n_nodes && !rc; i++)
		rc = finish_node(&inv->node[i], file, err);
	return rc;
}

int sn_inventory_parse(const char *text, size_t len, const char *file,
		       const char *node, struct sn_inventory *ret,
		       struct sn_err *err)
{
	struct sn_inventory inv = { 0 };
	size_t i = 0;
	int rc;

	/* hccn.conf's lines are KEY=VALUE or comments; JSON begins with a
	 * brace, and what begins with neither is best told so as JSON. */
	while (i < len && text[i] && strchr(" \t\r\n", text[i]))
		i++;
	if (i < len && text[i] && strchr("{[\"", text[i]))
		rc = sn_inventory_json(text, len, file, node, &inv, err);
	else
		rc = sn_inventory_conf(text, len, file, node, &inv, err);
	if (!rc)
		rc = sn_inventory_finish(&inv, file, err);
	if (rc) {
		sn_inventory_done(&inv);
		return rc;
	}
	*ret = inv;
	return 0;
}

bool sn_inventory_is_pattern(const char *path)
{
	const char *p = path;

	while ((p = strchr(p, '%'))) {
		if (p[1] == 'n')
			return true;
		p += p[1] ? 2 : 1;
	}
	return false;
}

char *sn_inventory_path(const char *pattern, const char *node)
{
	struct sn_buf buf = { 0 };

	sn_buf_add(&buf, "%s", "");
	for (const char *p = pattern; *p; p++) {
		if (*p == '%' && p[1] == 'n')
			sn_buf_add(&buf, "%s", node);
		else if (*p != '%' || p[1] != '%')
			sn_buf_add(&buf, "%c", *p);
		else
			sn_buf_add(&buf, "%%");
		if (*p == '%' && (p[1] == 'n' || p[1] == '%'))
			p++;
	}
	return buf.text;
}
