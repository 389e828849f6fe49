/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ettr.c - what became of a job's time and card-seconds.
 *
 * Wall time and card-seconds go the same ways, so both are a sum of the same kind:
 * one grows by a second a second, the other by a card a second.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "topology/ettr.h"

#define LAST 1e11 /* s since 1970 */
#define MOST 1e18 /* card-seconds */
#define ROUNDING 1e-6 /* of a sum, that additions in another order may differ by */

const double sn_recovery_bound[SN_RECOVERY_BOUNDS] = {
	0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800,
};

/* ---- time passes ---- */

static void grow(const struct sn_ettr *a, struct sn_ettr_sum *sum, double by)
{
	switch (a->phase) {
	case SN_ETTR_SCRIPT:
		sum->lost[SN_LOST_SCRIPT] += by;
		break;
	case SN_ETTR_QUEUE:
	case SN_ETTR_WAIT:
		sum->lost[SN_LOST_WAIT] += by;
		break;
	case SN_ETTR_PAUSE:
		sum->lost[SN_LOST_PAUSE] += by;
		break;
	case SN_ETTR_OPENING:
		sum->opening += by;
		break;
	case SN_ETTR_WORK:
		sum->provisional += by;
		break;
	case SN_ETTR_CHECKPOINT:
		sum->lost[SN_LOST_CHECKPOINT] += by;
		break;
	default:
		sum->lost[a->generations ? SN_LOST_RESTART : SN_LOST_STARTUP] += by;
	}
}

/* The cards that the phase is about; the others that are held are idle. Where nothing
 * runs that has ranks, it is about all of them. */
static uint32_t busy(const struct sn_ettr *a)
{
	switch (a->phase) {
	case SN_ETTR_SCRIPT:
	case SN_ETTR_QUEUE:
	case SN_ETTR_WAIT:
	case SN_ETTR_PAUSE:
		return a->held;
	default:
		return a->ranks < a->held ? a->ranks : a->held;
	}
}

void sn_ettr_pass(struct sn_ettr *a, double now)
{
	double s = now - a->at;
	uint32_t cards = busy(a);

	if (!(s > 0))
		return;
	grow(a, &a->wall, s);
	grow(a, &a->cards, s * cards);
	a->held_sum += s * a->held;
	a->idle += s * (a->held - cards);
	if (a->want > a->held && a->phase != SN_ETTR_QUEUE && a->phase != SN_ETTR_SCRIPT)
		a->missing += s * (a->want - a->held);
	a->at = now;
}

/* ---- work is settled ---- */

static void give(double *from, double *to)
{
	*to += *from;
	*from = 0;
}

static void settle_sum(struct sn_ettr_sum *sum, double *work, double *opening)
{
	give(&sum->provisional, work);
	give(&sum->opening, opening);
}

static void recovered(struct sn_ettr *a, double at)
{
	double s = at - a->failed;
	uint32_t i = 0;

	if (!a->recovering)
		return;
	a->recovering = false;
	s = s > 0 ? s : 0;
	while (i < SN_RECOVERY_BOUNDS && s > sn_recovery_bound[i])
		i++;
	a->recoveries.n[i]++;
	a->recoveries.sum += s;
	a->recoveries.last = s;
}

static void part(struct sn_ettr_sum *sum, double share, bool safe)
{
	double work = sum->opening * share;

	*(safe ? &sum->useful : &sum->provisional) += work;
	sum->lost[SN_LOST_STARTUP] += sum->opening - work;
	sum->opening = 0;
}

/* How far steps are apart is known, and so what was before the first. */
static void settle_opening(struct sn_ettr *a)
{
	double work = a->interval > SN_ETTR_LONG ? a->interval : 0;
	double share = a->wall.opening > work ? work / a->wall.opening : 1;
	double at = a->first - work;

	if (!(a->wall.opening > 0))
		share = 0;
	part(&a->wall, share, a->safe >= a->first);
	part(&a->cards, share, a->safe >= a->first);
	a->pending = false;
	recovered(a, at > a->started ? at : a->started);
}

