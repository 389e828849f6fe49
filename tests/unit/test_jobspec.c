/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_jobspec.c - the job options as a user types them.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "topology/jobspec.h"

#define GIB (1ull << 30)
#define TIB (1ull << 40)

static struct sn_jobspec parse(struct sn_jobspec_text text)
{
	struct sn_jobspec spec;
	struct sn_err err = { "" };

	if (sn_jobspec_parse(&text, 8, &spec, &err))
		fail_msg("%s", err.text);
	return spec;
}
#define PARSE(...) parse((struct sn_jobspec_text){ __VA_ARGS__ })

/* Refused: the sentence begins with the first text and holds the others. */
static void refused(struct sn_jobspec_text text, ...)
{
	struct sn_jobspec spec;
	struct sn_err err = { "" };
	const char *want;
	va_list ap;

	memset(&spec, 0x5a, sizeof(spec));
	if (sn_jobspec_parse(&text, 8, &spec, &err) != -EINVAL)
		fail_msg("not refused");
	assert_int_equal(sn_jobspec_parse(&text, 8, &spec, NULL), -EINVAL);
	for (size_t i = 0; i < sizeof(spec); i++)
		assert_int_equal(((unsigned char *)&spec)[i], 0x5a);
	va_start(ap, text);
	want = va_arg(ap, const char *);
	if (strncmp(err.text, want, strlen(want)))
		fail_msg("\"%s\" does not begin with \"%s\"", err.text, want);
	while ((want = va_arg(ap, const char *)))
		if (!strstr(err.text, want))
			fail_msg("\"%s\" lacks \"%s\"", err.text, want);
	va_end(ap);
}
#define T(...) ((struct sn_jobspec_text){ __VA_ARGS__ })
#define REFUSED(text, ...) refused(text, __VA_ARGS__, NULL)
#define POOL(v) T(.pool = v)
#define LAYOUT "tp=8,ep=64,etp=1,pp=2,dp=32" /* dp step 8 */
#define ELASTIC(v) T(.parallel = LAYOUT, .elastic = v)

static void nothing_given_is_nothing_wanted(void **state)
{
	struct sn_jobspec s = PARSE(.parallel = "", .pool = NULL, .role = "");

	(void)state;
	assert_false(s.has_parallel);
	assert_false(s.has_elastic);
	assert_int_equal(s.pool.per, SN_POOL_NONE);
	assert_int_equal(s.spares, 0);
	assert_int_equal(s.role, SN_ROLE_NONE);
	assert_string_equal(s.service, "");
}

static void all_options_together(void **state)
{
	struct sn_jobspec s = PARSE(.parallel = LAYOUT, .pool = "10T,bw=2T",
				    .spares = "1",
				    .elastic = "min_dp=8,max_dp=64,gbs=1024,mbs=2",
				    .role = "train", .service = "chat-1.b_2");

	(void)state;
	assert_true(s.has_parallel);
	assert_int_equal(s.layout.world, 512);
	assert_int_equal(s.layout.tp_within, SN_IN_NODE);
	assert_int_equal(s.pool.per, SN_POOL_TOTAL);
	assert_int_equal(s.pool.size, 10 * TIB);
	assert_int_equal(s.pool.bandwidth, 2 * TIB);
	assert_int_equal(s.spares, 1);
	assert_true(s.has_elastic);
	assert_int_equal(s.elastic.min_dp, 8);
	assert_int_equal(s.elastic.max_dp, 64);
	assert_int_equal(s.elastic.gbs, 1024);
	assert_int_equal(s.elastic.mbs, 2);
	assert_int_equal(s.role, SN_ROLE_TRAIN);
	assert_string_equal(s.service, "chat-1.b_2");
}

