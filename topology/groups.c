/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * groups.c - the process groups of a layout, by Megatron-LM's rule.
 *
 * Every axis is a step over the places of a pipeline stage or over the stages
 * (layout.h), so one mixed-radix count over the axes of a kind gives a group's
 * members, and one over the other axes of the same grid gives the groups.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/groups.h"

/* Axes of the dense grid tp, cp, dp, pp; of the expert grid etp, ep, edp, pp. */
enum { A0 = 1, A1 = 2, A_DP = 4, A_PP = 8, EXPERT = 16 };

static const struct {
	const char *name;
	int axes;
} kinds[SN_GROUP_KINDS] = {
	[SN_GROUP_TP] = { "tp", A0 },
	[SN_GROUP_CP] = { "cp", A1 },
	[SN_GROUP_DP] = { "dp", A_DP },
	[SN_GROUP_DP_CP] = { "dp_cp", A1 | A_DP },
	[SN_GROUP_PP] = { "pp", A_PP },
	[SN_GROUP_MP] = { "mp", A0 | A_PP },
	[SN_GROUP_TP_CP] = { "tp_cp", A0 | A1 },
	[SN_GROUP_TP_DP] = { "tp_dp", A0 | A_DP },
	[SN_GROUP_TP_DP_CP] = { "tp_dp_cp", A0 | A1 | A_DP },
	[SN_GROUP_EP] = { "ep", EXPERT | A1 },
	/* Megatron-LM's names from here: ep_tp is the experts' tensor group,
	 * tp_ep_mp that with ep, tp_ep_pp that with ep and pp. */
	[SN_GROUP_EP_TP] = { "ep_tp", EXPERT | A0 },
	[SN_GROUP_TP_EP_MP] = { "tp_ep_mp", EXPERT | A0 | A1 },
	[SN_GROUP_TP_EP_PP] = { "tp_ep_pp", EXPERT | A0 | A1 | A_PP },
	[SN_GROUP_EP_DP] = { "ep_dp", EXPERT | A_DP },
	[SN_GROUP_EMBD] = { "embd", A_PP },
	[SN_GROUP_POS_EMBD] = { "pos_embd", A_PP },
};

struct axis {
	uint32_t size;
	uint32_t step; /* in places of a stage; 0: steps over the stages */
};

/* Places and stages add up: no sum of steps of one grid carries over. */
struct point {
	uint32_t s, pp;
};

static struct point point_of(const struct axis *axis, int n, uint32_t number)
{
	struct point p = { 0, 0 };

	for (int i = 0; i < n; i++) {
		uint32_t c = number % axis[i].size;

		number /= axis[i].size;
		if (axis[i].step)
			p.s += c * axis[i].step;
		else
			p.pp += c;
	}
	return p;
}

/* Sorts the four axes of the grid, leftmost of the order first, into those of
 * the kind and the others; returns how many are of the kind. */
static int split_axes(const struct sn_layout *l, int axes, struct axis *in,
		      struct axis *out)
{
	struct axis a0 = { l->tp, 1 }, a1 = { l->cp, l->tp };
	struct axis dp = { l->dp, l->tp * l->cp }, pp = { l->pp, 0 };
	bool pp_first = l->order == SN_ORDER_PP_DP;
	int n_in = 0, n_out = 0;

	if (axes & EXPERT) {
		a0 = (struct axis){ l->etp, 1 };
		a1 = (struct axis){ l->ep, l->etp };
		dp = (struct axis){ l->edp, l->etp * l->ep };
	}
	for (int i = 0; i < 4; i++) {
		int bit = i < 2 ? A0 << i : (i == 2) == pp_first ? A_PP : A_DP;
		struct axis a = bit == A0 ? a0 : bit == A1 ? a1 :
				bit == A_DP ? dp : pp;

		if (axes & bit)
			in[n_in++] = a;
		else
			out[n_out++] = a;
	}
	return n_in;
}

const char *sn_group_name(enum sn_group_kind kind)
{
	return kinds[kind].name;
}

int sn_groups_build(const struct sn_layout *layout, enum sn_group_kind kind,
		    struct sn_groups *ret, struct sn_err *err)
{
	struct axis in[4], out[4];
	int n_in = split_axes(layout, kinds[kind].axes, in, out);
	uint32_t size = 1, every = 1;
	struct sn_groups g;

	for (int i = 0; i < n_in; i++)
		size *= in[i].size;
	g.n = layout->world / size;
	g.size = size;
	if (kind == SN_GROUP_POS_EMBD)
		g.size = 1;
	if (kind == SN_GROUP_EMBD && size > 1) {
		g.size = 2;
		every = size - 1;
	}
	g.rank = malloc((size_t)g.n * g.size * sizeof(*g.rank));
	if (!g.rank)
		return sn_err_set(err, -ENOMEM,
				  "not enough memory for the %s groups of %u ranks",
				  kinds[kind].name, layout->world);
	for (uint32_t i = 0; i < g.n; i++) {
		struct point at = point_of(out, 4 - n_in, i);

		for (uint32_t m = 0; m < g.size; m++) {
			struct point p = point_of(in, n_in, m * every);

			g.rank[(size_t)i * g.size + m] =
				sn_layout_rank(layout, at.pp + p.pp,
					       at.s + p.s);
		}
	}
	*ret = g;
	return 0;
}

void sn_groups_done(struct sn_groups *groups)
{
	free(groups->rank);
	memset(groups, 0, sizeof(*groups));
}
