/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_probe.c - the vendors' tools' output, several versions of it, to facts; and
 * facts to findings. The texts are those that the fuzzer begins with.
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

#include <cmocka.h>

#include "launcher/probe.h"

#define MIB (UINT64_C(1) << 20)

static char text[65536];

static size_t recorded(const char *name)
{
	const char *src = getenv("SN_SRCDIR");
	char path[1024];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/probe/%s",
		 src ? src : ".", name);
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s is not there", path);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	return n;
}

static struct sn_probe_facts npu(const char *name)
{
	struct sn_probe_facts facts;
	struct sn_err err = { "" };

	if (sn_probe_npu(text, recorded(name), &facts, &err))
		fail_msg("%s: %s", name, err.text);
	return facts;
}

static struct sn_probe_facts nvidia(const char *name)
{
	struct sn_probe_facts facts;
	struct sn_err err = { "" };

	if (sn_probe_nvidia(text, recorded(name), &facts, &err))
		fail_msg("%s: %s", name, err.text);
	return facts;
}

static void a2(void **state)
{
	struct sn_probe_facts f = npu("npu-a2-23.0");

	(void)state;
	assert_int_equal(f.n_cards, 4);
	assert_string_equal(f.version, "23.0.rc3");
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(f.card[i].number, i);
	assert_int_equal(f.card[0].health, SN_PROBE_OK);
	assert_int_equal(f.card[1].health, SN_PROBE_ALARM);
	assert_int_equal(f.card[2].health, SN_PROBE_CRITICAL);
	assert_int_equal(f.card[3].health, SN_PROBE_WARNING);
	assert_true(f.card[0].power > 92.4 && f.card[0].power < 92.6);
	assert_true(f.card[2].power == SN_PROBE_NO_VALUE);
	assert_true(f.card[2].temperature == 96);
	assert_true(f.card[0].memory_used == 3162 * MIB);
	assert_true(f.card[0].memory_total == 65536 * MIB);
	/* No blank before the slash. */
	assert_true(f.card[1].memory_used == 61440 * MIB);
	assert_string_equal(f.card[0].bus, "0000:c1:00.0");
	assert_int_equal(f.n_processes, 1);
	assert_int_equal(f.process[0].number, 1);
	assert_int_equal(f.process[0].pid, 41276);
	assert_string_equal(f.process[0].name, "python3");
	assert_true(f.process[0].memory == 58270 * MIB);
}

static void a3_has_two_chips_an_npu(void **state)
{
	struct sn_probe_facts f = npu("npu-a3-25.0");

	(void)state;
	assert_int_equal(f.n_cards, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(f.card[i].number, i);
		assert_int_equal(f.card[i].unit, i / 2);
		assert_int_equal(f.card[i].chip, i % 2);
	}
	assert_true(f.card[1].power == SN_PROBE_NO_VALUE);
	assert_true(f.card[1].temperature == 37);
	assert_true(f.card[2].memory_used == 50000 * MIB);
	assert_int_equal(f.n_processes, 1);
	assert_int_equal(f.process[0].number, 2);
}

static void older_ones(void **state)
{
	struct sn_probe_facts f = npu("npu-310p-22.0");

	(void)state;
	assert_int_equal(f.n_cards, 2);
	assert_int_equal(f.card[0].unit, 8);
	assert_int_equal(f.card[0].number, 0);
	assert_int_equal(f.card[1].number, 1);
	assert_true(f.card[1].power == SN_PROBE_NO_VALUE);
	assert_true(f.card[1].temperature == 51);
	assert_true(f.card[1].memory_used == 1540 * MIB);
	assert_true(f.card[1].memory_total == 21527 * MIB);
	f = npu("npu-910-1.0");
	assert_int_equal(f.n_cards, 2);
	/* No number but the NPU's own. */
	assert_int_equal(f.card[1].number, 4);
	assert_true(f.card[1].memory_used == 548 * MIB);
}

static void npu_errors_and_links(void **state)
{
	struct sn_probe_facts f = npu("npu-a3-25.0");

	(void)state;
	assert_true(sn_probe_npu_ecc(text, recorded("npu-ecc"), 1, &f));
	assert_true(f.card[0].ecc_fatal == SN_PROBE_UNKNOWN);
	assert_int_equal(f.card[2].ecc_fatal, 2);
	assert_int_equal(f.card[2].ecc_corrected, 5);
	assert_int_equal(f.card[2].retired_pages, 1);
	assert_int_equal(f.card[3].ecc_fatal, 0);
	assert_true(f.card[3].retired_pages == SN_PROBE_UNKNOWN);
	assert_false(sn_probe_npu_ecc("ret is -8020", 12, 0, &f));
	assert_true(sn_probe_npu_link(text, recorded("npu-link"), 3, &f));
	assert_int_equal(f.card[3].links_down, 1);
	assert_true(sn_probe_npu_link("link status: UP", 15, 2, &f));
	assert_int_equal(f.card[2].links_down, 0);
	assert_false(sn_probe_npu_link("link status: DOWN", 17, 77, &f));
	assert_false(sn_probe_npu_link("hccn_tool is busy", 17, 3, &f));
}

