/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * write.c - marks into the nodes' records.
 *
 * What is to stand in a record is asked of the engine at the moment in which it
 * is written, and a node stays dirty until that was done; so it does not matter
 * how often, in which order or how late. One thread writes, one node at a time;
 * while slurmctld is away it waits there, and nothing else does.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/daemon.h"
#include "elastic/marks.h"
#include "snctl/nodeextra.h"

#define RETRY_MIN_MS 200
#define RETRY_MAX_MS 5000

struct write {
	struct sn_work work;
	struct sn_daemon *d;
	struct sn_lead lead;
	char node[SN_ELASTIC_HOST_MAX];
	struct sn_marks marks;
	struct sn_marks_gone gone;
	bool drain; /* if its extra cannot take the marks */
	int rc, drain_rc;
	struct sn_err err, drain_err;
};

static int change(void *ctx, const char *node, const char *extra, char **ret,
		  struct sn_err *err)
{
	struct write *w = ctx;

	(void)node;
	return sn_marks_write(extra, &w->marks, ret, &w->gone, err);
}

/* Extra is somebody's free text, or full, and stays so till an administrator comes. */
static bool is_unwritable(const struct write *w)
{
	return w->rc == -EINVAL || w->rc == -E2BIG;
}

static void write_run(struct sn_work *work)
{
	struct write *w = (struct write *)work;
	const char *node = w->node;

	w->rc = sn_lead_check(&w->lead, &w->err);
	if (!w->rc)
		w->rc = nodeextra_change(&node, 1, change, w, &w->err);
	/* Jobs that start must not get the sick card: then none starts there. */
	if (is_unwritable(w) && w->drain && w->marks.cards)
		w->drain_rc = nodeextra_drain(node, "snelasticd: it has a sick card, and its extra cannot take the mark",
					      &w->drain_err);
}

static void say_trouble(struct sn_daemon *d, const struct write *w)
{
	/* The first tells that something is wrong, and then one in a while. */
	if (d->write_failures % 12 == 1)
		sn_log_error("marks of %s are not written yet: %s", w->node, w->err.text);
	if (d->write_failures == 1)
		daemon_event(d, "slurm", w->node, SN_NONE, 0, SN_NONE,
			     "marks are not written yet: %s", w->err.text);
}

static int64_t retry_in(uint32_t failures)
{
	int64_t ms = RETRY_MIN_MS;

	while (--failures && ms < RETRY_MAX_MS)
		ms *= 2;
	return ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS;
}

/* The record no longer says that there were some. */
static void forget_gone(struct sn_daemon_node *node, const struct sn_marks *marks)
{
	node->gone &= ~marks->anew;
	node->gone_supernode &= !marks->anew_supernode;
	node->gone_unit &= !marks->anew_unit;
}

/* A change of the record's extra, or of what is to stand there, has it tried again. */
static void set_unwritable(struct sn_daemon *d, uint32_t n, const struct write *w)
{
	if (d->node[n].unwritable || !w->marks.cards)
		return;
	d->node[n].unwritable = true;
	sn_log_error("marks of %s cannot be written, so the node is drained: %s", w->node, w->err.text);
	if (w->drain_rc)
		sn_log_error("%s", w->drain_err.text);
	daemon_event(d, "slurm", w->node, SN_NONE, 0, SN_NONE,
		     "%s; resume the node when its extra can take the marks: %s",
		     w->drain_rc ? w->drain_err.text : "drained", w->err.text);
}

static void write_done(struct sn_work *work)
{
	struct write *w = (struct write *)work;
	struct sn_daemon *d = w->d;
	uint32_t n = sn_topo_find_node(d->topo, w->node);

	d->writing = false;
	if (d->stopping || n == SN_NONE) {
		/* at the next start */
	} else if (!w->rc) {
		if (d->write_failures)
			sn_log_info("marks are written again");
		if (d->node[n].unwritable && w->marks.cards)
			sn_log_info("marks of %s are written; the node can be resumed", w->node);
		d->node[n].unwritable = false;
		d->write_failures = 0;
		d->writes++;
		d->node[n].written = sn_loop_now();
		/* Whoever changes it next may do so before it was seen as written. */
		d->n_recheck += !d->node[n].recheck;
		d->node[n].recheck = true;
		forget_gone(&d->node[n], &w->marks);
		follow_gone(d, n, &w->gone);
		write_some(d);
	} else if (is_unwritable(w) && !w->drain_rc) {
		set_unwritable(d, n, w);
		write_some(d);
	} else {
		engine_mark_dirty(d, n);
		d->write_failures++;
		say_trouble(d, w);
		/* A record that cannot be changed must not keep others from it. */
		d->next_dirty = n + 1;
		sn_timer_set(d->write_timer, retry_in(d->write_failures));
	}
	sn_marks_done(&w->marks);
	free(w);
}

