/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ophealth.c - health.report, show, release, probe, wanted.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/daemon.h"
#include "elastic/ops.h"
#include "elastic/report.h"
#include "topology/hostlist.h"

/* ---- report ------------------------------------------------------------------------------ */

static uint64_t cards_of(const struct sn_report *rep)
{
	uint64_t cards = 0;

	for (uint32_t i = 0; i < rep->n_samples; i++)
		cards |= rep->sample[i].card < 64 ? UINT64_C(1) << rep->sample[i].card : 0;
	for (uint32_t i = 0; i < rep->n_faults; i++)
		cards |= rep->fault[i].card < 64 ? UINT64_C(1) << rep->fault[i].card : 0;
	for (uint32_t i = 0; i < rep->n_probes; i++)
		cards |= rep->probe[i].card < 64 ? UINT64_C(1) << rep->probe[i].card : 0;
	return cards;
}

/* Do all its cards exist, as far as is known? One wrong number must not make a mark
 * that nobody understands. */
static int check_cards(struct sn_daemon *d, const struct sn_report *rep, struct sn_err *err)
{
	const struct sn_view_node *node = sn_view_node(d->nodes, rep->node);
	uint64_t bad = node ? cards_of(rep) & ~node->cards : 0;

	if (!bad)
		return 0;
	return sn_err_set(err, -EINVAL, "node %s has no card %d; it has %d", rep->node,
			  __builtin_ctzll(bad), __builtin_popcountll(node->cards));
}

static int feed(struct sn_daemon *d, const struct sn_report *rep, uint32_t node,
		const struct sn_request *r, bool hint, struct sn_health_actions *actions,
		uint32_t *ret_taken, struct sn_err *err)
{
	double now = sn_daemon_now();
	int rc = 0;

	for (uint32_t i = 0; i < rep->n_samples && !rc; i++) {
		const struct sn_report_sample *s = &rep->sample[i];
		const struct sn_health_sample sample = {
			.node = node, .card = s->card, .metric = s->metric, .value = s->value,
			.time = s->time, .step = s->step, .gen = s->gen, .job = rep->job,
			.by = r->cred.uid, .hint = hint,
		};

		rc = sn_health_sample(d->health, &sample, now, actions, err);
		*ret_taken += !rc;
	}
	for (uint32_t i = 0; i < rep->n_faults && !rc; i++) {
		const struct sn_report_fault *f = &rep->fault[i];
		const struct sn_health_fault fault = {
			.node = node, .card = f->card, .code = f->code, .text = f->text,
			.job = rep->job, .by = r->cred.uid, .hint = hint,
		};

		rc = sn_health_fault(d->health, &fault, now, actions, err);
		*ret_taken += !rc;
	}
	for (uint32_t i = 0; i < rep->n_probes && !rc; i++) {
		const struct sn_report_probe *p = &rep->probe[i];

		rc = sn_health_probe_done(d->health, node, p->card, p->passed, p->text, now,
					  actions, err);
		*ret_taken += !rc;
	}
	return rc;
}

static struct json_object *states_of(struct sn_daemon *d, uint32_t node, uint64_t cards)
{
	struct json_object *o = json_object_new_object();
	struct sn_health_card_info info;
	char key[16];

	for (uint32_t c = 0; o && c < 64; c++) {
		if (!(cards >> c & 1))
			continue;
		sn_health_card(d->health, node, c, &info);
		snprintf(key, sizeof(key), "%u", c);
		json_object_object_add(o, key, json_object_new_string(sn_health_state_name(info.state)));
	}
	return o;
}

static void take_report(struct sn_daemon *d, struct sn_request *r, const struct sn_report *rep,
			uint32_t node, bool hint)
{
	struct sn_health_actions actions = { 0 };
	struct json_object *o;
	uint32_t taken = 0;
	struct sn_err err;
	bool changed;
	int rc = feed(d, rep, node, r, hint, &actions, &taken, &err);

	d->reports++;
	d->hints += hint;
	if (rep->job && rep->n_samples)
		follow_job(d, rep->job);
	changed = engine_act(d, &actions, r->cred.uid, rep->job);
	engine_wake(d);
	if (changed)
		(void)keep_state(d);
	if (rc) {
		request_fail(d, r, SN_OP_CODE_INVALID, "%s (%u before it were taken)", err.text, taken);
		return;
	}
	o = request_ok();
	json_object_object_add(o, "taken", json_object_new_int64(taken));
	json_object_object_add(o, "hint", json_object_new_boolean(hint));
	json_object_object_add(o, "cards", states_of(d, node, cards_of(rep)));
	if (changed)
		keep_answer(d, r, o, d->state_wanted);
	else
		request_answer(d, r, o);
}

