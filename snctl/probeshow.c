/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probeshow.c - print what a probe found.
 */
#include "config.h"

#include <string.h>

#include <json-c/json.h>

#include "snctl/probeshow.h"
#include "snctl/term.h"
#include "topology/text.h"

static const char *const head[] = {
	"<card", "<device", "<health", ">temp", ">watt", ">memory", ">of", ">ecc",
	">corrected", "<link", ">numa", ">processes", NULL,
};

static void add_count(struct table *t, uint64_t n)
{
	if (n == SN_PROBE_UNKNOWN)
		table_add(t, "-");
	else
		table_add(t, "%llu", (unsigned long long)n);
}

static void add_size(struct table *t, uint64_t bytes)
{
	if (bytes == SN_PROBE_UNKNOWN)
		table_add(t, "-");
	else
		table_add(t, "%lluM", (unsigned long long)(bytes >> 20));
}

static void add_value(struct table *t, double v)
{
	if (v <= SN_PROBE_NO_VALUE)
		table_add(t, "-");
	else
		table_add(t, "%.0f", v);
}

static uint32_t processes_of(const struct sn_probe_facts *facts, uint32_t number)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < facts->n_processes; i++)
		n += facts->process[i].number == number;
	return n;
}

static void add_card(struct table *t, const struct sn_probe_node *node, uint32_t c)
{
	static const struct sn_probe_card none = {
		.temperature = SN_PROBE_NO_VALUE, .power = SN_PROBE_NO_VALUE,
		.memory_used = SN_PROBE_UNKNOWN, .memory_total = SN_PROBE_UNKNOWN,
		.ecc_fatal = SN_PROBE_UNKNOWN, .ecc_corrected = SN_PROBE_UNKNOWN,
		.numa = -1,
	};
	const struct sn_probe_card *card = sn_probe_card_of(node, c);

	if (!card)
		card = &none;
	table_add(t, "%u", c);
	table_add(t, "%s%s", node->device[c].path[0] ? node->device[c].path : "-",
		  node->device[c].path[0] && !node->device[c].present ? " (lost)" : "");
	table_add(t, "%s", sn_probe_health_word(card->health));
	add_value(t, card->temperature);
	add_value(t, card->power);
	add_size(t, card->memory_used);
	add_size(t, card->memory_total);
	add_count(t, card->ecc_fatal);
	add_count(t, card->ecc_corrected);
	table_add(t, "%s", !card->links_told ? "-" : card->links_down ? "down" : "ok");
	if (card->numa < 0)
		table_add(t, "-");
	else
		table_add(t, "%d", card->numa);
	table_add(t, "%u", processes_of(&node->facts, card->number));
}

void probe_print(const struct sn_probe_node *node,
		 const struct sn_probe_verdict *verdict, FILE *f)
{
	struct table table;

	fprintf(f, "%s: %u card%s, %u fault%s; %s%s%s\n", node->name,
		node->n_devices, node->n_devices == 1 ? "" : "s",
		verdict->n_faults, verdict->n_faults == 1 ? "" : "s",
		node->tool_path[0] ? node->tool_path : "no tool",
		node->tool_path[0] ? ": " : "",
		node->tool_path[0] ? sn_probe_tool_word(node->tool) : "");
	if (node->n_devices) {
		table_init(&table, head);
		for (uint32_t c = 0; c < node->n_devices; c++)
			add_card(&table, node, c);
		table_print(&table, f, 0);
		table_done(&table);
	}
	for (uint32_t i = 0; i < verdict->n_findings; i++) {
		const struct sn_probe_finding *v = &verdict->finding[i];

		if (v->card == UINT32_MAX)
			fputs("node: ", f);
		else
			fprintf(f, "card %u: ", v->card);
		fprintf(f, "%s%s%s\n", v->code ? v->code : "", v->code ? ": " : "",
			v->text);
	}
}

/* ---- JSON ---------------------------------------------------------------------------- */

static void put_count(struct json_object *o, const char *key, uint64_t n)
{
	if (n != SN_PROBE_UNKNOWN)
		json_object_object_add(o, key, json_object_new_int64((int64_t)n));
}

