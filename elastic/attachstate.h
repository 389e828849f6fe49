/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attachstate.h - what a job's snrun says of itself: "state" of elastic.attach and
 * elastic.state. Pure.
 *
 *	{"state": "running", "generation": 3, "restarts": 1, "dp": 6, "ranks": 96,
 *	 "min_dp": 2, "want_dp": 8, "cap_dp": 8, "max_dp": 12, "elastic": true,
 *	 "nodes": "n[001-012]", "on": [[12, 8, 255]], "spares": "n049",
 *	 "members": [{"job": 12, "dp": 2, "state": "pending", "replaces": false}],
 *	 "checkpoint_preset": "megatron", "since_safe": 17.5, "since_memory": 3.2,
 *	 "checkpoint_age": 20, "checkpoint_seconds": 2.1, "progress": 1200, "requests": 0}
 *
 * nodes: those with ranks, in the order of ranks: the first has the lowest; on: for so
 * many of them in a row the ranks of each, and the bits of their cards. What snctl
 * elastic status shows stands in it, too. A user has written it: it says nothing that is believed of other jobs, nodes or cards.
 */
#ifndef SN_ELASTIC_ATTACHSTATE_H
#define SN_ELASTIC_ATTACHSTATE_H

#include <stdbool.h>
#include <stdint.h>

#include <json-c/json.h>

#include "topology/err.h"
#include "topology/ettr.h"
#include "topology/hostlist.h"

enum sn_attach_phase {
	SN_ATTACH_STARTING, /* between two generations */
	SN_ATTACH_RUNNING, /* ranks are alive */
	SN_ATTACH_ENDING, /* they have been asked to save and end; "pausing", too */
	SN_ATTACH_PAUSED,
	SN_ATTACH_STUCK, /* what it has holds no legal size: it waits for help, not for long */
	SN_ATTACH_ENDED, /* snrun has come to its end */
};
const char *sn_attach_phase_name(enum sn_attach_phase phase);

struct sn_attach_node {
	uint32_t first; /* the lowest of its ranks */
	uint32_t ranks;
	uint64_t cards; /* bits, that the ranks are on */
};

struct sn_attach_state {
	enum sn_attach_phase phase;
	uint32_t generation, restarts; /* as snrun.json counts them */
	uint32_t dp, ranks, min_dp, want_dp, cap_dp, max_dp;
	bool elastic; /* other sizes than dp are legal */
	bool can_checkpoint; /* one has been seen, so the program knows how */
	double since_safe; /* s of work that would be lost, when this was sent; < 0: not known */
	double since_memory; /* the same where one node of the job is lost at most; < 0: no
			      * checkpoint in memory */
	double checkpoint_seconds; /* that the last one asked for took; < 0: not known */
	uint64_t progress; /* whatever the program counts; 0: nothing */
	uint32_t requests; /* checkpoints asked for so far */
	struct sn_names name; /* nodes with ranks */
	struct sn_attach_node *node; /* [name.n] */
	struct sn_names spare; /* nodes of the job without ranks, that could take some */
	uint32_t pending, running; /* members */
	uint32_t standins; /* of them, with --replaces */
	bool has_account; /* one that can be */
	struct sn_ettr account; /* of its time (launcher/accountjson.h) */
};

/* max_nodes: more are not taken in (-E2BIG), as the cluster has no more. *ret is
 * only written on success. -EINVAL with a sentence. */
int sn_attach_state_parse(struct json_object *o, uint32_t max_nodes,
			  struct sn_attach_state *ret, struct sn_err *err);
/* Is it, with its text of so many bytes, no more than a job of so many nodes has to
 * say? It is kept for each, and looked at again and again. -EINVAL. */
int sn_attach_state_fits(const struct sn_attach_state *state, size_t text_len, size_t nodes,
			 struct sn_err *err);
void sn_attach_state_done(struct sn_attach_state *state);
/* The node's place among those with ranks; SN_NONE. */
uint32_t sn_attach_state_find(const struct sn_attach_state *state, const char *node);

#endif
