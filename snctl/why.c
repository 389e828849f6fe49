/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * why.c - can a pending job be placed, now or later, and what is in the way?
 *
 * The same engine as the scheduler's, on what slurmctld tells clients, says what
 * is in the way. Whether the job fits, slurmctld itself is asked besides: it
 * alone knows cores inside of nodes, preemption, parts of nodes that are
 * reserved. Where the two differ its word holds.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snctl/why.h"

#define TIMES_TRIED 64

struct sim {
	const struct live *live;
	const struct why_extra *extra;
	const struct live_job *job;
	const partition_info_t *part;
	struct why_ask *ask;
	struct why_state state;
};

static int simulate(struct sim *sim, struct why_when when, struct sn_err *err)
{
	return why_state_make(sim->live, sim->extra, sim->job, sim->part, sim->ask,
			      when, &sim->state, err);
}

static bool fits(struct sim *sim, struct sn_err *err)
{
	struct sn_placement placement;
	bool yes = !why_place(sim->live, sim->ask, &sim->state, &placement, err);

	if (yes)
		sn_placement_done(&placement);
	return yes;
}

static int by_time(const void *a, const void *b)
{
	time_t x = *(const time_t *)a, y = *(const time_t *)b;

	return x < y ? -1 : x > y;
}

static uint32_t list_times(const struct sim *sim, time_t *time_of, bool reservations)
{
	const struct live *live = sim->live;
	uint32_t n = 0;

	for (uint32_t j = 0; j < live->n_jobs; j++)
		if (live->job[j].running && why_end_of(&live->job[j]))
			time_of[n++] = why_end_of(&live->job[j]);
	for (uint32_t i = 0; reservations && i < sim->extra->reservations->record_count; i++) {
		const reserve_info_t *resv = &sim->extra->reservations->reservation_array[i];

		time_of[n++] = resv->end_time;
		time_of[n++] = resv->start_time;
	}
	qsort(time_of, n, sizeof(*time_of), by_time);
	return n;
}

/*
 * The first end of a running job (or edge of a reservation) at which the job
 * fits. Without reservations, more time never makes a job fit less, so halving
 * finds it in a long list.
 */
static int find_time(struct sim *sim, struct why *why, struct sn_err *err)
{
	const reserve_info_msg_t *resv = sim->extra->reservations;
	size_t most = sim->live->n_jobs + (resv ? 2 * resv->record_count : 0);
	time_t *at = calloc(most + 1, sizeof(*at));
	uint32_t n, low = 0, high;
	int rc = 0;

	if (!at)
		return sn_err_set(err, -ENOMEM, "no memory");
	n = list_times(sim, at, resv != NULL);
	high = n; /* n: it does not fit at any of them */
	while (!rc && low < high) {
		uint32_t middle = n > TIMES_TRIED ? low + (high - low) / 2 : low;

		rc = simulate(sim, (struct why_when) { .time = at[middle] }, err);
		if (!rc && fits(sim, NULL))
			high = middle;
		else
			low = middle + 1;
	}
	if (!rc && high < n) {
		why->fits_at = at[high];
		for (uint32_t j = 0; j < sim->live->n_jobs; j++)
			why->waits_for += sim->live->job[j].running &&
				why_end_of(&sim->live->job[j]) &&
				why_end_of(&sim->live->job[j]) <= why->fits_at;
	}
	free(at);
	return rc;
}

static int look_at(const struct live *live, const struct why_extra *extra,
		   const struct live_job *job, const partition_info_t *part,
		   bool exact, struct why *ret, struct sn_err *err)
{
	struct sim sim = {
		.live = live, .extra = extra, .job = job, .part = part, .ask = &ret->ask,
	};
	int rc;

	ret->job = job;
	ret->part = part;
	why_ask_init(live, job, extra->count_memory, part, exact, &ret->ask);
	rc = simulate(&sim, (struct why_when) { 0 }, err);
	if (!rc) {
		ret->found = !why_place(live, &ret->ask, &sim.state, &ret->now, &ret->why);
		ret->lacking = why_lacking(live, &sim.state) != SN_NONE;
		rc = why_count(live, &sim.state, ret, err);
	}
	if (!rc && !ret->found) {
		why_find_smaller(live, &sim.state, ret);
		rc = simulate(&sim, (struct why_when) { .all = true }, err);
		ret->fits_ever = !rc && fits(&sim, &ret->never);
		if (!rc && ret->fits_ever)
			rc = find_time(&sim, ret, err);
	}
	why_state_done(&sim.state);
	return rc;
}