static void put_text(struct json_object *o, const char *key, const char *text)
{
	if (text[0])
		json_object_object_add(o, key, json_object_new_string(text));
}

static void put_value(struct json_object *o, const char *key, double v)
{
	char text[32];

	if (v <= SN_PROBE_NO_VALUE)
		return;
	snprintf(text, sizeof(text), "%.6g", v);
	json_object_object_add(o, key, json_object_new_double_s(v, text));
}

static void put_facts(struct json_object *o, const struct sn_probe_facts *facts,
		      const struct sn_probe_card *card)
{
	struct json_object *list = json_object_new_array();

	put_text(o, "health", sn_probe_health_word(card->health));
	put_text(o, "said", card->said);
	put_text(o, "bus", card->bus);
	put_value(o, "temperature", card->temperature);
	put_value(o, "power", card->power);
	put_count(o, "memory_used", card->memory_used);
	put_count(o, "memory_total", card->memory_total);
	put_count(o, "ecc_fatal", card->ecc_fatal);
	put_count(o, "ecc_corrected", card->ecc_corrected);
	put_count(o, "retired_pages", card->retired_pages);
	put_count(o, "row_remaps", card->row_remaps);
	put_count(o, "link_errors", card->link_errors);
	put_count(o, "crc_errors", card->crc_errors);
	if (card->links_told)
		put_count(o, "links_down", card->links_down);
	if (card->numa >= 0)
		json_object_object_add(o, "numa", json_object_new_int(card->numa));
	for (uint32_t i = 0; i < facts->n_processes; i++) {
		const struct sn_probe_process *p = &facts->process[i];
		struct json_object *one;

		if (p->number != card->number)
			continue;
		one = json_object_new_object();
		put_count(one, "pid", p->pid);
		put_text(one, "name", p->name);
		put_count(one, "memory", p->memory);
		json_object_array_add(list, one);
	}
	json_object_object_add(o, "processes", list);
}

static struct json_object *cards_of(const struct sn_probe_node *node)
{
	struct json_object *list = json_object_new_array(), *o;

	for (uint32_t c = 0; c < node->n_devices; c++) {
		const struct sn_probe_card *card = sn_probe_card_of(node, c);

		o = json_object_new_object();
		put_count(o, "card", c);
		put_text(o, "device", node->device[c].path);
		json_object_object_add(o, "present",
				       json_object_new_boolean(node->device[c].present));
		if (card)
			put_facts(o, &node->facts, card);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *findings_of(const struct sn_probe_verdict *verdict)
{
	struct json_object *list = json_object_new_array(), *o;

	for (uint32_t i = 0; i < verdict->n_findings; i++) {
		const struct sn_probe_finding *v = &verdict->finding[i];

		o = json_object_new_object();
		if (v->card != UINT32_MAX)
			put_count(o, "card", v->card);
		if (v->code)
			put_text(o, "code", v->code);
		put_text(o, "text", v->text);
		json_object_array_add(list, o);
	}
	return list;
}

void probe_json(const struct sn_probe_node *node,
		const struct sn_probe_verdict *verdict, const int *told, FILE *f)
{
	struct json_object *o = json_object_new_object();
	struct json_object *tool = json_object_new_object();

	put_text(o, "node", node->name);
	json_object_object_add(o, "healthy", json_object_new_boolean(!verdict->n_faults));
	if (told)
		json_object_object_add(o, "reported", json_object_new_boolean(!*told));
	put_text(tool, "path", node->tool_path);
	put_text(tool, "state", sn_probe_tool_word(node->tool));
	put_text(tool, "version", node->facts.version);
	json_object_object_add(o, "tool", tool);
	json_object_object_add(o, "cards", cards_of(node));
	put_count(o, "memory_available", node->memory_available);
	put_count(o, "cpus_present", node->cpus_present);
	put_count(o, "cpus_online", node->cpus_online);
	put_count(o, "numa_nodes", node->numa_nodes);
	json_object_object_add(o, "findings", findings_of(verdict));
	fprintf(f, "%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
						      JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}