static void nvidia_of_several_years(void **state)
{
	struct sn_probe_facts f = nvidia("nvidia-535");

	(void)state;
	assert_int_equal(f.n_cards, 2);
	assert_string_equal(f.version, "535.161.08");
	assert_int_equal(f.card[0].number, 2);
	assert_int_equal(f.card[1].number, 3);
	assert_string_equal(f.card[1].bus, "0000:0f:00.0");
	assert_true(f.card[0].memory_used == 1024 * MIB);
	assert_true(f.card[0].memory_total == 81920 * MIB); /* not BAR1's */
	assert_int_equal(f.card[0].ecc_fatal, 3); /* not the aggregate */
	assert_int_equal(f.card[0].ecc_corrected, 7);
	assert_int_equal(f.card[0].row_remaps, 1);
	assert_true(f.card[0].retired_pages == SN_PROBE_UNKNOWN);
	assert_true(f.card[0].temperature == 61);
	assert_true(f.card[0].power > 312 && f.card[0].power < 313);
	assert_int_equal(f.card[1].ecc_fatal, 0);
	assert_int_equal(f.n_processes, 1);
	assert_int_equal(f.process[0].number, 2);
	assert_int_equal(f.process[0].pid, 4242);
	assert_string_equal(f.process[0].name, "/usr/bin/python3");
	assert_true(sn_probe_nvlink(text, recorded("nvlink"), &f));
	assert_int_equal(f.card[0].link_errors, 3);
	assert_int_equal(f.card[0].crc_errors, 12);
	assert_int_equal(f.card[1].link_errors, 0);

	f = nvidia("nvidia-418");
	assert_int_equal(f.n_cards, 1);
	assert_int_equal(f.card[0].ecc_fatal, 2);
	assert_int_equal(f.card[0].ecc_corrected, 5);
	assert_int_equal(f.card[0].retired_pages, 3);
	assert_true(f.card[0].temperature == 36);

	f = nvidia("nvidia-570-lost");
	assert_int_equal(f.n_cards, 2);
	assert_int_equal(f.card[0].ecc_fatal, 1);
	assert_true(f.card[0].power > 71 && f.card[0].power < 72);
	assert_int_equal(f.card[0].health, SN_PROBE_OK);
	assert_int_equal(f.card[1].health, SN_PROBE_LOST);
	assert_true(f.card[1].memory_total == SN_PROBE_UNKNOWN);
	assert_true(f.card[1].temperature == SN_PROBE_NO_VALUE);
}

static void what_is_none_is_refused(void **state)
{
	struct sn_probe_facts f;
	struct sn_err err;

	(void)state;
	assert_int_equal(sn_probe_npu(text, recorded("npu-no-driver"), &f, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "dcmi model initialized failed"));
	assert_int_equal(sn_probe_npu("", 0, &f, &err), -EINVAL);
	assert_int_equal(sn_probe_nvidia("No devices were found\n", 22, &f, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "No devices were found"));
	/* The other vendor's. */
	assert_int_equal(sn_probe_nvidia(text, recorded("npu-a2-23.0"), &f, &err),
			 -EINVAL);
	assert_int_equal(sn_probe_npu(text, recorded("nvidia-535"), &f, &err),
			 -EINVAL);
}

/* ---- the judge ---- */

static struct sn_probe_verdict verdict;

static struct sn_probe_node healthy(void)
{
	struct sn_probe_node n = {
		.name = "n003", .vendor = SN_VENDOR_ASCEND, .n_devices = 4,
		.tool = SN_PROBE_TOOL_OK, .tool_path = "/usr/local/bin/npu-smi",
		.memory_available = 1024 * MIB, .cpus_present = 4, .cpus_online = 4,
		.facts = npu("npu-a3-25.0"),
	};

	for (uint32_t i = 0; i < 4; i++) {
		snprintf(n.device[i].path, sizeof(n.device[i].path),
			 "/dev/davinci%u", i);
		n.device[i].number = i;
		n.device[i].present = true;
	}
	return n;
}

static const char *fault(uint32_t card)
{
	const struct sn_probe_finding *f = sn_probe_fault_of(&verdict, card);

	return f ? f->code : "none";
}

static void judge(const struct sn_probe_node *n, uint64_t memory, uint32_t temperature)
{
	struct sn_probe_limits limits = { memory, temperature };

	sn_probe_judge(n, &limits, &verdict);
}

static void a_healthy_node_has_samples_and_no_findings(void **state)
{
	struct sn_probe_node n = healthy();

	(void)state;
	judge(&n, 512 * MIB, 90);
	assert_int_equal(verdict.n_findings, 0);
	assert_int_equal(verdict.n_samples, 4);
	assert_string_equal(verdict.sample[3].metric, "temperature");
	assert_int_equal(verdict.sample[3].card, 3);
	assert_true(verdict.sample[3].value == 38);
}

