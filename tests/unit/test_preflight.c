/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_preflight.c - who is judged unfit, and the ring between two sockets.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/preflight.h"
#include "topology/preflight.h"

#define N 8

static struct sn_pf_node node[N];
static char *version[N][2];
static const char *const command[] = { "driver", "firmware" };
static struct sn_pf_limits limits;
static struct sn_pf_faults faults;

static int begin(void **state)
{
	static const char *const names[N] = { "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8" };

	(void)state;
	for (int i = 0; i < N; i++) {
		version[i][0] = (char *)"24.1.0";
		version[i][1] = (char *)"7.3";
		node[i] = (struct sn_pf_node){
			.name = names[i], .present = true, .version = version[i],
			.has_clock = true, .clock = 5000000 + i, .clock_error = 1000000,
			.memory = 64ull << 30, .has_link = true,
			.latency = 20000 + 1000 * (uint64_t)i, .bandwidth = 10000000000u,
		};
	}
	limits = (struct sn_pf_limits){ .version = command, .n_versions = 2,
		.clock = 1000000000, .memory = 32ull << 30, .slow = 4 };
	return 0;
}

static int end(void **state)
{
	(void)state;
	sn_pf_faults_done(&faults);
	return 0;
}

static void judge(uint32_t n)
{
	sn_pf_faults_done(&faults);
	assert_int_equal(sn_preflight_judge(node, n, &limits, &faults, NULL), 0);
}

static void only(uint32_t who, const char *check, const char *text)
{
	if (faults.n != 1 || strcmp(faults.fault[0].text, text))
		for (uint32_t i = 0; i < faults.n; i++)
			print_error("%s\n", faults.fault[i].text);
	assert_int_equal(faults.n, 1);
	assert_int_equal(faults.fault[0].node, who);
	assert_string_equal(faults.fault[0].check, check);
	assert_string_equal(faults.fault[0].text, text);
}

static void test_well(void **state)
{
	(void)state;
	judge(N);
	assert_int_equal(faults.n, 0);
	assert_int_equal(faults.latency, 23000);
	assert_true(faults.bandwidth == 10000000000u);
	judge(1);
	assert_int_equal(faults.n, 0);
}

static void test_version(void **state)
{
	(void)state;
	version[2][0] = (char *)"24.0.1";
	judge(N);
	only(2, "version", "n3: the version by \"driver\": expected \"24.1.0\" as on 7 other nodes, found \"24.0.1\"");
	version[2][0] = NULL;
	judge(N);
	only(2, "version", "n3: the version by \"driver\": expected \"24.1.0\" as on 7 other nodes, found \"\"");
	/* Of two that differ the first is taken for right. */
	version[1][1] = (char *)"0.1";
	judge(2);
	only(1, "version", "n2: the version by \"firmware\": expected \"7.3\" as on 1 other node, found \"0.1\"");
}

static void test_clock(void **state)
{
	(void)state;
	node[4].clock += 5000000000;
	judge(N);
	only(4, "clock", "n5: the clock: expected at most 1.000 s from the others, found 5.000 s ahead");
	node[4].clock -= 2 * 5000000000;
	judge(N);
	only(4, "clock", "n5: the clock: expected at most 1.000 s from the others, found 5.000 s behind");
	/* What the measurement itself may be wrong by is no fault. */
	node[4].clock_error = 5000000000;
	judge(N);
	assert_int_equal(faults.n, 0);
	/* If snrun's own clock is off, all nodes are, and none is. */
	for (int i = 0; i < N; i++)
		node[i].clock = -3600000000000;
	judge(N);
	assert_int_equal(faults.n, 0);
}

static void test_memory(void **state)
{
	(void)state;
	node[0].memory = (16ull << 30) + 5;
	judge(N);
	only(0, "memory", "n1: memory: expected at least 32G available, found 16G");
}

static void test_own(void **state)
{
	(void)state;
	node[7].check = (char *)"card";
	node[7].expected = (char *)"/dev/davinci3 of card 3";
	node[7].found = (char *)"No such file or directory";
	judge(N);
	only(7, "card", "n8: card: expected /dev/davinci3 of card 3, found No such file or directory");
}

static void test_silent(void **state)
{
	(void)state;
	node[3].present = false;
	node[3].silent = "its own checks";
	node[3].waited = 70;
	node[3].memory = 0; /* of what was not asked nothing is said */
	node[3].has_clock = node[3].has_link = false;
	version[3][0] = NULL;
	judge(N);
	only(3, "answer", "n4: its own checks: expected an answer within 70 s, found none");
}

