/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthstate.c - saving, restoring, looking in.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/health_internal.h"

static void info_of(const struct sn_mark *m, struct sn_health_card_info *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!m)
		return;
	ret->state = m->state;
	ret->since = m->since;
	memcpy(ret->why, m->why, sizeof(ret->why));
	ret->n_times = m->n_times;
	memcpy(ret->time, m->time, sizeof(ret->time));
	ret->probes = m->tries;
	ret->hinted = m->hinted;
	ret->hint_by = m->hint_by;
	ret->hint_at = m->hint_at;
}

void sn_health_card(const struct sn_health *h, uint32_t node, uint32_t card,
		    struct sn_health_card_info *ret)
{
	const struct sn_hcard *c = sn_health_peek(h, node, card);

	info_of(c ? c->mark : NULL, ret);
}

bool sn_health_degraded(const struct sn_health *h, enum sn_health_domain domain,
			uint32_t index, double *ret_since,
			char ret_why[SN_HEALTH_WHY_SIZE])
{
	const struct sn_hdomain *d = sn_domain_peek(h, domain, index);

	if (!d || !d->degraded)
		return false;
	if (ret_since)
		*ret_since = d->since;
	if (ret_why)
		memcpy(ret_why, d->why, SN_HEALTH_WHY_SIZE);
	return true;
}

/* ---- saving -------------------------------------------------------------------------- */

static int export_domains(const struct sn_health *h,
			  int (*fn)(void *, const struct sn_health_saved *),
			  void *arg)
{
	const struct sn_topo *topo = h->topo;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < h->n_supernodes + h->n_units; i++) {
		const struct sn_hdomain *d = h->domain[i];
		bool unit = i >= h->n_supernodes;
		struct sn_health_saved saved = {
			.what = SN_HEALTH_SAVED_DOMAIN,
			.name = unit ? topo->unit[i - h->n_supernodes].name :
				topo->supernode[i].name,
			.card = SN_NONE,
			.domain = unit ? SN_HEALTH_UNIT : SN_HEALTH_SUPERNODE,
		};

		if (!d || !d->degraded)
			continue;
		saved.by_hand = d->by_hand;
		saved.info.since = d->since;
		memcpy(saved.info.why, d->why, sizeof(saved.info.why));
		rc = fn(arg, &saved);
	}
	return rc;
}

int sn_health_export(const struct sn_health *h,
		     int (*fn)(void *arg, const struct sn_health_saved *saved),
		     void *arg)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < h->n_marks; i++) {
		const struct sn_mark *m = h->mark[i];
		struct sn_health_saved saved = {
			.what = SN_HEALTH_SAVED_CARD, .card = m->card,
			.name = h->topo->node[m->node].name,
		};

		info_of(m, &saved.info);
		if (m->state != SN_HEALTH_HEALTHY || m->n_times || m->hinted)
			rc = fn(arg, &saved);
	}
	if (!rc)
		rc = export_domains(h, fn, arg);
	for (uint32_t i = 0; !rc && i < h->n_cohorts; i++) {
		const struct sn_cohort *c = h->cohort[i];
		struct sn_health_saved saved = {
			.what = SN_HEALTH_SAVED_PAST, .card = SN_NONE,
			.name = h->topo->supernode[c->supernode].name,
			.metric = h->conf.metric[c->metric].name, .job = c->job,
		};

		if (c->hint || !c->lore || c->lore->usual <= 0)
			continue;
		saved.value = c->lore->usual;
		rc = fn(arg, &saved);
	}
	return rc;
}

/* ---- restoring ------------------------------------------------------------------------ */

