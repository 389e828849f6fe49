/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snctl/whyctld.h"
#include "snctl/whystate.h"

/* ---- what it calls: slurmctld answers with a time from now on ------------------------- */

static time_t answer;

void slurm_init_job_desc_msg(job_desc_msg_t *desc)
{
	memset(desc, 0, sizeof(*desc));
}

int slurm_job_will_run2(job_desc_msg_t *desc, will_run_response_msg_t **ret)
{
	(void)desc;
	*ret = calloc(1, sizeof(**ret));
	(*ret)->start_time = time(NULL) + answer;
	return 0;
}

void slurm_free_will_run_response_msg(will_run_response_msg_t *msg);
void slurm_free_will_run_response_msg(will_run_response_msg_t *msg)
{
	free(msg);
}

list_itr_t *slurm_list_iterator_create(list_t *l)
{
	(void)l;
	return NULL;
}

void *slurm_list_next(list_itr_t *itr)
{
	(void)itr;
	return NULL;
}

void slurm_list_iterator_destroy(list_itr_t *itr)
{
	(void)itr;
}

bool why_has_word(const char *list, const char *word)
{
	return !strcmp(list, word);
}

/* ---- a job behind another of 100 CPUs and its minutes, in a partition of 100 ----------- */

static uint32_t most_nodes = 1; /* of the other, as shown */
static char *required; /* of the first, -w */
static uint32_t most_required = 1;
static bool parallel;

static struct why_ctld ask(uint32_t minutes, bool found)
{
	char main_name[] = "main";
	slurm_job_info_t info[2] = {
		{ .job_id = 1, .num_nodes = 1, .max_nodes = most_required, .num_cpus = 1, .partition = main_name,
		  .req_nodes = required },
		{ .job_id = 2, .num_nodes = 1, .max_nodes = most_nodes, .num_cpus = 100, .partition = main_name },
	};
	struct live_job job[2] = { { .info = &info[0] }, { .info = &info[1] } };
	partition_info_t part = { .name = main_name, .total_nodes = 1, .total_cpus = 100, .max_time = INFINITE };
	struct live live = { .job = job, .n_jobs = 2 };
	struct why_ctld is;

	job[0].has_spec = job[0].spec.has_parallel = parallel;
	info[1].time_limit = minutes;
	why_ctld_ask(&live, &job[0], &part, found, &is);
	return is;
}

/* What slurmctld adds for those before it is taken off. */
static void delay_is_taken_off(void **state)
{
	(void)state;
	answer = 5 * 60;
	assert_true(ask(5, true).fits_now);
	assert_true(ask(0, true).fits_later);
	answer = 3600;
	assert_true(ask(5, true).fits_later);
	assert_int_equal(ask(5, true).start - time(NULL) + 300, 3600);
}

/* One more than can be known is not believed over our own count; nor where there is none
 * to take off, or we find no room. */
static void off_by_a_minute(void **state)
{
	(void)state;
	answer = 6 * 60;
	assert_false(ask(5, true).asked);
	assert_true(ask(5, false).fits_later);
	answer = 60;
	assert_true(ask(0, true).fits_later);
}

/* What the one before has asked for is not known: no word on minutes, but on later than
 * by the most that it can be. */
static void later_whatever_the_delay(void **state)
{
	(void)state;
	most_nodes = 0;
	answer = 5 * 60;
	assert_true(ask(5, true).fits_now);
	answer = 6 * 60;
	assert_false(ask(5, true).asked);
	answer = 3600;
	assert_true(ask(5, true).fits_later);
	most_nodes = 1;
}

/* The test tries the nodes of -w alone: no word on a job that may take more. */
static void nodes_that_are_required(void **state)
{
	char one[] = "n010", two[] = "n[010-011]";

	(void)state;
	answer = 3600;
	required = one;
	assert_true(ask(0, true).fits_later);
	most_required = 0; /* it has been tried, and its -N is not shown */
	assert_true(ask(0, true).fits_later);
	parallel = true;
	assert_false(ask(0, true).asked);
	parallel = false;
	required = two;
	assert_false(ask(0, true).asked);
	most_required = 3;
	required = one;
	assert_false(ask(0, true).asked);
	most_required = 1;
	required = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delay_is_taken_off),
		cmocka_unit_test(off_by_a_minute),
		cmocka_unit_test(later_whatever_the_delay),
		cmocka_unit_test(nodes_that_are_required),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
