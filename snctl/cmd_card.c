/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_card.c - snctl card: take single cards out, and bring them back.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launcher/cardbook.h"
#include "snctl/cardask.h"
#include "snctl/cardlist.h"
#include "snctl/cli.h"
#include "snctl/live.h"
#include "snctl/nodeextra.h"
#include "snctl/progress.h"
#include "snctl/snctl.h"
#include "snctl/term.h"
#include "topology/hostlist.h"

#define SPECS_MAX 64 /* NODE:CARDS on one line */

struct options {
	const char *config, *reason;
	bool json, drain;
};

/* What is done, and to which cards. */
struct plan {
	const struct live *live;
	const struct options *o;
	struct sn_cardmark mark;
	uint64_t *cards; /* [topo->n_nodes] */
	const char **node; /* [n], those with cards, in the order of the model */
	uint32_t n;
};

/* ---- which cards ------------------------------------------------------------------------ */

static int add_node(struct plan *plan, const char *name, uint64_t cards,
		    struct sn_err *err)
{
	uint32_t n = sn_topo_find_node(plan->live->topo, name);
	const struct live_node *node = n == SN_NONE ? NULL : &plan->live->node[n];
	char text[SNCTL_CARDLIST_MAX];

	if (!node || !node->info)
		return sn_err_set(err, -ENOENT, "slurmctld knows no node %.80s", name);
	/* A mark on a card that has gone since can be taken away. */
	if (plan->o->drain && cards & ~node->cards) {
		snctl_cards_format(cards & ~node->cards, text);
		if (!node->cards)
			return sn_err_set(err, -ENOENT, "node %s has no %s, so no card %s",
					  name, plan->live->policy.card_gres, text);
		return sn_err_set(err, -ENOENT, "node %s has no card %s; it has %d, from 0 to %d",
				  name, text, __builtin_popcountll(node->cards),
				  63 - __builtin_clzll(node->cards));
	}
	plan->cards[n] |= cards;
	return 0;
}

static int add_spec(struct plan *plan, const char *spec, struct sn_err *err)
{
	struct sn_names names = { NULL, 0, 0 };
	uint64_t cards;
	size_t colon;
	char *nodes;
	int rc = snctl_cards_split(spec, &colon, &cards, err);

	if (rc)
		return rc;
	nodes = strndup(spec, colon);
	rc = nodes ? sn_hostlist_expand(nodes, &names, err) :
		sn_err_set(err, -ENOMEM, "no memory");
	for (size_t i = 0; !rc && i < names.n; i++)
		rc = add_node(plan, names.name[i], cards, err);
	sn_names_done(&names);
	free(nodes);
	return rc;
}

/* ---- the marks --------------------------------------------------------------------------- */

static void format_time(uint64_t at, char *buf, size_t size)
{
	time_t t = (time_t)at;
	struct tm tm;

	if (!at || !localtime_r(&t, &tm) || !strftime(buf, size, "%Y-%m-%dT%H:%M:%S", &tm))
		snprintf(buf, size, "some time");
}

static int refuse_drained(const char *extra, uint64_t cards, struct sn_err *err)
{
	uint32_t card = (uint32_t)__builtin_ctzll(cards);
	char when[40], text[SNCTL_CARDLIST_MAX];
	struct sn_cardmark is;

	if (sn_cardbook_find(extra, SN_CARDKIND_DRAIN, card, &is, NULL))
		memset(&is, 0, sizeof(is));
	format_time(is.at, when, sizeof(when));
	snctl_cards_format(cards, text);
	return sn_err_set(err, -EEXIST, "card %s is drained already, by %s since %s: %s",
			  text, is.by[0] ? is.by : "somebody", when,
			  is.why[0] ? is.why : "no reason is given");
}

static int drain(const struct plan *plan, const char *extra, uint64_t cards,
		 char **ret, struct sn_err *err)
{
	struct sn_cardbook is;

	(void)sn_cardbook_read(extra, &is, NULL);
	/* Where it is unreadable, writing says why. */
	if (is.drained & cards && !is.unreadable)
		return refuse_drained(extra, is.drained & cards, err);
	return sn_cardbook_set(extra, SN_CARDKIND_DRAIN, cards, &plan->mark, ret, err);
}

/* Both marks: whoever brings a card back by hand has looked at it. */
static int resume(const char *extra, uint64_t cards, char **ret, struct sn_err *err)
{
	char text[SNCTL_CARDLIST_MAX], *half;
	struct sn_cardbook is;
	int rc;

	(void)sn_cardbook_read(extra, &is, NULL);
	if (cards & ~is.masked) {
		snctl_cards_format(cards & ~is.masked, text);
		return sn_err_set(err, -ENOENT, "card %s is not masked", text);
	}
	rc = sn_cardbook_set(extra, SN_CARDKIND_DRAIN, cards, NULL, &half, err);
	if (rc)
		return rc;
	rc = sn_cardbook_set(half, SN_CARDKIND_HEALTH, cards, NULL, ret, err);
	free(half);
	return rc;
}