static void pool_forms(void **state)
{
	struct sn_jobspec s;

	(void)state;
	s = PARSE(.pool = "512G/supernode");
	assert_int_equal(s.pool.per, SN_POOL_SUPERNODE);
	assert_int_equal(s.pool.size, 512 * GIB);
	assert_int_equal(s.pool.bandwidth, 0);
	s = PARSE(.pool = "64G/node,bw=100G");
	assert_int_equal(s.pool.per, SN_POOL_NODE);
	assert_int_equal(s.pool.bandwidth, 100 * GIB);
	assert_int_equal(PARSE(.pool = "8G/card").pool.per, SN_POOL_CARD);
	s = PARSE(.pool = "name:kv.cache-1");
	assert_int_equal(s.pool.per, SN_POOL_NAMED);
	assert_string_equal(s.pool.name, "kv.cache-1");
	assert_false(s.pool.read_only);
	s = PARSE(.pool = "name:weights:ro");
	assert_string_equal(s.pool.name, "weights");
	assert_true(s.pool.read_only);
}

static void bad_pools_are_refused(void **state)
{
	char longer[400];

	(void)state;
	REFUSED(POOL("5X"), "--pool=5X: ");
	REFUSED(POOL("-5G"), "--pool=-5G: ");
	REFUSED(POOL("0"), "--pool=0: ", "is 0");
	REFUSED(POOL("99999999999999T"), "--pool=99999999999999T: ");
	REFUSED(POOL("/node"), "--pool=/node: ");
	REFUSED(POOL("5G/rack"), "--pool=5G/rack: ",
		"/supernode, /node or /card");
	REFUSED(POOL("5G/"), "--pool=5G/: ", "/supernode, /node or /card");
	REFUSED(POOL("5G,bw="), "--pool=5G,bw=: ");
	REFUSED(POOL("5G,bw=0"), "--pool=5G,bw=0: ", "bw is 0");
	REFUSED(POOL("5G,"), "--pool=5G,: ", "bw=RATE");
	REFUSED(POOL("5G,bandwidth=1G"), "--pool=", "bw=RATE");
	REFUSED(POOL("5G,bw=1G,bw=2G"), "--pool=");
	REFUSED(POOL("5 G"), "--pool=5 G: ", "white space");
	REFUSED(POOL("name:"), "--pool=name:: ", "no name");
	REFUSED(POOL("name:a:rw"), "--pool=name:a:rw: ", ":ro");
	REFUSED(POOL("name:a/b"), "--pool=name:a/b: ", "letters");
	REFUSED(POOL("name:.."), "--pool=name:..: ", "begin");
	REFUSED(POOL("name:-rf"), "--pool=name:-rf: ", "begin");
	REFUSED(POOL("name:a,bw=1G"), "--pool=", "letters");
	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	REFUSED(POOL(longer), "--pool=aaaa", "399 characters");
	memcpy(longer, "name:", 5);
	longer[5 + SN_NAME_MAX] = '\0';
	REFUSED(POOL(longer), "--pool=name:aaa", "64 characters");
	longer[5 + SN_NAME_MAX - 1] = '\0';
	assert_int_equal(strlen(PARSE(.pool = longer).pool.name),
			 SN_NAME_MAX - 1);
}

static void spares_need_a_layout(void **state)
{
	(void)state;
	assert_int_equal(PARSE(.parallel = "tp=8", .spares = "0").spares, 0);
	assert_int_equal(PARSE(.parallel = "tp=8", .spares = "12").spares, 12);
	REFUSED(T(.spares = "1"), "--spares=1: ", "--parallel");
	REFUSED(T(.parallel = "tp=8", .spares = "-1"), "--spares=-1: ");
	REFUSED(T(.parallel = "tp=8", .spares = "x"), "--spares=x: ");
	REFUSED(T(.parallel = "tp=8", .spares = "2147483648"),
		"--spares=2147483648: ");
	REFUSED(T(.parallel = "tp=8", .spares = "1 "), "--spares=1 : ");
}

