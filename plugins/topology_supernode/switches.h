/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * switches.h - --switches=COUNT[@TIME].
 *
 * A supernode is what Slurm calls a leaf switch: a job that asks for COUNT of
 * them waits for up to TIME until it fits in so many, and then takes what there
 * is. Since a job always gets the fewest supernodes, nothing else is chosen for
 * it; it only has to be kept back.
 */
#ifndef SN_PLUGINS_TOPOLOGY_SUPERNODE_SWITCHES_H
#define SN_PLUGINS_TOPOLOGY_SUPERNODE_SWITCHES_H

#include "src/interfaces/topology.h"

/* The nodes in node_map are the choice. True: the job is to wait for a better
 * one. Never in a test of whether it could run at all. */
bool switches_keep_back(const topology_eval_t *topo_eval);

#endif
