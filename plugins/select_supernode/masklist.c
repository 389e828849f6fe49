/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * masklist.c - masked cards as Slurm's lists of what a job must not have.
 */
#include "plugins/compat.h"

#include "plugins/select_supernode/masklist.h"

#include "src/common/bitstring.h"
#include "src/common/job_resources.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"
#include "src/interfaces/gres.h"

enum how {
	HOW_CANNOT, /* slurmctld does not tell the cards apart */
	HOW_COUNT, /* it counts them, and picks by number when a job starts */
	HOW_EACH, /* it knows each */
};

/* ---- what slurmctld knows of a node's cards ------------------------------------------------- */

static gres_node_state_t *node_gres(uint32_t inx, uint32_t plugin_id)
{
	list_t *list = node_record_table_ptr[inx]->gres_list;
	gres_state_t *state = list ?
		list_find_first_ro(list, gres_find_id, &plugin_id) : NULL;

	return state ? state->gres_data : NULL;
}

/* Slurm's own condition, or else it goes by the counts of slurm.conf. */
static bool has_registered(const node_record_t *node_ptr,
			   const gres_node_state_t *ns)
{
	return ns->gres_cnt_found != NO_VAL64 ||
		!(IS_NODE_UNKNOWN(node_ptr) || IS_NODE_DOWN(node_ptr) ||
		  IS_NODE_DRAIN(node_ptr) || IS_NODE_NO_RESPOND(node_ptr));
}

static enum how how_known(uint32_t inx, const gres_node_state_t *ns, bool shared)
{
	int i;

	if (!ns->gres_bit_alloc)
		return HOW_CANNOT;
	if (!ns->topo_cnt)
		return shared ? HOW_CANNOT : HOW_COUNT;
	if (!ns->topo_gres_bitmap ||
	    !has_registered(node_record_table_ptr[inx], ns))
		return HOW_CANNOT;
	for (i = 0; i < ns->topo_cnt; i++)
		if (!ns->topo_gres_bitmap[i] ||
		    bit_size(ns->topo_gres_bitmap[i]) !=
		    bit_size(ns->gres_bit_alloc))
			return HOW_CANNOT;
	return HOW_EACH;
}

static uint64_t first_bits(const bitstr_t *bits)
{
	int64_t n = bit_size((bitstr_t *)bits), i;
	uint64_t ret = 0;

	for (i = 0; i < n && i < 64; i++)
		if (bit_test((bitstr_t *)bits, i))
			ret |= UINT64_C(1) << i;
	return ret;
}

