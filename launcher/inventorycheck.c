/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inventorycheck.c - can a rank table be written from an inventory, and what is
 * odd about it?
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "launcher/inventory.h"
#include "launcher/ranktable.h"
#include "topology/text.h"

/* A card with what must not be twice: text, or number where text is NULL. */
struct item {
	const struct sn_inv_node *node;
	const struct sn_inv_card *card;
	const char *scope; /* NULL: the whole table */
	const char *text;
	uint32_t number;
};

static int by_item(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int d = x->scope ? strcmp(x->scope, y->scope) : 0;

	if (!d && x->text)
		d = strcmp(x->text, y->text);
	else if (!d)
		d = x->number < y->number ? -1 : x->number > y->number;
	return d;
}

static bool same(const struct item *a, const struct item *b)
{
	return !by_item(a, b);
}

static uint32_t count_cards(const struct sn_inventory *inv)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < inv->n_nodes; i++)
		n += inv->node[i].n_cards;
	return n;
}

static int generation(const struct sn_inventory *inv,
		      enum sn_rank_table version, struct sn_err *err)
{
	for (uint32_t i = 0; i < inv->n_nodes; i++) {
		const struct sn_inv_node *node = &inv->node[i];

		for (uint32_t k = 0; k < node->n_cards; k++) {
			const struct sn_inv_card *card = &node->card[k];

			if (version == SN_RANK_TABLE_2_0 && !card->levels)
				return sn_err_set(err, -EINVAL,
						  "inventory: %s: card %u has no level_list, so this is the inventory of an A2 or A3, and RankTable=2.0 is for Ascend 950: the wrong table fails with EI0014; set RankTable=1.0 or 1.2, or give the 950's inventory",
						  node->name, card->card);
			if (version != SN_RANK_TABLE_2_0 && card->levels)
				return sn_err_set(err, -EINVAL,
						  "inventory: %s: card %u has a level_list, so this is the inventory of an Ascend 950, which refuses a table of version %s (EI0014); set RankTable=2.0 in supernode.conf",
						  node->name, card->card,
						  sn_rank_table_name(version));
			if (version == SN_RANK_TABLE_1_2 && !card->has_super_device_id)
				return sn_err_set(err, -EINVAL,
						  "inventory: %s: card %u has no super_device_id, which RankTable=1.2 needs (the SDID of `npu-smi info -t spod-info`); for servers without super pods set RankTable=1.0",
						  node->name, card->card);
		}
	}
	return 0;
}

static int by_server(const void *a, const void *b)
{
	const struct sn_inv_node *const *x = a, *const *y = b;

	return strcmp(sn_inv_server_id(*x), sn_inv_server_id(*y));
}

static int servers(const struct sn_inventory *inv, struct sn_err *err)
{
	const struct sn_inv_node **node = calloc(inv->n_nodes + 1, sizeof(*node));
	int rc = 0;

	if (!node)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; i < inv->n_nodes; i++) {
		node[i] = &inv->node[i];
		if (strlen(sn_inv_server_id(node[i])) > SN_RT_SERVER_ID_MAX && !rc)
			rc = sn_err_set(err, -EINVAL,
					"inventory: %s: the name has %zu characters, and a server_id at most %u; give the node a \"server_id\"",
					node[i]->name, strlen(node[i]->name), SN_RT_SERVER_ID_MAX);
	}
	qsort(node, inv->n_nodes, sizeof(*node), by_server);
	for (uint32_t i = 1; i < inv->n_nodes && !rc; i++)
		if (!by_server(&node[i - 1], &node[i]))
			rc = sn_err_set(err, -EINVAL,
					"inventory: %s and %s both have server_id \"%s\"; it must be unique",
					node[i - 1]->name, node[i]->name,
					sn_inv_server_id(node[i]));
	free(node);
	return rc;
}

static int super_devices(const struct sn_inventory *inv, struct sn_err *err)
{
	struct item *item = calloc(count_cards(inv) + 1, sizeof(*item));
	uint32_t n = 0;
	int rc = 0;

	if (!item)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; i < inv->n_nodes; i++)
		for (uint32_t k = 0; k < inv->node[i].n_cards; k++) {
			const struct sn_inv_card *card = &inv->node[i].card[k];

			if (card->has_super_device_id)
				item[n++] = (struct item){
					&inv->node[i], card, inv->node[i].super_pod_id,
					NULL, card->super_device_id };
		}
	qsort(item, n, sizeof(*item), by_item);
	for (uint32_t i = 1; i < n && !rc; i++)
		if (same(&item[i - 1], &item[i]))
			rc = sn_err_set(err, -EINVAL,
					"inventory: card %u of %s and card %u of %s both have super_device_id %u in super pod \"%s\"; HCCL refuses that (EI0014), so ask `npu-smi info -t spod-info` on both",
					item[i - 1].card->card, item[i - 1].node->name,
					item[i].card->card, item[i].node->name,
					item[i].number, item[i].scope);
	free(item);
	return rc;
}

