/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_events.c - snctl events: what snelasticd has seen and done.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "elastic/client.h"
#include "snctl/cli.h"
#include "snctl/progress.h"
#include "snctl/snctl.h"
#include "snctl/term.h"

#define ASK_MS 20000
#define KINDS "health, elastic, refused, operator, pool, slurm, job, daemon"

struct options {
	const char *config, *kind, *node;
	uint32_t limit;
	bool follow, json;
};

static const char *string_of(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	return json_object_object_get_ex(o, key, &v) && v ? json_object_get_string(v) : "";
}

static void print_event(struct json_object *e)
{
	struct json_object *v = NULL;
	time_t at = (time_t)json_object_get_double(json_object_object_get(e, "at"));
	char when[40] = "", where[160] = "";
	struct tm tm;

	if (localtime_r(&at, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	if (json_object_object_get_ex(e, "card", &v))
		snprintf(where, sizeof(where), "%.120s:%d", string_of(e, "node"), json_object_get_int(v));
	else
		snprintf(where, sizeof(where), "%.120s", string_of(e, "node"));
	printf("%s  %-8s  %-12s  %s", when, string_of(e, "kind"), *where ? where : "-", string_of(e, "text"));
	if (json_object_object_get_ex(e, "job", &v))
		printf(" (job %d)", json_object_get_int(v));
	putchar('\n');
}

static void print_events(struct json_object *answer, bool json)
{
	struct json_object *list = NULL;
	size_t n = json_object_object_get_ex(answer, "events", &list) &&
		json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

	if (json_object_object_get_ex(answer, "missed", NULL))
		fprintf(stderr, "snctl events: %s events were missed, as there were too many\n",
			string_of(answer, "missed"));
	for (size_t i = 0; i < n; i++) {
		struct json_object *e = json_object_array_get_idx(list, i);

		if (json)
			puts(json_object_to_json_string_ext(e, JSON_C_TO_STRING_PLAIN));
		else
			print_event(e);
	}
	fflush(stdout);
}

static struct json_object *make_request(const struct options *o)
{
	struct json_object *r = json_object_new_object();

	if (!r)
		return NULL;
	json_object_object_add(r, "op", json_object_new_string("events"));
	json_object_object_add(r, "limit", json_object_new_int64(o->limit));
	if (o->kind)
		json_object_object_add(r, "kind", json_object_new_string(o->kind));
	if (o->node)
		json_object_object_add(r, "node", json_object_new_string(o->node));
	if (o->follow)
		json_object_object_add(r, "follow", json_object_new_boolean(1));
	return r;
}

/* Until it is interrupted, its reader has gone, or the daemon has. */
static int follow(const struct options *o, const struct sn_elastic_where *where,
		  struct json_object *request, struct sn_err *err)
{
	struct sn_elastic_conn *conn;
	struct json_object *answer;
	int rc = sn_elastic_open(where, request, ASK_MS, &conn, &answer, err);

	if (rc)
		return rc;
	while (!rc) {
		print_events(answer, o->json);
		json_object_put(answer);
		rc = ferror(stdout) ? -EPIPE : sn_elastic_next(conn, 0, &answer, err);
	}
	sn_elastic_close(conn);
	return rc == -EPIPE ? 0 : rc;
}

/* One that is mistyped would show that nothing has happened. */
static bool is_kind(const char *word)
{
	size_t len = strlen(word);

	for (const char *p = KINDS; *p; p += strcspn(p, " "), p += strspn(p, " "))
		if (strcspn(p, ",") == len && !strncmp(p, word, len))
			return true;
	return false;
}

static int act(const struct options *o, struct sn_err *err)
{
	struct sn_elastic_where where;
	struct sn_policy policy;
	struct json_object *request, *answer;
	int rc = sn_elastic_find(o->config, &policy, &where, err);

	if (rc)
		return rc;
	request = make_request(o);
	if (!request)
		return sn_err_set(err, -ENOMEM, "no memory");
	if (o->follow) {
		rc = follow(o, &where, request, err);
	} else {
		progress_begin("asking snelasticd");
		rc = sn_elastic_ask(&where, request, ASK_MS, &answer, err);
		progress_end();
		if (!rc) {
			print_events(answer, o->json);
			json_object_put(answer);
		}
	}
	json_object_put(request);
	return rc;
}

int cmd_events(int argc, char **argv)
{
	struct options o = { .limit = 100 };
	const struct cli_opt opts[] = {
		{ "follow", NULL, CLI_FLAG, &o.follow, "go on as more happens (-f)", false, 0, 0 },
		{ "limit", "N", CLI_UINT, &o.limit, "the latest so many [100]", false, 1, 10000 },
		{ "kind", "KIND", CLI_STRING, &o.kind, "only those: " KINDS, false, 0, 0 },
		{ "node", "NAME", CLI_STRING, &o.node, "only of that node, or of that supernode or unit", false, 0, 0 },
		{ "config", "FILE", CLI_STRING, &o.config, "the topology.conf; by default the one beside slurm.conf", false, 0, 0 },
		{ "json", NULL, CLI_FLAG, &o.json, "a line of JSON for each", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.command = "events",
		.usage = "[-f] [OPTIONS]",
		.about = "What snelasticd has seen and done: cards that were masked and why, reports that\n"
			 "were refused, what operators did.",
		.opts = opts,
	};
	const char *args[1] = { NULL };
	struct sn_err err;
	uint32_t n_args;
	int rc;

	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "-f"))
			argv[i] = "--follow";
	rc = cli_parse(&cli, argc, argv, args, &n_args, &err);
	if (rc > 0)
		return SNCTL_DONE;
	if (rc)
		return snctl_fail("events", SNCTL_USAGE, &err);
	if (o.kind && !is_kind(o.kind)) {
		sn_err_set(&err, 0, "--kind=%.40s is none of " KINDS, o.kind);
		return snctl_fail("events", SNCTL_USAGE, &err);
	}
	rc = act(&o, &err);
	return rc ? snctl_fail("events", rc == -EINVAL ? SNCTL_USAGE : SNCTL_NO, &err) : SNCTL_DONE;
}
