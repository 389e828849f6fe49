/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dpsplit.c - data-parallel groups cut along the supernodes.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/dpsplit.h"
#include "topology/topo.h"

static int sets_init(struct sn_ranksets *sets, size_t ranks)
{
	/* No more sets than ranks. */
	sets->first = calloc(ranks + 1, sizeof(*sets->first));
	sets->rank = calloc(ranks + 1, sizeof(*sets->rank));
	return sets->first && sets->rank ? 0 : -ENOMEM;
}

/* One group: part_of[s] is the number of the part in supernode s, SN_NONE where
 * there is none yet; size and part are room for as many parts as members. */
static void split_group(const uint32_t *member, uint32_t n,
			const uint32_t *supernode, uint32_t *part_of,
			uint32_t *size, struct sn_dpsplit *split)
{
	struct sn_ranksets *intra = &split->intra, *inter = &split->inter;
	uint32_t start = intra->first[intra->n], parts = 0;
	uint32_t lead = inter->first[inter->n];

	for (uint32_t m = 0; m < n; m++) {
		uint32_t s = supernode[member[m]];

		if (part_of[s] == SN_NONE) {
			part_of[s] = parts;
			size[parts++] = 0;
			inter->rank[lead++] = member[m];
		}
		size[part_of[s]]++;
	}
	for (uint32_t p = 0; p < parts; p++) {
		intra->first[intra->n + p + 1] =
			intra->first[intra->n + p] + size[p];
		size[p] = start; /* where the next member of the part goes */
		start = intra->first[intra->n + p + 1];
	}
	for (uint32_t m = 0; m < n; m++)
		intra->rank[size[part_of[supernode[member[m]]]]++] = member[m];
	for (uint32_t m = 0; m < n; m++)
		part_of[supernode[member[m]]] = SN_NONE;
	intra->n += parts;
	inter->first[++inter->n] = lead;
}

int sn_dpsplit_build(const struct sn_groups *dp, const uint32_t *supernode,
		     uint32_t n_supernodes, struct sn_dpsplit *ret,
		     struct sn_err *err)
{
	size_t ranks = (size_t)dp->n * dp->size;
	uint32_t *part_of = malloc(((size_t)n_supernodes + 1) * sizeof(*part_of));
	uint32_t *size = calloc((size_t)dp->size + 1, sizeof(*size));
	struct sn_dpsplit split = { 0 };
	int rc = part_of && size ? 0 : -ENOMEM;

	if (!rc)
		rc = sets_init(&split.intra, ranks);
	if (!rc)
		rc = sets_init(&split.inter, ranks);
	for (uint32_t s = 0; !rc && s < n_supernodes; s++)
		part_of[s] = SN_NONE;
	for (uint32_t g = 0; !rc && g < dp->n; g++)
		split_group(dp->rank + (size_t)g * dp->size, dp->size,
			    supernode, part_of, size, &split);
	free(part_of);
	free(size);
	if (rc) {
		sn_dpsplit_done(&split);
		return sn_err_set(err, rc,
				  "not enough memory for the dp groups of %zu ranks",
				  ranks);
	}
	*ret = split;
	return 0;
}

void sn_dpsplit_done(struct sn_dpsplit *split)
{
	free(split->intra.first);
	free(split->intra.rank);
	free(split->inter.first);
	free(split->inter.rank);
	memset(split, 0, sizeof(*split));
}