static bool many_pods(const struct sn_inventory *inv)
{
	for (uint32_t i = 1; i < inv->n_nodes; i++)
		if (strcmp(inv->node[i].super_pod_id, inv->node[0].super_pod_id))
			return true;
	return false;
}

static int no_address(const struct item *item, enum sn_rank_table version,
		      uint32_t n_nodes, struct sn_err *err)
{
	return sn_err_set(err, -EINVAL,
			  version == SN_RANK_TABLE_1_0 ?
			  "inventory: %s: card %u has no device_ip, and the cards of %u servers find one another by it in version 1.0; it is address_%u in the server's /etc/hccn.conf" :
			  "inventory: %s: card %u has no device_ip, which version 1.2 needs with more than one super pod (here on %u servers); it is address_%u in the server's /etc/hccn.conf",
			  item->node->name, item->card->card, n_nodes,
			  item->card->device_id);
}

static int addresses(const struct sn_inventory *inv, enum sn_rank_table version,
		     bool one_job, struct sn_err *err)
{
	bool needed = one_job &&
		(version == SN_RANK_TABLE_1_0 ? inv->n_nodes > 1 : many_pods(inv));
	struct item *item = calloc(count_cards(inv) + 1, sizeof(*item));
	uint32_t n = 0;
	int rc = 0;

	if (!item)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; i < inv->n_nodes && !rc; i++)
		for (uint32_t k = 0; k < inv->node[i].n_cards && !rc; k++) {
			const struct sn_inv_card *card = &inv->node[i].card[k];

			item[n] = (struct item){ &inv->node[i], card, NULL,
						 card->device_ip, 0 };
			if (card->device_ip)
				n++;
			else if (needed)
				rc = no_address(&item[n], version, inv->n_nodes, err);
		}
	for (uint32_t i = 1; i < n && !rc; i++)
		if (sn_inv_ip_family(item[i].text) != sn_inv_ip_family(item[0].text))
			rc = sn_err_set(err, -EINVAL,
					"inventory: device_ip \"%s\" of card %u of %s is IPv%d, and \"%s\" of card %u of %s IPv%d; HCCL wants one family",
					item[0].text, item[0].card->card, item[0].node->name,
					sn_inv_ip_family(item[0].text),
					item[i].text, item[i].card->card, item[i].node->name,
					sn_inv_ip_family(item[i].text));
	qsort(item, n, sizeof(*item), by_item);
	for (uint32_t i = 1; i < n && !rc; i++)
		if (same(&item[i - 1], &item[i]))
			rc = sn_err_set(err, -EINVAL,
					"inventory: card %u of %s and card %u of %s both have device_ip %s; it must be unique",
					item[i - 1].card->card, item[i - 1].node->name,
					item[i].card->card, item[i].node->name,
					item[i].text);
	free(item);
	return rc;
}

/* Appends the EIDs of one card to *item; false without memory. */
static bool take_eids(const struct sn_inv_node *node,
		      const struct sn_inv_card *card, struct item **item,
		      uint32_t *n, uint32_t *size)
{
	for (size_t l = 0; l < json_object_array_length(card->levels); l++) {
		struct json_object *layer = json_object_array_get_idx(card->levels, l);
		struct json_object *list = json_object_object_get(layer, "rank_addr_list");

		for (size_t i = 0; i < json_object_array_length(list); i++) {
			struct json_object *a = json_object_array_get_idx(list, i);

			if (strcmp(json_object_get_string(json_object_object_get(a, "addr_type")), "EID"))
				continue; /* a host's address may serve several cards */
			if (*n == *size) {
				void *more = reallocarray(*item, *size ? 2 * (size_t)*size : 64,
							  sizeof(**item));

				if (!more)
					return false;
				*item = more;
				*size = *size ? 2 * *size : 64;
			}
			(*item)[(*n)++] = (struct item){ node, card, NULL,
				json_object_get_string(json_object_object_get(a, "addr")), 0 };
		}
	}
	return true;
}

