/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_taskuser.c - what the user has set already, and what of it breaks the run.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/taskvars.h"
#include "tests/unit/taskbed.h"

/* ---- a task ---------------------------------------------------------------- */

static void the_user_wins_over_the_site_and_the_site_over_us(void **state)
{
	struct sn_task task = some_task();
	struct fake env = { .n = 0 };
	struct sn_err complaint;

	(void)state;
	strcpy(policy.task_env, "HCCL_CONNECT_TIMEOUT=3600 SITE=a=b MASTER_PORT=29500 EMPTY=");
	set(&env, "MASTER_PORT", "7");
	set(&env, "HCCL_BUFFSIZE", "400");
	apply(&task, &env, &complaint);
	is(&env, "HCCL_CONNECT_TIMEOUT", "3600");
	is(&env, "SITE", "a=b");
	is(&env, "EMPTY", "");
	is(&env, "MASTER_PORT", "7");
	is(&env, "HCCL_BUFFSIZE", "400");
	assert_string_equal(complaint.text, "");
	clear(&env);
}

static void what_breaks_the_run_is_kept_and_told(void **state)
{
	struct sn_task task = some_task();

	(void)state;
	task.rank = 0;
	task.local = 0;
	task.group = 0;
	task.cards = "0";
	/* Right for rank 0, but all ranks have it. */
	says(&task, "RANK", "0", "not the same in all tasks");
	says(&task, "LOCAL_RANK", "0", "not the same");
	says(&task, "GROUP_RANK", "0", "not the same");
	says(&task, "TP_RANK", "0", "not the same");
	says(&task, "RANK_ID", "0", "not the same");
	says(&task, "DEVICE_ID", "0", NULL); /* each sees its own card only */
	says(&task, "DEVICE_ID", "3", "this step's is 0");
	policy.visible_cards = 1;
	task.node_cards = "0,1,2,3";
	says(&task, "DEVICE_ID", "0", "not the same");
	policy.visible_cards = 0;
	says(&task, "CP_RANK", "0", NULL); /* cp is 1 */
	says(&task, "CP_RANK", "1", "this step's is 0");
	says(&task, "WORLD_SIZE", "32", NULL);
	says(&task, "WORLD_SIZE", "16", "this step's is 32");
	says(&task, "TP_SIZE", "8", "this step's is 4");
	says(&task, "MASTER_ADDR", "n001", NULL);
	says(&task, "MASTER_ADDR", "login", "this step's is n001");
	says(&task, "MASTER_PORT", "29500", NULL);
	says(&task, "HCCL_LOGIC_SUPERPOD_ID", "mine", NULL);
	says(&task, "ASCEND_RT_VISIBLE_DEVICES", "0,1", NULL);
	says(&task, "ASCEND_RT_VISIBLE_DEVICES", "1,10", "the task's card is 0");
	task.table = "/t.json";
	says(&task, "HCCL_LOGIC_SUPERPOD_ID", "mine", "/t.json");
	task.vendor = SN_VENDOR_NVIDIA;
	says(&task, "DEVICE_ID", "5", NULL);
	says(&task, "HCCL_LOGIC_SUPERPOD_ID", "mine", NULL);
	says(&task, "ASCEND_RT_VISIBLE_DEVICES", "5", NULL);
}

static void all_conflicts_in_one_sentence(void **state)
{
	struct sn_task task = some_task();
	struct fake env = { .n = 0 };
	struct sn_err complaint;

	(void)state;
	set(&env, "RANK", "0");
	set(&env, "MASTER_ADDR", "x\ny");
	apply(&task, &env, &complaint);
	assert_non_null(strstr(complaint.text, "RANK=0 ("));
	assert_non_null(strstr(complaint.text, "), MASTER_ADDR=x?y ("));
	assert_null(strchr(complaint.text, '\n'));
	clear(&env);
}

static void the_users_own_table_is_a_table(void **state)
{
	struct sn_task task = some_task();
	struct fake env = { .n = 0 };
	struct sn_err complaint;

	(void)state;
	set(&env, "RANK_TABLE_FILE", "/u/mine.json");
	apply(&task, &env, &complaint);
	is(&env, "RANK_TABLE_FILE", "/u/mine.json");
	is(&env, "HCCL_LOGIC_SUPERPOD_ID", NULL);
	clear(&env);
	/* Set to nothing: no table is wanted. */
	task.table = "/t.json";
	set(&env, "RANK_TABLE_FILE", "");
	apply(&task, &env, &complaint);
	is(&env, "RANK_TABLE_FILE", "");
	is(&env, "HCCL_LOGIC_SUPERPOD_ID", "sn1");
	clear(&env);
}

static void an_inner_step_does_not_inherit(void **state)
{
	struct sn_task task = some_task();
	struct fake env = { .n = 0 };
	struct sn_err complaint;

	(void)state;
	set(&env, "MASTER_PORT", "7"); /* the user's, also inside */
	strcpy(policy.task_env, "SITE=1");
	apply(&task, &env, NULL);
	/* srun -n2 from inside rank 13 */
	task.rank = 1;
	task.local = 0;
	task.world = 2;
	task.local_world = 1;
	task.n_nodes = 2;
	task.step = 3;
	task.layout = NULL;
	task.unit = "u1";
	apply(&task, &env, &complaint);
	assert_string_equal(complaint.text, "");
	is(&env, "RANK", "1");
	is(&env, "WORLD_SIZE", "2");
	is(&env, "LOCAL_RANK", "0");
	is(&env, "TP_RANK", NULL);
	is(&env, "TP_SIZE", NULL);
	is(&env, "SUPERNODE_UNIT", "u1");
	is(&env, "SITE", "1");
	is(&env, "MASTER_PORT", "7");
	/* And the one inside that. */
	task.rank = 0;
	apply(&task, &env, &complaint);
	assert_string_equal(complaint.text, "");
	is(&env, "RANK", "0");
	clear(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_user_wins_over_the_site_and_the_site_over_us),
		cmocka_unit_test(what_breaks_the_run_is_kept_and_told),
		cmocka_unit_test(all_conflicts_in_one_sentence),
		cmocka_unit_test(the_users_own_table_is_a_table),
		cmocka_unit_test(an_inner_step_does_not_inherit),
	};

	return cmocka_run_group_tests_name("taskvars", tests, NULL, NULL);
}