/* The generation ends, and it is not: with a checkpoint most of it was work. */
static void give_up_pending(struct sn_ettr *a)
{
	if (!a->pending)
		return;
	if (a->safe >= a->first) {
		give(&a->wall.opening, &a->wall.useful);
		give(&a->cards.opening, &a->cards.useful);
	}
	a->pending = false;
	recovered(a, a->first);
}

static void all_useful(struct sn_ettr *a)
{
	give_up_pending(a);
	settle_sum(&a->wall, &a->wall.useful, &a->wall.useful);
	settle_sum(&a->cards, &a->cards.useful, &a->cards.useful);
}

/* Where steps are shown, a generation without any has done no work. */
static void all_lost(struct sn_ettr *a)
{
	enum sn_lost opening = a->shows_steps ? SN_LOST_STARTUP : SN_LOST_REDONE;

	give_up_pending(a);
	settle_sum(&a->wall, &a->wall.lost[SN_LOST_REDONE], &a->wall.lost[opening]);
	settle_sum(&a->cards, &a->cards.lost[SN_LOST_REDONE], &a->cards.lost[opening]);
}

/* What the safe point does not hold: the end of the work at hand. */
static void cover_sum(struct sn_ettr_sum *sum, double keep, double took)
{
	if (took > sum->provisional)
		took = sum->provisional;
	sum->provisional -= took;
	sum->lost[SN_LOST_CHECKPOINT] += took;
	if (keep > sum->provisional)
		keep = sum->provisional;
	sum->useful += sum->provisional - keep;
	sum->provisional = keep;
}

static void safe_point(struct sn_ettr *a, const struct sn_ettr_event *e)
{
	double covers = e->covers > 0 && e->covers < a->at ? e->covers : a->at;
	double took = e->took > 0 ? e->took : 0, end, keep;
	uint32_t cards;

	/* No steps are shown, and yet there is a checkpoint: it was work. */
	if (a->phase == SN_ETTR_OPENING && !a->shows_steps) {
		give(&a->wall.opening, &a->wall.provisional);
		give(&a->cards.opening, &a->cards.provisional);
		a->phase = SN_ETTR_WORK;
	}
	/* Of work that has ended, by a failure too, the file may come a little later. */
	end = a->phase == SN_ETTR_WORK ? a->at : a->worked;
	cards = a->phase == SN_ETTR_WORK ? busy(a) : a->workers;
	if (covers < a->segment)
		covers = a->segment;
	keep = covers < end ? end - covers : 0;
	/* In a phase of its own saving is counted already. */
	if (a->phase != SN_ETTR_WORK)
		took = 0;
	else if (took > end - a->segment - keep)
		took = end - a->segment - keep;
	cover_sum(&a->wall, keep, took);
	cover_sum(&a->cards, keep * cards, took * cards);
	if (a->phase == SN_ETTR_WORK)
		a->segment = covers;
	if (covers > a->safe)
		a->safe = covers;
	a->safe_points++;
}

/* ---- events ---- */

static void step(struct sn_ettr *a)
{
	if (a->phase == SN_ETTR_WORK && a->pending) {
		a->interval = a->at - a->first;
		settle_opening(a);
	}
	if (a->phase != SN_ETTR_OPENING)
		return;
	a->stepped = a->shows_steps = a->pending = true;
	a->phase = SN_ETTR_WORK;
	a->segment = a->first = a->at;
	if (a->interval > 0)
		settle_opening(a);
}

static void start(struct sn_ettr *a)
{
	all_lost(a);
	a->phase = SN_ETTR_OPENING;
	a->stepped = false;
	a->segment = a->started = a->at;
	a->generations++;
	/* No better sign will come. */
	if (!a->shows_steps)
		recovered(a, a->at);
}

