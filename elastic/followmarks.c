/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * followmarks.c - marks in the nodes' records that somebody else has changed.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elastic/daemon.h"
#include "elastic/marks.h"

/* Where the engine knows the card, too, the later of the two stands (import). */
static void take_in(struct sn_daemon *d, uint32_t node, uint32_t card, const char *extra,
		    bool is_new)
{
	static const enum sn_health_state state_of[] = {
		[SN_CARDHEALTH_NONE] = SN_HEALTH_SUSPECT, /* a mark that makes no sense masks, too */
		[SN_CARDHEALTH_SUSPECT] = SN_HEALTH_SUSPECT,
		[SN_CARDHEALTH_PROBING] = SN_HEALTH_SUSPECT,
		[SN_CARDHEALTH_QUARANTINED] = SN_HEALTH_QUARANTINED,
		[SN_CARDHEALTH_MANUAL] = SN_HEALTH_MANUAL,
	};
	struct sn_health_saved saved = { .what = SN_HEALTH_SAVED_CARD };
	struct sn_cardmark mark = { 0 };
	struct sn_err err;

	(void)sn_cardbook_find(extra, SN_CARDKIND_HEALTH, card, &mark, NULL);
	saved.name = d->topo->node[node].name;
	saved.card = card;
	saved.info.state = state_of[mark.state];
	saved.info.since = mark.at ? (double)mark.at : sn_daemon_now();
	snprintf(saved.info.why, sizeof(saved.info.why), "%s", *mark.why ? mark.why : "marked in the node's record");
	saved.info.n_times = 1;
	saved.info.time[0] = saved.info.since;
	if (sn_health_import(d->health, &saved, sn_daemon_now(), &err)) {
		sn_log_error("the mark on %s:%u: %s", saved.name, card, err.text);
		return;
	}
	if (!is_new)
		return;
	sn_log_info("health: %s:%u is marked in its node's record: %s", saved.name, card, saved.info.why);
	daemon_event(d, "health", saved.name, card, 0, SN_NONE, "taken from the node's record: %s",
		     saved.info.why);
}

static void let_go(struct sn_daemon *d, uint32_t node, uint32_t card)
{
	struct sn_health_actions actions = { 0 };

	d->node[node].gone |= UINT64_C(1) << card;
	if (!sn_health_release(d->health, node, card, "an administrator, in the node's record",
			       sn_daemon_now(), &actions, NULL))
		engine_act(d, &actions, SN_NONE, 0);
	sn_health_actions_done(&actions);
	keep_state(d);
}

static void let_domain_go(struct sn_daemon *d, uint32_t node, enum sn_health_domain domain,
			  uint32_t index)
{
	struct sn_health_actions actions = { 0 };

	if (domain == SN_HEALTH_UNIT)
		d->node[node].gone_unit = true;
	else
		d->node[node].gone_supernode = true;
	if (!sn_health_set_domain(d->health, domain, index, false,
				  "taken away in the node's record", sn_daemon_now(), &actions, NULL))
		engine_act(d, &actions, SN_NONE, 0);
	sn_health_actions_done(&actions);
	keep_state(d);
}

void follow_gone(struct sn_daemon *d, uint32_t node, const struct sn_marks_gone *gone)
{
	for (uint32_t c = 0; c < SN_CARDBOOK_CARDS; c++)
		if (gone->cards >> c & 1)
			let_go(d, node, c);
	if (gone->supernode)
		let_domain_go(d, node, SN_HEALTH_SUPERNODE, d->topo->node[node].supernode);
	if (gone->unit)
		let_domain_go(d, node, SN_HEALTH_UNIT, d->topo->node[node].unit);
}

static bool is_degraded(const struct sn_daemon *d, enum sn_health_domain domain, uint32_t index)
{
	char why[SN_HEALTH_WHY_SIZE];
	double since;

	return index != SN_NONE && sn_health_degraded(d->health, domain, index, &since, why);
}

/* The mark is of an earlier daemon whose state was lost. */
static void take_domain_in(struct sn_daemon *d, enum sn_health_domain domain, uint32_t index,
			   const char *extra)
{
	struct sn_health_saved saved = { .what = SN_HEALTH_SAVED_DOMAIN, .domain = domain };
	struct sn_cardmark mark = { 0 };

	(void)sn_cardbook_find(extra, domain == SN_HEALTH_UNIT ? SN_CARDKIND_UNIT : SN_CARDKIND_SUPERNODE,
			       0, &mark, NULL);
	saved.name = domain == SN_HEALTH_UNIT ? d->topo->unit[index].name : d->topo->supernode[index].name;
	saved.info.since = mark.at ? (double)mark.at : sn_daemon_now();
	snprintf(saved.info.why, sizeof(saved.info.why), "%s", mark.why);
	(void)sn_health_import(d->health, &saved, sn_daemon_now(), NULL);
}

