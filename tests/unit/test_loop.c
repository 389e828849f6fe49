/* SPDX-License-Identifier: GPL-2.0-or-later */
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
#include <unistd.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/epoll.h>

#include "elastic/loop.h"
#include "elastic/work.h"

static struct sn_loop *loop;

static int make(void **state)
{
	(void)state;
	return sn_loop_create(&loop, NULL);
}

static int drop(void **state)
{
	(void)state;
	sn_loop_destroy(loop);
	return 0;
}

/* ---- timers ---- */

static char order[16];
static struct sn_timer *timer[4];
static int rounds;

static void note(void *ctx)
{
	strcat(order, ctx);
	if (*(const char *)ctx == 'd')
		sn_loop_stop(loop);
}

static void timers_run_in_order(void **state)
{
	static const char *const name[] = { "c", "a", "b", "d" };
	static const int ms[] = { 30, 1, 15, 40 };

	(void)state;
	order[0] = '\0';
	for (int i = 0; i < 4; i++) {
		assert_int_equal(sn_loop_timer(loop, note, (void *)name[i], &timer[i], NULL), 0);
		sn_timer_set(timer[i], ms[i]);
	}
	sn_timer_off(timer[2]);
	assert_int_equal(sn_loop_run(loop, NULL), 0);
	assert_string_equal(order, "acd");
}

static void again(void *ctx)
{
	(void)ctx;
	if (++rounds == 200)
		sn_loop_stop(loop);
	else
		sn_timer_set(timer[0], 0);
}

static void other(void *ctx)
{
	*(int *)ctx = rounds;
	sn_timer_end(timer[1]); /* from its own callback */
}

/* One that is always due starves nobody. */
static void a_busy_timer(void **state)
{
	int at = -1;

	(void)state;
	rounds = 0;
	assert_int_equal(sn_loop_timer(loop, again, NULL, &timer[0], NULL), 0);
	assert_int_equal(sn_loop_timer(loop, other, &at, &timer[1], NULL), 0);
	sn_timer_set(timer[0], 0);
	sn_timer_set(timer[1], 0);
	assert_int_equal(sn_loop_run(loop, NULL), 0);
	assert_int_equal(rounds, 200);
	assert_in_range(at, 0, 199);
}

/* ---- descriptors ---- */

static struct sn_watch *watch[2];
static int calls;

static void end_both(void *ctx, uint32_t events)
{
	(void)ctx;
	(void)events;
	calls++;
	/* The other's event has been fetched already, and must not be delivered. */
	sn_watch_end(watch[0]);
	sn_watch_end(watch[1]);
	sn_loop_stop(loop);
}

static void ended_while_pending(void **state)
{
	int fd[2][2];

	(void)state;
	calls = 0;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pipe(fd[i]), 0);
		assert_int_equal(write(fd[i][1], "x", 1), 1);
		assert_int_equal(sn_loop_watch(loop, fd[i][0], EPOLLIN, end_both, NULL, &watch[i], NULL), 0);
	}
	assert_int_equal(sn_loop_run(loop, NULL), 0);
	assert_int_equal(calls, 1);
	for (int i = 0; i < 2; i++) {
		close(fd[i][0]);
		close(fd[i][1]);
	}
}

/* ---- signals ---- */

static int got;

static void on_signal(void *ctx, int signal)
{
	(void)ctx;
	got = signal;
	sn_loop_stop(loop);
}

static void signals_arrive(void **state)
{
	const int set[] = { SIGUSR2, SIGHUP };
	sigset_t back;

	(void)state;
	assert_int_equal(sn_loop_signals(loop, set, 2, on_signal, NULL, NULL), 0);
	kill(getpid(), SIGUSR2);
	assert_int_equal(sn_loop_run(loop, NULL), 0);
	assert_int_equal(got, SIGUSR2);
	sigemptyset(&back);
	sigaddset(&back, SIGUSR2);
	sigaddset(&back, SIGHUP);
	pthread_sigmask(SIG_UNBLOCK, &back, NULL);
}