static bool is_on(const struct sn_ettr *a)
{
	return a->phase == SN_ETTR_OPENING || a->phase == SN_ETTR_WORK ||
		a->phase == SN_ETTR_CHECKPOINT;
}

/* Its work is lost only when the next begins: a safe point may still show. */
static void stop(struct sn_ettr *a)
{
	if (a->phase == SN_ETTR_OPENING && !a->shows_steps) {
		give(&a->wall.opening, &a->wall.provisional);
		give(&a->cards.opening, &a->cards.provisional);
		a->phase = SN_ETTR_WORK;
	}
	if (a->phase == SN_ETTR_WORK) {
		a->worked = a->at;
		a->workers = busy(a);
	}
	a->phase = SN_ETTR_RESTART;
}

static void fail(struct sn_ettr *a, enum sn_ettr_fail kind)
{
	bool was_on = is_on(a);

	if (a->pending)
		recovered(a, a->first);
	/* The second node of a loss is no second failure. */
	if (was_on)
		a->fails[kind]++;
	if (!a->recovering) {
		a->recovering = true;
		a->failed = a->at;
	}
	stop(a);
}

static void leave_to(struct sn_ettr *a, enum sn_ettr_phase phase)
{
	all_lost(a);
	a->phase = phase;
}

static void apply(struct sn_ettr *a, const struct sn_ettr_event *e)
{
	switch (e->kind) {
	case SN_ETTR_CARDS:
		if (a->phase == SN_ETTR_WORK && e->ranks != a->ranks)
			a->segment = a->at;
		a->held = e->held;
		a->ranks = e->ranks;
		a->want = e->want;
		break;
	case SN_ETTR_TO_SCRIPT:
		leave_to(a, SN_ETTR_SCRIPT);
		break;
	case SN_ETTR_TO_QUEUE:
		leave_to(a, SN_ETTR_QUEUE);
		a->held = a->ranks = 0;
		break;
	case SN_ETTR_TO_WAIT:
		leave_to(a, SN_ETTR_WAIT);
		break;
	case SN_ETTR_TO_PAUSE:
		leave_to(a, SN_ETTR_PAUSE);
		a->recovering = false;
		break;
	case SN_ETTR_TO_RESTART:
	case SN_ETTR_END:
		stop(a);
		break;
	case SN_ETTR_START:
		start(a);
		break;
	case SN_ETTR_STEP:
		step(a);
		break;
	case SN_ETTR_ASK:
		if (!is_on(a) || a->phase == SN_ETTR_CHECKPOINT)
			break;
		/* Before its first step it is starting up still. */
		if (a->phase == SN_ETTR_OPENING && a->shows_steps)
			break;
		stop(a);
		a->phase = SN_ETTR_CHECKPOINT;
		break;
	case SN_ETTR_SAFE:
		safe_point(a, e);
		if (a->phase == SN_ETTR_CHECKPOINT && !e->ends) {
			a->phase = SN_ETTR_WORK;
			a->segment = a->at;
		}
		break;
	case SN_ETTR_FAIL:
		fail(a, e->fail);
		break;
	default: /* DONE */
		if (e->well) {
			all_useful(a);
			recovered(a, a->at);
		} else {
			all_lost(a);
			a->recovering = false;
		}
		a->phase = SN_ETTR_SCRIPT;
	}
}

void sn_ettr_init(struct sn_ettr *a, double now)
{
	memset(a, 0, sizeof(*a));
	a->began = a->at = now;
	a->phase = SN_ETTR_SCRIPT;
}

int sn_ettr_event(struct sn_ettr *a, const struct sn_ettr_event *e, struct sn_err *err)
{
	if (!isfinite(e->at) || !isfinite(e->covers) || !isfinite(e->took))
		return sn_err_set(err, -EINVAL, "an event's time is no number");
	if ((uint32_t)e->kind >= SN_ETTR_KINDS || (uint32_t)e->fail >= SN_ETTR_FAILS)
		return sn_err_set(err, -EINVAL, "there is no event of kind %u, failure %u",
				  (unsigned int)e->kind, (unsigned int)e->fail);
	sn_ettr_pass(a, e->at);
	apply(a, e);
	return 0;
}