/* A mark by somebody else is one, but not ours. */
static void compare_domain(struct sn_daemon *d, uint32_t node, enum sn_health_domain domain,
			   uint32_t index, bool is_first, const char *extra)
{
	bool unit = domain == SN_HEALTH_UNIT, want = is_degraded(d, domain, index);
	struct sn_marks_seen seen;
	bool any, ours, own;

	(void)sn_marks_read(extra, &seen, NULL);
	any = unit ? seen.unit : seen.supernode;
	ours = unit ? seen.our_unit : seen.our_supernode;
	own = unit ? seen.own_unit : seen.own_supernode;
	if (index == SN_NONE || (!is_first && !ours && !own))
		return;
	if (!want && ours && !d->adopted) {
		take_domain_in(d, domain, index, extra);
		want = true;
	}
	if (want && own && !any)
		let_domain_go(d, node, domain, index);
	else if (!is_first || ours != own || (want ? !any : ours))
		engine_mark_dirty(d, node);
}

/* slurmctld may have lost what was written last. */
static bool says_another(const char *extra, uint32_t card, enum sn_health_state state)
{
	struct sn_cardmark mark = { 0 };

	(void)sn_cardbook_find(extra, SN_CARDKIND_HEALTH, card, &mark, NULL);
	return mark.state != engine_mark_of(state);
}

/*
 * A mark is there and the engine does not know it: it comes from an earlier daemon,
 * or by hand, and holds; but for one of ours that the engine has ended. The engine has
 * one that is not there: an administrator has taken it away, if it was there; else it
 * is still to be written.
 */
static void compare(struct sn_daemon *d, uint32_t node, const char *extra)
{
	const struct sn_topo *topo = d->topo;
	struct sn_health_card_info info;
	struct sn_marks_seen seen;
	struct sn_err err;

	if (sn_marks_read(extra, &seen, &err) == -ENOMEM)
		return;
	for (uint32_t c = 0; c < SN_CARDBOOK_CARDS; c++) {
		bool is = seen.cards >> c & 1;

		sn_health_card(d->health, node, c, &info);
		if (is && info.state == SN_HEALTH_HEALTHY &&
		    (d->node[node].freed & seen.own) >> c & 1)
			engine_mark_dirty(d, node);
		else if (is && (info.state == SN_HEALTH_HEALTHY || !d->adopted))
			take_in(d, node, c, extra, info.state == SN_HEALTH_HEALTHY);
		else if (!is && info.state != SN_HEALTH_HEALTHY && seen.own >> c & 1)
			let_go(d, node, c);
		else if (info.state != SN_HEALTH_HEALTHY && (!is || says_another(extra, c, info.state)))
			engine_mark_dirty(d, node);
	}
	/* At the start the two may tell different states of a card. */
	if (seen.cards != seen.own || (seen.cards && !d->adopted))
		engine_mark_dirty(d, node);
	compare_domain(d, node, SN_HEALTH_SUPERNODE, topo->node[node].supernode,
		       engine_says_supernode(d, node), extra);
	compare_domain(d, node, SN_HEALTH_UNIT, topo->node[node].unit, engine_says_unit(d, node), extra);
}

/* Nothing new, as of nearly all. */
static bool is_same(const struct sn_view_nodes *old, uint32_t i, const struct sn_view_node *is)
{
	return old && i < old->n && (old->node[i].text == is->text ||
		(!strcmp(old->node[i].extra, is->extra) && !strcmp(old->node[i].name, is->name)));
}

void follow_compare(struct sn_daemon *d, const struct sn_view_nodes *old, int64_t began)
{
	for (uint32_t i = 0; i < d->nodes->n; i++) {
		const struct sn_view_node *is = &d->nodes->node[i];
		uint32_t node = *is->name && (!is_same(old, i, is) || d->n_recheck) ?
			sn_topo_find_node(d->topo, is->name) : SN_NONE;
		struct sn_daemon_node *mine = node == SN_NONE ? NULL : &d->node[node];

		if (!mine || (d->adopted && is_same(old, i, is) && !mine->recheck))
			continue;
		d->n_recheck -= mine->recheck;
		mine->recheck = false;
		/* What was asked for before our own writing tells nothing: once more. */
		if (d->adopted && (mine->dirty || mine->written >= began ||
				   (d->writing && d->writing_node == node))) {
			mine->recheck = true;
			d->n_recheck++;
			continue;
		}
		compare(d, node, is->extra);
	}
}