static int change(void *ctx, const char *node, const char *extra, char **ret,
		  struct sn_err *err)
{
	const struct plan *plan = ctx;
	uint64_t cards = plan->cards[sn_topo_find_node(plan->live->topo, node)];

	return plan->o->drain ? drain(plan, extra, cards, ret, err) :
		resume(extra, cards, ret, err);
}

static int make_mark(const struct options *o, struct sn_cardmark *ret,
		     struct sn_err *err)
{
	const struct passwd *pw = getpwuid(getuid());
	char *probe = NULL;
	int rc;

	*ret = (struct sn_cardmark){ .at = (uint64_t)time(NULL) };
	if (!o->drain)
		return 0;
	if (!o->reason)
		return sn_err_set(err, -EINVAL, "why? give --reason=TEXT");
	if (strlen(o->reason) >= sizeof(ret->why))
		return sn_err_set(err, -EINVAL,
				  "--reason has %zu bytes, more than %zu",
				  strlen(o->reason), sizeof(ret->why) - 1);
	snprintf(ret->why, sizeof(ret->why), "%s", o->reason);
	if (pw && strlen(pw->pw_name) < sizeof(ret->by))
		snprintf(ret->by, sizeof(ret->by), "%s", pw->pw_name);
	else
		snprintf(ret->by, sizeof(ret->by), "%u", (unsigned int)getuid());
	rc = sn_cardbook_set(NULL, SN_CARDKIND_DRAIN, 1, ret, &probe, err);
	free(probe);
	return rc;
}

/* With other plugins a mark is shown and nothing else. */
static int check_plugins(struct sn_err *err)
{
	slurm_conf_t *conf = NULL;
	int rc = 0;

	if (slurm_load_ctl_conf(0, &conf) || !conf)
		return 0;
	if (!conf->select_type || !strstr(conf->select_type, "supernode"))
		rc = sn_err_set(err, -ENOTSUP,
				"Slurm runs with SelectType=%.60s, which gives a drained card out all the same; the line in slurm.conf is SelectType=select/supernode",
				conf->select_type ? conf->select_type : "");
	else if (!conf->topology_plugin || !strstr(conf->topology_plugin, "supernode"))
		rc = sn_err_set(err, -ENOTSUP,
				"Slurm runs with TopologyPlugin=%.60s, without which a drained card is given out all the same; the line in slurm.conf is TopologyPlugin=topology/supernode",
				conf->topology_plugin ? conf->topology_plugin : "");
	live_free_conf(conf);
	return rc;
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void print_jobs(const struct live *live, uint32_t n, uint64_t cards)
{
	char text[SNCTL_CARDLIST_MAX];

	for (uint32_t j = 0; j < live->n_jobs; j++) {
		const struct live_job *job = &live->job[j];
		uint64_t has = live_job_cards(job, n) & cards;

		if (!has)
			continue;
		snctl_cards_format(has, text);
		printf("  job %u has card %s and keeps it until it ends\n",
		       job->info->job_id, text);
	}
}

static void print_text(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->n; i++) {
		uint32_t n = sn_topo_find_node(plan->live->topo, plan->node[i]);
		uint64_t cards = plan->cards[n];
		char text[SNCTL_CARDLIST_MAX];

		snctl_cards_format(cards, text);
		printf("%s: card%s %s %s%s%s\n", plan->node[i],
		       cards & (cards - 1) ? "s" : "", text,
		       plan->o->drain ? "drained" : "resumed",
		       plan->o->reason ? ": " : "",
		       plan->o->reason ? plan->o->reason : "");
		if (plan->o->drain)
			print_jobs(plan->live, n, cards);
	}
}

static void print_json(const struct plan *plan)
{
	bool more = false;

	printf("{\"%s\": [", plan->o->drain ? "drained" : "resumed");
	for (uint32_t i = 0; i < plan->n; i++) {
		uint32_t n = sn_topo_find_node(plan->live->topo, plan->node[i]);

		for (uint64_t m = plan->cards[n]; m; m &= m - 1) {
			const struct live_job *job = live_card_job(plan->live, n, m & -m);

			fputs(more ? ",{\"node\":" : "{\"node\":", stdout);
			json_string(stdout, plan->node[i]);
			printf(",\"card\":%d,\"job\":", __builtin_ctzll(m));
			if (job)
				printf("%u}", job->info->job_id);
			else
				fputs("null}", stdout);
			more = true;
		}
	}
	puts("]}");
}

/* ---- the command ------------------------------------------------------------------------------ */

/* Who may not write the records may be an operator; and where the daemon writes for
 * all, it does not write over what another has just written (Slurm has no way to tell). */
