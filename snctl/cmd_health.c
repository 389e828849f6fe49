/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_health.c - snctl health: tell snelasticd of cards, and ask it about them.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "elastic/client.h"
#include "snctl/cardlist.h"
#include "snctl/cli.h"
#include "snctl/progress.h"
#include "snctl/snctl.h"
#include "snctl/term.h"
#include "topology/text.h"

#define ASK_MS 20000
#define ARGS_MAX 512

struct options {
	const char *config, *code, *text, *source, *why;
	uint32_t job, step, generation;
	bool json;
};

struct cardspec { /* "n003:0-3,5" */
	char node[128];
	uint64_t cards;
};

static int cardspec_parse(const char *text, struct cardspec *ret, struct sn_err *err)
{
	size_t colon;
	int rc = snctl_cards_split(text, &colon, &ret->cards, err);

	if (rc)
		return rc;
	if (!colon || colon >= sizeof(ret->node) || memchr(text, '[', colon))
		return sn_err_set(err, -EINVAL, "\"%.80s\": want one node, as in n003:3", text);
	memcpy(ret->node, text, colon);
	ret->node[colon] = '\0';
	return 0;
}

static struct json_object *new_request(const char *op, const char *node)
{
	struct json_object *r = json_object_new_object();

	if (!r)
		return NULL;
	json_object_object_add(r, "op", json_object_new_string(op));
	if (node)
		json_object_object_add(r, "node", json_object_new_string(node));
	return r;
}

/* The request is freed. */
static int ask(const struct options *o, struct json_object *request, struct json_object **ret,
	       struct sn_err *err)
{
	struct sn_elastic_where where;
	struct sn_policy policy;
	int rc = request ? 0 : sn_err_set(err, -ENOMEM, "no memory");

	if (!rc)
		rc = sn_elastic_find(o->config, &policy, &where, err);
	progress_begin("asking snelasticd");
	if (!rc)
		rc = sn_elastic_ask(&where, request, ASK_MS, ret, err);
	progress_end();
	json_object_put(request);
	return rc;
}

static const char *string_of(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	return json_object_object_get_ex(o, key, &v) && v ? json_object_get_string(v) : "";
}

/* "n003: 3 suspect, 4 healthy" */
static void print_states(const char *node, struct json_object *answer)
{
	struct json_object *cards = json_object_object_get(answer, "cards");
	const char *sep = ": ";

	printf("%s", node);
	json_object_object_foreach(cards, card, state) {
		printf("%s%s %s", sep, card, json_object_get_string(state));
		sep = ", ";
	}
	putchar('\n');
}

/* ---- report --------------------------------------------------------------------------------- */

static int add_sample(const struct options *o, struct json_object *list, uint32_t card,
		      const char *word, struct sn_err *err)
{
	const char *eq = strchr(word, '=');
	struct json_object *s;
	char name[64], *end = NULL;
	double value = eq ? strtod(eq + 1, &end) : 0;

	if (!eq || eq == word || (size_t)(eq - word) >= sizeof(name))
		return sn_err_set(err, -EINVAL, "\"%.80s\": want METRIC=VALUE, such as step_time=1.25", word);
	if (!eq[1] || !end || *end || !isfinite(value) || isspace((unsigned char)eq[1]))
		return sn_err_set(err, -EINVAL, "%.80s: the value is no number", word);
	s = json_object_new_object();
	if (!s)
		return sn_err_set(err, -ENOMEM, "no memory");
	snprintf(name, sizeof(name), "%.*s", (int)(eq - word), word);
	json_object_object_add(s, "card", json_object_new_int64(card));
	json_object_object_add(s, "metric", json_object_new_string(name));
	json_object_object_add(s, "value", json_object_new_double(value));
	json_object_object_add(s, "time", json_object_new_int64(time(NULL)));
	if (o->step != UINT32_MAX)
		json_object_object_add(s, "step", json_object_new_int64(o->step));
	if (o->generation)
		json_object_object_add(s, "gen", json_object_new_int64(o->generation));
	json_object_array_add(list, s);
	return 0;
}

static void add_fault(const struct options *o, struct json_object *list, uint32_t card)
{
	struct json_object *f = json_object_new_object();

	if (!f)
		return;
	json_object_object_add(f, "card", json_object_new_int64(card));
	if (o->code)
		json_object_object_add(f, "code", json_object_new_string(o->code));
	if (o->text)
		json_object_object_add(f, "text", json_object_new_string(o->text));
	json_object_array_add(list, f);
}

static int report(const struct options *o, const char *const *args, uint32_t n,
		  struct sn_err *err)
{
	struct json_object *request, *samples, *faults, *answer;
	struct cardspec spec;
	int rc = cardspec_parse(args[0], &spec, err);

