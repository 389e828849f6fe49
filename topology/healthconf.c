/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * healthconf.c - the health engine's thresholds and metrics, from supernode.conf.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "topology/healthconf.h"
#include "topology/text.h"

/* 63 retired pages and 512 row remaps are where DCGM says to replace a card;
 * an uncorrectable error or a broken link is one too many. */
static const struct sn_metric built_in[] = {
	{ "step_time", false, SN_METRIC_PEERS, 0 },
	{ "compute_time", false, SN_METRIC_PEERS, 0 },
	{ "own_time", false, SN_METRIC_PEERS, 0 },
	{ "latency", false, SN_METRIC_PEERS, 0 },
	{ "flops", true, SN_METRIC_PEERS, 0 },
	{ "memory_bandwidth", true, SN_METRIC_PEERS, 0 },
	{ "link_bandwidth", true, SN_METRIC_PEERS, 0 },
	{ "clock", true, SN_METRIC_PEERS, 0 },
	{ "temperature", false, SN_METRIC_LIMIT, 95 },
	{ "retired_pages", false, SN_METRIC_LIMIT, 63 },
	{ "row_remaps", false, SN_METRIC_LIMIT, 512 },
	{ "ecc_errors", false, SN_METRIC_RISE, 1 },
	{ "ecc_corrected", false, SN_METRIC_RISE, 1000 },
	{ "link_errors", false, SN_METRIC_RISE, 1 },
	{ "crc_errors", false, SN_METRIC_RISE, 100 },
};

uint32_t sn_health_metric(const struct sn_health_conf *conf, const char *name)
{
	for (uint32_t i = 0; i < conf->n_metrics; i++)
		if (!strcasecmp(conf->metric[i].name, name))
			return i;
	return SN_METRICS_MAX;
}

static int bad(const char *word, struct sn_err *err)
{
	char shown[64];

	return sn_err_set(err, -EINVAL,
			  "HealthMetrics: \"%s\": want NAME=high or NAME=low, with :VALUE behind for a limit, NAME=rise:VALUE for a counter, or NAME=off, such as \"hbm_temp=high:105 busbw=low replays=rise:10\"",
			  sn_text_clip(word, shown, sizeof(shown)));
}

static bool good_name(const char *name, size_t len)
{
	if (!len || len >= SN_METRIC_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '-')
			return false;
	return true;
}

/* A plain decimal number: strtod would take "nan" and the locale's comma. */
static bool number(const char *text, double *ret)
{
	const char *p = text;
	double v = 0, unit = 1;
	bool minus = *p == '-';
	size_t digits = 0;

	p += minus;
	for (; isdigit((unsigned char)*p); p++, digits++)
		v = v * 10 + (*p - '0');
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p); p++, digits++)
			v += (*p - '0') * (unit /= 10);
	if (!digits || digits > 15 || *p)
		return false;
	*ret = minus ? -v : v;
	return true;
}

static void drop(struct sn_health_conf *conf, uint32_t at)
{
	conf->n_metrics--;
	memmove(&conf->metric[at], &conf->metric[at + 1],
		(conf->n_metrics - at) * sizeof(conf->metric[0]));
}

static int take_word(struct sn_health_conf *conf, const char *word,
		     struct sn_err *err)
{
	const char *eq = strchr(word, '='), *colon;
	struct sn_metric new = { .kind = SN_METRIC_PEERS };
	size_t len;
	uint32_t at;

	if (!eq || !good_name(word, (size_t)(eq - word)))
		return bad(word, err);
	memcpy(new.name, word, (size_t)(eq - word));
	at = sn_health_metric(conf, new.name);
	colon = strchr(++eq, ':');
	len = colon ? (size_t)(colon - eq) : strlen(eq);
	if (len == 3 && !strncasecmp(eq, "off", 3) && !colon) {
		if (at < SN_METRICS_MAX)
			drop(conf, at);
		return 0;
	}
	if (len == 3 && !strncasecmp(eq, "low", 3))
		new.low = true;
	else if (len == 4 && !strncasecmp(eq, "rise", 4) && colon)
		new.kind = SN_METRIC_RISE;
	else if (len != 4 || strncasecmp(eq, "high", 4))
		return bad(word, err);
	if (colon && !number(colon + 1, &new.limit))
		return bad(word, err);
	if (colon && new.kind == SN_METRIC_PEERS)
		new.kind = SN_METRIC_LIMIT;
	if (new.kind == SN_METRIC_RISE && new.limit <= 0)
		return bad(word, err);
	if (at == SN_METRICS_MAX) {
		if (conf->n_metrics == SN_METRICS_MAX)
			return sn_err_set(err, -EINVAL,
					  "HealthMetrics: more than %d metrics, of which %zu are built in (NAME=off takes one away)",
					  SN_METRICS_MAX, sizeof(built_in) / sizeof(*built_in));
		at = conf->n_metrics++;
	}
	conf->metric[at] = new;
	return 0;
}

static int take_metrics(struct sn_health_conf *conf, const char *text,
			struct sn_err *err)
{
	char word[SN_POLICY_TEXT_MAX];
	int rc = 0;

	while (!rc) {
		size_t n;

		text += strspn(text, " \t");
		n = strcspn(text, " \t");
		if (!n)
			break;
		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		rc = take_word(conf, word, err);
		text += n;
	}
	return rc;
}

int sn_health_conf_init(const struct sn_policy *policy, struct sn_health_conf *ret,
			struct sn_err *err)
{
	struct sn_health_conf conf = {
		.slow = policy->health_slow / 100.0,
		.score = policy->health_score / 10.0,
		.gross = policy->health_gross / 100.0,
		.domain_slow = policy->health_domain / 100.0,
		.peers = policy->health_peers,
		.window = policy->health_window,
		.settle = policy->health_settle / 1000.0,
		.domain_hold = policy->health_domain_hold,
		.probe_timeout = policy->health_probe_timeout,
		.probe_retry = policy->health_probe_retry,
		.probe_tries = policy->health_probe_tries,
		.hold = policy->health_hold,
		.escalate = policy->health_escalate,
		.escalate_time = policy->health_escalate_time,
		.recover = policy->health_recover,
		.unknown = (enum sn_health_level)policy->health_unknown_code,
		.trust_jobs = policy->health_job_reports,
	};
	int rc;

	memcpy(conf.metric, built_in, sizeof(built_in));
	conf.n_metrics = sizeof(built_in) / sizeof(*built_in);
	rc = take_metrics(&conf, policy->health_metrics, err);
	if (!rc)
		*ret = conf;
	return rc;
}
