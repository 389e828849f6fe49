/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verifybed.h - records of a job, made by hand.
 */
#ifndef SN_TESTS_VERIFYBED_H
#define SN_TESTS_VERIFYBED_H

#include "topology/groups.h"
#include "topology/verify.h"

static struct sn_records rec;
static struct sn_findings found;
static struct sn_verify_opts opts;

static inline int begin(void **state)
{
	(void)state;
	sn_records_init(&rec);
	memset(&found, 0, sizeof(found));
	opts = (struct sn_verify_opts){ .now = 1000000000000u };
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	sn_records_done(&rec);
	sn_findings_done(&found);
	return 0;
}

static inline void start(uint32_t rank, uint32_t world)
{
	assert_int_equal(sn_records_start(&rec, rank, 0, world, NULL, 0, 0, NULL), 0);
}

static inline uint32_t place_in(const char *members, uint32_t rank)
{
	uint32_t *list = NULL, n = 0, at = SN_REC_NONE;

	assert_int_equal(sn_ranks_parse(members, 1u << 20, &list, &n, NULL), 0);
	for (uint32_t i = 0; i < n; i++)
		if (list[i] == rank)
			at = i;
	free(list);
	return at;
}

static inline void comm(uint32_t rank, const char *name, const char *members)
{
	struct sn_rec_new new = { .name = name, .members = members,
		.index = place_in(members, rank) };

	assert_int_equal(sn_records_comm(&rec, rank, 0, &new, NULL), 0);
}

static inline void op(uint32_t rank, const char *name, uint64_t seq, const char *what,
	       uint64_t bytes, uint64_t arrive, uint64_t finish)
{
	assert_int_equal(sn_records_op(&rec, rank, 0, name, seq, what, bytes,
				       arrive, finish, NULL), 0);
}

static inline void verify(void)
{
	struct sn_err err;

	sn_findings_done(&found);
	assert_int_equal(sn_verify(&rec, &opts, &found, &err), 0);
}

static inline void first_is(enum sn_find_kind kind, const char *text)
{
	assert_true(found.n > 0);
	if (found.find[0].kind != kind || strcmp(found.find[0].text, text))
		print_error("kind %s: %s\n", sn_find_name(found.find[0].kind),
			    found.find[0].text);
	assert_int_equal(found.find[0].kind, kind);
	assert_string_equal(found.find[0].text, text);
}

/* Eight ranks: tp 0-3, 4-7; dp pairs. */
static inline void eight(void)
{
	char name[8], list[16];

	for (uint32_t r = 0; r < 8; r++) {
		start(r, 8);
		comm(r, r < 4 ? "tp_0" : "tp_1", r < 4 ? "0-3" : "4-7");
		snprintf(name, sizeof(name), "dp_%u", r % 4);
		snprintf(list, sizeof(list), "%u,%u", r % 4, r % 4 + 4);
		comm(r, name, list);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

#endif