	if (rc)
		return rc;
	request = new_request("health.report", spec.node);
	samples = json_object_new_array();
	faults = json_object_new_array();
	for (uint32_t c = 0; c < 64 && !rc; c++) {
		if (!(spec.cards >> c & 1))
			continue;
		for (uint32_t i = 1; i < n && !rc; i++)
			rc = add_sample(o, samples, c, args[i], err);
		/* Without a measurement the word itself is: this card is sick. */
		if (n == 1 || o->code)
			add_fault(o, faults, c);
	}
	json_object_object_add(request, "samples", samples);
	json_object_object_add(request, "faults", faults);
	json_object_object_add(request, "source", json_object_new_string(o->source ? o->source : "user"));
	if (o->job)
		json_object_object_add(request, "job", json_object_new_int64(o->job));
	if (rc) {
		json_object_put(request);
		return rc;
	}
	rc = ask(o, request, &answer, err);
	if (rc)
		return rc;
	if (o->json)
		puts(json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN));
	else {
		print_states(spec.node, answer);
		if (json_object_get_boolean(json_object_object_get(answer, "hint")))
			printf("taken as a hint: it masks no card by itself\n");
	}
	json_object_put(answer);
	return 0;
}

/* ---- show ------------------------------------------------------------------------------------ */

static void format_time(struct json_object *o, const char *key, char *buf, size_t size)
{
	struct json_object *v = NULL;
	struct tm tm;
	time_t t;

	snprintf(buf, size, "-");
	if (!json_object_object_get_ex(o, key, &v))
		return;
	t = (time_t)json_object_get_int64(v);
	if (localtime_r(&t, &tm))
		strftime(buf, size, "%Y-%m-%d %H:%M:%S", &tm);
}

static void print_domains(struct json_object *list)
{
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *d = json_object_array_get_idx(list, i);
		char since[40];

		format_time(d, "since", since, sizeof(since));
		printf("%s %s is degraded since %s: %s\n", string_of(d, "domain"), string_of(d, "name"),
		       since, string_of(d, "why"));
	}
}

static void print_cards(struct json_object *list, bool all)
{
	static const char *const head[] = { "<node", ">card", "<supernode", "<state", "<since", ">marks", "<why", NULL };
	struct table table;
	char since[40];
	size_t n = list ? json_object_array_length(list) : 0;

	if (!n) {
		printf(all ? "no such cards\n" : "every card that was reported on is healthy\n");
		return;
	}
	table_init(&table, head);
	for (size_t i = 0; i < n; i++) {
		struct json_object *c = json_object_array_get_idx(list, i);
		bool probe = json_object_get_boolean(json_object_object_get(c, "probe_wanted"));
		bool hinted = json_object_get_boolean(json_object_object_get(c, "hinted"));
		struct json_object *force;

		format_time(c, "since", since, sizeof(since));
		table_add(&table, "%s", string_of(c, "node"));
		table_add(&table, "%s", string_of(c, "card"));
		table_add(&table, "%s", string_of(c, "supernode"));
		table_add(&table, "%s%s%s", string_of(c, "state"), hinted ? " (hinted at)" : probe ? " (probe wanted)" : "",
			  json_object_object_get_ex(c, "in_force", &force) && !json_object_get_boolean(force) ?
			  ", NOT IN FORCE" : "");
		table_add(&table, "%s", since);
		table_add(&table, "%s", string_of(c, "marks"));
		table_add(&table, "%s", *string_of(c, "why") ? string_of(c, "why") : "-");
	}
	table_print(&table, stdout, 0);
	table_done(&table);
}

static int show(const struct options *o, const char *nodes, struct sn_err *err)
{
	struct json_object *request = new_request("health.show", NULL), *answer;
	int rc;

	if (request && nodes)
		json_object_object_add(request, "nodes", json_object_new_string(nodes));
	rc = ask(o, request, &answer, err);
	if (rc)
		return rc;
	if (o->json) {
		puts(json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN));
	} else {
		print_cards(json_object_object_get(answer, "cards"), nodes);
		print_domains(json_object_object_get(answer, "domains"));
		if (json_object_get_int64(json_object_object_get(answer, "unwritten")))
			printf("%s nodes' marks are not written yet; snctl events says why\n",
			       string_of(answer, "unwritten"));
	}
	json_object_put(answer);
	return 0;
}

/* ---- status ---------------------------------------------------------------------------------- */

/* Of the daemon itself, whatever it says. */
static int status(const struct options *o, struct sn_err *err)
{
	struct json_object *answer;
	int rc = ask(o, new_request("status", NULL), &answer, err);

	if (rc)
		return rc;
	if (o->json) {
		puts(json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN));
	} else {
		json_object_object_foreach(answer, key, value) {
			if (strcmp(key, "ok"))
				printf("%-12s %s\n", key, json_object_get_string(value));
		}
	}
	json_object_put(answer);
	return 0;
}

/* ---- for operators ---------------------------------------------------------------------------- */

