/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * carejudge.h - may a node that does not answer be taken out? Pure.
 *
 * state=down kills whatever runs on a node, and it may be the daemon that is cut off
 * from the network, or with it slurmctld, or a part of the network. So:
 *
 *	somebody else must have seen it: the job's snrun, by its word that the node is
 *	lost or that the job's ranks have ended. That an snrun has gone, or slurmctld
 *	gets no answer, is nobody's word, but the same network's;
 *	slurmd refuses: its host is alive, and what runs there may be. Only where the
 *	ranks have ended by somebody's word, or with their snrun, whose host it is;
 *	other nodes answer at that moment: elsewhere; and with nobody's word such of its
 *	own supernode, too, or it may be their common switch;
 *	and never more than so many a minute (ElasticNodesOut): more at once than nodes
 *	die by themselves, so something else is wrong. A supernode that dies as a whole is
 *	one thing that dies, and counts as one node, but only one such a minute.
 *
 * Where that is not so it is left to Slurm and its SlurmdTimeout.
 */
#ifndef SN_ELASTIC_CAREJUDGE_H
#define SN_ELASTIC_CAREJUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "elastic/carecheck.h"
#include "elastic/view.h"
#include "topology/topo.h"

enum sn_care_witness {
	SN_WITNESS_NONE, /* slurmctld gets no answer, or the job's snrun has gone */
	SN_WITNESS_GONE, /* its snrun, which ran there, has gone */
	SN_WITNESS_ENDED, /* its snrun: the job's ranks have ended */
	SN_WITNESS_LOST, /* its snrun: they are lost there */
};

#define SN_CARE_OTHERS 3 /* that are asked, each of near and far */

struct sn_care_others {
	bool any; /* there are such nodes */
	uint32_t n, answer; /* asked, and those that answer */
	uint32_t node[SN_CARE_OTHERS]; /* of the table */
};

/* Nodes to be asked beside that one: of its supernode (near), and of others (far), of
 * those that slurmctld gets answers from. seed: another, others. */
void sn_care_pick(const struct sn_topo *topo, const struct sn_view_nodes *nodes, uint32_t node,
		  uint32_t seed, struct sn_care_others *near, struct sn_care_others *far);

/* How often a node that has not answered is asked again, each time after twice the pause:
 * slurmd may just be starting, a packet may be lost, a host may be busy. */
uint32_t sn_care_asks_again(enum sn_care_witness witness, enum sn_node_word word);

/* NULL: it may be taken out; else why not, a clause. */
const char *sn_care_spare(enum sn_care_witness witness, enum sn_node_word word,
			  const struct sn_care_others *near, const struct sn_care_others *far);

/* ---- so many a minute ---- */

#define SN_CARE_OUT_MS 60000

struct sn_care_limit {
	int64_t since; /* ms */
	uint32_t n; /* taken since then */
	uint32_t over; /* and not taken */
	char supernode[64]; /* the one that died as a whole, counted at */
	int64_t supernode_at; /* ms; 0: none */
};

/*
 * Is the node one of a supernode that died as a whole? The job's snrun, which is elsewhere
 * and lives, has said so of this node; nothing comes back from it, nor from any other of
 * its supernode that was asked; and elsewhere as many as are ever asked all answer, so it
 * is not the daemon that is cut off, nor a part of the network beyond that supernode. A
 * network that has lost only the supernode looks the same from here, but not to the job's
 * own ranks, which have ended by it; and nodes whose jobs say nothing stay.
 */
bool sn_care_is_whole(enum sn_care_witness witness, enum sn_node_word word,
		      const struct sn_care_others *near, const struct sn_care_others *far);

/* One more of at most max? The first that is not has over 1. supernode: the node's, where
 * it died as a whole; else NULL. */
bool sn_care_one_more(struct sn_care_limit *limit, uint32_t max, const char *supernode,
		      int64_t now);

#endif
