/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Promises of bind.h on machines of every kind: synthetic ones, odd ones, and,
 * where the shared data is at hand, real ones.
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
#include <unistd.h>

#include <cmocka.h>

#include "launcher/bind.h"
#include "tests/unit/bindbed.h"

static void slices_are_even_and_in_order(void **state)
{
	hwloc_topology_t topology = synthetic("numa:2 core:4 pu:1");
	struct sn_bind bind;

	(void)state;
	decide(topology, NULL, NULL, 4, &bind);
	list_is(bind.cpus[0], "0-1");
	list_is(bind.cpus[3], "6-7");
	list_is(bind.memory[0], "0");
	list_is(bind.memory[3], "1");
	assert_int_equal(bind.how[0], SN_BIND_SLICE);
	sn_bind_done(&bind);
	/* 8 over 3: 3, 3, 2; the second one's lies on both nodes. */
	decide(topology, NULL, NULL, 3, &bind);
	list_is(bind.cpus[0], "0-2");
	list_is(bind.cpus[1], "3-5");
	list_is(bind.cpus[2], "6-7");
	list_is(bind.memory[1], NULL);
	sn_bind_done(&bind);
	hwloc_topology_destroy(topology);
}

static void a_rank_is_where_its_card_is(void **state)
{
	hwloc_topology_t topology = synthetic("numa:4 core:4 pu:1");
	hwloc_obj_t near[4] = { node(topology, 3), node(topology, 3),
				node(topology, 1), node(topology, 0) };
	struct sn_bind bind;

	(void)state;
	decide(topology, NULL, near, 4, &bind);
	list_is(bind.cpus[0], "12-13");
	list_is(bind.cpus[1], "14-15");
	list_is(bind.cpus[2], "4-7");
	list_is(bind.cpus[3], "0-3");
	list_is(bind.memory[0], "3");
	list_is(bind.memory[2], "1");
	assert_int_equal(bind.how[1], SN_BIND_LOCAL);
	sn_bind_done(&bind);
	hwloc_topology_destroy(topology);
}

static void whole_cores_before_threads(void **state)
{
	hwloc_topology_t topology = synthetic("numa:1 core:4 pu:2");
	struct sn_bind bind;

	(void)state;
	decide(topology, NULL, NULL, 3, &bind);
	list_is(bind.cpus[0], "0-3");
	list_is(bind.cpus[1], "4-5");
	list_is(bind.cpus[2], "6-7");
	sn_bind_done(&bind);
	/* One thread of each core only: these are the cores then. */
	decide(topology, "0,2,4,6", NULL, 4, &bind);
	list_is(bind.cpus[2], "4");
	sn_bind_done(&bind);
	decide(topology, NULL, NULL, 6, &bind);
	assert_int_equal(hwloc_bitmap_weight(bind.cpus[0]), 2);
	assert_int_equal(hwloc_bitmap_weight(bind.cpus[5]), 1);
	sn_bind_done(&bind);
	hwloc_topology_destroy(topology);
}

static void a_job_without_cpus_near_its_cards(void **state)
{
	hwloc_topology_t topology = synthetic("package:2 numa:2 core:4 pu:1");
	hwloc_obj_t near[2] = { node(topology, 1), node(topology, 3) };
	struct sn_bind bind;

	(void)state;
	/* Node 1 is 4-7; its package has 0-3 too. */
	decide(topology, "2-3,8-15", near, 2, &bind);
	list_is(bind.cpus[0], "2-3");
	assert_int_equal(bind.how[0], SN_BIND_NEAREST);
	list_is(bind.cpus[1], "12-15");
	list_is(bind.memory[0], "1");
	sn_bind_done(&bind);
	/* All far away. */
	decide(topology, "8-9", near, 2, &bind);
	assert_int_equal(hwloc_bitmap_weight(bind.cpus[0]), 1);
	sn_bind_done(&bind);
	hwloc_topology_destroy(topology);
}

static void fewer_local_threads_than_ranks_is_no_cage(void **state)
{
	hwloc_topology_t topology = synthetic("numa:2 core:8 pu:1");
	hwloc_obj_t near[4] = { node(topology, 0), node(topology, 0),
				node(topology, 0), node(topology, 1) };
	struct sn_bind bind;

	(void)state;
	/* One CPU near three cards, eight near the fourth: 2 or 3 each. */
	decide(topology, "0,8-15", near, 4, &bind);
	assert_int_equal(bind.how[0], SN_BIND_REMOTE);
	assert_int_equal(bind.how[3], SN_BIND_LOCAL);
	for (int r = 0; r < 4; r++)
		assert_in_range(hwloc_bitmap_weight(bind.cpus[r]), 2, 3);
	sn_bind_done(&bind);
	hwloc_topology_destroy(topology);
}

