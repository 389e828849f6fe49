/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.h - the parallel layout of a job: sizes, order, atoms.
 *
 * The rule for ranks and groups is Megatron-LM's
 * (megatron/core/parallel_state.py): two grids over the same ranks,
 *	dense:  rank = tp  + TP·(cp + CP·(dp  + DP·pp)),   W = TP·CP·DP·PP
 *	expert: rank = etp + ETP·(ep + EP·(edp + EDP·pp))
 * in order tp-cp-ep-dp-pp; with tp-cp-ep-pp-dp pp is inside dp (and edp), which
 * Megatron-LM allows for pp > 1 only where edp = dp, so that the pipeline
 * groups of both grids are the same.
 *
 * Presets: deepspeed (ProcessTopology [pipe, data, model], last fastest) and
 * mesh ("pp","dp_replicate","dp_shard","cp","tp", row-major) are the first
 * order. vllm (DP × PP × PCP × TP) is the second, but its experts span all of
 * dp·cp·tp of one pipeline stage: ep is 1 or tp·cp·dp, and etp is 1 with ep.
 * With pp > 1 the ranks of such an atom are not consecutive.
 *
 * The axes tp, cp, ep and etp are bound to a domain (node, unit, supernode) or,
 * for ep, to none. A *block* of a domain is a connected component of the
 * groups of all axes bound to that domain or a smaller one; the blocks of the
 * supernode are the atoms. All blocks of a domain have the same size, and a
 * smaller domain's blocks divide a larger one's.
 */
#ifndef SN_TOPOLOGY_LAYOUT_H
#define SN_TOPOLOGY_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/err.h"

#define SN_WORLD_MAX (1u << 24) /* ranks; more is refused as a slip */

enum sn_domain { SN_IN_NODE, SN_IN_UNIT, SN_IN_SUPERNODE, SN_IN_ANY };
enum sn_order { SN_ORDER_DP_PP /* tp-cp-ep-dp-pp */, SN_ORDER_PP_DP };
enum sn_preset { SN_PRESET_MEGATRON, SN_PRESET_DEEPSPEED, SN_PRESET_MESH, SN_PRESET_VLLM };
enum sn_map { SN_MAP_CONTIGUOUS, SN_MAP_AUTO };

struct sn_layout {
	uint32_t tp, cp, ep, etp, pp, dp;
	uint32_t world; /* tp·cp·pp·dp */
	uint32_t edp; /* world / (etp·ep·pp) */
	enum sn_order order;
	enum sn_preset preset;
	enum sn_map map;
	enum sn_domain tp_within, cp_within, ep_within, etp_within;
	/* Sizes in ranks of the blocks, filled by sn_layout_parse():
	 * node_block | unit_block | atom | world. */
	uint32_t node_block, unit_block, atom;
	uint32_t dp_step; /* replicas one atom holds of its pipeline stage */
};

/*
 * Parse the argument of --parallel, e.g. "tp=8,ep=64,etp=1,pp=6,dp=128".
 * cards_per_node decides tp_within's default: node where it is a multiple of
 * tp, else supernode. 0 means that it is not known: then supernode.
 * -EINVAL with one sentence: unknown key (with the nearest known one), a size
 * that is 0, negative, not a number or over SN_WORLD_MAX, a key twice, etp
 * missing where tp and ep exceed 1 (the sentence shows the atoms of etp=1 and
 * of etp=tp), world not divisible (with what would be), dense and expert
 * pipeline groups that differ, an axis that cannot fit its domain.
 */
int sn_layout_parse(const char *spec, uint32_t cards_per_node,
		    struct sn_layout *ret, struct sn_err *err);

/*
 * Check the sizes, order, preset and domains of *layout, which the caller has
 * set, and fill what follows from them: world, edp, the blocks, dp_step.
 * -EINVAL with a sentence (*layout is then as it was), -ENOMEM.
 * sn_layout_parse() ends here; so may who makes layouts without a text.
 */
int sn_layout_finish(struct sn_layout *layout, uint32_t cards_per_node,
		     struct sn_err *err);

/* The same layout with another dp (elastic sizes); checks everything anew. */
int sn_layout_set_dp(struct sn_layout *layout, uint32_t dp, struct sn_err *err);

/* DP is valid only in multiples of this: lcm(tp·cp, etp·ep)/(tp·cp). It is
 * dp_step, or a multiple of it where ep_within=any frees the experts. */
uint32_t sn_layout_dp_grid(const struct sn_layout *layout);

/* "tp=8,cp=1,…,order=tp-cp-ep-dp-pp,…": parses back to the same layout. */
#define SN_LAYOUT_TEXT_MAX 256 /* what any layout needs, with the NUL */
void sn_layout_format(const struct sn_layout *layout, char *buf, size_t size);
const char *sn_order_name(enum sn_order order);
const char *sn_domain_name(enum sn_domain domain); /* "node", … "any" */

/* Coordinates of a rank on every axis. */
struct sn_coords { uint32_t tp, cp, dp, pp, etp, ep, edp; };
void sn_layout_coords(const struct sn_layout *layout, uint32_t rank,
		      struct sn_coords *ret);

/*
 * The rank at place s of pipeline stage pp. A stage holds tp·cp·dp places,
 * s = tp + TP·(cp + CP·dp) = etp + ETP·(ep + EP·edp): every group but those of
 * pp lies in one stage, and all stages look alike.
 */
uint32_t sn_layout_rank(const struct sn_layout *layout, uint32_t pp,
			uint32_t s);

/*
 * block[rank] = number of the block of `domain` that the rank is in, blocks
 * being numbered by their smallest rank. block has layout->world entries,
 * owned by the caller. SN_IN_ANY takes every bound and free axis together.
 * Returns 0, or -ENOMEM.
 */
int sn_layout_blocks(const struct sn_layout *layout, enum sn_domain domain,
		     uint32_t *block);

#endif