static enum sn_auth_worth judge(struct sn_daemon *d, struct sn_request *r,
				const struct sn_report *rep, bool *ret_wait, struct sn_err *err)
{
	const struct sn_view_job *job = rep->job ? sn_view_job(d->jobs, rep->job) : NULL;
	struct sn_auth_job is = { 0 };
	uint64_t cards;

	*ret_wait = false;
	if (rep->n_probes)
		return sn_auth_probe(&r->who, rep->node, r->at_node, err);
	if (job && job->running) {
		cards = sn_view_job_cards(d->nodes, job, rep->node);
		is.known = true;
		is.uid = job->uid;
		is.has_cards = !(cards_of(rep) & ~cards);
	}
	/* A job that has just begun is known after the next poll. */
	*ret_wait = rep->job && !is.known && !r->polled && r->cred.uid &&
		!follow_is_unknown(d, rep->job);
	if (rep->job && !is.known && r->polled && !d->slurm_down)
		follow_unknown(d, rep->job);
	return sn_auth_report(&r->who, rep->node, r->at_node, rep->job ? &is : NULL, err);
}

void op_health_report(struct sn_daemon *d, struct sn_request *r)
{
	enum sn_auth_worth worth;
	struct sn_report rep;
	struct sn_err err;
	uint32_t node;
	bool wait;

	if (sn_report_parse(r->json, &rep, &err)) {
		request_fail(d, r, SN_OP_CODE_INVALID, "%s", err.text);
		return;
	}
	worth = judge(d, r, &rep, &wait, &err);
	node = sn_topo_find_node(d->topo, rep.node);
	if (worth == SN_AUTH_REFUSED && wait) {
		follow_hold(d, r);
	} else if (worth == SN_AUTH_REFUSED && rep.job && d->slurm_down && r->cred.uid) {
		request_fail(d, r, SN_OP_CODE_AGAIN,
			     "slurmctld does not answer, so whose job %u is cannot be told", rep.job);
	} else if (worth == SN_AUTH_REFUSED) {
		daemon_refused(d, r->cred.uid, r->from, rep.node, rep.job, "health report: %s", err.text);
		request_fail(d, r, SN_OP_CODE_REFUSED, "%s", err.text);
	} else if (node == SN_NONE && !d->adopted && !r->polled) {
		follow_hold(d, r); /* it may be a loose one */
	} else if (node == SN_NONE) {
		request_fail(d, r, SN_OP_CODE_NOT_FOUND, "there is no node %s", rep.node);
	} else if (check_cards(d, &rep, &err)) {
		request_fail(d, r, SN_OP_CODE_INVALID, "%s", err.text);
	} else {
		take_report(d, r, &rep, node, worth == SN_AUTH_HINT);
	}
	sn_report_done(&rep);
}

/* ---- show -------------------------------------------------------------------------------- */

struct show {
	struct sn_daemon *d;
	struct json_object *cards, *domains;
	bool *node; /* those that are asked for; NULL: all that are not healthy */
};

static void add_time(struct json_object *o, const char *key, double t)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)t));
}

/* Does the node's record have its marks, as far as is known? */
static bool is_in_force(const struct sn_daemon *d, uint32_t node)
{
	return !d->node[node].dirty && !d->node[node].unwritable &&
		!(d->writing && d->writing_node == node);
}

static void add_card(struct show *s, uint32_t node, uint32_t card,
		     const struct sn_health_card_info *info)
{
	struct json_object *o = json_object_new_object();
	const struct sn_topo *topo = s->d->topo;

	if (!o)
		return;
	json_object_object_add(o, "node", json_object_new_string(topo->node[node].name));
	json_object_object_add(o, "card", json_object_new_int64(card));
	json_object_object_add(o, "supernode", json_object_new_string(
		topo->supernode[topo->node[node].supernode].name));
	json_object_object_add(o, "state", json_object_new_string(sn_health_state_name(info->state)));
	if (info->state != SN_HEALTH_HEALTHY) {
		add_time(o, "since", info->since);
		json_object_object_add(o, "why", json_object_new_string(info->why));
		json_object_object_add(o, "in_force", json_object_new_boolean(is_in_force(s->d, node)));
	}
	json_object_object_add(o, "marks", json_object_new_int64(info->n_times));
	if (info->hinted)
		json_object_object_add(o, "hinted", json_object_new_boolean(1));
	if (card < 64 && s->d->node[node].probe >> card & 1)
		json_object_object_add(o, "probe_wanted", json_object_new_boolean(1));
	json_object_array_add(s->cards, o);
}

