/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "snctl/warn.h"

#define GOOD "TopologyPlugin=topology/supernode\nSelectType=select/supernode\n" \
	"JobSubmitPlugins=lua,supernode\nGresTypes=gpu,npu\nNodeName=n[1-8] Gres=npu:8\n"

static char dir[] = "/tmp/snctl-warnslurm-XXXXXX";
static const char *const files[] = {
	"slurm.conf", "gres.conf", "plugstack.conf", "topology.yaml", "more.conf",
};

static const char *in_dir(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void take_all_away(void)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		(void)unlink(in_dir(files[i]));
}

/* Exactly one warning, with part in it; or none where part is NULL. */
static void warned(const char *part)
{
	struct sn_names names = { 0 };
	struct snctl_slurmconf conf;
	char path[PATH_MAX];
	struct sn_err err;

	snprintf(path, sizeof(path), "%s", in_dir("slurm.conf"));
	if (snctl_slurmconf_read(path, &conf, &err))
		fail_msg("%s", err.text);
	assert_int_equal(snctl_warn_plugins(path, &conf, &names), 0);
	assert_int_equal(snctl_warn_gres(path, &conf, "npu", &names), 0);
	if (names.n != (part ? 1u : 0u))
		fail_msg("%zu warnings, the first: %s", names.n, names.n ? names.name[0] : "none");
	if (part && !strstr(names.name[0], part))
		fail_msg("\"%s\" is not in \"%s\"", part, names.name[0]);
	sn_names_done(&names);
	snctl_slurmconf_done(&conf);
}

static void put_good(void)
{
	take_all_away();
	put("slurm.conf", GOOD);
	put("plugstack.conf", "# all\nrequired /usr/lib/slurm/spank_supernode.so\n");
	put("gres.conf", "Name=npu File=/dev/davinci0\nName=npu File=/dev/davinci1\nName=gpu File=/dev/g[0-3]\n");
}

static void what_is_there_is_not_warned_of(void **state)
{
	(void)state;
	put_good();
	warned(NULL);
	put("plugstack.conf", "include *.nothing\ninclude mor*.conf\n");
	put("more.conf", "optional spank_supernode.so\n");
	warned(NULL);
	put("gres.conf", "AutoDetect=nvml\n");
	warned(NULL);
}

static void the_missing_line_is_said(void **state)
{
	(void)state;
	put_good();
	put("slurm.conf", "SelectType=select/cons_tres\nJobSubmitPlugins=job_submit/supernode\nGresTypes=npu\nNodeName=n1 Gres=npu:2\n");
	warned("the line is SelectType=select/supernode");
	put("slurm.conf", "SelectType=select/supernode\nJobSubmitPlugins=lua\nGresTypes=npu\nNodeName=n1 Gres=npu:2\n");
	warned("the line is JobSubmitPlugins=lua,supernode");
	put("slurm.conf", "SelectType=select/supernode\nJobSubmitPlugins=supernode\nGresTypes=gpu\nNodeName=n1 Gres=npu:2\n");
	warned("the line is GresTypes=gpu,npu");
	put("slurm.conf", "SelectType=select/supernode\nJobSubmitPlugins=supernode\nGresTypes=npu\nNodeName=n1\n");
	warned("no node with Gres=npu:N");
	put_good();
	put("plugstack.conf", "# required spank_supernode.so\nrequired other.so\n");
	warned("the line is \"required spank_supernode.so\"");
	put_good();
	put("topology.yaml", "");
	warned("topology.yaml is there");
}

static void too_many_cards_are_told(void **state)
{
	(void)state;
	put_good();
	put("slurm.conf", GOOD "NodeName=m1 Gres=gpu:99,npu:64\n");
	warned(NULL);
	put("slurm.conf", GOOD "NodeName=m[1-4] Gres=npu:a:60,npu:b:5\n");
	warned("m[1-4] 65 cards a node by Gres=npu:a:60,npu:b:5, more than the 64");
	put("slurm.conf", GOOD "NodeName=DEFAULT Gres=npu:128\nNodeName=m1\nNodeName=m2 Gres=npu:8\nNodeName=m3\n");
	warned("m1 (and 1 other line) 128 cards");
}

static void cards_need_a_line_each(void **state)
{
	(void)state;
	put_good();
	/* Slurm picks them by their numbers. */
	put("gres.conf", "Name=gpu File=/dev/g0\nNodeName=n[1-8] Name=npu File=/dev/d[0-3]\n");
	warned(NULL);
	/* Here by the line. */
	put("gres.conf", "Name=gpu File=/dev/g0\nNodeName=n[1-8] Name=npu File=/dev/d[0-3] Cores=0-7\n");
	warned("gres.conf:2: 4 cards in one line");
	warned("write a line for each: NodeName=n[1-8] Name=npu File=/dev/d0 Cores=0-7 / NodeName=n[1-8] Name=npu File=/dev/d1 Cores=0-7 ... / NodeName=n[1-8] Name=npu File=/dev/d3 Cores=0-7");
	put("gres.conf", "Name=npu File=/dev/d[0-3]\nName=npu Type=a File=/dev/d4\n");
	warned("gres.conf:1: 4 cards in one line");
	put("gres.conf", "Name=npu Count=8\n");
	warned("gres.conf:1: 8 cards without File=");
	put("gres.conf", "Name=gpu File=/dev/g0\n");
	warned("add a line for each card: Name=npu File=/dev/npu0 and so on to /dev/npu7");
	put("gres.conf", "Name=npu Fi");
	warned("not looked at: ");
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	take_all_away();
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there_is_not_warned_of),
		cmocka_unit_test(the_missing_line_is_said),
		cmocka_unit_test(too_many_cards_are_told),
		cmocka_unit_test(cards_need_a_line_each),
	};

	return cmocka_run_group_tests_name("warnslurm", tests, setup, teardown);
}
