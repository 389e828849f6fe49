/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics.c - what snelasticd counts for others to scrape.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "elastic/attach.h"
#include "elastic/daemon.h"
#include "elastic/metrics.h"
#include "elastic/metricsweb.h"
#include "elastic/openmetrics.h"

#define RETRY_MS 10000 /* until it is tried to listen again */

void metrics_decision(struct sn_daemon *d, enum sn_means means)
{
	if ((uint32_t)means < SN_MEANS_KINDS)
		d->metrics.decisions[means]++;
}

uint64_t metrics_cards(struct sn_daemon *d)
{
	struct sn_metrics *m = &d->metrics;

	if (!d->nodes || m->counted == d->nodes)
		return m->cards;
	sn_view_nodes_free(m->counted);
	m->counted = sn_view_nodes_use(d->nodes);
	m->cards = 0;
	for (uint32_t i = 0; i < d->nodes->n; i++)
		m->cards += (uint64_t)__builtin_popcountll(d->nodes->node[i].cards);
	return m->cards;
}

static void on_news(struct sn_daemon *d, uint32_t job, enum sn_attach_news news,
		    const char *node)
{
	const struct sn_attach *a = attach_state(d, job);

	const struct sn_metrics_when when = {
		sn_loop_now(), d->since, sn_daemon_now() - d->since,
	};

	(void)node;
	if (a && (news == SN_ATTACH_CAME || news == SN_ATTACH_STATE) && a->state.has_account)
		sn_metrics_job(&d->metrics, job, &a->state.account, metrics_cards(d), &when);
}

/* ---- HTTP ---- */

static char *make_text(void *ctx, size_t *ret_len)
{
	struct sn_daemon *d = ctx;

	return metrics_text(d, ret_len);
}

/* Another daemon of this host may have the port until it ends. */
static void listen_again(void *ctx)
{
	const struct sn_policy *policy;
	struct sn_daemon *d = ctx;
	struct sn_err err;
	int rc;

	policy = &d->conf.policy;
	if (!policy->metrics_port || d->metrics.web)
		return;
	rc = sn_web_create(d->loop, policy->metrics_address, policy->metrics_port,
			   SN_OM_CONTENT_TYPE, make_text, d, &d->metrics.web, &err);
	if (!rc) {
		sn_log_info("metrics are at http://%s:%u/metrics", *policy->metrics_address ?
			    policy->metrics_address : "*", sn_web_port(d->metrics.web));
		return;
	}
	sn_log_limited(SN_LOG_ERROR, "no metrics: %s", err.text);
	if (rc != -ENOTSUP && rc != -EINVAL)
		sn_timer_set(d->metrics.retry, RETRY_MS);
}

int metrics_start(struct sn_daemon *d, struct sn_err *err)
{
	int rc = sn_loop_timer(d->loop, listen_again, d, &d->metrics.retry, err);

	if (!rc)
		rc = attach_listen(d, on_news);
	if (rc)
		return sn_err_set(err, rc, "no memory");
	listen_again(d);
	return 0;
}

void metrics_reload(struct sn_daemon *d)
{
	sn_timer_off(d->metrics.retry);
	sn_web_destroy(d->metrics.web);
	d->metrics.web = NULL;
	listen_again(d);
}

void metrics_end(struct sn_daemon *d)
{
	sn_web_destroy(d->metrics.web);
	d->metrics.web = NULL;
	sn_timer_end(d->metrics.retry);
	d->metrics.retry = NULL;
	sn_metrics_done(&d->metrics);
	sn_view_nodes_free(d->metrics.counted);
	d->metrics.counted = NULL;
}
