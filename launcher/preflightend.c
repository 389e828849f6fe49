/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preflightend.c - what came of the preflight: sentences, and preflight.json.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <json-c/json.h>

#include "launcher/preflightrun.h"
#include "launcher/writefile.h"

int sn_pf_init(struct pf *pf, struct sn_err *err)
{
	uint32_t n = pf->plan->n_nodes;

	pf->commands = strdup(pf->ask->policy->preflight_versions);
	pf->node = calloc((size_t)n + 1, sizeof(*pf->node));
	if (!pf->commands || !pf->node)
		return sn_err_set(err, -ENOMEM, "no memory");
	pf->n_versions = sn_preflight_commands(pf->commands, pf->version);
	for (uint32_t i = 0; i < n; i++) {
		pf->node[i].is.name = pf->plan->node[i].name;
		pf->node[i].is.version = calloc(pf->n_versions + 1, sizeof(char *));
		if (!pf->node[i].is.version)
			return sn_err_set(err, -ENOMEM, "no memory");
	}
	return 0;
}

void sn_pf_done(struct pf *pf)
{
	for (uint32_t i = 0; pf->node && i < pf->plan->n_nodes; i++) {
		struct sn_pf_node *is = &pf->node[i].is;

		for (uint32_t v = 0; is->version && v < pf->n_versions; v++)
			free(is->version[v]);
		free(is->version);
		free(is->check);
		free(is->expected);
		free(is->found);
	}
	free(pf->node);
	free(pf->commands);
	sn_buf_done(&pf->order);
}

static void add_int(json_object *to, const char *key, int64_t value)
{
	json_object_object_add(to, key, json_object_new_int64(value));
}

static json_object *node_json(const struct pf *pf, const struct sn_pf_node *is)
{
	json_object *o = json_object_new_object(), *list;

	json_object_object_add(o, "answered", json_object_new_boolean(is->present));
	if (is->has_clock) {
		add_int(o, "clock_ns", is->clock);
		add_int(o, "clock_error_ns", (int64_t)is->clock_error);
	}
	if (is->present)
		add_int(o, "memory", (int64_t)is->memory);
	if (is->has_link) {
		add_int(o, "latency_ns", (int64_t)is->latency);
		add_int(o, "bandwidth", (int64_t)is->bandwidth);
	}
	list = json_object_new_array();
	for (uint32_t v = 0; v < pf->n_versions; v++)
		json_object_array_add(list, is->version[v] ?
				      json_object_new_string(is->version[v]) : NULL);
	json_object_object_add(o, "versions", list);
	return o;
}

static int write_json(const struct pf *pf, const struct sn_pf_faults *faults,
		      const char *dir, struct sn_err *err)
{
	json_object *root = json_object_new_object(), *nodes = json_object_new_object();
	json_object *bad = json_object_new_array(), *versions = json_object_new_array();
	struct timespec now;
	const char *text;
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &now);
	add_int(root, "job", pf->plan->job_id);
	add_int(root, "generation", pf->plan->generation);
	json_object_object_add(root, "passed", json_object_new_boolean(!faults->n));
	add_int(root, "milliseconds", (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - pf->begin);
	add_int(root, "median_latency_ns", (int64_t)faults->latency);
	add_int(root, "median_bandwidth", (int64_t)faults->bandwidth);
	for (uint32_t v = 0; v < pf->n_versions; v++)
		json_object_array_add(versions, json_object_new_string(pf->version[v]));
	json_object_object_add(root, "version_commands", versions);
	for (uint32_t i = 0; i < faults->n; i++) {
		const struct sn_pf_fault *f = &faults->fault[i];
		json_object *o = json_object_new_object();

		json_object_object_add(o, "node", json_object_new_string(pf->plan->node[f->node].name));
		json_object_object_add(o, "check", json_object_new_string(f->check));
		json_object_object_add(o, "expected", json_object_new_string(f->expected));
		json_object_object_add(o, "found", json_object_new_string(f->found));
		json_object_object_add(o, "text", json_object_new_string(f->text));
		json_object_array_add(bad, o);
	}
	json_object_object_add(root, "faults", bad);
	for (uint32_t i = 0; i < pf->plan->n_nodes; i++)
		json_object_object_add(nodes, pf->plan->node[i].name, node_json(pf, &pf->node[i].is));
	json_object_object_add(root, "nodes", nodes);
	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY);
	rc = text ? sn_write_file(dir, SN_PREFLIGHT_JSON, text, strlen(text), err) :
		sn_err_set(err, -ENOMEM, "no memory");
	json_object_put(root);
	return rc;
}

int sn_pf_conclude(struct pf *pf, const char *dir, bool *ret_bad, struct sn_err *err)
{
	const struct sn_policy *policy = pf->ask->policy;
	const struct sn_pf_limits limits = {
		.version = pf->version,
		.n_versions = pf->n_versions,
		.clock = (uint64_t)policy->preflight_clock * 1000000u,
		.memory = policy->preflight_memory,
		.slow = policy->preflight_slow,
	};
	struct sn_pf_node *node = calloc((size_t)pf->plan->n_nodes + 1, sizeof(*node));
	struct sn_pf_faults faults;
	int rc, n = 0;

	if (!node)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; i < pf->plan->n_nodes; i++) {
		pf->node[i].is.present = !pf->node[i].dead;
		node[i] = pf->node[i].is;
	}
	rc = sn_preflight_judge(node, pf->plan->n_nodes, &limits, &faults, err);
	free(node);
	if (rc)
		return rc;
	rc = write_json(pf, &faults, dir, err);
	for (uint32_t i = 0; i < faults.n; i++) {
		uint32_t k = faults.fault[i].node;

		pf->ask->say(pf->ask->ctx, faults.fault[i].text);
		if (pf->ask->found)
			pf->ask->found(pf->ask->ctx, k, &faults.fault[i]);
		n += !ret_bad[k];
		ret_bad[k] = true;
	}
	sn_pf_faults_done(&faults);
	return rc ? rc : n;
}
