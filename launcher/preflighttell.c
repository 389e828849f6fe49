/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preflighttell.c - what the preflight found on cards, told to snelasticd.
 *
 * snrun is the job's owner, so it is a hint, after which the node probes the cards.
 * The preflight does not know which card of a node it was: it is told of all that the
 * job has there. A help, never a hindrance: where nobody answers within a second,
 * nothing more is told and nothing said.
 */
#include "config.h"

#include "launcher/snrun.h"
#include "topology/preflight.h"

#ifdef HAVE_MUNGE

#include <string.h>

#include <json-c/json.h>

#include "elastic/client.h"
#include "topology/text.h"

#define ASK_MS 1000

/* Versions, clocks and memory are the node's own, no card's. */
static bool is_of_cards(const char *check)
{
	return !strcmp(check, "card") || !strcmp(check, "latency") ||
		!strcmp(check, "bandwidth");
}

static struct json_object *request_of(const struct snrun *run, uint32_t node,
				      const struct sn_pf_fault *fault)
{
	const struct sn_plan_node *at = &run->plan.node[node];
	struct json_object *r = json_object_new_object();
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < at->n_cards; i++) {
		struct json_object *o = json_object_new_object();
		char text[200];

		sn_text_clip(fault->text, text, sizeof(text));
		json_object_object_add(o, "card", json_object_new_int64(at->card[i]));
		json_object_object_add(o, "code", json_object_new_string("preflight"));
		json_object_object_add(o, "text", json_object_new_string(text));
		json_object_array_add(list, o);
	}
	json_object_object_add(r, "op", json_object_new_string("health.report"));
	json_object_object_add(r, "node", json_object_new_string(at->name));
	json_object_object_add(r, "source", json_object_new_string("preflight"));
	json_object_object_add(r, "job", json_object_new_int64(run->job.id));
	json_object_object_add(r, "faults", list);
	return r;
}

void snrun_tell_fault(const struct snrun *run, uint32_t node,
		      const struct sn_pf_fault *fault)
{
	static bool gave_up;
	struct json_object *request, *answer = NULL;
	struct sn_elastic_where where;
	struct sn_policy policy;

	if (gave_up || !is_of_cards(fault->check) || node >= run->plan.n_nodes)
		return;
	gave_up = sn_elastic_find(NULL, &policy, &where, NULL);
	if (gave_up)
		return;
	request = request_of(run, node, fault);
	gave_up = sn_elastic_ask(&where, request, ASK_MS, &answer, NULL);
	json_object_put(answer);
	json_object_put(request);
}

#else

void snrun_tell_fault(const struct snrun *run, uint32_t node,
		      const struct sn_pf_fault *fault)
{
	(void)run;
	(void)node;
	(void)fault;
}

#endif
