/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_records.c - snctl health records: which rank of a job keeps the others waiting,
 * by the arrival times in its records.
 *
 * What is reported are samples of own_time; the engine compares a card's with its
 * peers' in the same supernode. From the job's owner they are a hint, from root or
 * SlurmUser they count.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "elastic/client.h"
#include "launcher/planfiles.h"
#include "launcher/recordread.h"
#include "snctl/cli.h"
#include "snctl/progress.h"
#include "snctl/snctl.h"
#include "snctl/term.h"
#include "topology/healtharrive.h"

#define ASK_MS 10000
#define SLOW 1.1 /* ratio from which a rank is shown */

struct options {
	const char *config;
	uint32_t every, rounds;
	bool report, all, json;
};

struct job {
	const char *dir;
	char records[PATH_MAX + 16];
	struct sn_plan plan;
	struct sn_elastic_where where;
};

static const struct sn_plan_node *place_of(const struct sn_plan *plan,
					   uint32_t rank, uint32_t *ret_card)
{
	if (rank >= plan->layout.world)
		return NULL;
	*ret_card = plan->rank_card[rank];
	return &plan->node[plan->rank_node[rank]];
}

/* ---- print ---------------------------------------------------------------------------- */

static void print_table(const struct options *o, const struct job *job,
			const struct sn_arrivals *got)
{
	static const char *const head[] = {
		">rank", "<node", ">card", ">own_ms", ">median_ms", ">ratio",
		">last", ">of", NULL,
	};
	struct table table;
	uint32_t shown = 0;

	table_init(&table, head);
	for (uint32_t i = 0; i < got->n; i++) {
		const struct sn_arrival *a = &got->arrival[i];
		const struct sn_plan_node *node;
		uint32_t card = 0;

		if (!o->all && a->ratio < SLOW)
			continue;
		node = place_of(&job->plan, a->rank, &card);
		shown++;
		table_add(&table, "%u", a->rank);
		table_add(&table, "%s", node ? node->name : "?");
		table_add(&table, "%u", card);
		table_add(&table, "%.2f", (double)a->own / 1e6);
		table_add(&table, "%.2f", (double)a->median / 1e6);
		table_add(&table, "%.3f", a->ratio);
		table_add(&table, "%u", a->last);
		table_add(&table, "%u", a->ops);
	}
	if (shown)
		table_print(&table, stdout, 0);
	table_done(&table);
	printf("%u of %u ranks keep others waiting (generation %u)\n", shown,
	       got->n, got->gen);
}

static void print_json(const struct job *job, const struct sn_arrivals *got)
{
	printf("{\"generation\":%u,\"round\":%llu,\"ranks\":[", got->gen,
	       (unsigned long long)got->round);
	for (uint32_t i = 0; i < got->n; i++) {
		const struct sn_arrival *a = &got->arrival[i];
		const struct sn_plan_node *node;
		uint32_t card = 0;

		node = place_of(&job->plan, a->rank, &card);
		printf("%s{\"rank\":%u,\"node\":", i ? "," : "", a->rank);
		json_string(stdout, node ? node->name : "");
		printf(",\"card\":%u,\"own_ns\":%llu,\"median_ns\":%llu,\"ratio\":%.4f,\"last\":%u,\"ops\":%u}",
		       card, (unsigned long long)a->own,
		       (unsigned long long)a->median, a->ratio, a->last, a->ops);
	}
	puts("]}");
}

/* ---- report ----------------------------------------------------------------------------- */

static void add_sample(struct json_object *list, const struct sn_arrivals *got,
		       const struct sn_arrival *a, uint32_t card)
{
	struct json_object *s = json_object_new_object();

	json_object_object_add(s, "card", json_object_new_int64(card));
	json_object_object_add(s, "metric", json_object_new_string("own_time"));
	json_object_object_add(s, "value", json_object_new_double(a->ratio));
	json_object_object_add(s, "step", json_object_new_int64((int64_t)got->round));
	json_object_object_add(s, "gen", json_object_new_int64(got->gen));
	json_object_object_add(s, "time", json_object_new_int64(time(NULL)));
	json_object_array_add(list, s);
}

/* One report a node, as a report is of one node. */
static int report_node(const struct job *job, uint32_t n,
		       const struct sn_arrivals *got, struct sn_err *err)
{
	struct json_object *request = json_object_new_object(), *answer;
	struct json_object *samples = json_object_new_array();
	int rc = 0;

	for (uint32_t i = 0; i < got->n; i++) {
		uint32_t card = 0;

		if (place_of(&job->plan, got->arrival[i].rank, &card) ==
		    &job->plan.node[n])
			add_sample(samples, got, &got->arrival[i], card);
	}
	if (!json_object_array_length(samples)) {
		json_object_put(samples);
		json_object_put(request);
		return 0;
	}
	json_object_object_add(request, "op", json_object_new_string("health.report"));
	json_object_object_add(request, "node", json_object_new_string(job->plan.node[n].name));
	json_object_object_add(request, "source", json_object_new_string("records"));
	if (job->plan.job_id)
		json_object_object_add(request, "job", json_object_new_int64(job->plan.job_id));
	json_object_object_add(request, "samples", samples);
	rc = sn_elastic_ask(&job->where, request, ASK_MS, &answer, err);
	json_object_put(request);
	if (!rc)
		json_object_put(answer);
	return rc;
}

