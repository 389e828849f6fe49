/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probejudge.c - from what was found on a node to what is wrong with it.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "launcher/probe.h"

#define NODE UINT32_MAX

const char *sn_probe_health_word(enum sn_probe_health health)
{
	static const char *const words[] = {
		[SN_PROBE_NOT_TOLD] = "not told", [SN_PROBE_OK] = "ok",
		[SN_PROBE_WARNING] = "warning", [SN_PROBE_ALARM] = "alarm",
		[SN_PROBE_CRITICAL] = "critical", [SN_PROBE_LOST] = "lost",
	};

	return words[health];
}

const char *sn_probe_tool_word(enum sn_probe_tool tool)
{
	static const char *const words[] = {
		[SN_PROBE_TOOL_NONE] = "none", [SN_PROBE_TOOL_OK] = "ok",
		[SN_PROBE_TOOL_FAILED] = "failed",
		[SN_PROBE_TOOL_GARBAGE] = "not understood",
		[SN_PROBE_TOOL_HANGS] = "hangs",
	};

	return words[tool];
}

static void find(struct sn_probe_verdict *v, uint32_t card, const char *code,
		 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static void find(struct sn_probe_verdict *v, uint32_t card, const char *code,
		 const char *fmt, ...)
{
	struct sn_probe_finding *f;
	va_list ap;

	v->n_faults += code != NULL;
	if (v->n_findings == SN_PROBE_FINDINGS)
		return;
	f = &v->finding[v->n_findings++];
	f->card = card;
	f->code = code;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

static void sample(struct sn_probe_verdict *v, uint32_t card,
		   const char *metric, double value)
{
	if (v->n_samples < SN_PROBE_SAMPLES)
		v->sample[v->n_samples++] =
			(struct sn_probe_sample){ card, metric, value };
}

static void sample_count(struct sn_probe_verdict *v, uint32_t card,
			 const char *metric, uint64_t n)
{
	if (n != SN_PROBE_UNKNOWN)
		sample(v, card, metric, (double)n);
}

const struct sn_probe_card *sn_probe_card_of(const struct sn_probe_node *node,
					     uint32_t card)
{
	for (uint32_t i = 0; i < node->facts.n_cards; i++)
		if (node->facts.card[i].number == node->device[card].number)
			return &node->facts.card[i];
	return NULL;
}

static const char *tool_name(const struct sn_probe_node *node)
{
	const char *slash = strrchr(node->tool_path, '/');

	return slash ? slash + 1 : node->tool_path;
}

static void judge_health(const struct sn_probe_node *node, uint32_t c,
			 const struct sn_probe_card *card,
			 struct sn_probe_verdict *v)
{
	const char *said = card->said[0] ? card->said :
		sn_probe_health_word(card->health);

	switch (card->health) {
	case SN_PROBE_LOST:
		find(v, c, "card-lost", "%.40s: %s", tool_name(node), said);
		break;
	case SN_PROBE_CRITICAL:
		find(v, c, "probe-failed", "%.40s: %s", tool_name(node), said);
		break;
	case SN_PROBE_ALARM:
		find(v, c, "sick", "%.40s: %s", tool_name(node), said);
		break;
	case SN_PROBE_WARNING:
		find(v, c, NULL, "%.40s: %s", tool_name(node), said);
		break;
	case SN_PROBE_NOT_TOLD:
	case SN_PROBE_OK:
		break;
	}
}

static void judge_facts(const struct sn_probe_node *node,
			const struct sn_probe_limits *limits, uint32_t c,
			const struct sn_probe_card *card,
			struct sn_probe_verdict *v)
{
	judge_health(node, c, card, v);
	if (card->ecc_fatal && card->ecc_fatal != SN_PROBE_UNKNOWN)
		find(v, c, "ecc-fatal", "%llu uncorrectable memory error%s",
		     (unsigned long long)card->ecc_fatal,
		     card->ecc_fatal == 1 ? "" : "s");
	if (card->links_down)
		find(v, c, "link-down", "%u link%s down", card->links_down,
		     card->links_down == 1 ? " is" : "s are");
	if (card->temperature > SN_PROBE_NO_VALUE) {
		if (limits->temperature &&
		    card->temperature >= limits->temperature)
			find(v, c, "over-temperature", "%.0f degrees, the limit is %u",
			     card->temperature, limits->temperature);
		sample(v, c, "temperature", card->temperature);
	}
	sample_count(v, c, "ecc_errors", card->ecc_fatal);
	sample_count(v, c, "ecc_corrected", card->ecc_corrected);
	sample_count(v, c, "retired_pages", card->retired_pages);
	sample_count(v, c, "row_remaps", card->row_remaps);
	sample_count(v, c, "link_errors", card->link_errors);
	sample_count(v, c, "crc_errors", card->crc_errors);
}

static void judge_card(const struct sn_probe_node *node,
		       const struct sn_probe_limits *limits, uint32_t c,
		       struct sn_probe_verdict *v)
{
	const struct sn_probe_device *device = &node->device[c];
	const struct sn_probe_card *card = sn_probe_card_of(node, c);

	if (device->path[0] && !device->present)
		find(v, c, "card-lost", "%.120s is not there", device->path);
	switch (node->tool) {
	case SN_PROBE_TOOL_HANGS:
		find(v, c, "driver-hang", "driver hangs: %.100s",
		     node->tool_err.text);
		return;
	case SN_PROBE_TOOL_FAILED:
		find(v, c, "probe-failed", "%.140s", node->tool_err.text);
		return;
	case SN_PROBE_TOOL_OK:
		if (card)
			judge_facts(node, limits, c, card, v);
		else
			find(v, c, "card-lost", "%.40s lists no card %u, but %u others",
			     tool_name(node), device->number,
			     node->facts.n_cards);
		return;
	case SN_PROBE_TOOL_NONE:
	case SN_PROBE_TOOL_GARBAGE:
		return;
	}
}

static void judge_node(const struct sn_probe_node *node,
		       const struct sn_probe_limits *limits,
		       struct sn_probe_verdict *v)
{
	if (node->tool == SN_PROBE_TOOL_GARBAGE)
		find(v, NODE, "node-tool", "%.140s", node->tool_err.text);
	/* Without a card to speak of, so that it is told at all. */
	if (!node->n_devices && node->tool == SN_PROBE_TOOL_HANGS)
		find(v, NODE, "node-tool", "driver hangs: %.100s",
		     node->tool_err.text);
	if (limits->memory && node->memory_available != SN_PROBE_UNKNOWN &&
	    node->memory_available < limits->memory)
		find(v, NODE, "node-memory",
		     "%llu MiB of memory are available, %llu are wanted",
		     (unsigned long long)(node->memory_available >> 20),
		     (unsigned long long)(limits->memory >> 20));
	if (node->cpus_online < node->cpus_present)
		find(v, NODE, NULL, "%u of %u CPUs are not online",
		     node->cpus_present - node->cpus_online,
		     node->cpus_present);
	if (node->tool == SN_PROBE_TOOL_OK && node->n_devices &&
	    node->facts.n_cards > node->n_devices)
		find(v, NODE, NULL, "%.40s lists %u cards, Slurm gives out %u",
		     tool_name(node), node->facts.n_cards, node->n_devices);
}

void sn_probe_judge(const struct sn_probe_node *node,
		    const struct sn_probe_limits *limits,
		    struct sn_probe_verdict *ret)
{
	ret->n_findings = ret->n_faults = ret->n_samples = 0;
	judge_node(node, limits, ret);
	for (uint32_t c = 0; c < node->n_devices; c++)
		judge_card(node, limits, c, ret);
}

const struct sn_probe_finding *
sn_probe_fault_of(const struct sn_probe_verdict *verdict, uint32_t card)
{
	for (uint32_t i = 0; i < verdict->n_findings; i++)
		if (verdict->finding[i].card == card && verdict->finding[i].code)
			return &verdict->finding[i];
	return NULL;
}