static void more_ranks_than_threads_share(void **state)
{
	hwloc_topology_t topology = synthetic("numa:2 core:1 pu:1");
	hwloc_obj_t near[8];
	struct sn_bind bind;
	int r;

	(void)state;
	for (r = 0; r < 8; r++)
		near[r] = node(topology, r < 4 ? 0 : 1);
	decide(topology, NULL, near, 8, &bind);
	for (r = 0; r < 8; r++) {
		list_is(bind.cpus[r], r < 4 ? "0" : "1");
		assert_int_equal(bind.how[r], r % 4 ? SN_BIND_SHARED : SN_BIND_LOCAL);
	}
	sn_bind_done(&bind);
	decide(topology, "1", near, 8, &bind);
	list_is(bind.cpus[0], "1");
	list_is(bind.cpus[7], "1");
	sn_bind_done(&bind);
	hwloc_topology_destroy(topology);
}

static void cards_known_and_unknown_on_one_node(void **state)
{
	hwloc_topology_t topology = synthetic("numa:2 core:4 pu:1");
	hwloc_obj_t near[4] = { NULL, node(topology, 0), NULL, node(topology, 0) };
	struct sn_bind bind;
	int r;

	(void)state;
	decide(topology, NULL, near, 4, &bind);
	/* 8 CPUs, 2 each: the unknown ones leave node 0 to those that need it. */
	for (r = 0; r < 4; r++)
		assert_int_equal(hwloc_bitmap_weight(bind.cpus[r]), 2);
	assert_int_equal(bind.how[0], SN_BIND_SLICE);
	assert_int_equal(bind.how[1], SN_BIND_LOCAL);
	sn_bind_done(&bind);
	hwloc_topology_destroy(topology);
}

/* A machine from XML, made here: synthetic ones have every CPU online. */
static hwloc_topology_t odd(const char *text)
{
	char path[] = "/tmp/sn-bind-XXXXXX";
	hwloc_topology_t topology;
	struct sn_err err = { "" };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	if (sn_bind_load(path, &topology, &err))
		fail_msg("%s", err.text);
	unlink(path);
	return topology;
}

/* CPU 1 is offline; node 1 has memory and a card (81:00.0), but no CPU. */
static const char no_cpu_node[] =
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	"<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
	"<topology version=\"2.0\">\n"
	" <object type=\"Machine\" os_index=\"0\" cpuset=\"0x0000000d\" complete_cpuset=\"0x0000000f\" allowed_cpuset=\"0x0000000d\" nodeset=\"0x00000003\" complete_nodeset=\"0x00000003\" allowed_nodeset=\"0x00000003\" gp_index=\"1\">\n"
	"  <object type=\"NUMANode\" os_index=\"1\" cpuset=\"0x0000000d\" complete_cpuset=\"0x0000000f\" nodeset=\"0x00000002\" complete_nodeset=\"0x00000002\" gp_index=\"2\" local_memory=\"1073741824\"/>\n"
	"  <object type=\"Package\" os_index=\"0\" cpuset=\"0x0000000d\" complete_cpuset=\"0x0000000f\" nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\" gp_index=\"3\">\n"
	"   <object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x0000000d\" complete_cpuset=\"0x0000000f\" nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\" gp_index=\"4\" local_memory=\"1073741824\"/>\n"
	"   <object type=\"Core\" os_index=\"0\" cpuset=\"0x00000001\" complete_cpuset=\"0x00000003\" nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\" gp_index=\"5\">\n"
	"    <object type=\"PU\" os_index=\"0\" cpuset=\"0x00000001\" complete_cpuset=\"0x00000001\" nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\" gp_index=\"6\"/>\n"
	"   </object>\n"
	"   <object type=\"Core\" os_index=\"1\" cpuset=\"0x0000000c\" complete_cpuset=\"0x0000000c\" nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\" gp_index=\"7\">\n"
	"    <object type=\"PU\" os_index=\"2\" cpuset=\"0x00000004\" complete_cpuset=\"0x00000004\" nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\" gp_index=\"8\"/>\n"
	"    <object type=\"PU\" os_index=\"3\" cpuset=\"0x00000008\" complete_cpuset=\"0x00000008\" nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\" gp_index=\"9\"/>\n"
	"   </object>\n"
	"   <object type=\"Bridge\" gp_index=\"10\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[80-81]\">\n"
	"    <object type=\"PCIDev\" gp_index=\"11\" pci_busid=\"0000:81:00.0\" pci_type=\"1200 [19e5:d802] [0000:0000] 00\" pci_link_speed=\"0.000000\"/>\n"
	"   </object>\n"
	"  </object>\n"
	" </object>\n"
	"</topology>\n";

