/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "launcher/planfiles.h"
#include "launcher/writefile.h"
#include "topology/groups.h"

static const uint32_t cards[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

/* Two supernodes of three nodes, the last of each a spare. */
static void plan_of(const char *spec, struct sn_plan *ret)
{
	static const char text[] = "SupernodeName=sn[1-2] Nodes=n[1-6]\n";
	static const char *const name[] = { "n1", "n2", "n3", "n4", "n5", "n6" };
	struct sn_plan_offer offer[6];
	struct sn_topo *topo = NULL;
	struct sn_layout l;
	struct sn_err err;

	assert_int_equal(sn_layout_parse(spec, 8, &l, &err), 0);
	assert_int_equal(sn_topo_parse(text, strlen(text), "t", NULL, NULL, &topo, &err), 0);
	for (int i = 0; i < 6; i++)
		offer[i] = (struct sn_plan_offer){ name[i], NULL, cards, 8 };
	if (sn_plan_build(&l, 1, topo, offer, 6, ret, &err))
		fail_msg("%s", err.text);
	sn_topo_destroy(topo);
	ret->job_id = 42;
	ret->generation = 3;
	ret->master_port = 61042;
}

#define SPEC "tp=4,pp=2,dp=4,ep=8,etp=1"

static json_object *parse(char *text)
{
	json_object *root = json_tokener_parse(text);

	assert_non_null(root);
	free(text);
	return root;
}

static json_object *at(json_object *from, const char *key)
{
	json_object *to;

	if (!json_object_object_get_ex(from, key, &to))
		fail_msg("%s is missing", key);
	return to;
}

static int number(json_object *from, const char *key)
{
	return json_object_get_int(at(from, key));
}

static json_object *nth(json_object *from, size_t i)
{
	return json_object_array_get_idx(from, i);
}

static void layout_says_where_each_rank_is(void **state)
{
	struct sn_plan plan;
	json_object *root, *pair;
	char *text;

	(void)state;
	plan_of(SPEC, &plan);
	assert_int_equal(sn_planfile_layout(&plan, &text, NULL), 0);
	root = parse(text);
	assert_int_equal(number(root, "job"), 42);
	assert_int_equal(number(root, "generation"), 3);
	assert_int_equal(number(at(root, "layout"), "world"), 32);
	assert_int_equal(number(at(root, "layout"), "ep"), 8);
	assert_int_equal(number(at(root, "atom"), "ranks"), 8);
	assert_int_equal(number(at(root, "atom"), "count"), 4);
	pair = nth(at(root, "ranks"), 21);
	assert_string_equal(json_object_get_string(nth(pair, 0)), "n4");
	assert_int_equal(json_object_get_int(nth(pair, 1)), 5);
	assert_string_equal(json_object_get_string(nth(at(root, "supernodes"), 21)), "sn2");
	assert_int_equal(json_object_array_length(at(root, "nodes")), 6);
	assert_true(json_object_get_boolean(at(nth(at(root, "nodes"), 5), "spare")));
	json_object_put(root);
	sn_plan_done(&plan);
}

static void a_plan_comes_back_as_it_was(void **state)
{
	struct sn_plan plan, back;
	char *text, *again;
	struct sn_err err;

	(void)state;
	plan_of(SPEC, &plan);
	assert_int_equal(sn_plan_swap(&plan, 1, 4, NULL), 0);
	assert_int_equal(sn_planfile_layout(&plan, &text, NULL), 0);
	if (sn_planfile_parse(text, strlen(text), &back, &err))
		fail_msg("%s", err.text);
	assert_string_equal(back.node[1].origin, "n2");
	assert_int_equal(back.layout.atom, plan.layout.atom);
	assert_memory_equal(back.rank_at, plan.rank_at, 32 * sizeof(uint32_t));
	assert_memory_equal(back.rank_node, plan.rank_node, 32 * sizeof(uint32_t));
	assert_int_equal(sn_planfile_layout(&back, &again, NULL), 0);
	assert_string_equal(text, again);
	/* No part of it passes for the whole. */
	for (size_t len = 0; len + 2 < strlen(text); len += 7) {
		assert_true(sn_planfile_parse(text, len, &back, &err) < 0);
		assert_non_null(strstr(err.text, "layout.json: "));
	}
	free(text);
	free(again);
	sn_plan_done(&plan);
	sn_plan_done(&back);
}

static void damaged_plans_are_refused(void **state)
{
	static const char *const change[][2] = {
		{ "\"ranks\":8,\"spare", "\"ranks\":7,\"spare" },
		{ "\"dp\":4", "\"dq\":4" }, /* not read: spec is */
		{ "dp=4", "dp=5" },
		{ "[\"n4\",0]", "[\"n9\",0]" },
		{ "[\"n4\",0]", "[\"n1\",0]" },
		{ "[\"n4\",0]", "17" },
		{ "\"generation\":3", "\"generation\":-1" },
		{ "\"name\":\"n1\"", "\"name\":7" },
		{ "\"cards\":[0", "\"cards\":[-1" },
	};
	struct sn_plan plan, back;
	char *text, other[16384], *p;

	(void)state;
	plan_of(SPEC, &plan);
	assert_int_equal(sn_planfile_layout(&plan, &text, NULL), 0);
	for (size_t i = 0; i < sizeof(change) / sizeof(change[0]); i++) {
		int rc;

		p = strstr(text, change[i][0]);
		if (!p)
			fail_msg("%s is not in %s", change[i][0], text);
		snprintf(other, sizeof(other), "%.*s%s%s", (int)(p - text), text,
			 change[i][1], p + strlen(change[i][0]));
		rc = sn_planfile_parse(other, strlen(other), &back, NULL);
		if (i == 1)
			sn_plan_done(&back);
		if ((rc == 0) != (i == 1))
			fail_msg("%s for %s: %d", change[i][1], change[i][0], rc);
	}
	free(text);
	sn_plan_done(&plan);
}

static void groups_are_snctls_with_the_dp_split(void **state)
{
	struct sn_plan plan;
	json_object *root, *groups, *dp, *intra, *inter;
	char *text;

	(void)state;
	plan_of(SPEC, &plan);
	assert_int_equal(sn_planfile_groups(&plan, &text, NULL), 0);
	root = parse(text);
	assert_int_equal(number(root, "world"), 32);
	assert_int_equal(number(root, "edp"), 2);
	assert_string_equal(json_object_get_string(at(root, "order")), "tp-cp-ep-dp-pp");
	groups = at(root, "groups");
	assert_int_equal(json_object_object_length(groups), SN_GROUP_KINDS + 2);
	dp = at(groups, "dp");
	intra = at(groups, "dp_intra");
	inter = at(groups, "dp_inter");
	/* A stage is 16 ranks, one supernode: no dp group leaves it. */
	assert_int_equal(json_object_array_length(intra), json_object_array_length(dp));
	assert_string_equal(json_object_to_json_string(nth(intra, 1)),
			    json_object_to_json_string(nth(dp, 1)));
	assert_int_equal(json_object_array_length(nth(inter, 1)), 1);
	json_object_put(root);
	sn_plan_done(&plan);

	/* One stage over both: each dp group has two parts. */
	plan_of("tp=4,dp=8", &plan);
	assert_int_equal(sn_planfile_groups(&plan, &text, NULL), 0);
	root = parse(text);
	groups = at(root, "groups");
	assert_string_equal(json_object_to_json_string_ext(nth(at(groups, "dp_intra"), 3), 0), "[17,21,25,29]");
	assert_string_equal(json_object_to_json_string_ext(nth(at(groups, "dp_inter"), 1), 0), "[1,17]");
	json_object_put(root);
	sn_plan_done(&plan);
}

static void each_communicator_is_there_once(void **state)
{
	struct sn_plan plan;
	json_object *root, *comm;
	char *text;
	size_t want = 0;

	(void)state;
	plan_of("tp=4,dp=8", &plan);
	assert_int_equal(sn_planfile_parallel_group(&plan, &text, NULL), 0);
	root = parse(text);
	comm = at(root, "dp_inter_1");
	assert_string_equal(json_object_get_string(at(comm, "group_name")), "dp_inter");
	assert_int_equal(number(comm, "group_rank"), 0);
	assert_string_equal(json_object_to_json_string_ext(at(comm, "global_ranks"), 0), "[1,17]");
	assert_false(json_object_object_get_ex(root, "pp_0", &comm)); /* of one rank */
	for (int kind = 0; kind < SN_GROUP_KINDS; kind++) {
		struct sn_groups g;

		assert_int_equal(sn_groups_build(&plan.layout, (enum sn_group_kind)kind, &g, NULL), 0);
		want += g.size > 1 ? g.n : 0;
		sn_groups_done(&g);
	}
	/* Four dp groups in two parts each, and their leaders. */
	assert_int_equal(json_object_object_length(root), want + 8 + 4);
	json_object_put(root);
	sn_plan_done(&plan);
}

static int fail_hook(const struct sn_plan *plan, const char *dir, void *ctx,
		     struct sn_err *err)
{
	(void)plan;
	(void)dir;
	return *(int *)ctx ? sn_err_set(err, *(int *)ctx, "hook") : 0;
}

static void the_generation_is_written_last(void **state)
{
	char dir[] = "/tmp/sn-planfiles-XXXXXX", cmd[80], *text;
	struct sn_plan plan, back;
	struct sn_err err;
	size_t len;
	int rc = -EIO;

	(void)state;
	assert_non_null(mkdtemp(dir));
	plan_of(SPEC, &plan);
	assert_int_equal(sn_planfiles_read(dir, &back, &err), -ENOENT);
	assert_int_equal(sn_planfiles_write(&plan, dir, fail_hook, &rc, &err), -EIO);
	assert_int_equal(sn_read_file(dir, "generation", 64, &text, &len, NULL), -ENOENT);
	rc = 0;
	assert_int_equal(sn_planfiles_write(&plan, dir, fail_hook, &rc, &err), 0);
	assert_int_equal(sn_read_file(dir, "generation", 64, &text, &len, NULL), 0);
	assert_string_equal(text, "3\n");
	free(text);
	assert_int_equal(sn_read_file(dir, "hostfile", 4096, &text, &len, NULL), 0);
	assert_int_equal(len, 32 * 3);
	assert_memory_equal(text + 21 * 3, "n4\n", 3);
	free(text);
	assert_int_equal(sn_planfiles_read(dir, &back, &err), 0);
	assert_int_equal(back.generation, 3);
	sn_plan_done(&back);
	sn_plan_done(&plan);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	assert_int_equal(system(cmd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout_says_where_each_rank_is),
		cmocka_unit_test(a_plan_comes_back_as_it_was),
		cmocka_unit_test(damaged_plans_are_refused),
		cmocka_unit_test(groups_are_snctls_with_the_dp_split),
		cmocka_unit_test(each_communicator_is_there_once),
		cmocka_unit_test(the_generation_is_written_last),
	};

	return cmocka_run_group_tests_name("planfiles", tests, NULL, NULL);
}
