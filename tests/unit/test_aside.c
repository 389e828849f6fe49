/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "launcher/aside.h"

struct work {
	sem_t go, freed;
	int ran, done;
};

static struct work work;

static void run(void *arg)
{
	struct work *w = arg;

	sem_wait(&w->go);
	__atomic_add_fetch(&w->ran, 1, __ATOMIC_SEQ_CST);
}

static void done(void *arg)
{
	struct work *w = arg;

	__atomic_add_fetch(&w->done, 1, __ATOMIC_SEQ_CST);
	sem_post(&w->freed);
}

static int begin(void **state)
{
	(void)state;
	work.ran = work.done = 0;
	return sem_init(&work.go, 0, 0) || sem_init(&work.freed, 0, 0);
}

static void what_ends_in_time_is_handed_back(void **state)
{
	(void)state;
	sem_post(&work.go);
	assert_true(aside_run(run, done, &work, 60000));
	assert_int_equal(work.ran, 1);
	assert_int_equal(work.done, 0);
}

/* Else it is freed once, when it has ended after all. */
static void what_does_not_is_left(void **state)
{
	struct timespec end;

	(void)state;
	assert_false(aside_run(run, done, &work, 1));
	assert_int_equal(__atomic_load_n(&work.done, __ATOMIC_SEQ_CST), 0);
	sem_post(&work.go);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 60;
	assert_int_equal(sem_timedwait(&work.freed, &end), 0);
	assert_int_equal(__atomic_load_n(&work.ran, __ATOMIC_SEQ_CST), 1);
	assert_int_equal(__atomic_load_n(&work.done, __ATOMIC_SEQ_CST), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_ends_in_time_is_handed_back, begin),
		cmocka_unit_test_setup(what_does_not_is_left, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