static int import_card(struct sn_health *h, const struct sn_health_saved *saved,
		       double now, struct sn_err *err)
{
	const struct sn_health_card_info *info = &saved->info;
	uint32_t node = sn_topo_find_node(h->topo, saved->name);
	struct sn_mark *m;
	int rc;

	if (node == SN_NONE || node >= h->n_nodes)
		return sn_err_set(err, -ENOENT, "node %s: not in topology.conf", saved->name);
	if ((unsigned int)info->state >= SN_HEALTH_STATES ||
	    info->n_times > SN_HEALTH_TIMES_MAX || info->since - info->since != 0 ||
	    info->hint_at - info->hint_at != 0)
		return sn_err_set(err, -EINVAL,
				  "node %s, card %u: state %d, %u anomalies: not what was saved",
				  saved->name, saved->card, (int)info->state, info->n_times);
	for (uint32_t i = 0; i < info->n_times; i++)
		if (info->time[i] - info->time[i] != 0)
			return sn_err_set(err, -EINVAL,
					  "node %s, card %u: a time that is no number",
					  saved->name, saved->card);
	rc = sn_card_mark(h, node, saved->card, &m, err);
	if (rc)
		return rc;
	/* What is known already is newer; but a card that was sick once may be marked by hand. */
	if (m->state != SN_HEALTH_HEALTHY || (m->n_times && info->state == SN_HEALTH_HEALTHY))
		return 0;
	m->state = info->state == SN_HEALTH_PROBING ? SN_HEALTH_SUSPECT : info->state;
	m->since = info->since;
	sn_health_why(m->why, "%.*s", SN_HEALTH_WHY_SIZE - 1, info->why);
	if (m->n_times && info->n_times) {
		sn_card_remember(m, info->time[0]);
	} else if (info->n_times) {
		m->n_times = info->n_times;
		memcpy(m->time, info->time, info->n_times * sizeof(*info->time));
	}
	m->tries = info->probes;
	m->probe_at = -1;
	if (info->hinted && !m->hinted) {
		m->hinted = true;
		m->hint_by = info->hint_by;
		m->hint_at = info->hint_at;
	}
	m->ask_at = m->state == SN_HEALTH_SUSPECT ? now :
		m->state == SN_HEALTH_HEALTHY && info->hinted ? now :
		m->state == SN_HEALTH_QUARANTINED ? m->since + h->conf.hold : -1;
	return 0;
}

static int import_domain(struct sn_health *h, const struct sn_health_saved *saved,
			 double now, struct sn_err *err)
{
	bool unit = saved->domain == SN_HEALTH_UNIT;
	uint32_t index = unit ? sn_topo_find_unit(h->topo, saved->name) :
		sn_topo_find_supernode(h->topo, saved->name);
	struct sn_hdomain *d;

	if (index == SN_NONE || index >= (unit ? h->n_units : h->n_supernodes))
		return sn_err_set(err, -ENOENT, "%s %s: not in topology.conf",
				  unit ? "unit" : "supernode", saved->name);
	if (saved->info.since - saved->info.since != 0 || saved->value - saved->value != 0)
		return sn_err_set(err, -EINVAL, "%s: a number that is none", saved->name);
	d = sn_domain_get(h, saved->domain, index);
	if (!d)
		return sn_health_no_memory(err);
	if (saved->what == SN_HEALTH_SAVED_PAST) {
		uint32_t metric = saved->metric ? sn_health_metric(&h->conf, saved->metric) :
			SN_METRICS_MAX;

		if (metric == SN_METRICS_MAX || saved->value <= 0)
			return 0;
		d->past = saved->value;
		d->past_job = saved->job;
		d->past_metric = metric;
		return 0;
	}
	if (d->degraded)
		return 0;
	d->degraded = true;
	d->by_hand = saved->by_hand;
	d->since = saved->info.since;
	d->seen = now;
	sn_health_why(d->why, "%.*s", SN_HEALTH_WHY_SIZE - 1, saved->info.why);
	return 0;
}

int sn_health_import(struct sn_health *h, const struct sn_health_saved *saved,
		     double now, struct sn_err *err)
{
	if (!saved->name || now - now != 0)
		return sn_err_set(err, -EINVAL, "saved health without a name or time");
	return saved->what == SN_HEALTH_SAVED_CARD ? import_card(h, saved, now, err) :
		import_domain(h, saved, now, err);
}

int sn_health_wanted(const struct sn_health *h, struct sn_health_actions *actions,
		     struct sn_err *err)
{
	static const enum sn_health_kind kind[SN_HEALTH_STATES] = {
		[SN_HEALTH_SUSPECT] = SN_HEALTH_MASK,
		[SN_HEALTH_PROBING] = SN_HEALTH_MARK_PROBING,
		[SN_HEALTH_QUARANTINED] = SN_HEALTH_QUARANTINE,
		[SN_HEALTH_MANUAL] = SN_HEALTH_NEEDS_RELEASE,
	};
	uint32_t supernodes = h->n_supernodes;
	int rc = sn_health_reserve(actions, h->n_marks + sn_domains_degraded(h), err);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < h->n_marks; i++) {
		const struct sn_mark *m = h->mark[i];

		if (m->state != SN_HEALTH_HEALTHY)
			sn_health_put(actions, kind[m->state], m->node, m->card,
				      m->since, m->why)->leave = m->leave;
	}
	for (uint32_t i = 0; i < supernodes + h->n_units; i++) {
		const struct sn_hdomain *d = h->domain[i];
		struct sn_health_action *a;

		if (!d || !d->degraded)
			continue;
		a = sn_health_put(actions, SN_HEALTH_DEGRADE, SN_NONE, SN_NONE, d->since,
				  d->why);
		a->domain = i < supernodes ? SN_HEALTH_SUPERNODE : SN_HEALTH_UNIT;
		a->index = i < supernodes ? i : i - supernodes;
	}
	return 0;
}
