/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine.c - the health engine, and what becomes of its actions.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "elastic/daemon.h"
#include "elastic/healthfile.h"

#define TICK_MIN_MS 20
#define TICK_MAX_MS 1000 /* a clock that was set is noticed within */
#define CLOCK_JUMP 2.0 /* s */

double sn_daemon_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- making one ---------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Nodes that Slurm has and topology.conf has not, as live.c and the plugin do. */
static int add_loose(struct sn_topo *topo, const struct sn_view_nodes *nodes,
		     struct sn_err *err)
{
	const char **name = calloc((nodes ? nodes->n : 0) + 1, sizeof(*name));
	uint32_t n = 0;
	int rc = 0;

	if (!name)
		return sn_err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; nodes && i < nodes->n; i++)
		if (*nodes->node[i].name && sn_topo_find_node(topo, nodes->node[i].name) == SN_NONE)
			name[n++] = nodes->node[i].name;
	qsort(name, n, sizeof(*name), by_text);
	for (uint32_t i = 0; i < n && !rc; i++) {
		rc = sn_topo_add_loose(topo, name[i], err);
		/* One that has a supernode's name, or none that can be: without it. */
		if (rc == -EEXIST || rc == -EINVAL)
			rc = 0;
	}
	free(name);
	return rc;
}

/* Names of a health file that are not known yet, as slurmctld may be down. */
static int add_saved(struct sn_topo *topo, const char *text, size_t len, struct sn_err *err)
{
	return sn_healthfile_names(text, len, SN_HEALTHFILE, topo, err);
}

static int read_state(struct sn_daemon *d, struct sn_health *health, const char *text,
		      size_t len, const char *what, struct sn_err *err)
{
	uint32_t over = 0;
	int rc = text ? sn_healthfile_read(text, len, what, health, sn_daemon_now(), &over, err) : 0;

	if (!rc && over)
		sn_log_info("%u entries of the health state name what is no more, ignoring", over);
	(void)d;
	return rc;
}

static uint32_t *find_units(const struct sn_topo *topo)
{
	uint32_t *first = calloc((size_t)topo->n_units + 1, sizeof(*first));

	for (uint32_t u = 0; first && u < topo->n_units; u++)
		first[u] = SN_NONE;
	for (uint32_t n = topo->n_nodes; first && n-- > 0;)
		if (topo->node[n].unit != SN_NONE)
			first[topo->node[n].unit] = n;
	return first;
}

bool engine_says_supernode(const struct sn_daemon *d, uint32_t node)
{
	return d->topo->supernode[d->topo->node[node].supernode].first_node == node;
}

bool engine_says_unit(const struct sn_daemon *d, uint32_t node)
{
	uint32_t unit = d->topo->node[node].unit;

	return unit != SN_NONE && d->unit_first[unit] == node;
}

static void add_freed(void *arg, const struct sn_healthfile_freed *freed)
{
	struct sn_daemon *d = arg;
	uint32_t node = sn_topo_find_node(d->topo, freed->node);

	if (node == SN_NONE)
		return;
	d->node[node].freed |= freed->cards;
}

