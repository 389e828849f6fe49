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
#include <unistd.h>

#include <cmocka.h>

#include "snctl/confpath.h"
#include "snctl/slurmconf.h"

static char path[] = "/tmp/snctl-slurmconf-XXXXXX";

static void put(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void nodes_are_read_from_every_line_of_them(void **state)
{
	struct snctl_slurmconf conf;
	struct sn_err err;

	(void)state;
	put("# NodeName=no\n"
	    "ClusterName=c\n"
	    "SlurmctldParameters=enable_configless,idle_on_node_suspend\n"
	    "topologyplugin=topology/supernode\n"
	    "NodeName=DEFAULT CPUs=4 \\\n  RealMemory=100\n"
	    "nodename=n[2-3],a CPUs=8\n"
	    "NodeName=n1 Gres=npu:8\n"
	    "PartitionName=p Nodes=ALL Default=YES\n");
	if (snctl_slurmconf_read(path, &conf, &err))
		fail_msg("%s", err.text);
	assert_int_equal(conf.nodes.n, 4);
	assert_string_equal(conf.nodes.name[0], "n2");
	assert_string_equal(conf.nodes.name[1], "n3");
	assert_string_equal(conf.nodes.name[2], "a");
	assert_string_equal(conf.nodes.name[3], "n1");
	assert_string_equal(conf.topology_plugin, "topology/supernode");
	snctl_slurmconf_done(&conf);
}

static void what_cannot_be_read_is_told_and_nothing_kept(void **state)
{
	struct snctl_slurmconf conf;
	struct sn_err err;

	(void)state;
	put("NodeName=n[1-4]\nTopologyPlugin=topology/flat\nNodeName=n[7\n");
	assert_int_not_equal(snctl_slurmconf_read(path, &conf, &err), 0);
	assert_non_null(strstr(err.text, ":3:"));
	assert_null(conf.topology_plugin);
	assert_int_equal(conf.nodes.n, 0);
	/* All lines together have no more names than one may have. */
	put("NodeName=n[1-4194303]\nNodeName=m[1-2]\n");
	assert_int_equal(snctl_slurmconf_read(path, &conf, &err), -E2BIG);
	assert_non_null(strstr(err.text, ":2:"));
	assert_int_equal(conf.nodes.n, 0);
	assert_int_equal(snctl_slurmconf_read("/nonexistent/x", &conf, &err), -ENOENT);
}

static void is(char *got, const char *want)
{
	assert_string_equal(got, want);
	free(got);
}

static void topology_conf_is_looked_for_in_order(void **state)
{
	(void)state;
	is(snctl_sibling("/a/b.conf", "c"), "/a/c");
	is(snctl_sibling("b.conf", "c"), "c");
	setenv("SLURM_CONF", "/env/slurm.conf", 1);
	is(snctl_topology_path("given.conf", "/told/slurm.conf"), "given.conf");
	is(snctl_topology_path(NULL, "/told/slurm.conf"), "/env/topology.conf");
	unsetenv("SLURM_CONF");
	is(snctl_topology_path(NULL, "/told/slurm.conf"), "/told/topology.conf");
}

static int setup(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_are_read_from_every_line_of_them),
		cmocka_unit_test(what_cannot_be_read_is_told_and_nothing_kept),
		cmocka_unit_test(topology_conf_is_looked_for_in_order),
	};

	return cmocka_run_group_tests_name("slurmconf", tests, setup, teardown);
}