static int ask_daemon(const struct plan *plan, uint32_t *ret_done, struct sn_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < plan->n && !rc; i++) {
		uint32_t n = sn_topo_find_node(plan->live->topo, plan->node[i]);

		progress_at(i, plan->n);
		rc = cardask(plan->o->config, plan->o->drain, plan->o->reason, plan->node[i],
			     plan->cards[n], err);
		*ret_done = i + !rc;
		if (rc && i)
			sn_err_prefix(err, rc, "%s and %u before it are done, %s is not: ",
				      plan->node[i - 1], i - 1, plan->node[i]);
	}
	return rc;
}

static int write_records(struct plan *plan, uint32_t from, struct sn_err *err)
{
	struct sn_err why = *err;
	int rc = nodeextra_change(plan->node + from, plan->n - from, change, plan, err);

	/* What the daemon's clients were told says more. */
	return rc == -EPERM ? sn_err_set(err, rc, "%s", why.text) : rc;
}

static int carry_out(struct plan *plan, const char *const *spec, uint32_t n,
		     struct sn_err *err)
{
	const struct sn_topo *topo = plan->live->topo;
	uint32_t done = 0;
	int rc = 0;

	plan->cards = calloc((size_t)topo->n_nodes + 1, sizeof(*plan->cards));
	plan->node = calloc((size_t)topo->n_nodes + 1, sizeof(*plan->node));
	if (!plan->cards || !plan->node)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; !rc && i < n; i++)
		rc = add_spec(plan, spec[i], err);
	for (uint32_t t = 0; t < topo->n_nodes; t++)
		if (plan->cards[t])
			plan->node[plan->n++] = topo->node[t].name;
	progress_begin("reading the nodes' records");
	if (!rc)
		rc = nodeextra_check(plan->node, plan->n, change, plan, err);
	progress_begin("asking snelasticd about the nodes");
	if (!rc)
		rc = ask_daemon(plan, &done, err);
	/* None there: then it writes nothing, either. */
	if (rc == -EHOSTUNREACH || rc == -ETIMEDOUT) {
		progress_begin("writing the nodes' records");
		rc = write_records(plan, done, err);
	}
	progress_end();
	if (!rc)
		(plan->o->json ? print_json : print_text)(plan);
	return rc;
}

static int act(const struct options *o, const char *const *spec, uint32_t n,
	       struct sn_err *err)
{
	struct plan plan = { .o = o };
	struct live live;
	int rc = make_mark(o, &plan.mark, err);

	if (!rc)
		rc = live_load(o->config, &live, err);
	if (rc)
		return rc;
	plan.live = &live;
	if (o->drain)
		rc = check_plugins(err);
	if (!rc)
		rc = carry_out(&plan, spec, n, err);
	free(plan.cards);
	free(plan.node);
	live_done(&live);
	return rc;
}

int cmd_card(int argc, char **argv)
{
	struct options o = { 0 };
	const struct cli_opt opts[] = {
		{ "reason", "TEXT", CLI_STRING, &o.reason, "why; drain needs it, and keeps it: one line of at most 100 bytes", false, 0, 0 },
		{ "config", "FILE", CLI_STRING, &o.config, "the topology.conf; by default the one beside slurm.conf", false, 0, 0 },
		{ "json", NULL, CLI_FLAG, &o.json, "one line of JSON", false, 0, 0 },
		{ 0 },
	};
	const struct cli cli = {
		.command = "card",
		.usage = "drain NODE:CARDS... --reason=TEXT | resume NODE:CARDS...",
		.about = "Take single cards out: no job that starts gets them, running jobs keep theirs, and\n"
			 "the node's other cards serve on. resume brings them back, also those that the\n"
			 "health engine has taken out. NODE may be a hostlist, CARDS a list: n[001-004]:0-3,5.\n"
			 "All of it is done or nothing. Only root, SlurmUser and, through snelasticd, the\n"
			 "Operators of supernode.conf may. snctl show cards tells what is out, by whom and why.",
		.more = "Exit status: 0 done, 1 no (no such node or card, drained already, not masked,\n"
			"not allowed), 2 usage or bad input.",
		.opts = opts,
		.max_args = 1 + SPECS_MAX,
	};
	const char *args[1 + SPECS_MAX] = { NULL };
	struct sn_err err;
	uint32_t n_args;
	int rc;

	rc = cli_parse(&cli, argc, argv, args, &n_args, &err);
	if (rc > 0)
		return SNCTL_DONE;
	if (rc)
		return snctl_fail("card", SNCTL_USAGE, &err);
	o.drain = n_args && !strcmp(args[0], "drain");
	if (!n_args || (!o.drain && strcmp(args[0], "resume")))
		rc = sn_err_set(&err, -EINVAL, "%s%.60s%s", n_args ? "\"" : "",
				n_args ? args[0] : "what?", n_args ?
				"\": want drain or resume" : " give drain or resume");
	else if (n_args < 2)
		rc = sn_err_set(&err, -EINVAL, "which card? give NODE:CARDS, such as n001:3");
	else
		rc = act(&o, args + 1, n_args - 1, &err);
	return rc ? snctl_fail("card", snctl_code(rc), &err) : SNCTL_DONE;
}
