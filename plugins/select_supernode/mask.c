/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mask.c - keep masked cards from jobs that start.
 *
 * Slurm has a way to keep cards from a job, for reservations: lists of them, which
 * select/cons_tres looks at before all else. It gets lists with the masked cards.
 *
 * That is exact where slurmctld knows each card of the node apart, because its line
 * in gres.conf has Cores= or Type=. Where lines have neither, it counts a node's
 * cards, and picks the lowest free ones when the job starts. There the lists say how
 * many to leave out, and for a job that starts the cards are picked here. How many
 * masked cards are free is known for the present only; for the future (and where
 * others are to be preempted) all of them are left out, so that what Slurm predicts
 * may be too late but never too early. Hence two calls, the first for the present.
 */
#include "plugins/compat.h"

#include "plugins/select_supernode/mask.h"

#include <stdlib.h>
#include <time.h>

#include "src/common/bitstring.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/interfaces/gres.h"

#include "plugins/select_supernode/masklist.h"

struct call {
	const struct job_test *test;
	const struct masks *masks;
	bitstr_t *offered; /* at first */
	bitstr_t *dropped; /* nodes that this job must not get; NULL: none */
	uint64_t memory; /* Slurm may clear the job's */
};

/* ---- what is masked ------------------------------------------------------------------ */

static void note_node(uint32_t node_inx, uint64_t masked, void *arg)
{
	struct masks *masks = arg;

	if (masks->n == masks->size) {
		uint32_t size = masks->size ? masks->size * 2 : 16;
		struct mask_node *more = realloc(masks->node, size * sizeof(*more));

		if (!more) {
			masks->failed = true;
			return;
		}
		masks->node = more;
		masks->size = size;
	}
	masks->node[masks->n++] = (struct mask_node){
		.inx = node_inx, .masked = masked,
	};
}

/* ---- nodes that a job must not get ------------------------------------------------------- */

/* As select/cons_tres decides it. */
static bool is_whole_node(const job_record_t *job_ptr)
{
	const job_details_t *details = job_ptr->details;

	return details->whole_node & WHOLE_NODE_REQUIRED ||
		(job_ptr->part_ptr && !job_ptr->part_ptr->max_share) ||
		(details->core_spec != NO_VAL16 &&
		 slurm_conf.conf_flags & CONF_FLAG_ASRU);
}

/* It would get, or might get, a masked card there. */
static bool must_avoid(const struct call *c, const struct mask_node *node,
		       bool whole)
{
	if (whole)
		return masklist_cards(node, c->masks->card_id) != 0;
	return masklist_must_avoid(c->test->job_ptr, node, c->masks);
}

static void drop_nodes(struct call *c)
{
	bool whole = is_whole_node(c->test->job_ptr);
	uint32_t k;

	for (k = 0; k < c->masks->n; k++) {
		const struct mask_node *node = &c->masks->node[k];

		if (!bit_test(c->test->node_bitmap, node->inx) ||
		    !must_avoid(c, node, whole))
			continue;
		if (!c->dropped)
			c->dropped = bit_alloc(bit_size(c->test->node_bitmap));
		bit_set(c->dropped, node->inx);
	}
}

/* ---- calls --------------------------------------------------------------------------------- */

static int call(const struct call *c, bool present, list_t *candidates)
{
	const struct job_test *t = c->test;
	resv_exc_t resv = t->resv_exc_ptr ? *t->resv_exc_ptr : (resv_exc_t){ 0 };
	list_t *made = masklist_exclude(t->job_ptr, c->masks, present, &resv);
	int rc;

	bit_copybits(t->node_bitmap, c->offered);
	if (c->dropped)
		bit_and_not(t->node_bitmap, c->dropped);
	t->job_ptr->details->pn_min_memory = c->memory;
	rc = t->stock(t->job_ptr, t->node_bitmap, t->min_nodes, t->max_nodes,
		      t->req_nodes, t->mode, candidates, t->victims, &resv,
		      t->will_run_ptr);
	FREE_NULL_LIST(made);
	return rc;
}

static bool is_for_present(const struct job_test *t, uint16_t mode)
{
	if (mode == SELECT_MODE_WILL_RUN)
		return !t->will_run_ptr || t->will_run_ptr->start <= time(NULL);
	return mode == SELECT_MODE_RUN_NOW;
}

static int call_for_present(const struct call *c, uint16_t mode)
{
	job_record_t *job_ptr = c->test->job_ptr;
	uint64_t flags = job_ptr->bit_flags & TEST_NOW_ONLY;
	int rc;

	if (mode == SELECT_MODE_WILL_RUN)
		job_ptr->bit_flags |= TEST_NOW_ONLY;
	rc = call(c, true, NULL);
	if (!flags)
		job_ptr->bit_flags &= ~(uint64_t)TEST_NOW_ONLY;
	return rc;
}

static int call_all(const struct call *c, uint16_t mode)
{
	const struct job_test *t = c->test;
	int rc = ESLURM_NODES_BUSY;

	if (is_for_present(t, mode)) {
		rc = call_for_present(c, mode);
		/* That was all of it. */
		if (!rc || (!t->candidates &&
			    (mode == SELECT_MODE_RUN_NOW ||
			     t->job_ptr->bit_flags & TEST_NOW_ONLY)))
			return rc;
	}
	return call(c, false, t->candidates);
}

int mask_job_test(const struct sn_topoapi *api, const struct job_test *test)
{
	struct masks masks = { .card_id = 0 };
	struct call c = { .test = test, .masks = &masks };
	uint16_t mode = test->mode & SELECT_MODE_BASE;
	int rc;

	if (api)
		masks.card_id = gres_build_id((char *)api->policy()->card_gres);
	if (api && mode != SELECT_MODE_TEST_ONLY && test->job_ptr->details)
		api->each_masked(note_node, &masks);
	if (masks.failed) {
		error("select/supernode: %pJ: no memory for %u masks, so it does not start now",
		      test->job_ptr, masks.n);
		free(masks.node);
		return ESLURM_NODES_BUSY;
	}
	c.offered = bit_copy(test->node_bitmap);
	c.memory = test->job_ptr->details ? test->job_ptr->details->pn_min_memory : 0;
	if (masks.n)
		drop_nodes(&c);
	if (!masks.n)
		rc = test->stock(test->job_ptr, test->node_bitmap,
				 test->min_nodes, test->max_nodes,
				 test->req_nodes, test->mode, test->candidates,
				 test->victims, test->resv_exc_ptr,
				 test->will_run_ptr);
	else if (masklist_is_counted(test->job_ptr, &masks))
		rc = call_all(&c, mode);
	else
		rc = call(&c, true, test->candidates);
	if (!rc && mode == SELECT_MODE_RUN_NOW)
		rc = masklist_pick(test->job_ptr, test->node_bitmap, &masks,
				   test->victims && *test->victims &&
				   list_count(*test->victims));
	/* As Slurm leaves them. */
	if (rc && c.dropped)
		bit_or(test->node_bitmap, c.dropped);
	FREE_NULL_BITMAP(c.offered);
	FREE_NULL_BITMAP(c.dropped);
	free(masks.node);
	return rc;
}
