/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_place.c - snctl place: where a job would go, from files alone.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "snctl/cli.h"
#include "snctl/place.h"
#include "snctl/progress.h"
#include "snctl/readfile.h"
#include "snctl/snctl.h"
#include "snctl/state.h"
#include "snctl/term.h"
#include "topology/jobspec.h"
#include "topology/topo.h"

struct options {
	const char *config, *state;
	uint32_t cards;
	struct sn_jobspec_text job;
	bool json;
};

/* supernode.conf, as slurmctld has it; it goes on past a domain that is not. */
static int add_policy(const struct options *o, const struct sn_topo *topo,
		      struct snctl_state *state, struct sn_err *err)
{
	struct sn_policy policy;
	int rc = snctl_read_policy(o->config, &policy, err);

	if (rc)
		return rc;
	rc = snctl_state_policy(topo, &policy, state, err);
	if (rc == -ENOENT) {
		fprintf(stderr, "snctl place: warning: supernode.conf: %s, ignoring it\n",
			err->text);
		rc = 0;
	}
	return rc;
}

static int read_state(const struct options *o, struct sn_topo *topo,
		      struct snctl_state *ret, struct sn_err *err)
{
	char *text;
	size_t len;
	int rc;

	if (!o->state)
		return snctl_state_init(topo, o->cards, ret, err);
	rc = snctl_read_file(o->state, &text, &len, err);
	if (rc)
		return rc;
	rc = snctl_state_parse(text, len, o->state, topo, o->cards, ret, err);
	free(text);
	return rc;
}

static int infeasible(const struct options *o, const struct sn_err *err)
{
	if (o->json) {
		fputs("{\"feasible\": false, \"reason\": ", stdout);
		json_string(stdout, err->text);
		fputs("}\n", stdout);
	} else {
		printf("It does not fit: %s\n", err->text);
	}
	return SNCTL_NO;
}

static int place(const struct options *o, struct sn_err *err)
{
	struct sn_jobspec spec;
	struct sn_topo *topo = NULL;
	struct snctl_state state = { 0 };
	struct snctl_answer answer = { .cards = o->cards };
	int rc;

	rc = sn_jobspec_parse(&o->job, o->cards, &spec, err);
	if (!rc)
		rc = snctl_read_topology(o->config, &topo, err);
	if (!rc)
		rc = read_state(o, topo, &state, err);
	if (!rc)
		rc = add_policy(o, topo, &state, err);
	if (!rc) {
		answer.topo = topo;
		answer.state = &state;
		answer.spec = &spec;
		progress_begin("looking for a place");
		rc = snctl_answer_make(&answer, err);
		progress_end();
		if (!rc && o->json)
			snctl_answer_json(&answer, stdout);
		else if (!rc)
			rc = snctl_answer_print(&answer, stdout, err);
		snctl_answer_done(&answer);
	}
	snctl_state_done(&state);
	sn_topo_destroy(topo);
	return rc;
}

int cmd_place(int argc, char **argv)
{
	struct options o = { 0 };
	const struct cli_opt opts[] = {
		{ "config", "FILE", CLI_STRING, &o.config, "the topology.conf", true, 0, 0 },
		{ "cards", "N", CLI_UINT, &o.cards, "cards of each node, 1 to 64", true, 1, SN_CARDS_MAX },
		{ "state", "FILE", CLI_STRING, &o.state, "what is free (JSON); without it everything is", false, 0, 0 },
		{ "parallel", "SPEC", CLI_STRING, &o.job.parallel, "the layout, e.g. tp=8,ep=64,etp=1,pp=6,dp=128", true, 0, 0 },
		{ "pool", "SIZE", CLI_STRING, &o.job.pool, "pool memory, e.g. 10T or 512G/node", false, 0, 0 },
		{ "spares", "N", CLI_STRING, &o.job.spares, "spare nodes in each supernode used", false, 0, 0 },
		{ "elastic", "SPEC", CLI_STRING, &o.job.elastic, "checked, e.g. min_dp=64; the job is placed at dp", false, 0, 0 },
		{ "json", NULL, CLI_FLAG, &o.json, "one line of JSON", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.command = "place",
		.usage = "--config FILE --cards N --parallel SPEC [OPTIONS]",
		.about = "Say where a job would go, without Slurm: which supernodes, which nodes, and each\n"
			 "rank's card. The answer is the one the scheduler gives for the same state.",
		.more = "The state file holds what differs from all free:\n"
			"  {\"nodes\": {\"n[001-004]\": {\"free\": 4}, \"n005\": {\"free_cards\": [0,1],\n"
			"   \"masked_cards\": [6], \"weight\": 10}, \"n006\": {\"down\": true}},\n"
			"   \"pool_free\": {\"sn01\": \"20T\"}, \"degraded\": [\"sn03\", \"u007\"]}\n"
			"Of a supernode.conf beside the topology.conf, DegradedDomains and NodePower count.\n"
			"Exit status: 0 placed, 1 it does not fit, 2 bad input.",
		.opts = opts,
	};
	struct sn_err err;
	uint32_t n_args;
	int rc;

	rc = cli_parse(&cli, argc, argv, NULL, &n_args, &err);
	if (rc > 0)
		return SNCTL_DONE;
	if (!rc)
		rc = place(&o, &err);
	if (rc == -ENOSPC)
		return infeasible(&o, &err);
	return rc ? snctl_fail("place", SNCTL_USAGE, &err) : SNCTL_DONE;
}
