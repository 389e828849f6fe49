/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inventoryconf.c - an inventory in the form of /etc/hccn.conf: lines such as
 *	address_0=192.168.1.6
 *	netmask_0=255.255.255.0
 * of which only the addresses concern us. The number is the device's. A file is
 * about the node in whose place it was read; it has no name in it.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/inventory.h"
#include "launcher/ranktable.h"
#include "topology/text.h"

struct line {
	const char *file;
	unsigned int number;
	const char *key, *value;
	size_t key_len, value_len;
};

/* 0: a pair; 1: nothing on it; else wrong. */
static int split(const char *p, const char *end, struct line *line,
		 struct sn_err *err)
{
	const char *eq;

	while (p < end && isspace((unsigned char)*p))
		p++;
	while (end > p && isspace((unsigned char)end[-1]))
		end--;
	if (p == end || *p == '#')
		return 1;
	eq = memchr(p, '=', (size_t)(end - p));
	if (!eq || eq == p)
		return sn_err_set(err, -EINVAL,
				  "%s:%u: \"%.*s\": want KEY_N=VALUE as in hccn.conf, such as address_0=192.168.1.6, or JSON in the whole file",
				  line->file, line->number,
				  (int)(end - p < 40 ? end - p : 40), p);
	line->key = p;
	line->key_len = (size_t)(eq - p);
	line->value = eq + 1;
	line->value_len = (size_t)(end - eq - 1);
	return 0;
}

static int add_address(const struct line *line, struct sn_inv_node *node,
		       struct sn_err *err)
{
	const size_t prefix = strlen("address_");
	char number[16], ip[64];
	struct sn_inv_card *card;
	uint64_t id;

	snprintf(number, sizeof(number), "%.*s", (int)(line->key_len - prefix),
		 line->key + prefix);
	if (line->key_len - prefix >= sizeof(number) ||
	    sn_parse_uint(number, 0, SN_INV_CARD_MAX - 1, &id, NULL))
		return sn_err_set(err, -EINVAL, "%s:%u: address_%s: want a device's number from 0 to %u",
				  line->file, line->number, number, SN_INV_CARD_MAX - 1);
	snprintf(ip, sizeof(ip), "%.*s", (int)(line->value_len < 63 ? line->value_len : 63),
		 line->value);
	if (line->value_len >= sizeof(ip) || !sn_inv_ip_family(ip))
		return sn_err_set(err, -EINVAL, "%s:%u: address_%u: \"%s\" is no IPv4 or IPv6 address",
				  line->file, line->number, (unsigned int)id, ip);
	for (uint32_t i = 0; i < node->n_cards; i++)
		if (node->card[i].device_id == id)
			return sn_err_set(err, -EINVAL, "%s:%u: address_%u is given twice",
					  line->file, line->number, (unsigned int)id);
	card = sn_inv_node_add(node);
	if (card)
		card->device_ip = strdup(ip);
	if (!card || !card->device_ip)
		return sn_err_set(err, -ENOMEM, "no memory");
	card->card = card->device_id = card->local_id = (uint32_t)id;
	return 0;
}

int sn_inventory_conf(const char *text, size_t len, const char *file,
		      const char *name, struct sn_inventory *ret,
		      struct sn_err *err)
{
	struct line line = { .file = file };
	const char *p = text, *end = text + len;
	struct sn_inv_node *node;

	if (len && memchr(text, '\0', len))
		return sn_err_set(err, -EINVAL, "%s: holds a NUL byte; this is a binary file",
				  file);
	if (!name)
		return sn_err_set(err, -EINVAL, "%s: is no JSON; a file of the whole cluster is, and for hccn.conf files, one a node, put %%n into the path in supernode.conf",
				  file);
	node = sn_inventory_add(ret, name);
	if (!node)
		return sn_err_set(err, -ENOMEM, "no memory");
	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		int rc;

		if (!eol)
			eol = end;
		line.number++;
		rc = split(p, eol, &line, err);
		if (!rc && line.key_len > strlen("address_") &&
		    !memcmp(line.key, "address_", strlen("address_")))
			rc = add_address(&line, node, err);
		if (rc < 0)
			return rc;
		p = eol + (eol < end);
	}
	if (!node->n_cards)
		return sn_err_set(err, -EINVAL, "%s: has no address_N= line", file);
	return 0;
}