int engine_make(struct sn_daemon *d, const char *text, size_t len, struct sn_err *err)
{
	struct sn_topo *topo = d->conf.topo ? d->conf.topo : d->topo;
	struct sn_health *fresh = NULL;
	struct sn_daemon_node *node;
	uint32_t *units;
	char *old = NULL;
	size_t old_len = 0;
	int rc = 0;

	if (text)
		rc = add_saved(topo, text, len, err);
	if (!rc && d->health)
		rc = sn_healthfile_write(d->health, NULL, 0, &old, &old_len, err);
	/* From here on the old engine's topology may have more nodes than it knows. */
	if (!rc)
		rc = add_loose(topo, d->nodes, err);
	if (!rc)
		rc = sn_health_create(topo, &d->conf.health, &d->conf.codes, &fresh, err);
	if (!rc)
		rc = read_state(d, fresh, old, old_len, "the engine's state", err);
	if (!rc)
		rc = read_state(d, fresh, text, len, SN_HEALTHFILE, err);
	node = rc ? NULL : calloc((size_t)topo->n_nodes + 1, sizeof(*node));
	units = rc ? NULL : find_units(topo);
	if (!rc && (!node || !units))
		rc = sn_err_set(err, -ENOMEM, "no memory");
	free(old);
	if (rc) {
		sn_health_destroy(fresh);
		free(node);
		free(units);
		return rc;
	}
	d->n_dirty = d->n_recheck = d->n_probe_due = 0;
	for (uint32_t i = 0; d->health && i < d->n_nodes; i++) {
		static const struct sn_daemon_node none;
		bool any = memcmp(&d->node[i], &none, sizeof(none));
		uint32_t is = any ? sn_topo_find_node(topo, d->topo->node[i].name) : SN_NONE;

		if (is == SN_NONE)
			continue;
		node[is] = d->node[i];
		d->n_dirty += node[is].dirty;
		d->n_recheck += node[is].recheck;
		d->n_probe_due += node[is].probe_due;
	}
	sn_health_destroy(d->health);
	if (d->topo != topo)
		sn_topo_destroy(d->topo);
	free(d->node);
	free(d->unit_first);
	d->topo = topo;
	d->conf.topo = NULL;
	d->numbering++;
	d->health = fresh;
	d->node = node;
	d->unit_first = units;
	d->n_nodes = topo->n_nodes;
	d->next_dirty = 0;
	return text ? sn_healthfile_freed(text, len, SN_HEALTHFILE, add_freed, d, err) : 0;
}

int engine_state(const struct sn_daemon *d, char **ret, size_t *ret_len, struct sn_err *err)
{
	struct sn_healthfile_freed *freed = NULL;
	uint32_t n = 0;
	int rc;

	for (uint32_t i = 0; i < d->n_nodes; i++)
		n += d->node[i].freed != 0;
	if (n && !(freed = calloc(n, sizeof(*freed))))
		return sn_err_set(err, -ENOMEM, "no memory");
	n = 0;
	for (uint32_t i = 0; i < d->n_nodes; i++)
		if (d->node[i].freed)
			freed[n++] = (struct sn_healthfile_freed){ d->topo->node[i].name,
				d->node[i].freed };
	rc = sn_healthfile_write(d->health, freed, n, ret, ret_len, err);
	free(freed);
	return rc;
}

void engine_done(struct sn_daemon *d)
{
	sn_health_destroy(d->health);
	d->health = NULL;
	sn_topo_destroy(d->topo);
	d->topo = NULL;
	free(d->node);
	d->node = NULL;
	free(d->unit_first);
	d->unit_first = NULL;
	d->n_nodes = 0;
}

/* ---- its actions --------------------------------------------------------------------- */

enum sn_cardhealth engine_mark_of(enum sn_health_state state)
{
	static const enum sn_cardhealth mark_of[SN_HEALTH_STATES] = {
		[SN_HEALTH_SUSPECT] = SN_CARDHEALTH_SUSPECT,
		[SN_HEALTH_PROBING] = SN_CARDHEALTH_PROBING,
		[SN_HEALTH_QUARANTINED] = SN_CARDHEALTH_QUARANTINED,
		[SN_HEALTH_MANUAL] = SN_CARDHEALTH_MANUAL,
	};

	return mark_of[state];
}

void engine_mark_dirty(struct sn_daemon *d, uint32_t node)
{
	if (node >= d->n_nodes || d->node[node].dirty)
		return;
	d->node[node].dirty = true;
	d->n_dirty++;
}

static uint32_t first_of(const struct sn_daemon *d, const struct sn_health_action *a)
{
	if (a->domain == SN_HEALTH_SUPERNODE)
		return a->index < d->topo->n_supernodes ?
			d->topo->supernode[a->index].first_node : SN_NONE;
	return a->index < d->topo->n_units ? d->unit_first[a->index] : SN_NONE;
}

static const char *domain_name(const struct sn_topo *topo, const struct sn_health_action *a)
{
	if (a->domain == SN_HEALTH_SUPERNODE)
		return a->index < topo->n_supernodes ? topo->supernode[a->index].name : "";
	return a->index < topo->n_units ? topo->unit[a->index].name : "";
}

