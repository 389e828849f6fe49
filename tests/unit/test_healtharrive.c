/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/healtharrive.h"

#define MS 1000000u
#define START 1700000000000000000u

/*
 * A job of `tp` times `dp` ranks that computes, talks within tp, and at the end of
 * each step within dp. Each rank's clock is off; slow takes `much` percent longer.
 */
struct job {
	uint32_t tp, dp, slow, much;
	uint64_t now[64]; /* true time of each rank */
	int64_t clock[64];
	uint64_t seq_tp, seq_dp;
	uint64_t rng;
	struct sn_records rec;
	bool tp_silent; /* tp is not recorded */
};

static void begin(struct job *j, uint32_t tp, uint32_t dp, uint32_t slow, uint32_t much)
{
	memset(j, 0, sizeof(*j));
	j->tp = tp;
	j->dp = dp;
	j->slow = slow;
	j->much = much;
	j->rng = 1;
	sn_records_init(&j->rec);
	for (uint32_t r = 0; r < tp * dp; r++) {
		char name[16], members[64];
		struct sn_rec_new tp_comm = { .name = name, .kind = "tp", .members = members,
					      .index = r % tp };

		j->now[r] = START;
		/* minutes apart: far more than anything that is measured */
		j->clock[r] = (int64_t)(r * 7919 % 13) * 60000 * (int64_t)MS;
		assert_int_equal(sn_records_start(&j->rec, r, 0, tp * dp, "n", 1 + r, START, NULL), 0);
		snprintf(name, sizeof(name), "tp_%u", r / tp);
		snprintf(members, sizeof(members), "%u-%u", r / tp * tp, r / tp * tp + tp - 1);
		assert_int_equal(sn_records_comm(&j->rec, r, 0, &tp_comm, NULL), 0);
		snprintf(name, sizeof(name), "dp_%u", r % tp);
		snprintf(members, sizeof(members), "%u-%u:%u", r % tp, (dp - 1) * tp + r % tp, tp);
		tp_comm.index = r / tp;
		tp_comm.kind = "dp";
		assert_int_equal(sn_records_comm(&j->rec, r, 0, &tp_comm, NULL), 0);
	}
}

static void compute(struct job *j, uint64_t ns)
{
	for (uint32_t r = 0; r < j->tp * j->dp; r++) {
		j->rng = j->rng * 6364136223846793005u + 1442695040888963407u;
		j->now[r] += ns + ns * (j->rng >> 59) / 1000; /* up to 3 % */
		if (r == j->slow)
			j->now[r] += ns * j->much / 100;
	}
}

static void collective(struct job *j, const char *kind, uint32_t first, uint32_t n,
		       uint32_t stride, uint32_t number, uint64_t seq, bool silent)
{
	uint64_t last = 0;
	char name[16];

	snprintf(name, sizeof(name), "%s_%u", kind, number);
	for (uint32_t i = 0; i < n; i++)
		if (j->now[first + i * stride] > last)
			last = j->now[first + i * stride];
	for (uint32_t i = 0; i < n; i++) {
		uint32_t r = first + i * stride;

		if (!silent)
			assert_int_equal(sn_records_op(&j->rec, r, 0, name, seq, "all_reduce", 8,
						       j->now[r] + (uint64_t)j->clock[r],
						       last + MS / 10 + (uint64_t)j->clock[r], NULL), 0);
		j->now[r] = last + MS / 10;
	}
}

static void step(struct job *j, uint32_t layers)
{
	for (uint32_t l = 0; l < layers; l++) {
		compute(j, 2 * MS);
		j->seq_tp++;
		for (uint32_t g = 0; g < j->dp; g++)
			collective(j, "tp", g * j->tp, j->tp, 1, g, j->seq_tp, j->tp_silent);
	}
	compute(j, 10000);
	j->seq_dp++;
	for (uint32_t g = 0; g < j->tp; g++)
		collective(j, "dp", g, j->dp, j->tp, g, j->seq_dp, false);
}

static const struct sn_arrival *of(const struct sn_arrivals *a, uint32_t rank)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->arrival[i].rank == rank)
			return &a->arrival[i];
	return NULL;
}

static void the_slow_rank_is_blamed_and_not_who_waits_for_it(void **state)
{
	struct sn_arrivals out;
	struct sn_arrive a;
	struct job j;

	(void)state;
	begin(&j, 4, 4, 6, 20);
	for (int s = 0; s < 3; s++)
		step(&j, 4);
	sn_arrive_init(&a);
	assert_int_equal(sn_arrive_take(&a, &j.rec, &out, NULL), 0);
	assert_int_equal(out.n, 16);
	assert_int_equal(out.round, 1);
	for (uint32_t r = 0; r < 16; r++) {
		const struct sn_arrival *o = of(&out, r);

		assert_non_null(o);
		if (r == 6) {
			assert_true(o->ratio > 1.15 && o->ratio < 1.25);
			assert_string_equal(sn_records_text(&j.rec, o->comm), "tp_1");
			assert_true(o->last > o->ops * 9 / 10);
			assert_true(o->late > 300000 && o->late < 500000);
		} else {
			/* also 4, 5 and 7, which arrive last in dp */
			assert_true(o->ratio > 0.95 && o->ratio < 1.05);
		}
	}
	sn_arrivals_done(&out);
	sn_arrive_done(&a);
	sn_records_done(&j.rec);
}

