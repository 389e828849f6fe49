/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_ranktablewrite.c - a table for a plan: orders that no version takes, the
 * file, and the judgement of one that is there.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/tables.h"
#include "topology/text.h"

static const char *const n_names[] = { "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8" };

/* An inventory of all n nodes with `cards` cards, without levels. */
static char *inventory(uint32_t n, uint32_t cards)
{
	struct sn_buf buf = { 0 };

	sn_buf_add(&buf, "{\"nodes\":{");
	for (uint32_t i = 0; i < n; i++) {
		sn_buf_add(&buf, "%s\"%s\":{\"cards\":[", i ? "," : "", n_names[i]);
		for (uint32_t c = 0; c < cards; c++)
			sn_buf_add(&buf, "%s{\"device_id\":%u,\"super_device_id\":%u,\"device_ip\":\"192.0.2.%u\"}",
				   c ? "," : "", c, i << 22 | (c / 2) << 18 | (c % 2) << 16 | c,
				   i * cards + c + 1);
		sn_buf_add(&buf, "]}");
	}
	sn_buf_add(&buf, "}}");
	assert_false(buf.failed);
	return buf.text;
}

static int build(const struct sn_plan *plan, uint32_t n, uint32_t cards,
		 enum sn_rank_table version, struct sn_err *err)
{
	char *text = inventory(n, cards), *table = NULL;
	struct sn_inventory inv;
	int rc = tables_load(plan, text, &inv, err);

	assert_int_equal(rc, 0);
	memset(err, 0, sizeof(*err));
	rc = sn_ranktable_build(plan, &inv, version, &table, err);
	if (!rc)
		free(table);
	sn_inventory_done(&inv);
	free(text);
	return rc;
}

/* Atoms of which the second and third have changed places, as map=auto may do:
 * four nodes of two cards, two supernodes, atoms of one node. */
static void swap_ranks(struct sn_plan *plan)
{
	uint32_t *at = plan->rank_at, t[2] = { at[2], at[3] };

	at[2] = at[4];
	at[3] = at[5];
	at[4] = t[0];
	at[5] = t[1];
	for (uint32_t i = 0; i < plan->n_nodes; i++)
		for (uint32_t k = 0; k < plan->node[i].ranks; k++) {
			plan->rank_node[at[plan->node[i].first + k]] = i;
			plan->rank_card[at[plan->node[i].first + k]] = plan->node[i].card[k];
		}
}

static void super_pods_that_interleave_are_refused(void **state)
{
	struct sn_plan plan;
	struct sn_err err;

	(void)state;
	tables_plan("SupernodeName=sn[1-2] Nodes=n[1-4]\n", n_names, 4, 2, "tp=2,dp=4,map=auto", &plan);
	swap_ranks(&plan);
	assert_int_equal(build(&plan, 4, 2, SN_RANK_TABLE_1_2, &err), -EINVAL);
	assert_non_null(strstr(err.text, "rank table 1.2: n2 of super pod \"sn1\" has ranks from 4 on"));
	assert_non_null(strstr(err.text, "use map=contiguous; the order that works is n1 0-1, n2 2-3, n3 4-5, n4 6-7"));
	/* Version 1.0 knows no super pods, 2.0 no such rule. */
	assert_int_equal(build(&plan, 4, 2, SN_RANK_TABLE_1_0, &err), 0);
	sn_plan_done(&plan);
}

