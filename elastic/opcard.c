/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opcard.c - card.drain and card.resume: what snctl card does by itself for root
 * and SlurmUser, for operators.
 */
#include "config.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elastic/daemon.h"
#include "elastic/ops.h"
#include "elastic/report.h"
#include "launcher/cardbook.h"
#include "snctl/nodeextra.h"

struct card_work {
	struct sn_work work;
	struct sn_daemon *d;
	struct sn_request *r;
	struct sn_lead lead;
	char node[SN_REPORT_NODE_MAX];
	uint64_t cards;
	bool drain;
	struct sn_cardmark mark;
	int rc;
	struct sn_err err;
};

static int change(void *ctx, const char *node, const char *extra, char **ret,
		  struct sn_err *err)
{
	const struct card_work *w = ctx;

	(void)node;
	return sn_cardbook_set(extra, SN_CARDKIND_DRAIN, w->cards, w->drain ? &w->mark : NULL, ret, err);
}

static void card_run(struct sn_work *work)
{
	struct card_work *w = (struct card_work *)work;
	const char *node = w->node;
	char buf[4096], by[SN_CARDBOOK_WHY_MAX];
	struct passwd pw, *is = NULL;

	/* A name server may be asked for it. */
	if (!getpwuid_r(w->r->cred.uid, &pw, buf, sizeof(buf), &is) && is)
		snprintf(by, sizeof(by), "%s", is->pw_name);
	else
		snprintf(by, sizeof(by), "user %u", w->r->cred.uid);
	snprintf(w->mark.by, sizeof(w->mark.by), "%.63s", by);
	w->rc = sn_lead_check(&w->lead, &w->err);
	if (!w->rc)
		w->rc = nodeextra_change(&node, 1, change, w, &w->err);
	/* Between read and write another has written: once more. */
	if (w->rc == -EBUSY)
		w->rc = nodeextra_change(&node, 1, change, w, &w->err);
}

static void card_done(struct sn_work *work)
{
	struct card_work *w = (struct card_work *)work;
	struct sn_daemon *d = w->d;
	struct sn_request *r = w->r;

	if (d->stopping || w->rc == -ECANCELED) {
		sn_server_drop(d->server, r->ticket);
		request_free(r);
	} else if (w->rc) {
		request_fail(d, r, w->rc == -EINVAL ? SN_OP_CODE_INVALID : SN_OP_CODE_AGAIN, "%s", w->err.text);
	} else {
		daemon_event(d, "operator", w->node, w->cards & (w->cards - 1) ? SN_NONE :
			     (uint32_t)__builtin_ctzll(w->cards), 0, r->cred.uid, "%s by %s%s%s",
			     w->drain ? "drained" : "resumed", w->mark.by, *w->mark.why ? ": " : "",
			     w->mark.why);
		request_answer(d, r, request_ok());
	}
	free(w);
}

/* Resuming takes the engine's mark, too. */
static void release(struct sn_daemon *d, const struct card_work *w, uint32_t node)
{
	struct sn_health_actions actions = { 0 };
	struct sn_health_card_info info;
	char who[40];

	snprintf(who, sizeof(who), "user %u", w->r->cred.uid);
	for (uint32_t c = 0; c < SN_CARDBOOK_CARDS; c++) {
		sn_health_card(d->health, node, c, &info);
		if (w->cards >> c & 1 && info.state != SN_HEALTH_HEALTHY)
			(void)sn_health_release(d->health, node, c, who, sn_daemon_now(), &actions, NULL);
	}
	if (engine_act(d, &actions, w->r->cred.uid, 0))
		keep_state(d);
}

static int read_request(struct sn_daemon *d, struct card_work *w, uint32_t *ret_node,
			struct sn_err *err)
{
	char why[SN_REPORT_TEXT_MAX];
	const struct sn_view_node *node;
	int rc = sn_request_string(w->r->json, "node", false, w->node, sizeof(w->node), err);

	if (!rc)
		rc = sn_request_cards(w->r->json, &w->cards, err);
	if (!rc)
		rc = sn_request_string(w->r->json, "why", !w->drain, why, sizeof(why), err);
	if (!rc && w->drain && !*why)
		rc = sn_err_set(err, -EINVAL, "\"why\": a card is not drained without a reason");
	if (rc)
		return rc;
	sn_cardbook_why(w->mark.why, why);
	w->mark.at = (uint64_t)sn_daemon_now();
	*ret_node = sn_topo_find_node(d->topo, w->node);
	node = sn_view_node(d->nodes, w->node);
	if (*ret_node == SN_NONE || (d->nodes && !node))
		return sn_err_set(err, -ENOENT, "there is no node %s", w->node);
	if (node && w->cards & ~node->cards)
		return sn_err_set(err, -EINVAL, "node %s has no card %d; it has %d", w->node,
				  __builtin_ctzll(w->cards & ~node->cards),
				  __builtin_popcountll(node->cards));
	return 0;
}

void op_card(struct sn_daemon *d, struct sn_request *r)
{
	struct card_work *w = calloc(1, sizeof(*w));
	struct sn_err err = { "no memory" };
	uint32_t node = SN_NONE;
	int rc = -ENOMEM;

	if (!sn_auth_may_operate(&r->who, &err)) {
		free(w);
		daemon_refused(d, r->cred.uid, r->from, NULL, 0, "%s: %s", r->op, err.text);
		request_fail(d, r, SN_OP_CODE_REFUSED, "%s", err.text);
		return;
	}
	if (w) {
		w->work = (struct sn_work){ card_run, card_done, NULL };
		w->d = d;
		w->r = r;
		w->lead = d->lead;
		w->drain = !strcmp(r->op, "card.drain");
		w->rc = -ECANCELED;
		rc = read_request(d, w, &node, &err);
	}
	if (!rc && d->options.dry_run) {
		free(w);
		request_fail(d, r, SN_OP_CODE_STANDBY, "this snelasticd runs with --dry-run and writes nothing");
		return;
	}
	if (rc) {
		free(w);
		request_fail(d, r, rc == -ENOENT ? SN_OP_CODE_NOT_FOUND : SN_OP_CODE_INVALID, "%s", err.text);
		return;
	}
	if (!w->drain)
		release(d, w, node);
	sn_pool_give(d->slurm_write, &w->work);
}