static void nothing_is_taken_twice(void **state)
{
	struct sn_arrivals out;
	struct sn_arrive a;
	struct job j;

	(void)state;
	begin(&j, 4, 4, 6, 20);
	sn_arrive_init(&a);
	for (int s = 0; s < 3; s++)
		step(&j, 4);
	sn_arrive_take(&a, &j.rec, &out, NULL);
	sn_arrivals_done(&out);
	sn_arrive_take(&a, &j.rec, &out, NULL);
	assert_int_equal(out.n, 0);
	assert_int_equal(out.round, 1);
	sn_arrivals_done(&out);
	step(&j, 4);
	sn_arrive_take(&a, &j.rec, &out, NULL);
	assert_int_equal(out.n, 16);
	assert_int_equal(out.round, 2);
	assert_int_equal(of(&out, 6)->ops, 4);
	sn_arrivals_done(&out);
	sn_arrive_done(&a);
	sn_records_done(&j.rec);
}

/* Many more operations than are kept: what is unknown must not count as own time. */
static void forgotten_waiting_is_nobodys_own_time(void **state)
{
	struct sn_arrivals out;
	struct sn_arrive a;
	struct job j;

	(void)state;
	begin(&j, 4, 4, 6, 40);
	for (int s = 0; s < 20; s++)
		step(&j, 40);
	sn_arrive_init(&a);
	sn_arrive_take(&a, &j.rec, &out, NULL);
	assert_int_equal(out.n, 16);
	for (uint32_t r = 0; r < 16; r++)
		assert_true(r == 6 ? of(&out, r)->ratio > 1.3 : of(&out, r)->ratio < 1.05);
	sn_arrivals_done(&out);
	sn_arrive_done(&a);
	sn_records_done(&j.rec);
}

static void a_communicator_alone_will_do(void **state)
{
	struct sn_arrivals out;
	struct sn_arrive a;
	struct job j;

	(void)state;
	/* tp=1 in effect: only dp talks */
	begin(&j, 1, 8, 3, 25);
	j.tp_silent = true;
	for (int s = 0; s < 10; s++)
		step(&j, 5);
	sn_arrive_init(&a);
	sn_arrive_take(&a, &j.rec, &out, NULL);
	assert_int_equal(out.n, 8);
	for (uint32_t r = 0; r < 8; r++)
		assert_true(r == 3 ? of(&out, r)->ratio > 1.2 : of(&out, r)->ratio < 1.05);
	sn_arrivals_done(&out);
	sn_arrive_done(&a);
	sn_records_done(&j.rec);
}

static void too_few_members_or_too_short_says_nothing(void **state)
{
	struct sn_arrivals out;
	struct sn_arrive a;
	struct job j;

	(void)state;
	begin(&j, 2, 2, 1, 50);
	for (int s = 0; s < 5; s++)
		step(&j, 5);
	sn_arrive_init(&a);
	sn_arrive_take(&a, &j.rec, &out, NULL);
	assert_int_equal(out.n, 0);
	sn_arrivals_done(&out);
	sn_arrive_done(&a);
	sn_records_done(&j.rec);
	/* back to back: only the host's noise is between two operations */
	begin(&j, 4, 4, 1, 50);
	for (int s = 0; s < 10; s++) {
		j.seq_tp++;
		compute(&j, 10000);
		for (uint32_t g = 0; g < 4; g++)
			collective(&j, "tp", g * 4, 4, 1, g, j.seq_tp, false);
	}
	sn_arrive_init(&a);
	sn_arrive_take(&a, &j.rec, &out, NULL);
	assert_int_equal(out.n, 0);
	sn_arrivals_done(&out);
	sn_arrive_done(&a);
	sn_records_done(&j.rec);
	sn_records_init(&j.rec);
	sn_arrive_take(&a, &j.rec, &out, NULL);
	assert_int_equal(out.n, 0);
	sn_arrivals_done(&out);
	sn_records_done(&j.rec);
	sn_arrive_done(&a);
}

/* A rank hangs in an operation, or has written nothing: the others are judged. */
static void a_missing_rank_does_not_stop_the_others(void **state)
{
	struct sn_arrivals out;
	struct sn_arrive a;
	struct job j;

	(void)state;
	begin(&j, 8, 2, 2, 30);
	for (int s = 0; s < 3; s++)
		step(&j, 4);
	j.rec.rank[5].present = false;
	sn_arrive_init(&a);
	sn_arrive_take(&a, &j.rec, &out, NULL);
	assert_int_equal(out.n, 15);
	assert_null(of(&out, 5));
	assert_true(of(&out, 2)->ratio > 1.2);
	sn_arrivals_done(&out);
	sn_arrive_done(&a);
	j.rec.rank[5].present = true;
	sn_records_done(&j.rec);
}

static void a_new_generation_begins_anew(void **state)
{
	struct sn_arrivals out;
	struct sn_arrive a;
	struct job j;

	(void)state;
	begin(&j, 4, 2, 2, 30);
	for (int s = 0; s < 3; s++)
		step(&j, 4);
	sn_arrive_init(&a);
	sn_arrive_take(&a, &j.rec, &out, NULL);
	sn_arrivals_done(&out);
	for (uint32_t r = 0; r < 8; r++)
		j.rec.rank[r].gen = 1;
	j.rec.gen = 1;
	sn_arrive_take(&a, &j.rec, &out, NULL);
	assert_int_equal(out.n, 8);
	assert_int_equal(out.gen, 1);
	assert_int_equal(out.round, 2);
	sn_arrivals_done(&out);
	sn_arrive_done(&a);
	sn_records_done(&j.rec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_slow_rank_is_blamed_and_not_who_waits_for_it),
		cmocka_unit_test(nothing_is_taken_twice),
		cmocka_unit_test(forgotten_waiting_is_nobodys_own_time),
		cmocka_unit_test(a_communicator_alone_will_do),
		cmocka_unit_test(too_few_members_or_too_short_says_nothing),
		cmocka_unit_test(a_missing_rank_does_not_stop_the_others),
		cmocka_unit_test(a_new_generation_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
