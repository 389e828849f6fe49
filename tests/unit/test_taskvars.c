/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_taskvars.c - the variables that a task gets.
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

static void torchruns_full_list(void **state)
{
	struct sn_task task = some_task();
	struct fake env = { .n = 0 };

	(void)state;
	apply(&task, &env, NULL);
	is(&env, "RANK", "13");
	is(&env, "LOCAL_RANK", "5");
	is(&env, "WORLD_SIZE", "32");
	is(&env, "LOCAL_WORLD_SIZE", "8");
	is(&env, "GROUP_RANK", "1");
	is(&env, "GROUP_WORLD_SIZE", "4");
	is(&env, "ROLE_RANK", "13");
	is(&env, "ROLE_NAME", "default");
	is(&env, "ROLE_WORLD_SIZE", "32");
	is(&env, "MASTER_ADDR", "n001");
	is(&env, "TORCHELASTIC_RESTART_COUNT", "0");
	is(&env, "TORCHELASTIC_MAX_RESTARTS", "0");
	is(&env, "TORCHELASTIC_RUN_ID", "1000");
	is(&env, "TORCHELASTIC_USE_AGENT_STORE", "False");
	is(&env, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
	clear(&env);
	task.role = SN_ROLE_PREFILL;
	task.has_group = false;
	task.master = NULL;
	apply(&task, &env, NULL);
	is(&env, "ROLE_NAME", "prefill");
	is(&env, "GROUP_RANK", NULL);
	is(&env, "MASTER_ADDR", NULL);
	clear(&env);
}

static void coordinates_follow_the_rule(void **state)
{
	struct sn_task task = some_task();
	struct fake env = { .n = 0 };

	(void)state;
	/* rank = tp + 4·(dp + 4·pp), rank = ep + 8·(edp + 2·pp) */
	for (task.rank = 0; task.rank < 32; task.rank++) {
		apply(&task, &env, NULL);
		assert_int_equal(task.rank, atoi(get(&env, "TP_RANK")) +
				 4 * (atoi(get(&env, "DP_RANK")) +
				      4 * atoi(get(&env, "PP_RANK"))));
		assert_int_equal(task.rank, atoi(get(&env, "EP_RANK")) +
				 8 * (atoi(get(&env, "EDP_RANK")) +
				      2 * atoi(get(&env, "PP_RANK"))));
		is(&env, "ETP_SIZE", "1");
		is(&env, "EDP_SIZE", "2");
		is(&env, "SUPERNODE_ATOMS", "4");
		clear(&env);
	}
	task.rank = 3;
	task.layout = NULL;
	apply(&task, &env, NULL);
	is(&env, "TP_RANK", NULL);
	is(&env, "TP_SIZE", NULL);
	is(&env, "SUPERNODE_ATOM", NULL);
	is(&env, "RANK", "3");
	clear(&env);
}

static int port_of(const struct sn_task *task)
{
	struct fake env = { .n = 0 };
	int port;

	apply(task, &env, NULL);
	port = atoi(get(&env, "MASTER_PORT"));
	clear(&env);
	return port;
}

static void ports_are_fresh_and_above_the_ephemeral_ones(void **state)
{
	struct sn_task task = some_task();
	int first = port_of(&task), port;

	(void)state;
	assert_in_range(first, 61000, 65535);
	task.job = UINT32_MAX;
	task.generation = UINT32_MAX;
	assert_in_range(port_of(&task), 61000, 65535);
	task = some_task();
	for (task.generation = 1; task.generation < 50; task.generation++) {
		port = port_of(&task);
		assert_in_range(port, 61000, 65535);
		assert_int_not_equal(port, first);
	}
	task.generation = 0;
	task.restarts = 1;
	assert_int_not_equal(port_of(&task), first);
	/* snrun found one that is free. */
	task.port = 12345;
	assert_int_equal(port_of(&task), 12345);
}

static void restarts_only_grow(void **state)
{
	struct sn_task task = some_task();
	struct fake env = { .n = 0 };

	(void)state;
	task.restarts = 2;
	task.generation = 3;
	task.max_restarts = 7;
	apply(&task, &env, NULL);
	is(&env, "TORCHELASTIC_RESTART_COUNT", "5");
	is(&env, "TORCHELASTIC_MAX_RESTARTS", "7");
	is(&env, "SUPERNODE_GENERATION", "3");
	clear(&env);
}

static void ascends_variables(void **state)
{
	struct sn_task task = some_task();
	struct fake env = { .n = 0 };

	(void)state;
	apply(&task, &env, NULL);
	is(&env, "RANK_ID", "13");
	is(&env, "RANK_SIZE", "32");
	is(&env, "DEVICE_ID", "0"); /* its only one */
	is(&env, "ASCEND_RT_VISIBLE_DEVICES", "6");
	is(&env, "RANK_TABLE_FILE", NULL);
	is(&env, "HCCL_LOGIC_SUPERPOD_ID", "sn1");
	is(&env, "HCCL_CONNECT_TIMEOUT", "1800");
	is(&env, "HCCL_IF_BASE_PORT", NULL);
	is(&env, "HCCL_IF_IP", NULL);
	is(&env, "HCCL_SOCKET_IFNAME", NULL);
	is(&env, "HCCL_OP_EXPANSION_MODE", NULL);
	is(&env, "HCCL_ALGO", NULL);
	is(&env, "NCCL_MNNVL_ENABLE", NULL);
	clear(&env);

	task.table = "/home/ann/.supernode/1000/ranktable.json";
	task.if_ip = "10.1.2.3";
	strcpy(policy.socket_ifname, "eth0");
	policy.hccl_if_base_port = 50000;
	policy.hccl_connect_timeout = 60;
	policy.visible_cards = 1;
	apply(&task, &env, NULL);
	is(&env, "RANK_TABLE_FILE", task.table);
	is(&env, "HCCL_LOGIC_SUPERPOD_ID", NULL);
	is(&env, "HCCL_IF_IP", "10.1.2.3");
	is(&env, "HCCL_SOCKET_IFNAME", "eth0");
	is(&env, "GLOO_SOCKET_IFNAME", "eth0");
	is(&env, "NCCL_SOCKET_IFNAME", NULL);
	is(&env, "HCCL_IF_BASE_PORT", "50000");
	/* HCCL takes no less than 120 s. */
	is(&env, "HCCL_CONNECT_TIMEOUT", "120");
	is(&env, "ASCEND_RT_VISIBLE_DEVICES", "0,1,2,3,4,6,7");
	is(&env, "DEVICE_ID", "5"); /* card 6 is the sixth of those */
	clear(&env);
	set(&env, "ASCEND_RT_VISIBLE_DEVICES", "7,6");
	apply(&task, &env, NULL);
	is(&env, "DEVICE_ID", "1"); /* the user's list counts */
	clear(&env);
	set(&env, "ASCEND_RT_VISIBLE_DEVICES", "60,7");
	apply(&task, &env, NULL);
	is(&env, "DEVICE_ID", NULL);
	clear(&env);
	/* Not where LOCAL_RANK would point at another rank's card. */
	task.local = 4;
	apply(&task, &env, NULL);
	is(&env, "ASCEND_RT_VISIBLE_DEVICES", "6");
	clear(&env);

	/* A loose node's name is no super pod; several cards are no DEVICE_ID. */
	task = some_task();
	task.loose = true;
	task.cards = "2,3";
	policy.hccl_connect_timeout = 0;
	policy.hccl_if_base_port = 80;
	apply(&task, &env, NULL);
	is(&env, "HCCL_LOGIC_SUPERPOD_ID", NULL);
	is(&env, "DEVICE_ID", NULL);
	is(&env, "ASCEND_RT_VISIBLE_DEVICES", "2,3");
	is(&env, "HCCL_CONNECT_TIMEOUT", NULL);
	is(&env, "HCCL_IF_BASE_PORT", NULL);
	clear(&env);
}

static void nvidias_variables(void **state)
{
	struct sn_task task = some_task();
	struct fake env = { .n = 0 };

	(void)state;
	task.vendor = SN_VENDOR_NVIDIA;
	strcpy(policy.socket_ifname, "ib0");
	strcpy(policy.nccl_topo_file, "/etc/nccl/topo.xml");
	apply(&task, &env, NULL);
	is(&env, "NCCL_MNNVL_ENABLE", "0");
	is(&env, "NCCL_SOCKET_IFNAME", "ib0");
	is(&env, "NCCL_TOPO_FILE", "/etc/nccl/topo.xml");
	is(&env, "CUDA_VISIBLE_DEVICES", NULL);
	is(&env, "RANK_ID", NULL);
	is(&env, "DEVICE_ID", NULL);
	is(&env, "HCCL_SOCKET_IFNAME", NULL);
	is(&env, "ASCEND_RT_VISIBLE_DEVICES", NULL);
	clear(&env);
	task.imex = true;
	apply(&task, &env, NULL);
	is(&env, "NCCL_MNNVL_ENABLE", NULL);
	clear(&env);
	task.vendor = SN_VENDOR_NONE;
	apply(&task, &env, NULL);
	is(&env, "NCCL_SOCKET_IFNAME", NULL);
	is(&env, "GLOO_SOCKET_IFNAME", "ib0");
	is(&env, "RANK", "13");
	clear(&env);
}

static void hints_by_shape_where_wanted(void **state)
{
	static const struct {
		enum sn_vendor vendor;
		enum sn_shape shape;
		const char *hccl, *nccl;
	} want[] = {
		{ SN_VENDOR_ASCEND, SN_SHAPE_FULL, NULL, NULL },
		{ SN_VENDOR_ASCEND, SN_SHAPE_TORUS, "level0:NA;level1:ring", NULL },
		{ SN_VENDOR_ASCEND, SN_SHAPE_MESH, "level0:NA;level1:ring", NULL },
		{ SN_VENDOR_ASCEND, SN_SHAPE_FATTREE, "level0:NA;level1:NHR", NULL },
		{ SN_VENDOR_NVIDIA, SN_SHAPE_FULL, NULL, NULL },
		{ SN_VENDOR_NVIDIA, SN_SHAPE_TORUS, NULL, "Ring" },
		{ SN_VENDOR_NVIDIA, SN_SHAPE_FATTREE, NULL, "Tree,Ring" },
		{ SN_VENDOR_NONE, SN_SHAPE_TORUS, NULL, NULL },
	};
	struct sn_task task = some_task();
	struct fake env = { .n = 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		task.vendor = want[i].vendor;
		task.shape = want[i].shape;
		policy.collective_hints = 0;
		apply(&task, &env, NULL);
		is(&env, "HCCL_ALGO", NULL);
		is(&env, "NCCL_ALGO", NULL);
		clear(&env);
		policy.collective_hints = 1;
		apply(&task, &env, NULL);
		is(&env, "HCCL_ALGO", want[i].hccl);
		is(&env, "NCCL_ALGO", want[i].nccl);
		clear(&env);
	}
}

static void one_task_a_node_and_one_task(void **state)
{
	struct sn_task task = some_task();

	(void)state;
	task.rank = task.local = task.group = 0;
	task.local_world = 1;
	task.n_nodes = 32;
	task.cards = "3";
	says(&task, "LOCAL_RANK", "0", NULL);
	says(&task, "LOCAL_RANK", "1", "this step's is 0");
	says(&task, "DEVICE_ID", "0", NULL);
	says(&task, "DEVICE_ID", "3", "this step's is 0");
	says(&task, "RANK", "0", "not the same");
	task.world = task.n_nodes = 1;
	task.layout = NULL;
	says(&task, "RANK", "0", NULL);
	says(&task, "GROUP_RANK", "0", NULL);
	says(&task, "RANK", "3", "this step's is 0");
}

/* ---- the documentation ----------------------------------------------------- */

static char *user_guide(void)
{
	const char *src = getenv("SN_SRCDIR");
	char path[4096], *text;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/docs/user-guide.md", src ? src : ".");
	f = fopen(path, "r");
	if (!f)
		return NULL;
	text = calloc(1, 1u << 20);
	assert_non_null(text);
	n = fread(text, 1, (1u << 20) - 1, f);
	fclose(f);
	assert_true(n > 0);
	return text;
}

static void the_user_guide_lists_every_variable(void **state)
{
	const struct sn_taskvar *var;
	char *text = user_guide(), *p;
	size_t rows = 0, vars = 0;

	(void)state;
	assert_non_null(text);
	for (var = sn_taskvars; var->name; var++, vars++) {
		char row[1024];

		snprintf(row, sizeof(row), "\n| `%s` | %s | %s |\n", var->name,
			 var->when, var->help);
		if (!strstr(text, row))
			fail_msg("docs/user-guide.md has not this row:%s", row);
	}
	p = strstr(text, "\n| variable | when | what |\n");
	assert_non_null(p);
	for (p = strstr(p, "| --- |"); (p = strchr(p, '\n')) && p[1] == '|'; p++)
		rows++;
	assert_int_equal(rows, vars);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(torchruns_full_list),
		cmocka_unit_test(coordinates_follow_the_rule),
		cmocka_unit_test(ports_are_fresh_and_above_the_ephemeral_ones),
		cmocka_unit_test(restarts_only_grow),
		cmocka_unit_test(ascends_variables),
		cmocka_unit_test(nvidias_variables),
		cmocka_unit_test(hints_by_shape_where_wanted),
		cmocka_unit_test(one_task_a_node_and_one_task),
		cmocka_unit_test(the_user_guide_lists_every_variable),
	};

	return cmocka_run_group_tests_name("taskvars", tests, NULL, NULL);
}
