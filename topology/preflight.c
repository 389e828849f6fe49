/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preflight.c - which nodes of a job are not fit to start on.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/preflight.h"
#include "topology/text.h"

struct judge {
	const struct sn_pf_node *node;
	uint32_t n;
	const struct sn_pf_limits *limits;
	struct sn_pf_faults *out;
	bool failed; /* no memory */
};

static char *copy(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *copy(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return strdup(text);
}

/* Takes over expected and found. */
static void add(struct judge *j, uint32_t node, const char *check, char *expected,
		char *found, const char *about)
{
	struct sn_pf_fault f = { .node = node, .expected = expected, .found = found }, *grown;
	struct sn_buf buf = { 0 };

	sn_buf_add(&buf, "%s: %s: expected %s, found %s", j->node[node].name,
		   about, expected ? expected : "", found ? found : "");
	f.check = strdup(check);
	f.text = buf.text;
	grown = realloc(j->out->fault, (j->out->n + 1) * sizeof(*grown));
	if (grown)
		j->out->fault = grown;
	if (!grown || !f.check || !f.text || !expected || !found) {
		free(f.check);
		free(f.text);
		free(expected);
		free(found);
		j->failed = true;
		return;
	}
	grown[j->out->n++] = f;
}

static void check_present(struct judge *j)
{
	for (uint32_t i = 0; i < j->n; i++)
		if (!j->node[i].present)
			add(j, i, "answer", copy("an answer within %u s", j->node[i].waited),
			    copy("none"), j->node[i].silent ? j->node[i].silent : "start");
}

static void check_own(struct judge *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		const struct sn_pf_node *node = &j->node[i];

		if (node->check)
			add(j, i, node->check, copy("%s", node->expected ? node->expected : ""),
			    copy("%s", node->found ? node->found : ""), node->check);
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static const char *said(const struct sn_pf_node *node, uint32_t v)
{
	return node->version && node->version[v] ? node->version[v] : "";
}

/* What most nodes say; of several the one that the first node of them says. */
static const char *usual(const struct judge *j, uint32_t v, const char **all, uint32_t *ret_n)
{
	uint32_t n = 0, most = 0;
	const char *best = "";

	for (uint32_t i = 0; i < j->n; i++)
		if (j->node[i].present)
			all[n++] = said(&j->node[i], v);
	qsort(all, n, sizeof(*all), by_text);
	for (uint32_t i = 0, k; i < n; i += k) {
		for (k = 1; i + k < n && !strcmp(all[i + k], all[i]);)
			k++;
		if (k > most) {
			most = k;
			best = all[i];
		}
	}
	*ret_n = most;
	for (uint32_t i = 0; i < j->n && most * 2 == n; i++)
		if (j->node[i].present) {
			const char *first = said(&j->node[i], v);
			uint32_t k = 0;

			for (uint32_t m = 0; m < n; m++)
				k += !strcmp(all[m], first);
			return k == most ? first : best;
		}
	return best;
}

static void check_versions(struct judge *j)
{
	const char **all = malloc((j->n + 1) * sizeof(*all));

	j->failed |= !all;
	for (uint32_t v = 0; all && v < j->limits->n_versions; v++) {
		uint32_t most;
		const char *want = usual(j, v, all, &most);
		char about[256];

		snprintf(about, sizeof(about), "the version by \"%s\"", j->limits->version[v]);
		for (uint32_t i = 0; i < j->n; i++) {
			const char *has = said(&j->node[i], v);

			if (!j->node[i].present || !strcmp(has, want))
				continue;
			add(j, i, "version",
			    copy("\"%s\" as on %u other node%s", want, most, most == 1 ? "" : "s"),
			    copy("\"%s\"", has), about);
		}
	}
	free(all);
}

static int by_signed(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void check_clocks(struct judge *j)
{
	int64_t *clock = malloc((j->n + 1) * sizeof(*clock)), middle;
	uint32_t n = 0;

	j->failed |= !clock;
	for (uint32_t i = 0; clock && i < j->n; i++)
		if (j->node[i].present && j->node[i].has_clock)
			clock[n++] = j->node[i].clock;
	if (n && j->limits->clock) {
		qsort(clock, n, sizeof(*clock), by_signed);
		/* Of two the lower one would be as good; between them is better. */
		middle = n % 2 ? clock[n / 2] :
			clock[n / 2 - 1] + (clock[n / 2] - clock[n / 2 - 1]) / 2;
		for (uint32_t i = 0; i < j->n; i++) {
			const struct sn_pf_node *node = &j->node[i];
			int64_t off = node->clock - middle;
			uint64_t much = off < 0 ? -(uint64_t)off : (uint64_t)off;

			if (!node->present || !node->has_clock ||
			    much <= j->limits->clock || much - j->limits->clock <= node->clock_error)
				continue;
			add(j, i, "clock", copy("at most %.3f s from the others",
						(double)j->limits->clock / 1e9),
			    copy("%.3f s %s", (double)much / 1e9, off < 0 ? "behind" : "ahead"),
			    "the clock");
		}
	}
	free(clock);
}

static void check_memory(struct judge *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		char want[32], has[32];

		if (!j->node[i].present || j->node[i].memory >= j->limits->memory)
			continue;
		sn_format_size(j->limits->memory, want, sizeof(want));
		sn_format_size(j->node[i].memory >> 20 << 20, has, sizeof(has));
		add(j, i, "memory", copy("at least %s available", want), copy("%s", has),
		    "memory");
	}
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The better of a node's two links; links are those of the nodes that have one,
 * in a ring. */
static uint64_t better(const uint64_t *link, uint32_t n, uint32_t i, bool high)
{
	uint64_t own = link[i], before = link[(i + n - 1) % n];

	return (own > before) == high ? own : before;
}

static void put_rate(char *buf, size_t size, uint64_t rate)
{
	snprintf(buf, size, "%.1f MB/s", (double)rate / 1e6);
}

static void check_links(struct judge *j)
{
	uint64_t *latency = malloc((j->n + 1) * sizeof(*latency));
	uint64_t *rate = malloc((j->n + 1) * sizeof(*rate));
	uint64_t *sorted = malloc((j->n + 1) * sizeof(*sorted));
	uint32_t *who = malloc((j->n + 1) * sizeof(*who)), n = 0;

	j->failed |= !latency || !rate || !sorted || !who;
	for (uint32_t i = 0; !j->failed && i < j->n; i++)
		if (j->node[i].present && j->node[i].has_link) {
			latency[n] = j->node[i].latency;
			rate[n] = j->node[i].bandwidth;
			who[n++] = i;
		}
	if (n) {
		memcpy(sorted, latency, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), by_size);
		j->out->latency = sorted[(n - 1) / 2];
		memcpy(sorted, rate, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), by_size);
		j->out->bandwidth = sorted[n / 2];
	}
	/* Of two nodes nobody can say which is the slow one. */
	for (uint32_t k = 0; n > 2 && j->limits->slow && k < n; k++) {
		uint64_t l = better(latency, n, k, false), r = better(rate, n, k, true);
		char want[64], has[64];

		if (l > j->out->latency * j->limits->slow && l > SN_PF_LATENCY_MIN)
			add(j, who[k], "latency",
			    copy("a round trip below %u times the median, %.3f ms",
				 j->limits->slow, (double)j->out->latency / 1e6),
			    copy("%.3f ms", (double)l / 1e6), "the network's latency");
		if (r < j->out->bandwidth / j->limits->slow) {
			put_rate(want, sizeof(want), j->out->bandwidth);
			put_rate(has, sizeof(has), r);
			add(j, who[k], "bandwidth",
			    copy("at least a %uth of the median, %s", j->limits->slow, want),
			    copy("%s", has), "the network's bandwidth");
		}
	}
	free(latency);
	free(rate);
	free(sorted);
	free(who);
}

static int by_node(const void *a, const void *b)
{
	const struct sn_pf_fault *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return strcmp(x->text, y->text);
}

int sn_preflight_judge(const struct sn_pf_node *node, uint32_t n,
		       const struct sn_pf_limits *limits,
		       struct sn_pf_faults *ret, struct sn_err *err)
{
	struct judge j = { node, n, limits, ret, false };

	memset(ret, 0, sizeof(*ret));
	check_present(&j);
	check_own(&j);
	check_versions(&j);
	check_clocks(&j);
	check_memory(&j);
	check_links(&j);
	if (j.failed) {
		sn_pf_faults_done(ret);
		return sn_err_set(err, -ENOMEM, "no memory to judge %u nodes", n);
	}
	if (ret->n)
		qsort(ret->fault, ret->n, sizeof(*ret->fault), by_node);
	return 0;
}

void sn_pf_faults_done(struct sn_pf_faults *faults)
{
	for (uint32_t i = 0; i < faults->n; i++) {
		free(faults->fault[i].check);
		free(faults->fault[i].expected);
		free(faults->fault[i].found);
		free(faults->fault[i].text);
	}
	free(faults->fault);
	memset(faults, 0, sizeof(*faults));
}
