/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_why.c - snctl why: why a job pends, and when it would fit.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "snctl/cli.h"
#include "snctl/live.h"
#include "snctl/place.h"
#include "snctl/snctl.h"
#include "snctl/term.h"
#include "snctl/why.h"
#include "topology/text.h"

#define ROWS_SHOWN 40

/* JOBID or JOBID_TASK. */
static int find_job(const struct live *live, const char *text,
		    const struct live_job **ret, struct sn_err *err)
{
	char id[32];
	const char *low = strchr(text, '_');
	uint64_t job, task = 0;
	size_t len = low ? (size_t)(low - text) : strlen(text);

	*ret = NULL;
	if (len >= sizeof(id))
		len = sizeof(id) - 1;
	memcpy(id, text, len);
	id[len] = '\0';
	if (sn_parse_uint(id, 1, UINT32_MAX - 1, &job, NULL) ||
	    (low && sn_parse_uint(low + 1, 0, UINT32_MAX - 1, &task, NULL)))
		return sn_err_set(err, -EINVAL,
				  "\"%.40s\" is not a job id; give a number such as 1234, or 1234_5 for a task of an array",
				  text);
	for (uint32_t j = 0; j < live->n_jobs; j++) {
		const slurm_job_info_t *info = live->job[j].info;

		if (low ? info->array_job_id == job && info->array_task_id == task :
		    info->job_id == job || info->array_job_id == job) {
			*ret = &live->job[j];
			return 0;
		}
	}
	for (uint32_t j = 0; j < live->jobs->record_count; j++)
		if (live->jobs->job_array[j].job_id == job)
			return sn_err_set(err, -ESRCH, "job %.40s has ended", text);
	return sn_err_set(err, -ESRCH, "slurmctld knows no job %.40s", text);
}

static const char *format_time(time_t t, char *buf, size_t size)
{
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(buf, size, "%Y-%m-%dT%H:%M:%S", &tm))
		snprintf(buf, size, "%lld", (long long)t);
	return buf;
}

static char *placed_nodes(const struct live *live, const struct sn_placement *p)
{
	uint32_t *node = calloc(p->n_nodes + 1, sizeof(*node));
	char *text;

	if (!node)
		return NULL;
	for (uint32_t i = 0; i < p->n_nodes; i++)
		node[i] = p->node[i].node;
	text = snctl_hostlist(live->topo, node, p->n_nodes);
	free(node);
	return text;
}

static void print_wish(const struct live *live, const struct why *why)
{
	const slurm_job_info_t *info = why->job->info;
	const struct sn_place_request *r = &why->request;
	char layout[256];

	printf("Job %u%s%s%s ", info->job_id, info->name ? " (" : "",
	       info->name ? info->name : "", info->name ? ")" : "");
	if (!why->known)
		printf("asks for no %s card.\n", live->policy.card_gres);
	else if (why->from_spec)
		printf("wants %u cards: %u atom%s of %u ranks, none of them split over supernodes",
		       r->world, r->world / r->atom,
		       r->world == r->atom ? "" : "s", r->atom);
	else if (r->exact_nodes)
		printf("wants %u card%s on each of %u node%s", r->node_block,
		       r->node_block == 1 ? "" : "s", r->exact_nodes,
		       r->exact_nodes == 1 ? "" : "s");
	else
		printf("wants %u card%s", r->world, r->world == 1 ? "" : "s");
	if (!why->known)
		return;
	if (r->spares)
		printf(", with %u spare node%s in each", r->spares, r->spares == 1 ? "" : "s");
	puts(".");
	if (why->from_spec) {
		sn_layout_format(&why->job->spec.layout, layout, sizeof(layout));
		printf("  --parallel=%s\n", layout);
	}
}

static void print_slurm(const struct why *why)
{
	const slurm_job_info_t *info = why->job->info;
	char when[40];

	printf("Slurm's reason%s%s: %s", why->reason.name ? " " : "",
	       why->reason.name ? why->reason.name : "", why->reason.words);
	if (info->state_reason == WAIT_DEPENDENCY && info->dependency)
		printf(" (%s)", info->dependency);
	if (info->state_reason == WAIT_TIME && info->start_time)
		printf(" (%s)", format_time(info->start_time, when, sizeof(when)));
	if (info->state_desc)
		printf(" [%s]", info->state_desc);
	puts(".");
}

static void print_supernodes(const struct live *live, const struct why *why)
{
	static const char *const head[] = {
		"<SUPERNODE", ">FREE", ">USABLE", ">KEPT SPARE", ">ATOMS", ">SHORT OF THE NEXT", NULL,
	};
	struct table table;

	table_init(&table, head);
	for (uint32_t i = 0; i < why->n_supernodes; i++) {
		const struct why_supernode *w = &why->supernode[i];

		table_add(&table, "%s", live->topo->supernode[w->supernode].name);
		table_add(&table, "%u", w->free);
		table_add(&table, "%u", w->usable);
		table_add(&table, "%u", w->held);
		table_add(&table, "%u", w->atoms);
		table_add(&table, "%u", w->short_by);
	}
	putchar('\n');
	table_print(&table, stdout, ROWS_SHOWN);
	table_done(&table);
}