/* A slow node slows the link before it and its own; its neighbours are well. */
static void test_slow(void **state)
{
	(void)state;
	node[1].bandwidth = node[2].bandwidth = 1000000000;
	judge(N);
	only(2, "bandwidth", "n3: the network's bandwidth: expected at least a 4th of the median, 10000.0 MB/s, found 1000.0 MB/s");
	/* One slow link is a cable, and both its ends have a good one. */
	node[1].bandwidth = 10000000000u;
	judge(N);
	assert_int_equal(faults.n, 0);
	node[2].bandwidth = 10000000000u;
	node[2].latency = node[1].latency = 5000000;
	judge(N);
	only(2, "latency", "n3: the network's latency: expected a round trip below 4 times the median, 0.025 ms, found 5.000 ms");
	/* Below half a millisecond it is not the network that is measured. */
	node[2].latency = node[1].latency = 400000;
	judge(N);
	assert_int_equal(faults.n, 0);
	limits.slow = 0;
	node[2].latency = node[1].latency = 5000000;
	judge(N);
	assert_int_equal(faults.n, 0);
}

static void test_first_and_last(void **state)
{
	(void)state;
	node[0].bandwidth = node[N - 1].bandwidth = 1000;
	judge(N);
	assert_int_equal(faults.n, 1);
	assert_int_equal(faults.fault[0].node, 0);
	/* Of two nobody can say which. */
	judge(2);
	assert_int_equal(faults.n, 0);
}

static void test_commands(void **state)
{
	char text[] = " a b ;; c;d ; ";
	const char *word[SN_PREFLIGHT_VERSIONS_MAX];

	(void)state;
	assert_int_equal(sn_preflight_commands(text, word), 3);
	assert_string_equal(word[0], "a b");
	assert_string_equal(word[1], "c");
	assert_string_equal(word[2], "d");
}

struct side {
	int listening;
	char port[8];
	struct sn_preflight_link link;
	struct sn_err err;
	int rc;
};

static void *other_side(void *arg)
{
	struct side *s = arg;

	s->rc = sn_preflight_ring(s->listening, "token", "n1", "127.0.0.1", s->port, 10,
				  &s->link, &s->err);
	return NULL;
}

/* A ring of two: each sends to the other. */
static void test_ring(void **state)
{
	struct side one = { 0 }, two = { 0 };
	unsigned int a, b;
	pthread_t thread;

	(void)state;
	one.listening = sn_preflight_listen(&a);
	two.listening = sn_preflight_listen(&b);
	assert_true(one.listening >= 0 && two.listening >= 0 && a && b);
	snprintf(one.port, sizeof(one.port), "%u", b);
	snprintf(two.port, sizeof(two.port), "%u", a);
	assert_int_equal(pthread_create(&thread, NULL, other_side, &one), 0);
	other_side(&two);
	pthread_join(thread, NULL);
	assert_int_equal(one.rc, 0);
	assert_int_equal(two.rc, 0);
	print_message("loopback: %llu ns, %llu MB/s\n", one.link.latency, one.link.bandwidth / 1000000);
	assert_true(one.link.latency > 100 && one.link.latency < 1000000000);
	assert_true(one.link.bandwidth > 1000000);
	close(one.listening);
	close(two.listening);
}

/* The next one is there and says nothing: it is named, in time. */
static void test_ring_hang(void **state)
{
	struct side one = { 0 };
	struct timespec t0, t1;
	unsigned int a, b;
	int silent;

	(void)state;
	one.listening = sn_preflight_listen(&a);
	silent = sn_preflight_listen(&b);
	snprintf(one.port, sizeof(one.port), "%u", b);
	clock_gettime(CLOCK_MONOTONIC, &t0);
	one.rc = sn_preflight_ring(one.listening, "token", "n7", "127.0.0.1", one.port, 1,
				   &one.link, &one.err);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	assert_int_equal(one.rc, -ETIMEDOUT);
	assert_memory_equal(one.err.text, "n7 at 127.0.0.1 port", 20);
	assert_true(t1.tv_sec - t0.tv_sec < 8);
	close(one.listening);
	close(silent);
	snprintf(one.port, sizeof(one.port), "%u", a);
	assert_int_equal(sn_preflight_ring(-1, "token", "n7", "127.0.0.1", one.port, 1,
					   &one.link, &one.err), -ECONNREFUSED);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_well), T(test_version), T(test_clock), T(test_memory),
		T(test_own), T(test_silent), T(test_slow), T(test_first_and_last),
		T(test_commands), T(test_ring), T(test_ring_hang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