static void offline_cpus_and_memory_without_cpus(void **state)
{
	hwloc_topology_t topology = odd(no_cpu_node);
	hwloc_obj_t near[3] = { node(topology, 1), node(topology, 1), node(topology, 0) };
	struct sn_bind bind;

	(void)state;
	decide(topology, "0-3", near, 3, &bind);
	sn_bind_done(&bind);
	decide(topology, "0-3", near, 2, &bind);
	list_is(bind.cpus[0], "0");
	list_is(bind.cpus[1], "2-3");
	sn_bind_done(&bind);
	assert_ptr_equal(sn_bind_near_pci(topology, "0000:81:00.0"),
			 hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0));
	assert_null(sn_bind_near_pci(topology, "0000:82:00.0"));
	assert_null(sn_bind_near_pci(topology, "nonsense"));
	assert_null(sn_bind_near_name(topology, 0));
	hwloc_topology_destroy(topology);
}

static void nothing_allowed_is_told(void **state)
{
	hwloc_topology_t topology = synthetic("numa:1 core:2 pu:1");
	hwloc_cpuset_t far = cpus("64-70");
	struct sn_bind_ask ask = { topology, far, NULL, 2 };
	struct sn_bind bind;
	struct sn_err err = { "" };

	(void)state;
	assert_int_equal(sn_bind_decide(&ask, &bind, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "CPUs"));
	ask.n = 0;
	assert_int_equal(sn_bind_decide(&ask, &bind, &err), -E2BIG);
	ask.n = SN_BIND_RANKS_MAX + 1;
	assert_int_equal(sn_bind_decide(&ask, &bind, &err), -E2BIG);
	hwloc_bitmap_free(far);
	hwloc_topology_destroy(topology);
}

static void an_unreadable_file_is_told(void **state)
{
	hwloc_topology_t topology;
	struct sn_err err = { "" };

	(void)state;
	assert_int_equal(sn_bind_load("/nonexistent.xml", &topology, &err), -EIO);
	assert_non_null(strstr(err.text, "/nonexistent.xml"));
}

/* Sizes differ by one at most where all may go anywhere. */
static void random_masks_on_random_machines(void **state)
{
	static const char *const machine[] = {
		"numa:1 core:3 pu:1", "package:2 numa:2 core:3 pu:2",
		"numa:8 core:2 pu:1", "core:5 pu:4", "package:2 core:1 pu:1",
		"package:2 [numa] core:26 pu:2",
	};
	unsigned int seed = 1;
	int turn;

	(void)state;
	for (turn = 0; turn < 600; turn++) {
		hwloc_topology_t topology = synthetic(machine[turn % 6]);
		int pus = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
		int nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
		uint32_t n = 1 + (uint32_t)rand_r(&seed) % 17, r;
		hwloc_cpuset_t allowed = hwloc_bitmap_alloc();
		hwloc_obj_t near[17];
		struct sn_bind_ask ask = { topology, allowed, near, n };
		struct sn_bind bind;
		int i, least = 1000, most = 0;

		for (i = 0; i < pus; i++)
			if (rand_r(&seed) % 3)
				hwloc_bitmap_set(allowed, (unsigned int)i);
		hwloc_bitmap_set(allowed, (unsigned int)(rand_r(&seed) % pus));
		for (r = 0; r < n; r++)
			near[r] = rand_r(&seed) % 5 ?
				node(topology, (unsigned int)(rand_r(&seed) % nodes)) : NULL;
		assert_int_equal(sn_bind_decide(&ask, &bind, NULL), 0);
		promises_hold(&ask, &bind);
		sn_bind_done(&bind);
		ask.near = NULL;
		assert_int_equal(sn_bind_decide(&ask, &bind, NULL), 0);
		promises_hold(&ask, &bind);
		for (r = 0; r < n; r++) {
			hwloc_obj_t core = NULL;
			int units = 0;

			while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)))
				units += hwloc_bitmap_intersects(core->cpuset, bind.cpus[r]);
			if (units < least)
				least = units;
			if (units > most)
				most = units;
		}
		assert_true(most - least <= 1);
		sn_bind_done(&bind);
		hwloc_bitmap_free(allowed);
		hwloc_topology_destroy(topology);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_are_even_and_in_order),
		cmocka_unit_test(a_rank_is_where_its_card_is),
		cmocka_unit_test(whole_cores_before_threads),
		cmocka_unit_test(a_job_without_cpus_near_its_cards),
		cmocka_unit_test(fewer_local_threads_than_ranks_is_no_cage),
		cmocka_unit_test(more_ranks_than_threads_share),
		cmocka_unit_test(cards_known_and_unknown_on_one_node),
		cmocka_unit_test(offline_cpus_and_memory_without_cpus),
		cmocka_unit_test(nothing_allowed_is_told),
		cmocka_unit_test(an_unreadable_file_is_told),
		cmocka_unit_test(random_masks_on_random_machines),
	};

	return cmocka_run_group_tests_name("bind", tests, NULL, NULL);
}