static void print_pending(const struct live *live, const struct why *why)
{
	char when[40];

	print_wish(live, why);
	print_slurm(why);
	if (!why->known)
		return;
	if (why->fits_now) {
		char *nodes = placed_nodes(live, &why->now);

		printf("Now: it fits, in %u supernode%s on %.200s; %s.\n",
		       why->now.n_supernodes, why->now.n_supernodes == 1 ? "" : "s",
		       nodes ? nodes : "?", why->reason.place ?
		       "it waits for the scheduler or for its turn" :
		       "only the reason above holds it back");
		free(nodes);
		return;
	}
	printf("Now: it does not fit: %s.\n", why->why.text);
	if (!why->fits_ever)
		printf("Later: not even if every running job ended: %s.\n", why->never.text);
	else if (why->fits_at > 1)
		printf("Later: at %s at the latest, when %u of the running jobs have reached their time limits, if nothing else starts before it.\n",
		       format_time(why->fits_at, when, sizeof(when)), why->waits_for);
	else if (why->fits_at)
		puts("Later: as soon as jobs that are completing have gone.");
	else
		puts("Later: when running jobs that have no time limit end.");
	print_supernodes(live, why);
}

static void print_json(const struct live *live, const struct why *why)
{
	printf("{\"job\": %u, \"state\": \"pending\", \"slurm_reason\": ",
	       why->job->info->job_id);
	json_string(stdout, why->reason.name ? why->reason.name : "other");
	fputs(", \"slurm_reason_words\": ", stdout);
	json_string(stdout, why->reason.words);
	if (why->known) {
		printf(", \"cards\": %u, \"atom\": {\"ranks\":%u,\"count\":%u}, \"fits_now\": %s",
		       why->request.world, why->request.atom,
		       why->request.world / why->request.atom,
		       why->fits_now ? "true" : "false");
		if (!why->fits_now) {
			fputs(", \"reason\": ", stdout);
			json_string(stdout, why->why.text);
			printf(", \"fits_when_empty\": %s, \"fits_at\": ",
			       why->fits_ever ? "true" : "false");
			if (why->fits_at)
				printf("%lld", (long long)(why->fits_at > 1 ?
							   why->fits_at : time(NULL)));
			else
				fputs("null", stdout);
		}
		fputs(", \"supernodes\": [", stdout);
		for (uint32_t i = 0; i < why->n_supernodes; i++) {
			const struct why_supernode *w = &why->supernode[i];

			fputs(i ? ",{\"name\":" : "{\"name\":", stdout);
			json_string(stdout, live->topo->supernode[w->supernode].name);
			printf(",\"free\":%u,\"usable\":%u,\"kept_spare\":%u,\"atoms\":%u,\"short\":%u}",
			       w->free, w->usable, w->held, w->atoms, w->short_by);
		}
		fputs("]", stdout);
	}
	fputs("}\n", stdout);
}

static void print_running(const struct live_job *job, bool json)
{
	const slurm_job_info_t *info = job->info;

	if (json) {
		printf("{\"job\": %u, \"state\": \"running\", \"nodes\": ", info->job_id);
		json_string(stdout, info->nodes ? info->nodes : "");
		puts("}");
	} else {
		printf("Job %u does not pend: it holds %u card%s on %s; snctl show jobs and snctl map show more.\n",
		       info->job_id, job->cards, job->cards == 1 ? "" : "s",
		       info->nodes ? info->nodes : "no node");
	}
}

static int why(const char *id, const char *config, bool json, struct sn_err *err)
{
	const struct live_job *job;
	struct live live;
	struct why w;
	int rc = live_load(config, &live, err);

	if (rc)
		return rc;
	rc = find_job(&live, id, &job, err);
	if (!rc && job->running) {
		print_running(job, json);
	} else if (!rc) {
		rc = why_make(&live, job, &w, err);
		if (!rc) {
			(json ? print_json : print_pending)(&live, &w);
			why_done(&w);
		}
	}
	live_done(&live);
	return rc;
}

int cmd_why(int argc, char **argv)
{
	const char *config = NULL, *id = NULL;
	bool json = false;
	const struct cli_opt opts[] = {
		{ "config", "FILE", CLI_STRING, &config, "the topology.conf; by default the one beside slurm.conf", false, 0, 0 },
		{ "json", NULL, CLI_FLAG, &json, "one line of JSON", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.command = "why",
		.usage = "JOBID [--json]",
		.about = "Say why a job pends: Slurm's reason in plain words, whether it could be placed\n"
			 "now, which supernode falls short by how much, and when it would fit by the time\n"
			 "limits of the running jobs.",
		.more = "Exit status: 0 told, 1 there is no such job, 2 bad input.",
		.opts = opts,
		.max_args = 1,
	};
	struct sn_err err;
	uint32_t n_args;
	int rc;

	rc = cli_parse(&cli, argc, argv, &id, &n_args, &err);
	if (rc > 0)
		return SNCTL_DONE;
	if (!rc && !id)
		rc = sn_err_set(&err, -EINVAL, "a job id is needed: snctl why JOBID");
	if (!rc)
		rc = why(id, config, json, &err);
	if (rc == -ESRCH)
		return snctl_fail("why", SNCTL_NO, &err);
	return rc ? snctl_fail("why", SNCTL_USAGE, &err) : SNCTL_DONE;
}
