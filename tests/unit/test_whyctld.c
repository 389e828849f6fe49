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

static struct why_ctld ask(uint32_t minutes, bool found)
{
	char main_name[] = "main";
	slurm_job_info_t info[2] = {
		{ .job_id = 1, .num_nodes = 1, .max_nodes = 1, .num_cpus = 1, .partition = main_name },
		{ .job_id = 2, .num_nodes = 1, .max_nodes = most_nodes, .num_cpus = 100, .partition = main_name },
	};
	struct live_job job[2] = { { .info = &info[0] }, { .info = &info[1] } };
	partition_info_t part = { .name = main_name, .total_nodes = 1, .total_cpus = 100, .max_time = INFINITE };
	struct live live = { .job = job, .n_jobs = 2 };
	struct why_ctld is;

	info[1].time_limit = minutes;
	why_ctld_ask(&live, &info[0], &part, found, &is);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delay_is_taken_off),
		cmocka_unit_test(off_by_a_minute),
		cmocka_unit_test(later_whatever_the_delay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