static void set_why(char *to, const char *why)
{
	sn_cardbook_why(to, *why ? why : "sick");
}

static int find_cards(const struct sn_daemon *d, uint32_t node, struct sn_marks *marks)
{
	struct sn_health_card_info info;
	uint32_t n = 0;

	marks->card = calloc(SN_CARDBOOK_CARDS, sizeof(*marks->card));
	if (!marks->card)
		return -ENOMEM;
	for (uint32_t c = 0; c < SN_CARDBOOK_CARDS; c++) {
		sn_health_card(d->health, node, c, &info);
		if (info.state == SN_HEALTH_HEALTHY)
			continue;
		marks->cards |= UINT64_C(1) << c;
		marks->card[n].state = engine_mark_of(info.state);
		marks->card[n].at = info.since >= 1 ? (uint64_t)info.since : 1;
		set_why(marks->card[n++].why, info.why);
	}
	return 0;
}

static bool find_domain(const struct sn_daemon *d, enum sn_health_domain domain,
			uint32_t index, struct sn_cardmark *mark)
{
	char why[SN_HEALTH_WHY_SIZE];
	double since;

	if (!sn_health_degraded(d->health, domain, index, &since, why))
		return false;
	mark->at = since >= 1 ? (uint64_t)since : 1;
	strcpy(mark->by, SN_MARKS_BY);
	set_why(mark->why, why);
	return true;
}

static int find_marks(const struct sn_daemon *d, uint32_t node, struct sn_marks *marks)
{
	const struct sn_topo_node *is = &d->topo->node[node];

	memset(marks, 0, sizeof(*marks));
	marks->anew = d->node[node].gone;
	marks->anew_supernode = d->node[node].gone_supernode;
	marks->anew_unit = d->node[node].gone_unit;
	if (engine_says_supernode(d, node))
		marks->supernode = find_domain(d, SN_HEALTH_SUPERNODE, is->supernode,
					       &marks->supernode_mark);
	if (engine_says_unit(d, node))
		marks->unit = find_domain(d, SN_HEALTH_UNIT, is->unit, &marks->unit_mark);
	return find_cards(d, node, marks);
}

static uint32_t next_dirty(struct sn_daemon *d)
{
	for (uint32_t i = 0; i < d->n_nodes; i++) {
		uint32_t n = (d->next_dirty + i) % d->n_nodes;

		if (d->node[n].dirty)
			return n;
	}
	return SN_NONE;
}

static void forget(struct sn_daemon *d, uint32_t node)
{
	d->node[node].dirty = false;
	d->n_dirty--;
}

void write_some(struct sn_daemon *d)
{
	struct write *w;
	uint32_t n;

	/* Before the marks of an earlier daemon were read in, a record would lose them. */
	while (d->duty == SN_DUTY_IN_CHARGE && d->adopted && !d->writing && d->n_dirty) {
		n = next_dirty(d);
		if (n == SN_NONE)
			return;
		if (d->options.dry_run || !sn_view_node(d->nodes, d->topo->node[n].name)) {
			if (d->options.dry_run)
				sn_log_info("dry-run: the marks of %s are not written", d->topo->node[n].name);
			forget(d, n);
			continue;
		}
		w = calloc(1, sizeof(*w));
		if (!w || find_marks(d, n, &w->marks)) {
			free(w);
			sn_timer_set(d->write_timer, RETRY_MAX_MS);
			return;
		}
		forget(d, n);
		d->next_dirty = n + 1;
		snprintf(w->node, sizeof(w->node), "%s", d->topo->node[n].name);
		w->work = (struct sn_work){ write_run, write_done, NULL };
		w->d = d;
		w->drain = !d->node[n].unwritable;
		w->lead = d->lead;
		w->rc = -ECANCELED;
		d->writing = true;
		d->writing_node = n;
		sn_pool_give(d->slurm_write, &w->work);
	}
}

static void on_write(void *ctx)
{
	write_some(ctx);
}

int write_start(struct sn_daemon *d, struct sn_err *err)
{
	return sn_loop_timer(d->loop, on_write, d, &d->write_timer, err);
}

void write_end(struct sn_daemon *d)
{
	(void)d;
}