static void servers_that_interleave_are_refused(void **state)
{
	struct sn_plan plan;
	struct sn_err err;

	(void)state;
	/* Pipeline stages inside dp: an atom of ep=2 is 2 ranks, the stages of one
	 * replica are on both supernodes … */
	tables_plan("SupernodeName=sn[1-2] Nodes=n[1-2]\n", n_names, 2, 4,
		    "tp=2,pp=2,dp=2,ep=4,etp=1,preset=vllm", &plan);
	/* … so that n1 has stage 0: ranks 0, 1, 4, 5. */
	assert_int_equal(plan.rank_at[2], 4);
	assert_int_equal(build(&plan, 2, 4, SN_RANK_TABLE_1_2, &err), -EINVAL);
	assert_non_null(strstr(err.text, "n1 has ranks 0 to 1 and then 4"));
	assert_non_null(strstr(err.text, "the order that works is n1 0-3, n2 4-7"));
	assert_non_null(strstr(err.text, "preset=vllm with pp > 1 needs all ranks in one supernode"));
	assert_int_equal(build(&plan, 2, 4, SN_RANK_TABLE_1_0, &err), -EINVAL);
	sn_plan_done(&plan);
	/* What the sentence says would help does. */
	tables_plan("SupernodeName=sn1 Nodes=n[1-2]\n", n_names, 2, 4,
		    "tp=2,pp=2,dp=2,ep=4,etp=1,preset=vllm", &plan);
	if (build(&plan, 2, 4, SN_RANK_TABLE_1_2, &err))
		fail_msg("%s", err.text);
	sn_plan_done(&plan);
	/* Megatron's orders have atoms of consecutive ranks. */
	tables_plan("SupernodeName=sn[1-2] Nodes=n[1-2]\n", n_names, 2, 4,
		    "tp=2,pp=2,dp=2,ep=2,etp=1,order=tp-cp-ep-pp-dp", &plan);
	assert_int_equal(build(&plan, 2, 4, SN_RANK_TABLE_1_2, &err), 0);
	sn_plan_done(&plan);
	tables_plan("SupernodeName=sn[1-2] Nodes=n[1-2]\n", n_names, 2, 4,
		    "tp=1,pp=2,dp=4,ep=4,etp=1", &plan);
	assert_int_equal(build(&plan, 2, 4, SN_RANK_TABLE_1_2, &err), 0);
	sn_plan_done(&plan);
}

static void a_spare_takes_its_place_in_the_order(void **state)
{
	static const uint32_t card[] = { 0, 1 };
	struct sn_plan_offer offer[6];
	struct sn_topo *topo;
	struct sn_layout l;
	struct sn_plan plan;
	struct sn_err err;
	const char conf[] = "SupernodeName=sn[1-2] Nodes=n[1-6]\n";

	(void)state;
	for (int i = 0; i < 6; i++)
		offer[i] = (struct sn_plan_offer){ n_names[i], NULL, card, 2 };
	assert_int_equal(sn_layout_parse("tp=2,dp=4", 2, &l, &err), 0);
	assert_int_equal(sn_topo_parse(conf, strlen(conf), "t", NULL, NULL, &topo, &err), 0);
	assert_int_equal(sn_plan_build(&l, 1, topo, offer, 6, &plan, &err), 0);
	assert_int_equal(build(&plan, 6, 2, SN_RANK_TABLE_1_2, &err), 0);
	assert_int_equal(sn_plan_swap(&plan, 0, sn_plan_find_spare(&plan, 0,
		(bool[]){ true, true, true, true, true, true }), &err), 0);
	assert_string_equal(plan.node[0].name, "n3");
	if (build(&plan, 6, 2, SN_RANK_TABLE_1_2, &err))
		fail_msg("%s", err.text);
	sn_plan_done(&plan);
	sn_topo_destroy(topo);
}

struct site {
	char *dir, *path;
	struct sn_policy policy;
	struct sn_plan plan;
	struct sn_err err;
};

static void site_begin(struct site *site)
{
	char *text = inventory(4, 2);

	memset(site, 0, sizeof(*site));
	site->dir = tables_dir();
	assert_true(asprintf(&site->path, "%s/%s", site->dir, SN_RT_FILE) > 0);
	tables_put(site->dir, "inventory", text, false);
	free(text);
	sn_policy_init(&site->policy);
	site->policy.rank_table = SN_RANK_TABLE_1_2;
	snprintf(site->policy.inventory, sizeof(site->policy.inventory), "%s/inventory", site->dir);
	tables_plan("SupernodeName=sn[1-2] Nodes=n[1-4]\n", n_names, 4, 2, "tp=2,dp=4", &site->plan);
}

