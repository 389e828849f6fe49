/* SPDX-License-Identifier: GPL-2.0-or-later */
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

/* ---- an environment -------------------------------------------------------- */

#define MOST 128

struct fake {
	char *name[MOST], *value[MOST];
	size_t n;
};

static size_t find(struct fake *env, const char *name)
{
	size_t i;

	for (i = 0; i < env->n && strcmp(env->name[i], name); i++)
		;
	return i;
}

static const char *get(void *ctx, const char *name)
{
	struct fake *env = ctx;
	size_t i = find(env, name);

	return i < env->n ? env->value[i] : NULL;
}

static void set(void *ctx, const char *name, const char *value)
{
	struct fake *env = ctx;
	size_t i = find(env, name);

	assert_true(i < MOST);
	if (i < env->n) {
		free(env->value[i]);
	} else {
		env->name[env->n++] = strdup(name);
	}
	env->value[i] = strdup(value);
}

static void unset(void *ctx, const char *name)
{
	struct fake *env = ctx;
	size_t i = find(env, name);

	if (i == env->n)
		return;
	free(env->name[i]);
	free(env->value[i]);
	env->n--;
	env->name[i] = env->name[env->n];
	env->value[i] = env->value[env->n];
}

static void clear(struct fake *env)
{
	while (env->n)
		unset(env, env->name[0]);
}

static void apply(const struct sn_task *task, struct fake *env,
		  struct sn_err *complaint)
{
	struct sn_taskenv io = { get, set, unset, env };

	assert_int_equal(sn_taskvars_apply(task, &io, complaint), 0);
}

static void is(struct fake *env, const char *name, const char *want)
{
	const char *value = get(env, name);

	if (!want && value)
		fail_msg("%s=%s, and it should not be set", name, value);
	if (want && (!value || strcmp(value, want)))
		fail_msg("%s is %s, want %s", name, value ? value : "not set", want);
}

/* ---- a task ---------------------------------------------------------------- */

static struct sn_layout layout;
static struct sn_policy policy;

/* Rank 13 of 32 on the second of four nodes. */
static struct sn_task some_task(void)
{
	struct sn_task task = {
		.rank = 13, .local = 5, .world = 32, .local_world = 8,
		.n_nodes = 4, .has_group = true, .group = 1, .job = 1000,
		.step = 2, .master = "n001", .layout = &layout, .atom = 1,
		.supernode = "sn1", .supernode_index = 0, .n_supernodes = 2,
		.job_dir = "/home/ann/.supernode/1000", .cards = "6",
		.node_cards = "0,1,2,3,4,6,7", .vendor = SN_VENDOR_ASCEND,
		.policy = &policy,
	};

	assert_int_equal(sn_layout_parse("tp=4,ep=8,etp=1,pp=2,dp=4", 8, &layout, NULL), 0);
	sn_policy_init(&policy);
	return task;
}

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

/* One user's variable; what is said of it. */
static void says(struct sn_task *task, const char *name, const char *value,
		 const char *what)
{
	struct fake env = { .n = 0 };
	struct sn_err complaint;

	set(&env, name, value);
	apply(task, &env, &complaint);
	is(&env, name, value);
	if (!what && *complaint.text)
		fail_msg("%s=%s: %s", name, value, complaint.text);
	if (what && (!strstr(complaint.text, name) ||
		     !strstr(complaint.text, what)))
		fail_msg("%s=%s: \"%s\" has no \"%s\"", name, value,
			 complaint.text, what);
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
		cmocka_unit_test(the_user_wins_over_the_site_and_the_site_over_us),
		cmocka_unit_test(what_breaks_the_run_is_kept_and_told),
		cmocka_unit_test(one_task_a_node_and_one_task),
		cmocka_unit_test(all_conflicts_in_one_sentence),
		cmocka_unit_test(the_users_own_table_is_a_table),
		cmocka_unit_test(an_inner_step_does_not_inherit),
		cmocka_unit_test(the_user_guide_lists_every_variable),
	};

	return cmocka_run_group_tests_name("taskvars", tests, NULL, NULL);
}