static void act(struct sn_daemon *d, const struct sn_health_action *a, uint32_t uid,
		uint32_t job)
{
	bool domain = a->index != SN_NONE;
	uint32_t node = domain ? first_of(d, a) : a->node;
	const char *name = domain ? domain_name(d->topo, a) :
		a->node < d->topo->n_nodes ? d->topo->node[a->node].name : "";
	const char *word = sn_health_kind_name(a->kind);
	const char *leave = a->leave ? "; running work should leave it" : "";
	uint64_t bit = !domain && a->card < 64 ? UINT64_C(1) << a->card : 0;

	if (domain)
		sn_log_info("health: %s %s: %s", word, name, a->why);
	else
		sn_log_info("health: %s %s:%u: %s%s", word, name, a->card, a->why, leave);
	daemon_event(d, "health", name, domain ? SN_NONE : a->card, job, uid, "%s: %s%s", word,
		     a->why, leave);
	if (node >= d->n_nodes)
		return;
	switch (a->kind) {
	case SN_HEALTH_PROBE:
		d->node[node].probe |= bit;
		probe_want(d, node);
		break;
	case SN_HEALTH_NOTE:
		break;
	default:
		/* Suspect once more: the probe that was wanted is so still. */
		if (a->kind != SN_HEALTH_MASK)
			d->node[node].probe &= ~bit;
		d->node[node].freed &= ~bit;
		if (a->kind == SN_HEALTH_UNMASK)
			d->node[node].freed |= bit;
		engine_mark_dirty(d, node);
	}
}

bool engine_act(struct sn_daemon *d, struct sn_health_actions *actions, uint32_t uid,
		uint32_t job)
{
	bool changed = actions->n;

	for (size_t i = 0; i < actions->n; i++)
		act(d, &actions->action[i], uid, job);
	sn_health_actions_done(actions);
	write_some(d);
	if (changed)
		care_soon(d);
	return changed;
}

/* ---- time ---------------------------------------------------------------------------- */

/* Waiting times are by the machine's clock, which may be set; nothing breaks then,
 * but somebody who reads the history will wonder. */
static void watch_clock(struct sn_daemon *d)
{
	double offset = sn_daemon_now() - (double)sn_loop_now() / 1000;
	double jump = offset - d->clock_offset;

	if (fabs(jump) > CLOCK_JUMP) {
		sn_log_error("the clock was set %s by %.1f s", jump > 0 ? "on" : "back", fabs(jump));
		daemon_event(d, "daemon", NULL, SN_NONE, 0, SN_NONE, "the clock was set %s by %.1f s",
			     jump > 0 ? "on" : "back", fabs(jump));
	}
	d->clock_offset = offset;
}

static void on_tick(void *ctx)
{
	struct sn_daemon *d = ctx;
	struct sn_health_actions actions = { 0 };
	double now = sn_daemon_now();
	struct sn_err err;

	if (d->duty != SN_DUTY_IN_CHARGE)
		return;
	watch_clock(d);
	follow_watch(d);
	daemon_refused_tell(d);
	if (sn_health_next(d->health, now) <= now) {
		if (sn_health_tick(d->health, now, &actions, &err))
			sn_log_limited(SN_LOG_ERROR, "health: %s", err.text);
		if (engine_act(d, &actions, SN_NONE, 0))
			keep_state(d);
	}
	engine_wake(d);
}

void engine_wake(struct sn_daemon *d)
{
	double now = sn_daemon_now(), in;
	int64_t ms;

	if (d->duty != SN_DUTY_IN_CHARGE)
		return;
	in = (sn_health_next(d->health, now) - now) * 1000;
	ms = in < TICK_MIN_MS ? TICK_MIN_MS : in > TICK_MAX_MS ? TICK_MAX_MS : (int64_t)in;
	if (!d->tick && sn_loop_timer(d->loop, on_tick, d, &d->tick, NULL))
		return;
	sn_timer_set(d->tick, ms);
}
