/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elasticlist.c - what snelasticd knows of the elastic jobs and has decided for them.
 */
#include "config.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "elastic/client.h"
#include "snctl/elasticlist.h"
#include "snctl/progress.h"
#include "snctl/term.h"

#define ASK_MS 20000
#define SHORT_MS 2000 /* where its answer is an extra */

#ifdef HAVE_MUNGE
static int ask(uint32_t job, uint32_t wait_ms, json_object **ret, struct sn_err *err)
{
	json_object *request = json_object_new_object();
	struct sn_elastic_where where;
	struct sn_policy policy;
	int rc = sn_elastic_find(NULL, &policy, &where, err);

	json_object_object_add(request, "op", json_object_new_string("elastic.show"));
	if (job)
		json_object_object_add(request, "job", json_object_new_int64(job));
	progress_begin("asking snelasticd");
	if (!rc)
		rc = sn_elastic_ask(&where, request, wait_ms, ret, err);
	progress_end();
	json_object_put(request);
	return rc;
}
#else
static int ask(uint32_t job, uint32_t wait_ms, json_object **ret, struct sn_err *err)
{
	(void)job, (void)wait_ms, (void)ret;
	return sn_err_set(err, -EHOSTUNREACH, "snctl was built without munge, so it cannot ask snelasticd");
}
#endif

static int64_t number(json_object *o, const char *key)
{
	json_object *at;

	return json_object_object_get_ex(o, key, &at) ? json_object_get_int64(at) : -1;
}

static const char *word(json_object *o, const char *key)
{
	json_object *at;

	return json_object_object_get_ex(o, key, &at) ? json_object_get_string(at) : "";
}

static void age(double seconds, char buf[24])
{
	if (seconds < 0)
		strcpy(buf, "-");
	else if (seconds < 600)
		snprintf(buf, 24, "%.0f s", seconds);
	else if (seconds < 36000)
		snprintf(buf, 24, "%.0f min", seconds / 60);
	else
		snprintf(buf, 24, "%.0f h", seconds / 3600);
}

static json_object *list_of(json_object *o, const char *key)
{
	json_object *list = NULL;

	return json_object_object_get_ex(o, key, &list) &&
		json_object_is_type(list, json_type_array) ? list : NULL;
}

static void add_row(struct table *table, json_object *job)
{
	json_object *decisions = list_of(job, "decisions"), *last, *v;
	const struct passwd *pw = getpwuid((uid_t)number(job, "uid"));
	char when[40] = "", safe[24];
	time_t at;
	struct tm tm;

	last = decisions && json_object_array_length(decisions) ?
		json_object_array_get_idx(decisions, 0) : NULL;
	age(json_object_object_get_ex(job, "since_safe", &v) ? json_object_get_double(v) : -1, safe);
	table_add(table, "%lld", (long long)number(job, "job"));
	if (pw)
		table_add(table, "%.32s", pw->pw_name);
	else
		table_add(table, "%lld", (long long)number(job, "uid"));
	table_add(table, "%s%s", word(job, "state"),
		  json_object_get_boolean(json_object_object_get(job, "off")) ? " (off)" : "");
	table_add(table, "%lld", (long long)number(job, "dp"));
	table_add(table, "%lld/%lld/%lld", (long long)number(job, "min_dp"),
		  (long long)number(job, "want_dp"), (long long)number(job, "max_dp"));
	if (number(job, "generation") >= 0)
		table_add(table, "%lld", (long long)number(job, "generation"));
	else
		table_add(table, "-");
	table_add(table, "%s", safe);
	if (last) {
		at = (time_t)json_object_get_double(json_object_object_get(last, "at"));
		if (localtime_r(&at, &tm))
			strftime(when, sizeof(when), "%m-%d %H:%M:%S ", &tm);
		table_add(table, "%s%s", when, word(last, "text"));
	} else {
		table_add(table, "-");
	}
}

int elasticlist_print(bool json, struct sn_err *err)
{
	static const char *const head[] = { ">JOB", "<USER", "<STATE", ">DP", "<MIN/WANT/MAX",
					    ">GENERATION", ">SAFE-POINT", "<LAST DECISION", NULL };
	json_object *answer, *jobs;
	struct table table;
	size_t n;
	int rc = ask(0, ASK_MS, &answer, err);

	if (rc)
		return rc;
	jobs = list_of(answer, "jobs");
	n = jobs ? json_object_array_length(jobs) : 0;
	if (json) {
		puts(json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN));
	} else if (!n) {
		puts("no elastic job runs");
	} else {
		table_init(&table, head);
		for (size_t i = 0; i < n; i++)
			add_row(&table, json_object_array_get_idx(jobs, i));
		table_print(&table, stdout, 0);
		table_done(&table);
	}
	json_object_put(answer);
	return 0;
}

json_object *elasticlist_decisions(uint32_t job)
{
	json_object *answer, *jobs, *list = NULL;
	struct sn_err err;

	if (ask(job, SHORT_MS, &answer, &err))
		return NULL;
	jobs = list_of(answer, "jobs");
	if (jobs && json_object_array_length(jobs) == 1)
		list = list_of(json_object_array_get_idx(jobs, 0), "decisions");
	if (list && json_object_array_length(list))
		json_object_get(list);
	else
		list = NULL;
	json_object_put(answer);
	return list;
}

void elasticlist_print_decisions(json_object *decisions)
{
	size_t n = decisions ? json_object_array_length(decisions) : 0;

	if (n)
		puts("what snelasticd decided, the latest first:");
	for (size_t i = 0; i < n; i++) {
		json_object *d = json_object_array_get_idx(decisions, i);
		time_t at = (time_t)json_object_get_double(json_object_object_get(d, "at"));
		char when[40] = "";
		struct tm tm;

		if (localtime_r(&at, &tm))
			strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
		printf("  %s  %s (%s)\n", when, word(d, "text"), word(d, "how"));
	}
}
