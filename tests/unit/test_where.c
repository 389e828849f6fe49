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

#include "elastic/where.h"

static char dir[] = "/tmp/sn-where-XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	unsetenv("SLURM_CONF");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char cmd[80];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	return system(cmd);
}

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
}

static int find(struct sn_elastic_where *w, struct sn_err *err)
{
	struct sn_policy policy;
	char path[128];

	snprintf(path, sizeof(path), "%s/topology.conf", dir);
	return sn_elastic_find(path, &policy, w, err);
}

static void from_slurm_conf(void **state)
{
	struct sn_elastic_where w;
	struct sn_err err;

	(void)state;
	put("slurm.conf", "ClusterName=x\nSlurmctldHost=ctl1(10.0.0.1)\nslurmctldhost=ctl2\n"
	    "SlurmUser=root\nStateSaveLocation=/shared/slurm\nAuthInfo=ttl=60,socket=/run/m.sock\nNodeName=n[1-3]\n");
	if (find(&w, &err))
		fail_msg("%s", err.text);
	assert_int_equal(w.n_hosts, 2);
	assert_string_equal(w.host[0].name, "ctl1");
	assert_string_equal(w.host[0].address, "10.0.0.1");
	assert_string_equal(w.host[1].name, "ctl2");
	assert_string_equal(w.host[1].address, "ctl2");
	assert_int_equal(w.port, 6823);
	assert_string_equal(w.socket, "/run/snelasticd/socket");
	assert_string_equal(w.state_dir, "/shared/slurm/snelasticd");
	assert_string_equal(w.munge_socket, "/run/m.sock");
	assert_int_equal(w.slurm_uid, 0);
}

static void from_supernode_conf(void **state)
{
	struct sn_elastic_where w;
	struct sn_err err;

	(void)state;
	put("supernode.conf", "ElasticdHosts=\"e1(10.1.0.1), e2\" ElasticdPort=7000 ElasticdSocket=\"\" ElasticdStateDir=/s\n");
	if (find(&w, &err))
		fail_msg("%s", err.text);
	assert_int_equal(w.n_hosts, 2);
	assert_string_equal(w.host[0].name, "e1");
	assert_string_equal(w.host[0].address, "10.1.0.1");
	assert_string_equal(w.host[1].name, "e2");
	assert_int_equal(w.port, 7000);
	assert_string_equal(w.socket, "");
	assert_string_equal(w.state_dir, "/s");
	put("supernode.conf", "ElasticdHosts=e1()\n");
	assert_int_equal(find(&w, &err), -EINVAL);
	assert_non_null(strstr(err.text, "ElasticdHosts"));
	put("supernode.conf", "ElasticdPort=0\n");
	assert_int_equal(find(&w, &err), -EINVAL);
	assert_non_null(strstr(err.text, "supernode.conf:1"));
	put("supernode.conf", "");
	put("slurm.conf", "SlurmUser=no-such-user-here\nSlurmctldHost=a\n");
	assert_int_equal(find(&w, &err), -EINVAL);
	assert_non_null(strstr(err.text, "no-such-user-here"));
	put("slurm.conf", "SlurmUser=64030\nSlurmctldHost=a\n");
	assert_int_equal(find(&w, &err), 0);
	assert_int_equal(w.slurm_uid, 64030);
}

static void too_many_hosts(void **state)
{
	struct sn_elastic_where w = { .n_hosts = 0 };
	struct sn_err err;

	(void)state;
	assert_int_equal(sn_elastic_hosts("a b,c d,e f g h", NULL, 0, &w, &err), 0);
	assert_int_equal(w.n_hosts, 8);
	assert_int_equal(sn_elastic_hosts("a b c d e f g h i", NULL, 0, &w, &err), -EINVAL);
	assert_non_null(strstr(err.text, "8"));
}

static void names_of_a_host(void **state)
{
	(void)state;
	assert_true(sn_elastic_is_among("ctl1", "ctl1"));
	assert_true(sn_elastic_is_among("ctl1.site.org adm", "ctl1"));
	assert_true(sn_elastic_is_among("ctl1 adm", "adm.site.org"));
	assert_true(sn_elastic_is_among("ctl1 adm", "ADM"));
	assert_false(sn_elastic_is_among("ctl1.site.org", "ctl1.other.org"));
	assert_false(sn_elastic_is_among("ctl1 adm", "ctl"));
	assert_false(sn_elastic_is_among("ctl1 adm", "ctl11"));
	assert_false(sn_elastic_is_among("", "ctl1"));
	assert_false(sn_elastic_is_among("ctl1  adm ", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_a_host),
		cmocka_unit_test(from_slurm_conf),
		cmocka_unit_test(from_supernode_conf),
		cmocka_unit_test(too_many_hosts),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