static int operate(const struct options *o, const char *op, const char *where, struct sn_err *err)
{
	struct json_object *request, *cards, *answer;
	struct cardspec spec;
	int rc = cardspec_parse(where, &spec, err);

	if (rc)
		return rc;
	request = new_request(op, spec.node);
	cards = json_object_new_array();
	for (int c = 0; c < 64; c++)
		if (spec.cards >> c & 1)
			json_object_array_add(cards, json_object_new_int(c));
	json_object_object_add(request, "cards", cards);
	if (o->why)
		json_object_object_add(request, "why", json_object_new_string(o->why));
	rc = ask(o, request, &answer, err);
	if (rc)
		return rc;
	if (o->json)
		puts(json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN));
	else
		print_states(spec.node, answer);
	json_object_put(answer);
	return 0;
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static int exit_code(int rc)
{
	return rc == -EINVAL || rc == -EMSGSIZE ? SNCTL_USAGE : SNCTL_NO;
}

static int act(const struct options *o, const char *const *args, uint32_t n, struct sn_err *err)
{
	if (!strcmp(args[0], "show"))
		return n > 2 ? sn_err_set(err, -EINVAL, "show takes one list of nodes, such as n[001-008]") :
			show(o, n == 2 ? args[1] : NULL, err);
	if (!strcmp(args[0], "status"))
		return n > 1 ? sn_err_set(err, -EINVAL, "status takes nothing more") : status(o, err);
	if (n < 2)
		return sn_err_set(err, -EINVAL, "%s: which card? give NODE:CARD, such as n003:3", args[0]);
	if (!strcmp(args[0], "report"))
		return report(o, args + 1, n - 1, err);
	if (n > 2)
		return sn_err_set(err, -EINVAL, "%s takes one NODE:CARDS", args[0]);
	return operate(o, !strcmp(args[0], "release") ? "health.release" : "health.probe", args[1], err);
}

int cmd_health(int argc, char **argv)
{
	static const char *const words[] = { "report", "show", "status", "release", "probe-request" };
	struct options o = { .step = UINT32_MAX };
	const struct cli_opt opts[] = {
		{ "code", "CODE", CLI_STRING, &o.code, "report: the fault's code, as in HealthCodes", false, 0, 0 },
		{ "text", "TEXT", CLI_STRING, &o.text, "report: what the fault is", false, 0, 0 },
		{ "step", "N", CLI_UINT, &o.step, "report: the training step of the measurement", false, 0, UINT32_MAX - 1 },
		{ "generation", "N", CLI_UINT, &o.generation, "report: the job's generation", false, 0, UINT32_MAX - 1 },
		{ "job", "JOBID", CLI_UINT, &o.job, "report: the job on the card; its owner may so give a hint", false, 1, UINT32_MAX - 1 },
		{ "source", "WORD", CLI_STRING, &o.source, "report: who measured; user by default", false, 0, 0 },
		{ "reason", "TEXT", CLI_STRING, &o.why, "release: why", false, 0, 0 },
		{ "config", "FILE", CLI_STRING, &o.config, "the topology.conf; by default the one beside slurm.conf", false, 0, 0 },
		{ "json", NULL, CLI_FLAG, &o.json, "the daemon's answer as JSON", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.command = "health",
		.usage = "report NODE:CARDS [METRIC=VALUE …] | show [NODES] | status | release NODE:CARDS | probe-request NODE:CARDS | probe | records",
		.about = "report tells snelasticd what was measured on cards, or that they are sick; root is\n"
			 "believed on its own node, SlurmUser everywhere, and a job's owner gives a hint. show\n"
			 "lists the cards that are not healthy, status tells of the daemon, release gives\n"
			 "cards back to work, and probe-request has their node probe them. probe looks at the cards of this node,\n"
			 "records at the arrival times of a job's ranks (snctl health probe --help, records --help).",
		.opts = opts,
		.max_args = ARGS_MAX,
	};
	const char *args[ARGS_MAX] = { "show" };
	struct sn_err err;
	uint32_t n_args;
	int rc;

	if (argc > 1 && !strcmp(argv[1], "probe"))
		return cmd_health_probe(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "records"))
		return cmd_health_records(argc - 1, argv + 1);
	rc = cli_parse(&cli, argc, argv, args, &n_args, &err);
	if (rc > 0)
		return SNCTL_DONE;
	if (rc)
		return snctl_fail("health", SNCTL_USAGE, &err);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (n_args && strcmp(args[0], words[i]))
			continue;
		rc = act(&o, args, n_args ? n_args : 1, &err);
		return rc ? snctl_fail("health", exit_code(rc), &err) : SNCTL_DONE;
	}
	sn_err_set(&err, 0, "\"%.60s\": want report, show, status, release, probe-request, probe or records", args[0]);
	return snctl_fail("health", SNCTL_USAGE, &err);
}
