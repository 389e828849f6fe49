/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topobuild.h - between the parser of topology.conf and the model; private to
 * topo*.c.
 *
 * topoconf.c reads the text into declarations, topobuild.c makes supernodes and
 * units of them, topofabric.c fabrics, topo.c holds the model.
 */
#ifndef SN_TOPOLOGY_TOPOBUILD_H
#define SN_TOPOLOGY_TOPOBUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/conf.h"
#include "topology/err.h"
#include "topology/hostlist.h"
#include "topology/topo.h"

enum sn_decl_kind { SN_DECL_SUPERNODE, SN_DECL_UNIT, SN_DECL_FABRIC, SN_DECL_BLOCK_SIZES };

/* The keys, in the order of the table's rows. */
enum sn_key {
	SN_KEY_SUPERNODE_NAME, SN_KEY_BLOCK_NAME, SN_KEY_UNIT_NAME,
	SN_KEY_FABRIC_NAME, SN_KEY_NODES, SN_KEY_SUPERNODES, SN_KEY_FABRICS,
	SN_KEY_NODES_PER_SUPERNODE, SN_KEY_NODES_PER_UNIT,
	SN_KEY_MEMBERS_PER_FABRIC, SN_KEY_SPARE_NODES, SN_KEY_SHAPE,
	SN_KEY_POOL_MEMORY, SN_KEY_POOL_BANDWIDTH, SN_KEY_POWER_LIMIT,
	SN_KEY_CARD_BANDWIDTH, SN_KEY_CARD_LATENCY, SN_KEYS
};

/* One line of the file. */
struct sn_decl {
	enum sn_decl_kind kind;
	char *file;
	uint32_t line[SN_KEYS]; /* where the key stands; 0: not given */
	enum sn_key name_key; /* the key that the line began with */
	char *names; /* or the sizes of BlockSizes */
	char *nodes, *supernodes, *fabrics;
	uint64_t per; /* NodesPer…, MembersPerFabric */
	uint64_t spare_nodes, shape, pool_memory, pool_bandwidth, power_limit;
	uint64_t card_bandwidth, card_latency;
};

struct sn_decls {
	struct sn_decl *decl;
	size_t n, size;
};

/* A model in the making. */
struct sn_build {
	struct sn_topo *topo;
	const struct sn_decls *decls;
	/* The declaration that each was made by. */
	uint32_t *decl_of_supernode, *decl_of_unit, *decl_of_fabric;
	struct sn_err *err;
};

extern const struct sn_option sn_topo_option[SN_KEYS];

/* "FILE:LINE: KEY=VALUE: " before the sentence in err. */
int sn_decl_at(struct sn_err *err, int code, const struct sn_decl *d,
	       enum sn_key key);
/* How many of n_members each of n_names names takes; 0 with a sentence if they
 * cannot be dealt out evenly or not as `per` says. members: "nodes", … */
uint64_t sn_decl_deal(const struct sn_decl *d, uint64_t n_names,
		      uint64_t n_members, enum sn_key per_key,
		      const char *members, struct sn_err *err);
/* Expand the list of a key of d. */
int sn_decl_expand(const struct sn_decl *d, enum sn_key key,
		   struct sn_names *ret, struct sn_err *err);
/* Make room for n more numbers in an array that follows an array of the model. */
int sn_build_reserve(uint32_t **array, size_t have, size_t more,
		     struct sn_err *err);

int sn_build_supernodes(struct sn_build *b);
int sn_build_units(struct sn_build *b);
int sn_build_fabrics(struct sn_build *b);
/* The sentence for a BlockSizes line: the lines to write in its place. */
int sn_build_explain_block_sizes(struct sn_build *b, const struct sn_decl *d);

/* topo.c. Names are handed over on success only; *ret is the number of what was
 * added, or on -EEXIST of what has the name already. */
struct sn_topo *sn_topo_create(void);
int sn_topo_push_supernode(struct sn_topo *topo, char *name, uint32_t *ret);
int sn_topo_push_node(struct sn_topo *topo, char *name, uint32_t *ret);
int sn_topo_push_unit(struct sn_topo *topo, char *name, uint32_t *ret);
int sn_topo_push_fabric(struct sn_topo *topo, char *name, uint32_t *ret);

#endif
