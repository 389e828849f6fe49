/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * segment.c - a --segment job at the door of slurmctld.
 *
 * Stock Slurm takes a job whose nodes are no multiple of its segment and lets
 * it wait for ever; here it is told at once.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <stdlib.h>

#include "src/common/bitstring.h"
#include "src/common/node_conf.h"

#include "plugins/job_submit_supernode/derive.h"
#include "plugins/job_submit_supernode/segment.h"
#include "plugins/job_submit_supernode/spareroom.h"

static bool is_set32(uint32_t v)
{
	return v && v != NO_VAL && v != INFINITE;
}

static uint32_t clean(uint16_t k)
{
	return k != NO_VAL16 && k != INFINITE16 ? k : 0;
}

uint32_t segment_size(const job_desc_msg_t *job_desc)
{
	return clean(job_desc->segment_size);
}

/* From 26.05 on, a segment larger than the job has no effect. */
static bool has_no_effect(uint32_t k, uint32_t min, uint32_t max)
{
	return SN_SLURM_AT_LEAST(26, 5) && min == max && min < k;
}

static int check_range(uint32_t min, uint32_t max, uint32_t k,
		       const char *option, struct sn_err *err)
{
	uint32_t low, high;

	if (max < min)
		max = min;
	low = max / k * k;
	high = low + k;
	if (low && low >= min)
		return 0;
	if (min < max)
		return sn_err_set(err, -EINVAL,
				  "%s%u-%u does not go with --segment=%u: no multiple of %u is in that range; %u would be one",
				  option, min, max, k, k,
				  (min + k - 1) / k * k);
	if (!low)
		return sn_err_set(err, -EINVAL,
				  "%s%u does not go with --segment=%u: %u nodes do not fill one segment; give %s%u or a --segment that divides %u",
				  option, min, k, min, option, high, min);
	return sn_err_set(err, -EINVAL,
			  "%s%u does not go with --segment=%u: %u = %u*%u + %u, so %u nodes would be left over; give %s%u or %s%u, or a --segment that divides %u",
			  option, min, k, min, low / k, k, min - low, min - low,
			  option, low, option, high, min);
}

/* What the usable nodes come to, supernode by supernode. */
struct room {
	uint32_t largest; /* most nodes in one */
	uint32_t spares; /* that are held back there */
	uint32_t segments; /* in all */
};

static int find_room(const job_desc_msg_t *job_desc,
		     const struct sn_topoapi *api, uint32_t k, bool spread,
		     struct room *ret)
{
	const struct sn_topo *topo = api->topo();
	uint32_t *nodes = calloc((size_t)topo->n_supernodes + 1,
				 sizeof(*nodes));
	uint32_t *spares = calloc((size_t)topo->n_supernodes + 1,
				  sizeof(*spares));
	bitstr_t *usable = derive_usable_nodes(job_desc);
	bitstr_t *held = spareroom_nodes(api);
	uint32_t s, t;
	int i, rc = nodes && spares ? 0 : -ENOMEM;

	*ret = (struct room){ 0 };
	for (i = 0; !rc && next_node(&i); i++) {
		t = api->topo_node((uint32_t)i);
		if (t == SN_NONE || (usable && !bit_test(usable, i)))
			continue;
		if (held && bit_test(held, i))
			spares[topo->node[t].supernode]++;
		else
			nodes[topo->node[t].supernode]++;
	}
	for (s = 0; !rc && s < topo->n_supernodes; s++) {
		uint32_t n = nodes[s];

		if (n > ret->largest) {
			ret->largest = n;
			ret->spares = spares[s];
		}
		ret->segments += spread && n / k ? 1 : n / k;
	}
	FREE_NULL_BITMAP(usable);
	FREE_NULL_BITMAP(held);
	free(nodes);
	free(spares);
	return rc;
}

static int check_room(const job_desc_msg_t *job_desc,
		      const struct sn_topoapi *api, uint32_t k, uint32_t min,
		      struct sn_err *err)
{
	uint32_t want = (min + k - 1) / k;
	bool spread = false;
	char held[64] = "";
	struct room room;
	int rc;

#if SN_SLURM_AT_LEAST(25, 11)
	spread = job_desc->bitflags & SPREAD_SEGMENTS;
#endif
	rc = find_room(job_desc, api, k, spread, &room);
	if (rc)
		return sn_err_set(err, rc, "out of memory");
	if (room.spares)
		snprintf(held, sizeof(held), ", not counting its %u of SpareNodes",
			 room.spares);
	if (k > room.largest)
		return sn_err_set(err, -ENOSPC,
				  "--segment=%u can never fit: the largest supernode that the job may use has %u nodes%s; give --segment=%u or less",
				  k, room.largest, held,
				  room.largest ? room.largest : 1);
	if (want > room.segments)
		return sn_err_set(err, -ENOSPC,
				  "-N %u with --segment=%u can never fit: it takes %u segments%s, and the supernodes that the job may use hold %u of %u nodes, that is -N %u",
				  min, k, want, spread ? " in as many supernodes" : "",
				  room.segments, k, room.segments * k);
	return 0;
}

int segment_check(const job_desc_msg_t *job_desc, const struct sn_topoapi *api,
		  struct sn_err *err)
{
	uint32_t k = segment_size(job_desc);
	uint32_t min = is_set32(job_desc->min_nodes) ? job_desc->min_nodes : 0;
	uint32_t max = is_set32(job_desc->max_nodes) ? job_desc->max_nodes : 0;
	int rc;

	if (!k || has_no_effect(k, min, max))
		return 0;
	/* Of a list of sizes (-N 4,8) Slurm tries one after the other. */
	if (max && !job_desc->job_size_str) {
		rc = check_range(min ? min : 1, max, k, "-N ", err);
		if (rc)
			return rc;
	}
	if (!api || !api->topo())
		return 0;
	return check_room(job_desc, api, k, min, err);
}

int segment_check_update(const job_desc_msg_t *job_desc,
			 const job_record_t *job_ptr, struct sn_err *err)
{
	uint32_t k, min, max;

	if (!job_ptr || !job_ptr->details || !IS_JOB_PENDING(job_ptr))
		return 0;
	k = clean(job_ptr->details->segment_size);
	if (!k || (!is_set32(job_desc->min_nodes) &&
		   !is_set32(job_desc->max_nodes)))
		return 0;
	min = is_set32(job_desc->min_nodes) ? job_desc->min_nodes :
		job_ptr->details->min_nodes;
	max = is_set32(job_desc->max_nodes) ? job_desc->max_nodes :
		job_ptr->details->max_nodes;
	if (!is_set32(max) || has_no_effect(k, min, max))
		return 0;
	return check_range(min, max, k, "NumNodes=", err);
}