static void site_end(struct site *site)
{
	sn_plan_done(&site->plan);
	tables_rmdir(site->dir);
	free(site->path);
}

static int write_table(struct site *site)
{
	memset(&site->err, 0, sizeof(site->err));
	return sn_ranktable_write(&site->plan, &site->policy, site->dir, &site->err);
}

static int judge(struct site *site)
{
	memset(&site->err, 0, sizeof(site->err));
	return sn_ranktable_judge(site->path, &site->plan, NULL, SN_RANK_TABLE_1_2, &site->err);
}

static void written_whole_or_not_at_all(void **state)
{
	struct site site;
	struct stat st;

	(void)state;
	site_begin(&site);
	if (write_table(&site) != 1)
		fail_msg("%s", site.err.text);
	assert_int_equal(judge(&site), 0);
	assert_int_equal(stat(site.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* What cannot be written leaves no table of an earlier start. */
	tables_put(site.dir, "inventory", "{\"nodes\":{}}", false);
	assert_int_equal(write_table(&site), -ENOENT);
	assert_non_null(strstr(site.err.text, "node n1 is not in it"));
	assert_int_equal(access(site.path, F_OK), -1);
	assert_int_equal(judge(&site), -ENOENT);
	assert_non_null(strstr(site.err.text, "there is no rank table"));
	/* Where none is wanted, neither. */
	tables_put(site.dir, SN_RT_FILE, "old", false);
	site.policy.rank_table = SN_RANK_TABLE_NONE;
	assert_int_equal(write_table(&site), 0);
	assert_int_equal(access(site.path, F_OK), -1);
	site_end(&site);
}

static void tables_that_are_not_this_plans(void **state)
{
	struct site site;

	(void)state;
	site_begin(&site);
	assert_int_equal(write_table(&site), 1);
	/* The supernodes' nodes have changed since. */
	strcpy(site.plan.node[1].name, "n9");
	site.plan.generation = 2;
	assert_int_equal(judge(&site), -ESTALE);
	assert_non_null(strstr(site.err.text, "rank 2 is on server \"n2\", and in generation 2 of job 42 it runs on n9"));
	strcpy(site.plan.node[1].name, "n2");
	site.plan.layout.world = 4;
	assert_int_equal(judge(&site), -ESTALE);
	assert_non_null(strstr(site.err.text, "has 8 ranks, and the job 4"));
	site.plan.layout.world = 8;
	/* Servers by address, as others write them: nothing can be said of them. */
	for (int i = 0; i < 4; i++)
		site.plan.node[i].name[0] = 'm';
	assert_int_equal(judge(&site), 0);
	site.plan.node[0].name[0] = 'n';
	assert_int_equal(judge(&site), -ESTALE);
	for (int i = 0; i < 4; i++)
		site.plan.node[i].name[0] = 'n';
	assert_int_equal(sn_ranktable_judge(site.path, &site.plan, NULL, SN_RANK_TABLE_NONE, &site.err), 0);
	assert_int_equal(sn_ranktable_judge(site.path, &site.plan, NULL, SN_RANK_TABLE_2_0, &site.err), -ESTALE);
	assert_non_null(strstr(site.err.text, "has version 1.2, and RankTable=2.0"));
	tables_put(site.dir, SN_RT_FILE, "", false);
	assert_int_equal(judge(&site), -EAGAIN);
	tables_put(site.dir, SN_RT_FILE, "{\"status\":\"completed\",\"server", false);
	assert_int_equal(judge(&site), -EAGAIN);
	assert_non_null(strstr(site.err.text, "half-written rank table"));
	tables_put(site.dir, SN_RT_FILE, "{\"status\":\"initializing\",\"version\":\"1.2\"}", false);
	assert_int_equal(judge(&site), -EAGAIN);
	tables_put(site.dir, SN_RT_FILE, "{}", false);
	assert_int_equal(judge(&site), -EINVAL);
	site_end(&site);
}

static void other_cards_than_the_inventorys(void **state)
{
	char *text = inventory(4, 2), *other;
	struct sn_inventory inv;
	struct site site;

	(void)state;
	site_begin(&site);
	assert_int_equal(write_table(&site), 1);
	other = tables_replace(text, "192.0.2.4", "192.0.2.40");
	assert_int_equal(tables_load(&site.plan, other, &inv, &site.err), 0);
	assert_int_equal(sn_ranktable_judge(site.path, &site.plan, &inv, SN_RANK_TABLE_1_2, &site.err), -ESTALE);
	assert_non_null(strstr(site.err.text, "rank 3 has device_ip 192.0.2.4, and card 1 of n2 has 192.0.2.40"));
	sn_inventory_done(&inv);
	free(other);
	other = tables_replace(text, "\"super_device_id\":4194304", "\"super_device_id\":8388608");
	assert_int_equal(tables_load(&site.plan, other, &inv, &site.err), 0);
	assert_int_equal(sn_ranktable_judge(site.path, &site.plan, &inv, SN_RANK_TABLE_1_2, &site.err), -ESTALE);
	assert_non_null(strstr(site.err.text, "rank 2 has super_device_id 4194304"));
	sn_inventory_done(&inv);
	free(other);
	free(text);
	site_end(&site);
}

/* 4,096 ranks: nothing may grow faster than they do. */
static void a_large_job(void **state)
{
	static char text[256][8];
	static const char *name[256];
	struct sn_buf buf = { 0 };
	struct timespec began, ended;
	struct site site;
	double took;

	(void)state;
	site_begin(&site);
	sn_plan_done(&site.plan);
	sn_buf_add(&buf, "{\"nodes\":{");
	for (uint32_t i = 0; i < 256; i++) {
		snprintf(text[i], sizeof(text[i]), "n%03u", i);
		name[i] = text[i];
		sn_buf_add(&buf, "%s\"%s\":{\"cards\":[", i ? "," : "", name[i]);
		for (uint32_t c = 0; c < 16; c++)
			sn_buf_add(&buf, "%s{\"device_id\":%u,\"super_device_id\":%u,\"device_ip\":\"10.0.%u.%u\"}",
				   c ? "," : "", c, i << 22 | (c / 2) << 18 | (c % 2) << 16 | c, i, c);
		sn_buf_add(&buf, "]}");
	}
	sn_buf_add(&buf, "}}");
	tables_put(site.dir, "inventory", buf.text, false);
	tables_plan("SupernodeName=sn[1-8] Nodes=n[000-255] NodesPerSupernode=32\n", name, 256, 16,
		    "tp=16,dp=256", &site.plan);
	clock_gettime(CLOCK_MONOTONIC, &began);
	if (write_table(&site) != 1)
		fail_msg("%s", site.err.text);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	took = (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) / 1e9;
	print_message("# a table of 4096 ranks in %.2f s\n", took);
	assert_true(took < 10);
	sn_buf_done(&buf);
	site_end(&site);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(super_pods_that_interleave_are_refused),
		cmocka_unit_test(servers_that_interleave_are_refused),
		cmocka_unit_test(a_spare_takes_its_place_in_the_order),
		cmocka_unit_test(written_whole_or_not_at_all),
		cmocka_unit_test(tables_that_are_not_this_plans),
		cmocka_unit_test(other_cards_than_the_inventorys),
		cmocka_unit_test(a_large_job),
	};

	return cmocka_run_group_tests_name("ranktablewrite", tests, NULL, NULL);
}