static void roles_and_services(void **state)
{
	(void)state;
	assert_int_equal(PARSE(.role = "prefill").role, SN_ROLE_PREFILL);
	assert_int_equal(PARSE(.role = "decode").role, SN_ROLE_DECODE);
	assert_int_equal(PARSE(.role = "infer").role, SN_ROLE_INFER);
	REFUSED(T(.role = "serve"), "--role=serve: ",
		"train, prefill, decode or infer");
	REFUSED(T(.role = "Train"), "--role=Train: ");
	REFUSED(T(.service = "a b"), "--service=a b: ", "white space");
	REFUSED(T(.service = "a/../b"), "--service=a/../b: ", "letters");
	REFUSED(T(.service = "caf\xc3\xa9"), "--service=caf\xc3\xa9: ");
}

static void a_job_that_is_replaced(void **state)
{
	struct sn_jobspec s = PARSE(.replaces = "1234");

	(void)state;
	assert_int_equal(s.replaces, 1234);
	s = PARSE(.parallel = "tp=8", .replaces = "7");
	assert_int_equal(s.replaces, 7);
	assert_int_equal(PARSE(.parallel = "tp=8").replaces, 0);
	REFUSED(T(.replaces = "0"), "--replaces=0: ", "job's number");
	REFUSED(T(.replaces = "12_3"), "--replaces=12_3: ", "job's number");
	REFUSED(T(.replaces = "4294967295"), "--replaces=");
}

static void the_layout_says_its_own_sentences(void **state)
{
	char longer[300];

	(void)state;
	REFUSED(T(.parallel = "tp=0"), "--parallel=tp=0: tp=0: ");
	REFUSED(T(.parallel = "tp=4,pp=2,dp=4,ep=8,etp=4"),
		"--parallel=tp=4,pp=2,dp=4,ep=8,etp=4: ", "64 > 32",
		"etp=1 or 2");
	REFUSED(T(.parallel = "tp=8, dp=4"), "--parallel=tp=8, dp=4: ",
		"white space");
	/* a long value is cut in the prefix, at a whole character */
	for (size_t i = 0; i + 3 < sizeof(longer); i += 2)
		memcpy(longer + i, "\xc3\xa9", 2);
	memcpy(longer, "a", 1);
	memcpy(longer + 1, "\xc3\xa9\xc3\xa9", 4);
	longer[298] = '\0';
	REFUSED(T(.parallel = longer), "--parallel=a\xc3\xa9", "...: ");
}

static void elastic_defaults(void **state)
{
	struct sn_jobspec s = PARSE(.parallel = LAYOUT, .elastic = "min_dp=16");

	(void)state;
	assert_int_equal(s.elastic.min_dp, 16);
	assert_int_equal(s.elastic.max_dp, 32);
	assert_int_equal(s.elastic.gbs, 0);
	assert_int_equal(s.elastic.want, 0);
	/* What job_submit makes of a base. */
	s = PARSE(.parallel = LAYOUT, .elastic = "min_dp=16,max_dp=64,want=48");
	assert_int_equal(s.elastic.want, 48);
	REFUSED(T(.parallel = LAYOUT, .elastic = "min_dp=16,max_dp=64,want=72"), "--elastic=", "want=72 is not from min_dp=16 to max_dp=64");
	REFUSED(T(.parallel = LAYOUT, .elastic = "min_dp=16,max_dp=64,want=20"), "--elastic=", "want=20", "16 or 24");
	s = PARSE(.parallel = LAYOUT, .elastic = "min_dp=32,max_dp=32");
	assert_int_equal(s.elastic.min_dp, 32);
	/* experts let go: the grid is still what the expert grid divides */
	REFUSED(T(.parallel = LAYOUT ",ep_within=any", .elastic = "min_dp=12"),
		"--elastic=min_dp=12: ", "8 or 16");
}

