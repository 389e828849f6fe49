/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model.h - the model of topology.conf, tied to Slurm's node table.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_MODEL_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_MODEL_H

#include <stdint.h>

#include "src/interfaces/gres.h"
#include "src/common/node_conf.h"
#include "src/slurmctld/slurmctld.h"

#include "topology/place.h"
#include "topology/policy.h"
#include "topology/topo.h"

/* Build or rebuild it. It never fails: of a bad topology.conf the last good
 * one stays, also over a restart; where there never was one, every node is
 * loose. Both are logged. */
void model_build(void);
/* Nodes came or went at run time: tie the same topology to the node table as
 * it is now. Under the node write lock. */
void model_nodes_changed(void);
void model_done(void);

const struct sn_topo *model_topo(void); /* NULL before model_build() */
const struct sn_policy *model_policy(void);
uint32_t model_topo_node(uint32_t node_inx); /* SN_NONE: not in the model */
int model_node_inx(uint32_t topo_node); /* -1: not in Slurm's node table */

/* The nodes of a supernode, unit or fabric, of the node table; NULL: no such
 * name. The first belongs to the model and stays until the next build, the
 * second is the caller's. */
bitstr_t *model_bitmap(const char *name);
bitstr_t *model_group_nodes(const char *name);
/* Add to nodes all of every supernode that one of them is in. */
void model_whole_supernodes(bitstr_t *nodes);
/* How broken up the cluster is if `nodes` are what is left, in topology/block's
 * way: the nodes that are missing, and of each supernode and each fabric that
 * is no longer whole, the size. Loose nodes do not count. */
uint32_t model_fragmentation(bitstr_t *nodes);

/* Plugin id of the gres that a card is. */
uint32_t model_card_id(void);
/* The configured cards of a node, as bits; 0: none. */
uint64_t model_cards_of(const gres_node_state_t *state);
uint64_t model_cards(const node_record_t *node_ptr);
uint32_t model_cards_per_node(uint32_t *ret_most);

#endif