/* Sooner is better; the partition that the job names first, of equals. */
static bool is_better(const struct why *a, const struct why *b)
{
	if (a->found || b->found)
		return a->found && !b->found;
	if (a->fits_ever != b->fits_ever)
		return a->fits_ever;
	if (!a->fits_at || !b->fits_at)
		return a->fits_at && !b->fits_at;
	return a->fits_at < b->fits_at;
}

static void take_verdict(const struct live *live, struct why *why)
{
	const slurm_job_info_t *info = why->job->info;

	/* Until it begins, slurmctld's answer is of that time. */
	if (!(info->state_reason == WAIT_TIME))
		why_ctld_ask(live, why->job, why->part, why->found, &why->ctld);
	why->fits_now = why->ctld.asked ? why->ctld.fits_now : why->found;
}

/* The best of the job's partitions. */
static int look_everywhere(const struct live *live, const struct why_extra *extra,
			   const struct live_job *job, bool exact, struct why *ret,
			   struct sn_err *err)
{
	int rc = 0;

	memset(ret, 0, sizeof(*ret));
	for (uint32_t i = 0; !rc && i < live->partitions->record_count; i++) {
		const partition_info_t *part = &live->partitions->partition_array[i];
		struct why one = { 0 };

		if (job->info->partition && !why_has_word(job->info->partition, part->name))
			continue;
		rc = look_at(live, extra, job, part, exact, &one, err);
		if (!rc && (!ret->part || is_better(&one, ret))) {
			struct why old = *ret;

			one.n_parts = ret->n_parts;
			*ret = one;
			one = old;
		}
		why_done(&one);
		ret->n_parts++;
	}
	if (!rc && !ret->part)
		rc = sn_err_set(err, -ESRCH, "slurmctld shows no partition %.80s of job %u",
				job->info->partition ? job->info->partition : "",
				job->info->job_id);
	return rc;
}

int why_make(const struct live *live, const struct why_extra *extra,
	     const struct live_job *job, struct why *ret, struct sn_err *err)
{
	int rc = look_everywhere(live, extra, job, false, ret, err);

	if (!rc)
		take_verdict(live, ret);
	if (!rc && ret->found && ret->ask.guessed && !ret->fits_now) {
		struct why_ctld ctld = ret->ctld;

		ret->ctld = (struct why_ctld) { 0 };
		why_done(ret);
		rc = look_everywhere(live, extra, job, true, ret, err);
		ret->ctld = ctld;
	}
	if (rc) {
		why_done(ret);
		return rc;
	}
	ret->reason = reason_of(job->info);
	return 0;
}

void why_done(struct why *why)
{
	if (why->found)
		sn_placement_done(&why->now);
	why_ctld_done(&why->ctld);
	free(why->supernode);
	memset(why, 0, sizeof(*why));
}

void why_occupy(struct live *live, const struct why *why)
{
	const struct why_ask *ask = &why->ask;

	for (uint32_t i = 0; why->found && i < why->now.n_nodes; i++) {
		struct live_node *node = &live->node[why->now.node[i].node];
		bool cards = ask->parallel || ask->cards != WHY_NO_CARDS;
		uint32_t left = cards ? why->now.node[i].ranks : 0;
		uint32_t cpus = ask->parallel ? left * ask->cpus_per_task :
			(ask->cpus + why->now.n_nodes - 1) / why->now.n_nodes;

		for (uint64_t free_cards = live_free(node); free_cards && left; left--) {
			node->used |= free_cards & -free_cards;
			free_cards &= free_cards - 1;
		}
		if (ask->whole) {
			node->used = node->cards;
			cpus = node->cpus_free;
		}
		node->taken = true;
		node->cpus_free -= cpus < node->cpus_free ? cpus : node->cpus_free;
	}
}