static void bad_elastics_are_refused(void **state)
{
	(void)state;
	REFUSED(T(.elastic = "min_dp=1"), "--elastic=min_dp=1: ", "--parallel");
	REFUSED(ELASTIC("max_dp=64"), "--elastic=max_dp=64: ",
		"min_dp=N is missing");
	REFUSED(ELASTIC("min_dp=12"), "--elastic=min_dp=12: min_dp=12",
		"step of 8", "8 or 16 would do");
	REFUSED(ELASTIC("min_dp=4"), "--elastic=min_dp=4: ", "8 would do");
	REFUSED(ELASTIC("min_dp=8,max_dp=50"), "--elastic=", "max_dp=50",
		"48 or 56");
	REFUSED(ELASTIC("min_dp=40"), "--elastic=", "more than dp=32");
	REFUSED(ELASTIC("min_dp=8,max_dp=24"), "--elastic=", "less than dp=32");
	REFUSED(ELASTIC("min_dp=0"), "--elastic=min_dp=0: min_dp: ");
	REFUSED(ELASTIC("min_dp=-8"), "--elastic=min_dp=-8: min_dp: ");
	REFUSED(ELASTIC("min_dp=8,max_dp=2147483648"), "--elastic=");
	REFUSED(ELASTIC("min_dp=8,max_dp=16777216"), "--elastic=",
		"more than 16777216 ranks");
	REFUSED(ELASTIC("min_dp=8,min_dp=16"), "--elastic=", "twice");
	REFUSED(ELASTIC("min_dp=8,"), "--elastic=min_dp=8,: ", "\"\"");
	REFUSED(ELASTIC("min_dp"), "--elastic=min_dp: ", "min_dp=N");
	REFUSED(ELASTIC("dp=8"), "--elastic=dp=8: ", "min_dp=N");
	REFUSED(ELASTIC("min_dp=8, max_dp=64"), "--elastic=", "white space");
	/* vLLM's experts span dp, so it cannot change */
	REFUSED(T(.parallel = "tp=2,dp=4,ep=8,etp=1,preset=vllm",
		  .elastic = "min_dp=4,max_dp=8"), "--elastic=", "max_dp=8");
}

static void batches_decide_the_sizes(void **state)
{
	(void)state;
	PARSE(.parallel = LAYOUT, .elastic = "min_dp=8,max_dp=96,gbs=96,mbs=1");
	REFUSED(ELASTIC("min_dp=8,gbs=1024"), "--elastic=", "without mbs");
	REFUSED(ELASTIC("min_dp=8,mbs=2"), "--elastic=", "without gbs");
	REFUSED(ELASTIC("min_dp=8,gbs=1025,mbs=2"), "--elastic=",
		"gbs=1025 is no multiple of mbs=2");
	/* 24 is on the step, but 1024 is no multiple of 2·24 */
	REFUSED(ELASTIC("min_dp=24,gbs=1024,mbs=2"), "--elastic=", "min_dp=24",
		"2*24 = 48", "16 or 32 would do");
	REFUSED(ELASTIC("min_dp=8,max_dp=48,gbs=1024,mbs=2"), "--elastic=",
		"max_dp=48", "32 or 64 would do");
	/* dp itself: divisors of 40 that are multiples of 8 */
	REFUSED(ELASTIC("min_dp=8,gbs=80,mbs=2"), "--elastic=", ": dp=32",
		"8 or 40 would do");
	REFUSED(ELASTIC("min_dp=8,gbs=7,mbs=1"), "--elastic=",
		"no dp would do");
	/* mbs·dp beyond 32 bits */
	REFUSED(ELASTIC("min_dp=8,gbs=4294967295,mbs=4294967295"),
		"--elastic=", "34359738360");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_given_is_nothing_wanted),
		cmocka_unit_test(all_options_together),
		cmocka_unit_test(pool_forms),
		cmocka_unit_test(bad_pools_are_refused),
		cmocka_unit_test(spares_need_a_layout),
		cmocka_unit_test(roles_and_services),
		cmocka_unit_test(a_job_that_is_replaced),
		cmocka_unit_test(the_layout_says_its_own_sentences),
		cmocka_unit_test(elastic_defaults),
		cmocka_unit_test(bad_elastics_are_refused),
		cmocka_unit_test(batches_decide_the_sizes),
	};

	return cmocka_run_group_tests_name("jobspec", tests, NULL, NULL);
}
