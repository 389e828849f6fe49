/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topo.h - the model of a cluster: nodes, units, supernodes, fabrics.
 *
 * Nodes are numbered supernode by supernode in topology.conf's order, and in
 * the order of the hostlist inside one, so that "the first in the file" is the
 * lowest index everywhere. A loose node is a supernode of its own with the
 * node's name, outside all fabrics, after the supernodes of the file.
 *
 * A built model is immutable but for sn_topo_add_loose(). Everything in it is
 * owned by it.
 */
#ifndef SN_TOPOLOGY_TOPO_H
#define SN_TOPOLOGY_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/conf.h"
#include "topology/err.h"

#define SN_NONE UINT32_MAX

enum sn_shape { SN_SHAPE_FULL, SN_SHAPE_FATTREE, SN_SHAPE_MESH, SN_SHAPE_TORUS };

struct sn_topo_node {
	char *name;
	uint32_t supernode; /* never SN_NONE */
	uint32_t unit; /* SN_NONE: in no unit */
};

struct sn_topo_supernode {
	char *name;
	uint32_t first_node; /* its nodes are first_node .. +n_nodes-1 */
	uint32_t n_nodes;
	uint32_t fabric; /* the innermost one, SN_NONE: in none */
	bool loose;
	enum sn_shape shape;
	uint32_t spare_nodes; /* SpareNodes */
	bool has_pool; /* PoolMemory was given */
	uint64_t pool_memory; /* bytes */
	bool has_pool_bandwidth;
	uint64_t pool_bandwidth; /* bytes/s */
	uint64_t power_limit; /* mW, 0: none given */
	uint64_t card_bandwidth; /* bytes/s one card can send, 0: not given */
	uint64_t card_latency; /* ns, 0: not given */
};

struct sn_topo_unit {
	char *name;
	uint32_t supernode; /* all its nodes are in this one */
	uint32_t n_nodes;
	uint64_t card_bandwidth, card_latency;
};

struct sn_topo_fabric {
	char *name;
	uint32_t parent; /* SN_NONE: a root */
	uint32_t depth; /* 0: a root */
	uint64_t card_bandwidth, card_latency;
};

struct sn_topo_index; /* name -> number, private to topo.c */

struct sn_topo {
	struct sn_topo_node *node;
	uint32_t n_nodes;
	struct sn_topo_supernode *supernode;
	uint32_t n_supernodes;
	struct sn_topo_unit *unit;
	uint32_t n_units;
	struct sn_topo_fabric *fabric;
	uint32_t n_fabrics;
	uint32_t fabric_levels; /* 1 + the greatest depth, 0 without fabrics */
	struct sn_topo_index *index;
};

/* Reads an Include'd file for the parser, which does no I/O itself. */
typedef sn_conf_read_fn sn_topo_read_fn;

/* The most nodes and supernodes of a model, and the most fabrics inside one
 * another: nobody owns more, and a slip must not take slurmctld's memory. */
#define SN_TOPO_NODES_MAX (4u << 20)
#define SN_TOPO_LEVELS_MAX 32

/*
 * Parse the text of a topology.conf into a new model.
 *
 * file is the name that errors begin with, as in
 *	topology.conf:12: Nodes=n[001-009]: n003 is already in supernode sn01 …
 * read may be NULL: then Include is refused. A supernode.conf that is included
 * is not read, as policy.h's parser does that. Text may hold any bytes; binary
 * content, lines over SN_TOPO_LINE_MAX and nested includes over 8 deep are
 * refused.
 *
 * Several names on a line share its members in order: NodesPerSupernode,
 * NodesPerUnit or MembersPerFabric each, and the counts must agree; without the
 * key, evenly. Lines may be in any order; supernodes, units and fabrics are
 * three name spaces. Values such as PoolMemory hold for each name of the line.
 *
 * From topology/block: a BlockName line is read as a SupernodeName line. A
 * BlockSizes line is refused with the FabricName lines that say the same, as
 * its larger sizes are fabrics of so many blocks (the smallest needs nothing: a
 * job's atom takes its place); so is topology/tree's SwitchName, with what to
 * write for it. Nothing is left behind on failure: -EINVAL what the text says is
 * wrong, -ENOMEM, or what read returned.
 */
#define SN_TOPO_LINE_MAX SN_CONF_LINE_MAX
int sn_topo_parse(const char *text, size_t len, const char *file,
		  sn_topo_read_fn read, void *ctx, struct sn_topo **ret,
		  struct sn_err *err);

/* The keys of topology.conf, for documentation and `snctl check`. `on` is a set
 * of SN_ON_*. */
#define SN_ON_SUPERNODE (1u << 0)
#define SN_ON_UNIT (1u << 1)
#define SN_ON_FABRIC (1u << 2)
const struct sn_option *sn_topo_options(size_t *ret_n);

/* Add a node that is in no supernode. -EEXIST if a node or a supernode has the
 * name: as a loose node is a supernode too, two would answer to it. -EINVAL for
 * what cannot be a name; -E2BIG. */
int sn_topo_add_loose(struct sn_topo *topo, const char *name,
		      struct sn_err *err);

/* SN_NONE if there is none of that name. */
uint32_t sn_topo_find_node(const struct sn_topo *topo, const char *name);
uint32_t sn_topo_find_supernode(const struct sn_topo *topo, const char *name);
uint32_t sn_topo_find_unit(const struct sn_topo *topo, const char *name);
uint32_t sn_topo_find_fabric(const struct sn_topo *topo, const char *name);

/* The fabrics around supernode s from the root down: fills chain with at most
 * topo->fabric_levels entries and returns how many there are. */
uint32_t sn_topo_chain(const struct sn_topo *topo, uint32_t s, uint32_t *chain);

void sn_topo_destroy(struct sn_topo *topo); /* NULL is fine */

#endif
