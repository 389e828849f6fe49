/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_watch.c - nodes that ranks have left, as slurmctld last had them.
 */
#include "config.h"

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "launcher/cardbook.h"
#include "launcher/slurmapi.h"
#include "launcher/snrun.h"

static int64_t clock_ms = 1000000;
static int away; /* slurmctld is: it does not answer before answers is posted */
static sem_t asked, answers;

/* ---- what watch.c calls, in its thread ------------------------------------------------- */

int64_t snrun_now_ms(void)
{
	return __atomic_load_n(&clock_ms, __ATOMIC_SEQ_CST);
}

int sn_job_look(uint32_t job, struct sn_jobview *ret, struct sn_err *err)
{
	(void)job, (void)ret, (void)err;
	return -1;
}

int slurm_load_node_single(node_info_msg_t **ret, char *name, uint16_t flags)
{
	static node_info_t node = { .node_state = NODE_STATE_IDLE };
	static node_info_msg_t nodes = { .node_array = &node, .record_count = 1 };

	(void)name, (void)flags;
	if (__atomic_load_n(&away, __ATOMIC_SEQ_CST)) {
		sem_post(&asked);
		sem_wait(&answers);
	}
	*ret = &nodes;
	return 0;
}

void slurm_free_node_info_msg(node_info_msg_t *nodes)
{
	(void)nodes;
}

int sn_cardbook_read(const char *extra, struct sn_cardbook *ret, struct sn_err *err)
{
	(void)extra, (void)err;
	ret->masked = 4;
	return 0;
}

/* ---- tests ------------------------------------------------------------------------------ */

static void pass(int64_t ms)
{
	__atomic_add_fetch(&clock_ms, ms, __ATOMIC_SEQ_CST);
}

static bool is_known(struct sn_avoid_view *ret)
{
	snrun_watch_node("n001", ret);
	return ret->known;
}

static void until_known(struct sn_avoid_view *ret)
{
	const struct timespec pause = { 0, 1000000 };

	for (int i = 0; i < 20000 && !is_known(ret); i++)
		nanosleep(&pause, NULL);
	assert_true(ret->known);
}

/* Whoever counts for how long a node has been well must not count the time in which
 * slurmctld said nothing. */
static void what_is_old_is_not_known(void **state)
{
	static struct snrun run;
	struct sn_avoid_view view;
	struct timespec end;
	struct sn_err err;
	int fd;

	(void)state;
	run.job.policy.node_poll = 1;
	assert_int_equal(snrun_watch_start(&run, &fd, &err), 0);
	until_known(&view);
	assert_true(view.in_service);
	assert_int_equal(view.masked, 4);

	__atomic_store_n(&away, 1, __ATOMIC_SEQ_CST);
	pass(5000);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 60;
	assert_int_equal(sem_timedwait(&asked, &end), 0);
	assert_true(is_known(&view));
	pass(20000);
	assert_false(is_known(&view));

	__atomic_store_n(&away, 0, __ATOMIC_SEQ_CST);
	sem_post(&answers);
	until_known(&view);
}

static int begin(void **state)
{
	(void)state;
	return sem_init(&asked, 0, 0) || sem_init(&answers, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_old_is_not_known),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