static int add_saved(void *arg, const struct sn_health_saved *saved)
{
	struct show *s = arg;
	struct json_object *o;
	uint32_t node;

	if (saved->what == SN_HEALTH_SAVED_CARD && !s->node) {
		node = sn_topo_find_node(s->d->topo, saved->name);
		if (node != SN_NONE && saved->info.state != SN_HEALTH_HEALTHY)
			add_card(s, node, saved->card, &saved->info);
	} else if (saved->what == SN_HEALTH_SAVED_DOMAIN && (o = json_object_new_object())) {
		json_object_object_add(o, "domain", json_object_new_string(
			saved->domain == SN_HEALTH_UNIT ? "unit" : "supernode"));
		json_object_object_add(o, "name", json_object_new_string(saved->name));
		add_time(o, "since", saved->info.since);
		json_object_object_add(o, "why", json_object_new_string(saved->info.why));
		json_object_array_add(s->domains, o);
	}
	return 0;
}

/* Healthy so far, but somebody has hinted at it, or asked for a probe. */
static void add_asked(struct show *s)
{
	struct sn_health_card_info info;

	for (uint32_t n = 0; n < s->d->topo->n_nodes && !s->node; n++)
		for (uint32_t c = 0; s->d->node[n].probe && c < 64; c++) {
			sn_health_card(s->d->health, n, c, &info);
			if (s->d->node[n].probe >> c & 1 && info.state == SN_HEALTH_HEALTHY)
				add_card(s, n, c, &info);
		}
}

static void add_nodes(struct show *s)
{
	struct sn_health_card_info info;

	for (uint32_t node = 0; s->node && node < s->d->topo->n_nodes; node++) {
		const struct sn_view_node *is = s->node[node] ?
			sn_view_node(s->d->nodes, s->d->topo->node[node].name) : NULL;

		for (uint32_t c = 0; s->node[node] && c < 64; c++) {
			sn_health_card(s->d->health, node, c, &info);
			if ((is && is->cards >> c & 1) || info.state != SN_HEALTH_HEALTHY)
				add_card(s, node, c, &info);
		}
	}
}

/* Anybody may ask, so a list costs no more than the cluster has nodes, whatever it
 * says and how often. */
static int find_nodes(const struct sn_topo *topo, const char *list, bool **ret,
		      struct sn_err *err)
{
	struct sn_names names = { 0 };
	bool *node = calloc((size_t)topo->n_nodes + 1, sizeof(*node));
	int rc = node ? 0 : sn_err_set(err, -ENOMEM, "no memory");

	if (!rc)
		rc = sn_hostlist_expand_max(list, topo->n_nodes, &names, err);
	for (size_t i = 0; i < names.n && !rc; i++) {
		uint32_t n = sn_topo_find_node(topo, names.name[i]);

		if (n == SN_NONE)
			rc = sn_err_set(err, -ENOENT, "there is no node %s", names.name[i]);
		else
			node[n] = true;
	}
	sn_names_done(&names);
	if (rc)
		free(node);
	else
		*ret = node;
	return rc;
}

void op_health_show(struct sn_daemon *d, struct sn_request *r)
{
	struct show s = { d, json_object_new_array(), json_object_new_array(), NULL };
	struct json_object *o = request_ok();
	struct sn_health_stats stats;
	char nodes[4096];
	struct sn_err err;
	int rc = sn_request_string(r->json, "nodes", true, nodes, sizeof(nodes), &err);

	if (!rc && *nodes)
		rc = find_nodes(d->topo, nodes, &s.node, &err);
	if (!rc) {
		sn_health_export(d->health, add_saved, &s);
		add_asked(&s);
		add_nodes(&s);
		sn_health_stats(d->health, &stats);
	}
	free(s.node);
	json_object_object_add(o, "cards", s.cards);
	json_object_object_add(o, "domains", s.domains);
	if (rc) {
		json_object_put(o);
		request_fail(d, r, rc == -ENOENT ? SN_OP_CODE_NOT_FOUND : SN_OP_CODE_INVALID, "%s", err.text);
		return;
	}
	json_object_object_add(o, "samples", json_object_new_int64((int64_t)stats.samples));
	json_object_object_add(o, "reports", json_object_new_int64((int64_t)d->reports));
	json_object_object_add(o, "unwritten", json_object_new_int64(d->n_dirty + d->writing));
	request_answer(d, r, o);
}

/* ---- for operators ----------------------------------------------------------------------- */

/* False: it has been answered. */
static bool find_cards(struct sn_daemon *d, struct sn_request *r, uint32_t *ret_node,
		       uint64_t *ret_cards)
{
	char node[SN_REPORT_NODE_MAX];
	struct sn_err err;
	int rc = sn_request_string(r->json, "node", false, node, sizeof(node), &err);

	if (!rc)
		rc = sn_request_cards(r->json, ret_cards, &err);
	if (rc) {
		request_fail(d, r, SN_OP_CODE_INVALID, "%s", err.text);
		return false;
	}
	*ret_node = sn_topo_find_node(d->topo, node);
	if (*ret_node == SN_NONE)
		request_fail(d, r, SN_OP_CODE_NOT_FOUND, "there is no node %s", node);
	return *ret_node != SN_NONE;
}