/* ---- the whole --------------------------------------------------------------------------- */

static int look(const struct options *o, struct job *job, struct sn_arrive *arrive,
		struct sn_err *err)
{
	struct sn_recordread count = { .at = progress_at };
	struct sn_arrivals got = { 0 };
	struct sn_records rec;
	int rc;

	sn_records_init(&rec);
	progress_begin("reading the records");
	rc = sn_recordread_path(&rec, job->records, 0, &count, err);
	if (!rc)
		rc = sn_arrive_take(arrive, &rec, &got, err);
	progress_end();
	if (!rc && o->json)
		print_json(job, &got);
	else if (!rc)
		print_table(o, job, &got);
	progress_begin("telling snelasticd of the nodes");
	for (uint32_t n = 0; !rc && o->report && n < job->plan.n_nodes; n++) {
		progress_at(n, job->plan.n_nodes);
		rc = report_node(job, n, &got, err);
	}
	progress_end();
	fflush(stdout);
	sn_arrivals_done(&got);
	sn_records_done(&rec);
	return rc;
}

/* A snrun that goes on with other nodes writes another plan. */
static int read_plan(struct job *job, struct sn_err *err)
{
	struct sn_plan plan = { 0 };
	int rc = sn_planfiles_read(job->dir, &plan, err);

	if (rc)
		return rc;
	sn_plan_done(&job->plan);
	job->plan = plan;
	return 0;
}

static int run(const struct options *o, const char *dir, struct sn_err *err)
{
	struct job job = { .dir = dir };
	struct sn_arrive arrive;
	struct sn_policy policy;
	int rc = 0;

	snprintf(job.records, sizeof(job.records), "%s/records", dir);
	if (o->report)
		rc = sn_elastic_find(o->config, &policy, &job.where, err);
	if (rc)
		return rc;
	sn_arrive_init(&arrive);
	for (uint32_t k = 0; ; k++) {
		rc = read_plan(&job, err);
		if (!rc)
			rc = look(o, &job, &arrive, err);
		if (!o->every || (o->rounds && k + 1 >= o->rounds))
			break;
		/* Not yet, or not now: it goes on with the job. */
		if (rc)
			fprintf(stderr, "snctl health records: %s\n", err->text);
		rc = 0;
		sleep(o->every);
	}
	sn_arrive_done(&arrive);
	sn_plan_done(&job.plan);
	return rc;
}

int cmd_health_records(int argc, char **argv)
{
	struct options o = { 0 };
	const struct cli_opt opts[] = {
		{ "report", NULL, CLI_FLAG, &o.report, "tell snelasticd", false, 0, 0 },
		{ "every", "SECONDS", CLI_UINT, &o.every, "again and again", false, 1, 86400 },
		{ "rounds", "N", CLI_UINT, &o.rounds, "with --every: so often; else for ever", false, 1, UINT32_MAX - 1 },
		{ "all", NULL, CLI_FLAG, &o.all, "show all ranks, not only those that keep others waiting", false, 0, 0 },
		{ "config", "FILE", CLI_STRING, &o.config, "the topology.conf; by default the one beside slurm.conf", false, 0, 0 },
		{ "json", NULL, CLI_FLAG, &o.json, "all ranks as JSON, a line for each look", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.command = "health records",
		.usage = "[--report] [--every SECONDS] [DIR]",
		.about = "Say which ranks of a job keep the others waiting, from the records of its collectives:\n"
			 "in a collective the slow rank is the one that arrives last. DIR is the job's directory,\n"
			 "by default $SUPERNODE_JOB_DIR, with layout.json and records/ in it.",
		.opts = opts,
		.max_args = 1,
	};
	const char *args[1] = { getenv("SUPERNODE_JOB_DIR") };
	struct sn_err err;
	uint32_t n_args;
	int rc = cli_parse(&cli, argc, argv, args, &n_args, &err);

	if (rc > 0)
		return SNCTL_DONE;
	if (!rc && (!args[0] || !*args[0]))
		rc = sn_err_set(&err, -EINVAL, "which job? give its directory, or set SUPERNODE_JOB_DIR");
	if (rc)
		return snctl_fail("health records", SNCTL_USAGE, &err);
	rc = run(&o, args[0], &err);
	return rc ? snctl_fail("health records", rc == -EINVAL ? SNCTL_USAGE : SNCTL_NO, &err) :
		SNCTL_DONE;
}