static void each_fault_has_its_code(void **state)
{
	struct sn_probe_node n = healthy();

	(void)state;
	n.device[0].present = false;
	n.facts.card[1].health = SN_PROBE_CRITICAL;
	n.facts.card[2].ecc_fatal = 1;
	n.facts.card[3].links_down = 1;
	judge(&n, 0, 0);
	assert_string_equal(fault(0), "card-lost");
	assert_string_equal(fault(1), "probe-failed");
	assert_string_equal(fault(2), "ecc-fatal");
	assert_string_equal(fault(3), "link-down");
	assert_int_equal(verdict.n_faults, 4);
	n = healthy();
	n.facts.card[0].health = SN_PROBE_ALARM;
	n.facts.card[1].health = SN_PROBE_LOST;
	n.facts.card[2].health = SN_PROBE_WARNING;
	n.facts.card[3].temperature = 90;
	judge(&n, 2048 * MIB, 90);
	assert_string_equal(fault(0), "sick");
	assert_string_equal(fault(1), "card-lost");
	assert_string_equal(fault(2), "none"); /* told, no fault */
	assert_string_equal(fault(3), "over-temperature");
	assert_string_equal(fault(UINT32_MAX), "node-memory");
	assert_int_equal(verdict.n_faults, 4);
	assert_int_equal(verdict.n_findings, 5);
	/* Slurm's card 2 is the tool's 5: it is not there. */
	n = healthy();
	n.device[2].number = 5;
	judge(&n, 0, 0);
	assert_string_equal(fault(2), "card-lost");
	assert_int_equal(verdict.n_faults, 1);
}

static void the_tool_itself(void **state)
{
	struct sn_probe_node n = healthy();

	(void)state;
	n.tool = SN_PROBE_TOOL_HANGS;
	snprintf(n.tool_err.text, sizeof(n.tool_err.text), "it did not end in 5 seconds");
	judge(&n, 0, 0);
	for (uint32_t c = 0; c < 4; c++)
		assert_string_equal(fault(c), "driver-hang");
	n.tool = SN_PROBE_TOOL_FAILED;
	judge(&n, 0, 0);
	assert_string_equal(fault(1), "probe-failed");
	/* A version that is not understood condemns no card. */
	n.tool = SN_PROBE_TOOL_GARBAGE;
	judge(&n, 0, 0);
	assert_string_equal(fault(1), "none");
	assert_string_equal(fault(UINT32_MAX), "node-tool");
	n.tool = SN_PROBE_TOOL_NONE;
	judge(&n, 0, 0);
	assert_int_equal(verdict.n_findings, 0);
}

/* ---- gres.conf ---- */

static void the_devices_of_a_node(void **state)
{
	static const char conf[] =
		"# cards\nNodeName=n[001-004] Name=npu File=/dev/davinci[2-3]\n"
		"NodeName=n005 Name=npu File=/dev/other0\n"
		"Name=nic File=/dev/eth0\nname=npu Type=a File=/dev/davinci7\n";
	struct sn_probe_device d[SN_PROBE_CARDS];
	struct sn_err err = { "" };
	bool detects;
	char path[64];
	uint32_t n;

	(void)state;
	assert_int_equal(sn_probe_gres(conf, sizeof(conf) - 1, "gres.conf", NULL, NULL,
				       "npu", "n003", d, &n, &detects, &err), 0);
	assert_int_equal(n, 3);
	assert_string_equal(d[1].path, "/dev/davinci3");
	assert_int_equal(d[0].number, 2);
	assert_int_equal(d[2].number, 7);
	assert_false(detects);
	assert_int_equal(sn_probe_gres("AutoDetect=nvml", 15, "gres.conf", NULL, NULL,
				       "gpu", "n003", d, &n, &detects, &err), 0);
	assert_int_equal(n, 0);
	assert_true(detects);
	assert_int_equal(sn_probe_gres("Name", 4, "gres.conf", NULL, NULL, "npu",
				       "n003", d, &n, &detects, &err), -EINVAL);
	sn_probe_pattern("/x/%n/dev/davinci%c%z", "n003", 12, path, sizeof(path));
	assert_string_equal(path, "/x/n003/dev/davinci12%z");
	sn_probe_pattern("/x/%n/dev/davinci%c", "n003", 12, path, 8);
	assert_string_equal(path, "/x/n003");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a2),
		cmocka_unit_test(a3_has_two_chips_an_npu),
		cmocka_unit_test(older_ones),
		cmocka_unit_test(npu_errors_and_links),
		cmocka_unit_test(nvidia_of_several_years),
		cmocka_unit_test(what_is_none_is_refused),
		cmocka_unit_test(a_healthy_node_has_samples_and_no_findings),
		cmocka_unit_test(each_fault_has_its_code),
		cmocka_unit_test(the_tool_itself),
		cmocka_unit_test(the_devices_of_a_node),
	};

	return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
