/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whyprint.c - the answer of snctl why, for people and as JSON.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "snctl/place.h"
#include "snctl/term.h"
#include "snctl/why.h"
#include "topology/text.h"

#define ROWS_SHOWN 40

static const char *s(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static const char *format_time(time_t t, char *buf, size_t size)
{
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(buf, size, "%Y-%m-%dT%H:%M:%S", &tm))
		snprintf(buf, size, "%lld", (long long)t);
	return buf;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static char *placed_nodes(const struct live *live, const struct why *why)
{
	const struct sn_placement *p = &why->now;
	uint32_t *node;
	char *text;

	if (why->ctld.nodes)
		return strdup(why->ctld.nodes);
	if (!why->found)
		return NULL;
	node = calloc(p->n_nodes + p->n_spares + 1, sizeof(*node));
	if (!node)
		return NULL;
	for (uint32_t i = 0; i < p->n_nodes; i++)
		node[i] = p->node[i].node;
	for (uint32_t i = 0; i < p->n_spares; i++)
		node[p->n_nodes + i] = p->spare[i].node;
	qsort(node, p->n_nodes + p->n_spares, sizeof(*node), by_number);
	text = snctl_hostlist(live->topo, node, p->n_nodes + p->n_spares);
	free(node);
	return text;
}

/* ---- what it wants --------------------------------------------------------------- */

static void print_plain_wish(const struct live *live, const struct why_ask *ask)
{
	const char *card = live->policy.card_gres;

	if (ask->open)
		printf("wants %u task%s", ask->tasks, s(ask->tasks));
	else if (ask->max > ask->min && ask->max != UINT32_MAX)
		printf("wants %u to %u nodes", ask->min, ask->max);
	else
		printf("wants %u node%s", ask->min, s(ask->min));
	if (ask->segment)
		printf(" in segments of %u, each inside one supernode%s", ask->segment,
		       ask->spread ? " of its own" : "");
	if (ask->open || ask->cpus != ask->min)
		printf(", %u CPU%s", ask->cpus, s(ask->cpus));
	if (ask->cards == WHY_CARDS_NODE)
		printf(", %u %s on each node", ask->n_cards, card);
	else if (ask->cards == WHY_CARDS_TASK)
		printf(", %u %s for each task", ask->n_cards, card);
	else if (ask->cards == WHY_CARDS_JOB)
		printf(", %u %s in all", ask->n_cards, card);
	if (ask->whole)
		printf(", nodes to itself");
	puts(".");
}

static void print_wish(const struct live *live, const struct why *why)
{
	const slurm_job_info_t *info = why->job->info;
	const struct sn_place_request *r = &why->ask.request;
	char layout[SN_LAYOUT_TEXT_MAX];

	printf("Job %u%s%s%s ", info->job_id, info->name ? " (" : "",
	       info->name ? info->name : "", info->name ? ")" : "");
	if (!why->ask.parallel) {
		print_plain_wish(live, &why->ask);
		return;
	}
	printf("wants %u card%s: %u atom%s of %u ranks, none of them split over supernodes",
	       r->world, s(r->world), r->world / r->atom, s(r->world / r->atom), r->atom);
	if (r->exact_nodes)
		printf(", on exactly %u node%s", r->exact_nodes, s(r->exact_nodes));
	if (r->spares)
		printf(", with %u spare node%s in each", r->spares, s(r->spares));
	puts(".");
	sn_layout_format(&why->job->spec.layout, layout, sizeof(layout));
	printf("  --parallel=%s\n", layout);
}

static void print_replaced(const struct why_ask *ask)
{
	if (ask->replaces && ask->to_replace)
		printf("It stands in for %llu node%s that job %u has lost, and may take SpareNodes there.\n",
		       (unsigned long long)ask->to_replace, s(ask->to_replace),
		       ask->replaces);
	else if (ask->replaces)
		printf("It is to stand in for nodes of job %u, which does not run any more or has none to be replaced: scancel it.\n",
		       ask->replaces);
}

/* Whom the nodes are kept for that nobody uses. */
static void print_held(const struct live *live, const struct why *why)
{
	for (uint32_t i = 0; i < why->n_supernodes; i++) {
		const struct why_supernode *w = &why->supernode[i];
		const struct sn_topo_supernode *sn = &live->topo->supernode[w->supernode];
		char *list = sn->spare_nodes && w->out[WHY_SPARE] ?
			live_held_nodes(live, w->supernode) : NULL;

		if (list)
			printf("SpareNodes of %s: %.200s, for jobs with --replaces.\n", sn->name, list);
		free(list);
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

/* ---- which supernode lacks what --------------------------------------------------- */

static void describe_pool(const struct live *live, const struct why_supernode *w,
			  struct sn_buf *buf)
{
	uint64_t there = live_pool_memory(live, w->supernode);
	char size[32];

	sn_format_size(w->pool_free, size, sizeof(size));
	sn_buf_add(buf, "%spool %s free", buf->text ? ", " : "", size);
	if (there == live->topo->supernode[w->supernode].pool_memory)
		return;
	sn_format_size(there, size, sizeof(size));
	sn_buf_add(buf, " of %s that is there", size);
}

static void describe_lack(const struct live *live, const struct why *why,
			  const struct why_supernode *w, struct sn_buf *buf)
{

	for (int out = WHY_IN + 1; out < WHY_OUTS; out++)
		if (w->out[out])
			sn_buf_add(buf, "%s%u %s", buf->text ? ", " : "", w->out[out],
				   why_out_words[out]);
	if (w->masked)
		sn_buf_add(buf, "%s%u card%s masked", buf->text ? ", " : "",
			   w->masked, s(w->masked));
	if (why->ask.parallel && why->ask.request.pool.size &&
	    why->ask.request.pool.per != SN_POOL_NAMED)
		describe_pool(live, w, buf);
}

static void add_lack(struct table *table, const struct live *live,
		     const struct why *why, const struct why_supernode *w)
{
	struct sn_buf buf = { 0 };

	describe_lack(live, why, w, &buf);
	table_add(table, "%s", buf.text ? buf.text : "-");
	sn_buf_done(&buf);
}

static void print_parallel_table(const struct live *live, const struct why *why)
{
	static const char *const head[] = {
		"<SUPERNODE", ">FREE", ">USABLE", ">KEPT SPARE", ">ATOMS",
		">SHORT OF THE NEXT", "<NODES", NULL,
	};
	static const char *const at_most[] = {
		"<SUPERNODE", ">FREE", ">USABLE", ">KEPT SPARE", ">ATOMS AT MOST",
		">SHORT OF THE NEXT", "<NODES", NULL,
	};
	struct table table;

	table_init(&table, why->atoms_exact ? head : at_most);
	for (uint32_t i = 0; i < why->n_supernodes; i++) {
		const struct why_supernode *w = &why->supernode[i];

		table_add(&table, "%s", live->topo->supernode[w->supernode].name);
		table_add(&table, "%u", w->free);
		table_add(&table, "%u", w->usable);
		table_add(&table, "%u", w->held);
		table_add(&table, "%u", w->atoms);
		table_add(&table, "%u", w->short_by);
		add_lack(&table, live, why, w);
	}
	table_print(&table, stdout, ROWS_SHOWN);
	table_done(&table);
}

static void print_plain_table(const struct live *live, const struct why *why)
{
	static const char *const plain[] = {
		"<SUPERNODE", ">NODES", ">USABLE", ">TASKS", "<THE OTHERS", NULL,
	};
	static const char *const segments[] = {
		"<SUPERNODE", ">NODES", ">USABLE", ">SEGMENTS", "<THE OTHERS", NULL,
	};
	uint32_t k = why->ask.segment;
	struct table table;

	table_init(&table, k ? segments : plain);
	for (uint32_t i = 0; i < why->n_supernodes; i++) {
		const struct why_supernode *w = &why->supernode[i];
		uint32_t n = k ? w->nodes / k : w->tasks;

		table_add(&table, "%s", live->topo->supernode[w->supernode].name);
		table_add(&table, "%u", live->topo->supernode[w->supernode].n_nodes);
		table_add(&table, "%u", w->nodes);
		table_add(&table, "%u", k && why->ask.spread && n ? 1 : n);
		add_lack(&table, live, why, w);
	}
	table_print(&table, stdout, ROWS_SHOWN);
	table_done(&table);
}

/* ---- now and later --------------------------------------------------------------- */

static void print_now(const struct live *live, const struct why *why)
{
	char *nodes = placed_nodes(live, why);

	printf("Now: it fits");
	if (why->n_parts > 1)
		printf(", in partition %s", why->part->name);
	if (why->found && !why->ctld.nodes)
		printf(", in %u supernode%s", why->now.n_supernodes, s(why->now.n_supernodes));
	printf(", on %.200s", nodes ? nodes : "?");
	if (why->ctld.preempts)
		printf(", if job%s %s make way", strchr(why->ctld.preempts, ',') ? "s" : "",
		       why->ctld.preempts);
	printf("; %s.\n", why->reason.place ?
	       "it waits for the scheduler or for its turn" :
	       "only the reason above holds it back");
	free(nodes);
}

/* It would take more supernodes than it waits for. */
static bool keeps_back(const struct why *why)
{
	const slurm_job_info_t *info = why->job->info;

	return why->found && info->req_switch && info->req_switch != NO_VAL &&
		why->now.n_supernodes > info->req_switch;
}

static void print_reason(const struct live *live, const struct why *why)
{
	uint32_t usable = 0, segments = 0, tasks = 0;

	if (keeps_back(why)) {
		printf("Now: it waits for room in %u supernode%s (--switches), for up to %u s; there is room in %u.\n",
		       why->job->info->req_switch, s(why->job->info->req_switch),
		       why->job->info->wait4switch, why->now.n_supernodes);
		return;
	}
	if (why->found) {
		char *nodes = placed_nodes(live, why);

		printf("Now: it does not fit, says slurmctld, though each node of %.200s has enough by itself: what only Slurm counts (cores inside of nodes, parts of nodes that are reserved, --exclusive=topo of others) is in the way.\n",
		       nodes ? nodes : "?");
		free(nodes);
		return;
	}
	printf("Now: it does not fit");
	if (why->n_parts > 1)
		printf(", here in partition %s", why->part->name);
	if (why->ask.parallel || why->lacking) {
		printf(": %s.\n", why->why.text);
		return;
	}
	for (uint32_t i = 0; i < why->n_supernodes; i++) {
		const struct why_supernode *w = &why->supernode[i];

		usable += w->nodes;
		tasks += w->tasks;
		if (why->ask.segment)
			segments += why->ask.spread && w->nodes >= why->ask.segment ? 1 :
				w->nodes / why->ask.segment;
	}
	if (why->ask.segment)
		printf(": it takes %u segment%s of %u nodes, and there is room for %u.\n",
		       (why->ask.min + why->ask.segment - 1) / why->ask.segment,
		       s((why->ask.min + why->ask.segment - 1) / why->ask.segment),
		       why->ask.segment, segments);
	else if (why->ask.open && why->ask.cards != WHY_CARDS_JOB)
		printf(": there is room for %u of the %u tasks.\n",
		       tasks < why->ask.tasks ? tasks : why->ask.tasks, why->ask.tasks);
	else if (usable < why->ask.min)
		printf(": it takes %u node%s, and %u %s usable.\n", why->ask.min,
		       s(why->ask.min), usable, usable == 1 ? "is" : "are");
	else
		printf(": %s.\n", why->why.text);
}

static void print_smaller(const struct why *why)
{
	const char *but = why->ask.parallel && why->ask.request.exact_nodes && !why->ask.whole ?
		" and no -N" : "";

	if (why->fit_dp)
		printf("Smaller: dp=%u%s would fit now, of dp=%u.\n", why->fit_dp, but,
		       why->job->spec.layout.dp);
	else if (why->fit_nodes)
		printf("Smaller: %u node%s (-N %u) would fit now.\n", why->fit_nodes,
		       s(why->fit_nodes), why->fit_nodes);
	else if (why->fit_tasks)
		printf("Smaller: %u task%s (-n %u) would fit now.\n", why->fit_tasks,
		       s(why->fit_tasks), why->fit_tasks);
	else if (why->ask.parallel)
		puts("Smaller: no smaller dp would fit now either.");
}

static void print_later(const struct why *why)
{
	char when[40];

	if (!why->found && !why->fits_ever && !why->ctld.fits_later)
		printf("Later: not even if every running job ended: %s.\n", why->never.text);
	else if (why->fits_at > 1)
		printf("Later: at %s at the latest, when %u of the running jobs %s reached %s time limit%s, if nothing else starts before it.\n",
		       format_time(why->fits_at, when, sizeof(when)), why->waits_for,
		       why->waits_for == 1 ? "has" : "have",
		       why->waits_for == 1 ? "its" : "their", s(why->waits_for));
	else if (why->fits_at)
		puts("Later: as soon as jobs that are completing have gone.");
	else if (why->ctld.start)
		printf("Later: at about %s, as slurmctld reckons from the time limits of running jobs.\n",
		       format_time(why->ctld.start, when, sizeof(when)));
	else if (why->found && !why->ctld.fits_later)
		puts("Later: slurmctld cannot say; not by the running jobs ending.");
	else
		puts("Later: when running jobs end that have no time limit.");
}

void why_print(const struct live *live, const struct why *why)
{
	print_wish(live, why);
	print_replaced(&why->ask);
	print_slurm(why);
	if (why->fits_now) {
		print_now(live, why);
		why_print_domains(live, why);
		return;
	}
	print_reason(live, why);
	if (!why->found)
		print_smaller(why);
	print_later(why);
	why_print_domains(live, why);
	print_held(live, why);
	putchar('\n');
	(why->ask.parallel ? print_parallel_table : print_plain_table)(live, why);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void json_supernodes(const struct live *live, const struct why *why)
{
	fputs(", \"supernodes\": [", stdout);
	for (uint32_t i = 0; i < why->n_supernodes; i++) {
		const struct why_supernode *w = &why->supernode[i];
		bool more = false;

		fputs(i ? ",{\"name\":" : "{\"name\":", stdout);
		json_string(stdout, live->topo->supernode[w->supernode].name);
		if (why->ask.parallel)
			printf(",\"free\":%u,\"usable\":%u,\"kept_spare\":%u,\"atoms\":%u,\"short\":%u",
			       w->free, w->usable, w->held, w->atoms, w->short_by);
		else
			printf(",\"nodes\":%u,\"usable\":%u,\"tasks\":%u",
			       live->topo->supernode[w->supernode].n_nodes, w->nodes, w->tasks);
		printf(",\"masked\":%u,\"others\":{", w->masked);
		for (int out = WHY_IN + 1; out < WHY_OUTS; out++) {
			if (!w->out[out])
				continue;
			fputs(more ? "," : "", stdout);
			json_string(stdout, why_out_words[out]);
			printf(":%u", w->out[out]);
			more = true;
		}
		fputs("}}", stdout);
	}
	fputs("]", stdout);
}

static void json_later(const struct why *why)
{
	time_t at = why->fits_at > 1 ? why->fits_at : why->fits_at ? time(NULL) :
		why->ctld.start;

	fputs(", \"reason\": ", stdout);
	json_string(stdout, why->found ? "slurmctld says so" : why->why.text);
	printf(", \"fits_when_empty\": %s, \"fits_at\": ",
	       why->found || why->fits_ever ? "true" : "false");
	if (at)
		printf("%lld", (long long)at);
	else
		fputs("null", stdout);
	fputs(", \"would_fit\": ", stdout);
	if (why->fit_dp)
		printf("{\"dp\":%u}", why->fit_dp);
	else if (why->fit_nodes)
		printf("{\"nodes\":%u}", why->fit_nodes);
	else if (why->fit_tasks)
		printf("{\"tasks\":%u}", why->fit_tasks);
	else
		fputs("null", stdout);
}

void why_json(const struct live *live, const struct why *why)
{
	printf("{\"job\": %u, \"state\": \"pending\", \"slurm_reason\": ",
	       why->job->info->job_id);
	json_string(stdout, why->reason.name ? why->reason.name : "other");
	fputs(", \"slurm_reason_words\": ", stdout);
	json_string(stdout, why->reason.words);
	fputs(", \"partition\": ", stdout);
	json_string(stdout, why->part->name);
	if (why->ask.parallel)
		printf(", \"cards\": %u, \"atom\": {\"ranks\":%u,\"count\":%u}",
		       why->ask.request.world, why->ask.request.atom,
		       why->ask.request.world / why->ask.request.atom);
	printf(", \"fits_now\": %s, \"slurmctld_asked\": %s",
	       why->fits_now ? "true" : "false", why->ctld.asked ? "true" : "false");
	if (why->fits_now) {
		char *nodes = placed_nodes(live, why);

		fputs(", \"nodes\": ", stdout);
		json_string(stdout, nodes ? nodes : "");
		fputs(", \"preempts\": ", stdout);
		json_string(stdout, why->ctld.preempts ? why->ctld.preempts : "");
		free(nodes);
	} else {
		json_later(why);
	}
	why_json_domains(live, why);
	json_supernodes(live, why);
	fputs("}", stdout);
}