/* ---- looking in ---- */

bool sn_ettr_wants_steps(const struct sn_ettr *a)
{
	return a->phase == SN_ETTR_OPENING || (a->phase == SN_ETTR_WORK && a->pending);
}

double sn_ettr_lost(const struct sn_ettr_sum *sum)
{
	double all = 0;

	for (int i = 0; i < SN_LOST_KINDS; i++)
		all += sum->lost[i];
	return all;
}

double sn_ettr_open(const struct sn_ettr_sum *sum)
{
	return sum->provisional + sum->opening;
}

double sn_ettr_wall(const struct sn_ettr *a)
{
	return a->wall.useful + sn_ettr_open(&a->wall) + sn_ettr_lost(&a->wall);
}

static double ratio(double part, double whole)
{
	return whole > 0 ? part < whole ? part / whole : 1 : 0;
}

double sn_ettr_ratio(const struct sn_ettr *a)
{
	return ratio(a->wall.useful, sn_ettr_wall(a));
}

double sn_ettr_ratio_open(const struct sn_ettr *a)
{
	return ratio(a->wall.useful + sn_ettr_open(&a->wall), sn_ettr_wall(a));
}

uint64_t sn_recoveries_count(const struct sn_recoveries *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i <= SN_RECOVERY_BOUNDS; i++)
		n += r->n[i];
	return n;
}

/* ---- one that was read ---- */

static bool is_part(double n)
{
	return n >= 0 && n <= MOST;
}

/* Of one that was read: since 1970, and none in the future of the account. */
static bool is_time(const struct sn_ettr *a, double t)
{
	return t >= 0 && t <= a->at;
}

static bool is_sum(const struct sn_ettr_sum *sum)
{
	bool ok = is_part(sum->useful) && is_part(sum->provisional) && is_part(sum->opening);

	for (int i = 0; i < SN_LOST_KINDS; i++)
		ok = ok && is_part(sum->lost[i]);
	return ok;
}

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1 + ROUNDING * fabs(a);
}

int sn_ettr_check(const struct sn_ettr *a, struct sn_err *err)
{
	double sum = a->cards.useful + sn_ettr_open(&a->cards) +
		sn_ettr_lost(&a->cards) + a->idle;

	if (!(a->at >= 0 && a->at <= LAST) || !is_time(a, a->began) ||
	    !is_time(a, a->segment) || !is_time(a, a->worked) ||
	    !is_time(a, a->failed) || !is_time(a, a->first) ||
	    !is_time(a, a->started) || !is_part(a->interval) || !is_time(a, a->safe))
		return sn_err_set(err, -EINVAL, "its times cannot be");
	if ((uint32_t)a->phase >= SN_ETTR_PHASES)
		return sn_err_set(err, -EINVAL, "there is no phase %u", (unsigned int)a->phase);
	if (!is_sum(&a->wall) || !is_sum(&a->cards) || !is_part(a->idle) ||
	    !is_part(a->held_sum) || !is_part(a->missing) ||
	    !is_part(a->recoveries.sum) || !is_part(a->recoveries.last))
		return sn_err_set(err, -EINVAL, "a sum is below 0 or no number");
	if (!is_near(a->held_sum, sum))
		return sn_err_set(err, -EINVAL,
				  "%.3f card-seconds are held, and those of use, lost and idle come to %.3f",
				  a->held_sum, sum);
	if (!is_near(sn_ettr_wall(a), a->at - a->began))
		return sn_err_set(err, -EINVAL,
				  "%.3f s have passed, and the sums come to %.3f",
				  a->at - a->began, sn_ettr_wall(a));
	return 0;
}