static bool may_operate(struct sn_daemon *d, struct sn_request *r)
{
	struct sn_err err;

	if (sn_auth_may_operate(&r->who, &err))
		return true;
	daemon_refused(d, r->cred.uid, r->from, NULL, 0, "%s: %s", r->op, err.text);
	request_fail(d, r, SN_OP_CODE_REFUSED, "%s", err.text);
	return false;
}

void op_health_release(struct sn_daemon *d, struct sn_request *r)
{
	struct sn_health_actions actions = { 0 };
	char why[SN_HEALTH_WHY_SIZE], who[SN_HEALTH_WHY_SIZE + 32];
	struct json_object *o;
	struct sn_err err;
	uint64_t cards;
	uint32_t node;
	int rc = 0;

	if (!may_operate(d, r) || !find_cards(d, r, &node, &cards))
		return;
	if (sn_request_string(r->json, "why", true, why, sizeof(why), &err)) {
		request_fail(d, r, SN_OP_CODE_INVALID, "%s", err.text);
		return;
	}
	snprintf(who, sizeof(who), "user %u%s%s", r->cred.uid, *why ? ": " : "", why);
	for (uint32_t c = 0; c < 64 && !rc; c++)
		if (cards >> c & 1)
			rc = sn_health_release(d->health, node, c, who, sn_daemon_now(), &actions, &err);
	daemon_event(d, "operator", d->topo->node[node].name, SN_NONE, 0, r->cred.uid, "released by %s", who);
	engine_act(d, &actions, r->cred.uid, 0);
	keep_state(d);
	if (rc) {
		request_fail(d, r, SN_OP_CODE_INVALID, "%s", err.text);
		return;
	}
	o = request_ok();
	json_object_object_add(o, "cards", states_of(d, node, cards));
	keep_answer(d, r, o, d->state_wanted);
}

void op_health_probe(struct sn_daemon *d, struct sn_request *r)
{
	struct json_object *o;
	uint64_t cards;
	uint32_t node;

	if (!may_operate(d, r) || !find_cards(d, r, &node, &cards))
		return;
	d->node[node].probe |= cards;
	probe_want(d, node);
	daemon_event(d, "operator", d->topo->node[node].name, SN_NONE, 0, r->cred.uid,
		     "user %u asks for a probe", r->cred.uid);
	o = request_ok();
	json_object_object_add(o, "cards", states_of(d, node, cards));
	request_answer(d, r, o);
}

/* A node asks what it shall probe: what it is told counts as begun. */
void op_health_wanted(struct sn_daemon *d, struct sn_request *r)
{
	struct sn_health_actions actions = { 0 };
	struct json_object *o, *list;
	char name[SN_REPORT_NODE_MAX];
	struct sn_health_card_info info;
	struct sn_err err;
	uint32_t node;

	if (sn_request_string(r->json, "node", false, name, sizeof(name), &err)) {
		request_fail(d, r, SN_OP_CODE_INVALID, "%s", err.text);
		return;
	}
	if (sn_auth_probe(&r->who, name, r->at_node, &err) != SN_AUTH_FULL) {
		daemon_refused(d, r->cred.uid, r->from, name, 0, "%s: %s", r->op, err.text);
		request_fail(d, r, SN_OP_CODE_REFUSED, "%s", err.text);
		return;
	}
	node = sn_topo_find_node(d->topo, name);
	if (node == SN_NONE) {
		request_fail(d, r, SN_OP_CODE_NOT_FOUND, "there is no node %s", name);
		return;
	}
	o = request_ok();
	list = json_object_new_array();
	json_object_object_add(o, "cards", list);
	for (uint32_t c = 0; c < 64; c++) {
		struct json_object *card;

		if (!(d->node[node].probe >> c & 1) || !(card = json_object_new_object()))
			continue;
		sn_health_card(d->health, node, c, &info);
		json_object_object_add(card, "card", json_object_new_int64(c));
		json_object_object_add(card, "state", json_object_new_string(sn_health_state_name(info.state)));
		json_object_object_add(card, "why", json_object_new_string(info.why));
		json_object_array_add(list, card);
		(void)sn_health_probe_started(d->health, node, c, sn_daemon_now(), &actions, NULL);
		d->node[node].probe &= ~(UINT64_C(1) << c);
	}
	if (engine_act(d, &actions, SN_NONE, 0))
		keep_state(d);
	engine_wake(d);
	request_answer(d, r, o);
}
