/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_why.c - snctl why: why a job pends, and when it would fit.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snctl/cli.h"
#include "snctl/live.h"
#include "snctl/progress.h"
#include "snctl/snctl.h"
#include "snctl/term.h"
#include "snctl/why.h"
#include "topology/text.h"

/* 1234, 1234_5 (a task of an array), 1234+1 (a component of a het job) */
struct job_id {
	uint32_t job, task, component;
	bool has_task, has_component;
};

static int parse_id(const char *text, struct job_id *ret, struct sn_err *err)
{
	size_t len = strcspn(text, "_+");
	char id[32];
	uint64_t job, part = 0;
	char mark = text[len];

	memset(ret, 0, sizeof(*ret));
	if (len >= sizeof(id))
		len = sizeof(id) - 1;
	memcpy(id, text, len);
	id[len] = '\0';
	if (sn_parse_uint(id, 1, UINT32_MAX - 1, &job, NULL) ||
	    (mark && sn_parse_uint(text + len + 1, 0, UINT32_MAX - 2, &part, NULL)))
		return sn_err_set(err, -EINVAL,
				  "\"%.40s\" is not a job id; give a number such as 1234, or 1234_5 for a task of an array, or 1234+1 for a component of a heterogeneous job",
				  text);
	ret->job = (uint32_t)job;
	ret->has_task = mark == '_';
	ret->has_component = mark == '+';
	if (ret->has_task)
		ret->task = (uint32_t)part;
	else
		ret->component = (uint32_t)part;
	return 0;
}

/* Is the task among those, "1-5,9,20-30:2%4", that have no record yet? */
static bool is_waiting(const char *list, uint32_t task)
{
	while (list && *list && *list != '%') {
		char *end;
		unsigned long low = strtoul(list, &end, 10), high = low, step = 1;

		if (*end == '-')
			high = strtoul(end + 1, &end, 10);
		if (*end == ':')
			step = strtoul(end + 1, &end, 10);
		if (task >= low && task <= high && step && (task - low) % step == 0)
			return true;
		if (end == list || *end != ',')
			return false;
		list = end + 1;
	}
	return false;
}

static bool is_meant(const slurm_job_info_t *info, const struct job_id *id)
{
	if (id->has_task)
		return info->array_job_id == id->job &&
			(info->array_task_id == id->task ||
			 (info->array_task_id == NO_VAL &&
			  is_waiting(info->array_task_str, id->task)));
	if (id->has_component)
		return info->het_job_id == id->job && info->het_job_offset == id->component;
	return info->job_id == id->job || info->array_job_id == id->job ||
		info->het_job_id == id->job;
}

/* Of an array the first that pends, else the first that runs. */
static int find_job(const struct live *live, const char *text,
		    const struct job_id *id, const struct live_job **ret,
		    struct sn_err *err)
{
	*ret = NULL;
	for (uint32_t j = 0; j < live->n_jobs; j++) {
		const struct live_job *job = &live->job[j];

		if (is_meant(job->info, id) && (!*ret || ((*ret)->running && !job->running)))
			*ret = job;
	}
	if (*ret)
		return 0;
	for (uint32_t j = 0; j < live->jobs->record_count; j++)
		if (is_meant(&live->jobs->job_array[j], id))
			return sn_err_set(err, -ESRCH, "job %.40s has ended", text);
	return sn_err_set(err, -ESRCH, "slurmctld knows no job %.40s", text);
}

static void print_running(const struct live_job *job, bool json)
{
	const slurm_job_info_t *info = job->info;

	if (json) {
		printf("{\"job\": %u, \"state\": \"running\", \"nodes\": ", info->job_id);
		json_string(stdout, info->nodes ? info->nodes : "");
		fputs("}", stdout);
	} else {
		printf("Job %u does not pend: it holds %u card%s on %s; snctl show jobs and snctl map show more.\n",
		       info->job_id, job->cards, job->cards == 1 ? "" : "s",
		       info->nodes ? info->nodes : "no node");
	}
}

static int tell(struct live *live, const struct why_extra *extra,
		const struct live_job *job, bool json, bool *ret_fits,
		struct sn_err *err)
{
	struct why w;
	int rc;

	*ret_fits = true;
	if (job->running) {
		print_running(job, json);
		return 0;
	}
	progress_begin("trying what would fit, and when");
	rc = why_make(live, extra, job, &w, err);
	progress_end();
	if (rc)
		return rc;
	(json ? why_json : why_print)(live, &w);
	*ret_fits = w.fits_now;
	why_done(&w);
	return 0;
}

/* Beside one another, each in what the ones before it leave. */
static bool fit_together(struct live *live, const struct why_extra *extra, uint32_t id)
{
	bool all = true;

	progress_begin("trying whether all fit together");
	for (uint32_t j = 0; all && j < live->n_jobs; j++) {
		const struct live_job *job = &live->job[j];
		struct why w;

		if (job->info->het_job_id != id || job->running)
			continue;
		all = !why_make(live, extra, job, &w, NULL);
		if (!all)
			break;
		all = w.found;
		why_occupy(live, &w);
		why_done(&w);
	}
	progress_end();
	return all;
}

/* All components of a heterogeneous job start at once or not at all. */
static int tell_all(struct live *live, const struct why_extra *extra, uint32_t id,
		    bool json, struct sn_err *err)
{
	bool all = true, first = true, one;
	int rc = 0;

	if (json)
		printf("{\"het_job\": %u, \"components\": [", id);
	for (uint32_t j = 0; !rc && j < live->n_jobs; j++) {
		if (live->job[j].info->het_job_id != id)
			continue;
		if (!first)
			fputs(json ? "," : "\n", stdout);
		first = false;
		rc = tell(live, extra, &live->job[j], json, &one, err);
		all = all && one;
	}
	if (rc)
		return rc;
	all = all && fit_together(live, extra, id);
	if (json)
		printf("], \"fits_now\": %s}", all ? "true" : "false");
	else
		printf("\nAll components together: they %s now; they start at once or not at all.\n",
		       all ? "fit" : "do not fit");
	return 0;
}

static int why(const char *text, const char *config, bool json, struct sn_err *err)
{
	const struct live_job *job;
	struct why_extra extra;
	struct job_id id;
	struct live live;
	bool fits;
	int rc = parse_id(text, &id, err);

	if (!rc)
		rc = live_load(config, &live, err);
	if (rc)
		return rc;
	why_extra_load(&extra);
	rc = find_job(&live, text, &id, &job, err);
	if (!rc && !id.has_component && job->info->het_job_id == id.job && !job->running)
		rc = tell_all(&live, &extra, id.job, json, err);
	else if (!rc)
		rc = tell(&live, &extra, job, json, &fits, err);
	if (!rc && json)
		putchar('\n');
	why_extra_done(&extra);
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
			 "now, which supernode lacks what, how large a job would fit, and when this one\n"
			 "would by the time limits of the running jobs. JOBID is 1234, 1234_5 (a task of\n"
			 "an array) or 1234+1 (a component of a heterogeneous job).",
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