/* ---- work ---- */

struct job {
	struct sn_work work;
	int n;
	bool ran;
};

static int sum, came_back, last;

static void run(struct sn_work *work)
{
	((struct job *)work)->ran = true;
}

static void done(struct sn_work *work)
{
	struct job *j = (struct job *)work;

	sum += j->ran ? j->n : 0;
	last = j->n;
	if (++came_back == 100)
		sn_loop_stop(loop);
	free(j);
}

static void give(struct sn_pool *pool, int n, void (*run_fn)(struct sn_work *work))
{
	struct job *j = calloc(1, sizeof(*j));

	j->work = (struct sn_work){ run_fn, done, NULL };
	j->n = n;
	sn_pool_give(pool, &j->work);
}

static void work_comes_back(void **state)
{
	struct sn_pool *pool;

	(void)state;
	for (uint32_t threads = 1; threads <= 3; threads += 2) {
		sum = came_back = 0;
		assert_int_equal(sn_pool_create(loop, "test", threads, &pool, NULL), 0);
		for (int i = 1; i <= 100; i++)
			give(pool, i, run);
		assert_int_equal(sn_loop_run(loop, NULL), 0);
		assert_int_equal(sum, 5050);
		if (threads == 1)
			assert_int_equal(last, 100);
		assert_true(sn_pool_destroy(pool, 1000));
	}
}

#define MANY 32

static pthread_barrier_t together;

static void meet(struct sn_work *work)
{
	pthread_barrier_wait(&together);
	run(work);
}

/* Each piece waits for all others: with a thread less none would end. */
static void as_many_threads_as_asked_for(void **state)
{
	struct sn_pool *pool;

	(void)state;
	sum = 0;
	came_back = 100 - MANY;
	assert_int_equal(pthread_barrier_init(&together, NULL, MANY), 0);
	assert_int_equal(sn_pool_create(loop, "test", MANY, &pool, NULL), 0);
	alarm(60);
	for (int i = 0; i < MANY; i++)
		give(pool, 1, meet);
	assert_int_equal(sn_loop_run(loop, NULL), 0);
	alarm(0);
	assert_int_equal(sum, MANY);
	assert_true(sn_pool_destroy(pool, 10000));
	pthread_barrier_destroy(&together);
}

static volatile bool go_on;

static void hang(struct sn_work *work)
{
	while (!go_on)
		usleep(1000);
	run(work);
}

/* At the end nothing is lost but what still runs, and nobody waits for ever. */
static void the_end_with_work(void **state)
{
	struct sn_pool *pool;

	(void)state;
	sum = came_back = 0;
	go_on = false;
	assert_int_equal(sn_pool_create(loop, "test", 1, &pool, NULL), 0);
	give(pool, 1, hang);
	for (int i = 0; i < 5; i++)
		give(pool, 10, run);
	while (sn_pool_waiting(pool) > 5)
		usleep(1000);
	assert_false(sn_pool_destroy(pool, 50));
	/* The five were given back as they are. */
	assert_int_equal(came_back, 5);
	assert_int_equal(sum, 0);
	go_on = true;
	assert_true(sn_pool_destroy(pool, 10000));
	assert_int_equal(came_back, 6);
	assert_int_equal(sum, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(timers_run_in_order, make, drop),
		cmocka_unit_test_setup_teardown(a_busy_timer, make, drop),
		cmocka_unit_test_setup_teardown(ended_while_pending, make, drop),
		cmocka_unit_test_setup_teardown(signals_arrive, make, drop),
		cmocka_unit_test_setup_teardown(work_comes_back, make, drop),
		cmocka_unit_test_setup_teardown(as_many_threads_as_asked_for, make, drop),
		cmocka_unit_test_setup_teardown(the_end_with_work, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