static uint64_t all_cards(const gres_node_state_t *ns)
{
	uint64_t n = ns->gres_bit_alloc ? (uint64_t)bit_size(ns->gres_bit_alloc) :
		ns->gres_cnt_avail;

	return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

uint64_t masklist_cards(const struct mask_node *node, uint32_t card_id)
{
	const gres_node_state_t *ns = node_gres(node->inx, card_id);

	return ns ? node->masked & all_cards(ns) : 0;
}

/* ---- what the job wants ---------------------------------------------------------------------- */

/* Cards, or shares of cards. */
static bool is_ours(const gres_state_t *wanted, const struct masks *masks)
{
	return wanted->plugin_id == masks->card_id ||
		(gres_id_shared(wanted->config_flags) &&
		 gres_id_sharing(masks->card_id));
}

struct asking {
	const struct mask_node *node;
	const struct masks *masks;
	enum how how; /* what is looked for */
};

static int is_known_so(void *x, void *arg)
{
	const gres_state_t *wanted = x;
	const struct asking *a = arg;
	const gres_node_state_t *ns;

	if (!is_ours(wanted, a->masks))
		return 0;
	ns = node_gres(a->node->inx, wanted->plugin_id);
	if (!ns || !(a->node->masked & all_cards(ns)) ||
	    how_known(a->node->inx, ns, gres_id_shared(wanted->config_flags)) != a->how)
		return 0;
	/* Masked cards that are in use may be free another time. */
	return a->how != HOW_COUNT ||
		a->node->masked & first_bits(ns->gres_bit_alloc);
}

bool masklist_must_avoid(const job_record_t *job_ptr,
			 const struct mask_node *node, const struct masks *masks)
{
	struct asking a = { .node = node, .masks = masks, .how = HOW_CANNOT };

	return job_ptr->gres_list_req &&
		list_find_first_ro(job_ptr->gres_list_req, is_known_so, &a);
}

bool masklist_is_counted(const job_record_t *job_ptr, const struct masks *masks)
{
	struct asking a = { .masks = masks, .how = HOW_COUNT };
	uint32_t k;

	for (k = 0; job_ptr->gres_list_req && k < masks->n; k++) {
		a.node = &masks->node[k];
		if (list_find_first_ro(job_ptr->gres_list_req, is_known_so, &a))
			return true;
	}
	return false;
}

/* ---- the lists --------------------------------------------------------------------------------- */

struct making {
	const struct masks *masks;
	list_t *list; /* Slurm's own, of the job's reservation or of others' */
	bool present;
	bool included; /* it says what the job may have, not what it must not */
};

static gres_job_state_t *find_entry(list_t *list, const gres_state_t *wanted)
{
	const gres_job_state_t *js = wanted->gres_data;
	gres_key_t key = {
		.config_flags = wanted->config_flags,
		.plugin_id = wanted->plugin_id,
		.type_id = js->type_id,
	};
	gres_state_t *state =
		list_find_first(list, gres_find_job_by_key_exact_type, &key);

	return state ? state->gres_data : NULL;
}

static gres_job_state_t *make_entry(list_t *list, const gres_state_t *wanted)
{
	const gres_job_state_t *of = wanted->gres_data;
	gres_job_state_t *js = xmalloc(sizeof(*js));

	js->type_id = of->type_id;
	js->node_cnt = (uint32_t)node_record_count;
	js->gres_bit_alloc = xcalloc(js->node_cnt, sizeof(*js->gres_bit_alloc));
	js->gres_cnt_node_alloc =
		xcalloc(js->node_cnt, sizeof(*js->gres_cnt_node_alloc));
	list_append(list, gres_create_state((void *)wanted,
					    GRES_STATE_SRC_STATE_PTR,
					    GRES_STATE_TYPE_JOB, js));
	return js;
}

/* Before 25.05 Slurm looks a line of gres.conf up in the list, by its number, and
 * leaves out all of it; since then, cards. */
static void set_masked(const gres_node_state_t *ns, uint64_t masked, bitstr_t *bits)
{
	int64_t n = bit_size(bits), i;

	if (SN_GRES_EXC_BY_CARD || !ns->topo_cnt) {
		for (i = 0; i < n && i < 64; i++)
			if (masked >> i & 1)
				bit_set(bits, i);
		return;
	}
	for (i = 0; i < ns->topo_cnt && i < n; i++)
		if (first_bits(ns->topo_gres_bitmap[i]) & masked)
			bit_set(bits, i);
}

/* Slurm does not let a job of a reservation be kept from what the list does not name
 * (before 25.05). */
static void include_all(gres_job_state_t *js, uint32_t plugin_id)
{
	uint32_t inx;

	for (inx = 0; inx < js->node_cnt; inx++) {
		const gres_node_state_t *ns = node_record_table_ptr[inx] ?
			node_gres(inx, plugin_id) : NULL;

		if (!ns)
			continue;
		js->gres_cnt_node_alloc[inx] = ns->gres_cnt_avail;
		if (!ns->gres_bit_alloc)
			continue;
		js->gres_bit_alloc[inx] = bit_alloc(bit_size(ns->gres_bit_alloc));
		bit_set_all(js->gres_bit_alloc[inx]);
	}
}

/* Of what is reserved for the job's reservation: of cards that slurmctld counts
 * only, that is a number. */
static void take_out(gres_job_state_t *js, uint32_t inx,
		     const gres_node_state_t *ns, uint64_t masked,
		     const bitstr_t *bits)
{
	bitstr_t *mine = js->gres_bit_alloc ? js->gres_bit_alloc[inx] : NULL;
	uint64_t left = (uint64_t)__builtin_popcountll(all_cards(ns) & ~masked);

	if (mine) {
		bit_and_not(mine, (bitstr_t *)bits);
		if (ns->topo_cnt)
			left = (uint64_t)bit_set_count(mine);
	}
	if (js->gres_cnt_node_alloc && js->gres_cnt_node_alloc[inx] > left)
		js->gres_cnt_node_alloc[inx] = left;
}

/* To what is reserved for others. */
static void leave_out(gres_job_state_t *js, uint32_t inx, uint64_t masked,
		      const bitstr_t *bits)
{
	if (js->gres_cnt_node_alloc)
		js->gres_cnt_node_alloc[inx] +=
			(uint64_t)__builtin_popcountll(masked);
	if (!js->gres_bit_alloc)
		js->gres_bit_alloc = xcalloc(js->node_cnt,
					     sizeof(*js->gres_bit_alloc));
	if (js->gres_bit_alloc[inx])
		bit_or(js->gres_bit_alloc[inx], (bitstr_t *)bits);
	else
		js->gres_bit_alloc[inx] = bit_copy((bitstr_t *)bits);
}

static void exclude_node(const struct making *m, const gres_state_t *wanted,
			 const struct mask_node *node, gres_job_state_t *js)
{
	const gres_node_state_t *ns = node_gres(node->inx, wanted->plugin_id);
	uint64_t masked = ns ? node->masked & all_cards(ns) : 0;
	bool shared = gres_id_shared(wanted->config_flags);
	bitstr_t *bits;

	if (!masked || node->inx >= js->node_cnt ||
	    how_known(node->inx, ns, shared) == HOW_CANNOT)
		return;
	bits = bit_alloc(bit_size(ns->gres_bit_alloc));
	set_masked(ns, masked, bits);
	if (m->included) {
		take_out(js, node->inx, ns, masked, bits);
	} else {
		if (m->present && !ns->topo_cnt)
			masked &= ~first_bits(ns->gres_bit_alloc);
		leave_out(js, node->inx, masked, bits);
	}
	FREE_NULL_BITMAP(bits);
}

static int exclude_wanted(void *x, void *arg)
{
	const gres_state_t *wanted = x;
	struct making *m = arg;
	gres_job_state_t *js;
	uint32_t k;

	if (!is_ours(wanted, m->masks))
		return 0;
	js = find_entry(m->list, wanted);
	if (!js) {
		/* What a reservation does not name its jobs do not get. */
		if (m->included && SN_GRES_EXC_BY_CARD)
			return 0;
		js = make_entry(m->list, wanted);
		if (m->included)
			include_all(js, wanted->plugin_id);
	}
	for (k = 0; k < m->masks->n; k++)
		exclude_node(m, wanted, &m->masks->node[k], js);
	return 0;
}

static int is_ours_key(void *x, void *arg)
{
	return is_ours(x, arg);
}

list_t *masklist_exclude(const job_record_t *job_ptr, const struct masks *masks,
			 bool present, resv_exc_t *resv)
{
	struct making m = {
		.masks = masks,
		.present = present,
		.included = !resv->gres_list_exc && resv->gres_list_inc,
	};
	list_t *from = m.included ? resv->gres_list_inc : resv->gres_list_exc;

	if (!job_ptr->gres_list_req ||
	    !list_find_first_ro(job_ptr->gres_list_req, is_ours_key, (void *)masks))
		return NULL;
	m.list = from ? gres_job_state_list_dup(from) : NULL;
	if (!m.list)
		m.list = list_create(gres_job_list_delete);
	(void)list_for_each_ro(job_ptr->gres_list_req, exclude_wanted, &m);
	if (m.included)
		resv->gres_list_inc = m.list;
	else
		resv->gres_list_exc = m.list;
	/* Slurm's place for what it has found in the lists. */
	resv->gres_js_exc = resv->gres_js_inc = NULL;
	return m.list;
}

/* ---- cards by number --------------------------------------------------------------------------- */

struct picking {
	list_t *wanted;
	uint32_t plugin_id;
	uint32_t inx;
	int64_t bit;
};

/* Picked for another type that the job wants, too. */
static int has_bit(void *x, void *arg)
{
	const gres_state_t *state = x;
	const gres_job_state_t *js = state->gres_data;
	const struct picking *p = arg;

	return state->plugin_id == p->plugin_id && js->gres_bit_select &&
		p->inx < js->total_node_cnt && js->gres_bit_select[p->inx] &&
		bit_test(js->gres_bit_select[p->inx], p->bit);
}

/* false: too few. */
static bool pick_node(struct picking *p, gres_job_state_t *js,
		      const gres_node_state_t *ns, uint64_t masked)
{
	uint64_t left = js->gres_cnt_node_select[p->inx];
	int64_t n = bit_size(ns->gres_bit_alloc);
	bitstr_t *bits = bit_alloc(n);

	for (p->bit = 0; p->bit < n && left; p->bit++) {
		if (bit_test(ns->gres_bit_alloc, p->bit) ||
		    (p->bit < 64 && masked >> p->bit & 1) ||
		    list_find_first_ro(p->wanted, has_bit, p))
			continue;
		bit_set(bits, p->bit);
		left--;
	}
	if (left) {
		FREE_NULL_BITMAP(bits);
		return false;
	}
	if (!js->gres_bit_select)
		js->gres_bit_select = xcalloc(js->total_node_cnt,
					      sizeof(*js->gres_bit_select));
	js->gres_bit_select[p->inx] = bits;
	return true;
}

static const gres_node_state_t *counted(const gres_state_t *wanted, uint32_t inx,
					const struct masks *masks)
{
	const gres_job_state_t *js = wanted->gres_data;
	const gres_node_state_t *ns;

	if (wanted->plugin_id != masks->card_id || !js->gres_cnt_node_select ||
	    inx >= js->total_node_cnt)
		return NULL;
	ns = node_gres(inx, wanted->plugin_id);
	return ns && how_known(inx, ns, false) == HOW_COUNT ? ns : NULL;
}

/* What an earlier try, which came to nothing, picked there. */
static void forget_picks(const gres_state_t *wanted, bitstr_t *nodes,
			 const struct masks *masks)
{
	gres_job_state_t *js = wanted->gres_data;
	int i;

	for (i = 0; js->gres_bit_select && next_node_bitmap(nodes, &i); i++)
		if (counted(wanted, (uint32_t)i, masks))
			FREE_NULL_BITMAP(js->gres_bit_select[i]);
}

static bool pick_wanted(struct picking *p, const gres_state_t *wanted,
			bitstr_t *nodes, const struct masks *masks)
{
	uint32_t k;

	for (k = 0; k < masks->n; k++) {
		const gres_node_state_t *ns;

		p->inx = masks->node[k].inx;
		p->plugin_id = wanted->plugin_id;
		if (!bit_test(nodes, p->inx))
			continue;
		ns = counted(wanted, p->inx, masks);
		if (ns && !pick_node(p, wanted->gres_data, ns, masks->node[k].masked))
			return false;
	}
	return true;
}

int masklist_pick(job_record_t *job_ptr, bitstr_t *nodes,
		  const struct masks *masks, bool waits)
{
	struct picking p = { .wanted = job_ptr->gres_list_req };
	const gres_state_t *wanted;
	list_itr_t *itr;
	bool picked = true;

	if (!job_ptr->gres_list_req)
		return SLURM_SUCCESS;
	itr = list_iterator_create(job_ptr->gres_list_req);
	while ((wanted = list_next(itr)))
		forget_picks(wanted, nodes, masks);
	list_iterator_reset(itr);
	while (picked && (wanted = list_next(itr)))
		picked = pick_wanted(&p, wanted, nodes, masks);
	list_iterator_destroy(itr);
	if (picked || waits)
		return SLURM_SUCCESS;
	verbose("select/supernode: %pJ: node %s has too few cards that are free and not masked",
		job_ptr, node_record_table_ptr[p.inx]->name);
	free_job_resources(&job_ptr->job_resrcs);
	return ESLURM_NODES_BUSY;
}