static int eids(const struct sn_inventory *inv, struct sn_err *err)
{
	struct item *item = NULL;
	uint32_t n = 0, size = 0;
	int rc = 0;

	for (uint32_t i = 0; i < inv->n_nodes && !rc; i++)
		for (uint32_t k = 0; k < inv->node[i].n_cards && !rc; k++)
			if (!take_eids(&inv->node[i], &inv->node[i].card[k], &item, &n, &size))
				rc = sn_err_set(err, -ENOMEM, "no memory");
	if (n)
		qsort(item, n, sizeof(*item), by_item);
	for (uint32_t i = 1; i < n && !rc; i++)
		if (same(&item[i - 1], &item[i]))
			rc = sn_err_set(err, -EINVAL,
					"inventory: card %u of %s and card %u of %s both have EID %s; it must be unique",
					item[i - 1].card->card, item[i - 1].node->name,
					item[i].card->card, item[i].node->name, item[i].text);
	free(item);
	return rc;
}

int sn_inventory_fits(const struct sn_inventory *inv, enum sn_rank_table version,
		      bool one_job, struct sn_err *err)
{
	int rc = generation(inv, version, err);

	if (rc)
		return rc;
	if (version == SN_RANK_TABLE_2_0)
		return eids(inv, err);
	rc = servers(inv, err);
	if (!rc && version == SN_RANK_TABLE_1_2)
		rc = super_devices(inv, err);
	return rc ? rc : addresses(inv, version, one_job, err);
}

static int say(struct sn_names *ret, struct sn_buf *buf)
{
	int rc = buf->failed ? -ENOMEM : sn_names_add(ret, buf->text);

	sn_buf_done(buf);
	return rc;
}

/* server<<22 | chip<<18 | die<<16 | device, two dies a chip: what all values
 * that were seen have in common, though no document says so. */
static int warn_ids(const struct sn_inventory *inv, struct sn_names *ret)
{
	const struct sn_inv_card *odd = NULL;
	const char *where = NULL;
	struct sn_buf buf = { 0 };
	uint32_t n = 0;

	for (uint32_t i = 0; i < inv->n_nodes; i++)
		for (uint32_t k = 0; k < inv->node[i].n_cards; k++) {
			const struct sn_inv_card *card = &inv->node[i].card[k];
			uint32_t d = card->device_id;
			uint32_t low = (d / 2) << 18 | (d % 2) << 16 | d;

			if (!card->has_super_device_id ||
			    ((card->super_device_id & 0x3fffff) == low &&
			     card->super_device_id >> 22 ==
			     inv->node[i].card[0].super_device_id >> 22))
				continue;
			if (!n++) {
				odd = card;
				where = inv->node[i].name;
			}
		}
	if (!n)
		return 0;
	sn_buf_add(&buf, "inventory: %u super_device_id%s not server<<22|chip<<18|die<<16|device as on the machines known so far, the first is %u of card %u of %s; see `npu-smi info -t spod-info` there",
		   n, n == 1 ? " is" : "s are", odd->super_device_id, odd->card, where);
	return say(ret, &buf);
}

static int warn_counts(const struct sn_inventory *inv, struct sn_names *ret)
{
	struct sn_buf buf = { 0 };
	uint32_t most = 0, n = 0;
	const struct sn_inv_node *first = NULL;

	for (uint32_t i = 0; i < inv->n_nodes; i++)
		if (inv->node[i].n_cards > most)
			most = inv->node[i].n_cards;
	for (uint32_t i = 0; i < inv->n_nodes; i++)
		if (inv->node[i].n_cards < most && !n++)
			first = &inv->node[i];
	if (!n)
		return 0;
	sn_buf_add(&buf, "inventory: %u node%s fewer than %u cards, the first is %s with %u",
		   n, n == 1 ? " has" : "s have", most, first->name, first->n_cards);
	return say(ret, &buf);
}

static int warn_addresses(const struct sn_inventory *inv,
			  enum sn_rank_table version, struct sn_names *ret)
{
	struct sn_buf buf = { 0 };
	const char *where = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < inv->n_nodes; i++)
		for (uint32_t k = 0; k < inv->node[i].n_cards; k++)
			if (!inv->node[i].card[k].device_ip && !n++)
				where = inv->node[i].name;
	if (!n)
		return 0;
	sn_buf_add(&buf, "inventory: %u card%s no device_ip, the first is of %s; a job on more than one %s will be refused there",
		   n, n == 1 ? " has" : "s have", where,
		   version == SN_RANK_TABLE_1_0 ? "node" : "super pod");
	return say(ret, &buf);
}

int sn_inventory_warn(const struct sn_inventory *inv, enum sn_rank_table version,
		      struct sn_names *ret)
{
	int rc = warn_counts(inv, ret);

	if (!rc && version == SN_RANK_TABLE_1_2)
		rc = warn_ids(inv, ret);
	if (!rc && version != SN_RANK_TABLE_2_0)
		rc = warn_addresses(inv, version, ret);
	return rc;
}
