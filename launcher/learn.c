/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * learn.c - what a generation's records teach the next one: timeouts.json, and
 * the variables that snrun exports by it.
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "launcher/recordread.h"
#include "launcher/snrun.h"
#include "launcher/writefile.h"
#include "topology/timeouts.h"

#define FILES 64 /* ranks that are asked: all of them are in the same collectives */
#define TIMEOUTS_JSON "timeouts.json"

/* What this site sets without us. */
static uint32_t preset_of(const struct snrun *run, enum sn_timeout which)
{
	return which == SN_TIMEOUT_HCCL_CONNECT ?
		run->job.policy.hccl_connect_timeout : 0;
}

static void add_int(json_object *to, const char *key, uint64_t value)
{
	json_object_object_add(to, key, json_object_new_int64((int64_t)value));
}

static int write_json(const struct snrun *run, const struct sn_records *rec,
		      const struct sn_usual *usual, const uint32_t *seconds,
		      const bool *is_short, struct sn_err *err)
{
	json_object *root = json_object_new_object(), *suggest = json_object_new_object();
	json_object *shorts = json_object_new_array();
	uint32_t buffsize = sn_buffsize_suggest(usual);
	const char *text;
	int rc;

	add_int(root, "generation", rec->gen);
	add_int(root, "collectives", usual->n_ops);
	add_int(root, "median_ns", usual->middle);
	add_int(root, "usual_ns", usual->exec);
	add_int(root, "connect_ns", usual->connect);
	add_int(root, "largest_message", usual->largest);
	for (int i = 0; i < SN_TIMEOUTS; i++) {
		if (seconds[i])
			add_int(suggest, sn_timeout_ranges[i].name, seconds[i]);
		if (is_short[i])
			json_object_array_add(shorts, json_object_new_string(
						      sn_timeout_ranges[i].name));
	}
	/* Taken twice by each communicator, so it is for the user to decide. */
	if (buffsize)
		add_int(suggest, "HCCL_BUFFSIZE", buffsize);
	json_object_object_add(root, "suggest", suggest);
	json_object_object_add(root, "shorter_than_wanted", shorts);
	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY);
	rc = sn_write_file(run->dir, TIMEOUTS_JSON, text, strlen(text), err);
	json_object_put(root);
	return rc;
}

/* A help, never a hindrance: without records, or with bad ones, nothing is said. */
void snrun_learn(struct snrun *run)
{
	struct sn_recordread count = { 0 };
	bool is_short[SN_TIMEOUTS];
	struct sn_records rec;
	struct sn_usual usual;
	char path[PATH_MAX + 16];
	struct sn_err err;

	snprintf(path, sizeof(path), "%s/records", run->dir);
	if (access(path, R_OK))
		return;
	sn_records_init(&rec);
	if (!sn_recordread_path(&rec, path, FILES, &count, &err) && count.files &&
	    !sn_usual_measure(&rec, &usual, &err)) {
		for (int i = 0; i < SN_TIMEOUTS; i++)
			run->timeout[i] = sn_timeout_suggest((enum sn_timeout)i, &usual,
							     preset_of(run, (enum sn_timeout)i),
							     &is_short[i]);
		if (write_json(run, &rec, &usual, run->timeout, is_short, &err))
			snrun_say("%s", err.text);
	}
	sn_records_done(&rec);
}

/* Does supernode.conf's TaskEnv set it? */
static bool site_sets(const char *words, const char *name)
{
	size_t len = strlen(name);

	while (*words) {
		words += strspn(words, " \t");
		if (!strncmp(words, name, len) && words[len] == '=')
			return true;
		words += strcspn(words, " \t");
	}
	return false;
}

void snrun_add_timeouts(const struct snrun *run, struct sn_words *to)
{
	const struct sn_policy *policy = &run->job.policy;

	for (int i = 0; i < SN_TIMEOUTS; i++) {
		const struct sn_timeout_range *range = &sn_timeout_ranges[i];
		uint32_t preset = preset_of(run, (enum sn_timeout)i);

		if (preset < range->preset)
			preset = range->preset;
		/* The default needs no saying; torch has no variable for its own. */
		if (!run->timeout[i] || (run->timeout[i] == preset && i != SN_TIMEOUT_COMM) ||
		    (i != SN_TIMEOUT_COMM && sn_policy_vendor(policy) != SN_VENDOR_ASCEND) ||
		    getenv(range->name) || site_sets(policy->task_env, range->name))
			continue;
		sn_words_add(to, "%s=%u", range->name, run->timeout[i]);
	}
}
