/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inventory.h - what a rank table needs to know of each card: its number on the
 * server, its network addresses, its id in the super pod.
 *
 * As JSON, the whole cluster in one file or each node in one, or as a site's
 * program prints it for one node:
 *
 *	{"nodes": {"n001": NODE, "n002": NODE}}		NODE
 *
 *	NODE: {"node": "n001", "server_id": "10.0.0.1", "host_ip": "10.0.0.1",
 *	       "super_pod_id": "0", "cards": [CARD, …]}
 *	CARD: {"device_id": 0, "device_ip": "192.168.1.6", "device_port": 16666,
 *	       "super_device_id": 113246208, …}
 *
 * Only "cards" and "device_id" are mandatory here; what a version of the table
 * needs besides is sn_inventory_fits()'s business. Keys are named as in the
 * tables, and numbers may stand in quotes as they do there. "card" is Slurm's
 * number of the card where it is not device_id; "level_list" is that of a 2.0
 * table. server_id defaults to the node's name, super_pod_id to its supernode's.
 *
 * Or in the form of /etc/hccn.conf, one file a node: address_0=192.168.1.6 …
 */
#ifndef SN_LAUNCHER_INVENTORY_H
#define SN_LAUNCHER_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"
#include "topology/hostlist.h"
#include "topology/policy.h"

struct json_object;

#define SN_INV_CARD_MAX 64 /* cards of a node, as everywhere in the suite */
#define SN_INV_NODE_MAX (4u << 20) /* bytes that a program may print for a node */

struct sn_inv_card {
	uint32_t card; /* Slurm's number */
	uint32_t device_id; /* the N of /dev/davinciN */
	uint32_t local_id; /* 2.0; device_id where it is not given */
	bool has_super_device_id;
	uint32_t super_device_id; /* unique in a super pod */
	char *device_ip, *backup_device_ip; /* NULL: not given */
	uint16_t device_port, backup_device_port, host_port; /* 0: not given */
	struct json_object *levels; /* 2.0's level_list, owned; NULL: not given */
};

struct sn_inv_node {
	char *name; /* Slurm's */
	char *server_id, *host_ip, *super_pod_id; /* NULL: not given */
	struct sn_inv_card *card; /* [n_cards], by their number in Slurm */
	uint32_t n_cards;
};

struct sn_inventory {
	struct sn_inv_node *node; /* [n_nodes], by name, as strcmp() has it */
	uint32_t n_nodes;
};

void sn_inventory_done(struct sn_inventory *inv);
/* NULL if there is none. */
struct sn_inv_node *sn_inventory_find(const struct sn_inventory *inv,
				      const char *name);
struct sn_inv_card *sn_inv_node_card(const struct sn_inv_node *node,
				     uint32_t card);
const char *sn_inv_server_id(const struct sn_inv_node *node);

/*
 * Parse a text of either form; file is what errors begin with. node is the node
 * that the text is for, NULL: it must be JSON of the whole cluster. A text of the
 * whole cluster is taken with a node too, and then all its nodes are returned.
 * Refused with one sentence (-EINVAL), besides what is no JSON: unknown keys,
 * the same card or device twice on a node, a card left out between others,
 * addresses that are none, numbers out of range, a text about another node.
 * Owned by the caller (sn_inventory_done).
 */
int sn_inventory_parse(const char *text, size_t len, const char *file,
		       const char *node, struct sn_inventory *ret,
		       struct sn_err *err);

/* A node that is wanted, and what Slurm knows of it. */
struct sn_inv_want {
	const char *name;
	const char *supernode; /* for super_pod_id where the inventory has none */
	const uint32_t *card; /* [n_cards] that must be there, Slurm's numbers, and
			       * are all that is taken; NULL: all that there are */
	uint32_t n_cards;
};

/* Where a program's answers are kept: the file inventory.json of a directory of
 * the user's own. They are used again for the same program in the same run of
 * the job (a requeued one may find other machines), unless fresh is set. */
struct sn_inv_cache {
	const char *dir;
	bool fresh;
};
#define SN_INV_CACHE_FILE "inventory.json"

/*
 * The inventory of exactly the nodes and cards wanted, from where policy says:
 * Inventory or InventoryProgram, of which it needs one. cache may be NULL.
 * -ENOENT where a node or a card is not in the inventory.
 */
int sn_inventory_load(const struct sn_policy *policy,
		      const struct sn_inv_want *want, uint32_t n,
		      const struct sn_inv_cache *cache,
		      struct sn_inventory *ret, struct sn_err *err);

/* inventorycache.c: what is kept, as {"node": NODE, …}, never NULL but without
 * memory; to be put away by json_object_put(). */
struct json_object *sn_inv_cache_read(const struct sn_inv_cache *cache,
				      const char *program);
/* A failure is no matter: the program will be asked again. */
void sn_inv_cache_write(const struct sn_inv_cache *cache, const char *program,
			struct json_object *nodes);

/*
 * Can a table of this version (not NONE) be written for all these nodes? Refused
 * are cards of another generation, missing and double server_ids, device_ips,
 * super_device_ids. Every node has its super_pod_id by now. one_job: all of it
 * goes into one table, which may need device_ips that smaller ones do not.
 */
int sn_inventory_fits(const struct sn_inventory *inv, enum sn_rank_table version,
		      bool one_job, struct sn_err *err);

/* Sentences about what is odd but no error: super_device_ids that do not follow
 * the pattern seen on real machines, counts of cards that differ, device_ips that
 * some tables need and that lack. */
int sn_inventory_warn(const struct sn_inventory *inv, enum sn_rank_table version,
		      struct sn_names *ret);

/* "1.2" */
const char *sn_rank_table_name(enum sn_rank_table version);
/* The path for a node: %n becomes its name, %% a %. NULL without memory. */
char *sn_inventory_path(const char *pattern, const char *node);
bool sn_inventory_is_pattern(const char *path); /* has a %n */

/* 4, 6, or 0: text is no address of either family. */
int sn_inv_ip_family(const char *text);
/* A whole number, as JSON has it or in quotes; where = "n001: card 3: device_id". */
int sn_inv_uint(struct json_object *value, uint64_t max, const char *where,
		uint64_t *ret, struct sn_err *err);

/* inventoryjson.c, inventoryconf.c: the two forms, one node's worth of errors. */
int sn_inventory_json(const char *text, size_t len, const char *file,
		      const char *node, struct sn_inventory *ret,
		      struct sn_err *err);
int sn_inventory_conf(const char *text, size_t len, const char *file,
		      const char *node, struct sn_inventory *ret,
		      struct sn_err *err);
/* Append an empty node. NULL without memory. */
struct sn_inv_node *sn_inventory_add(struct sn_inventory *inv, const char *name);
struct sn_inv_card *sn_inv_node_add(struct sn_inv_node *node);
/* By name; -EINVAL where a name is there twice. */
int sn_inventory_sort(struct sn_inventory *inv, struct sn_err *err);
/* After the last node is in: sort, find doubles and gaps. */
int sn_inventory_finish(struct sn_inventory *inv, const char *file,
			struct sn_err *err);

#endif
