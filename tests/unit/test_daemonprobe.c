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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "elastic/daemon.h"
#include "launcher/program.h"

#define NODES 8

/* ---- what it calls: programs end when they are told, and one timer ------------------- */

static struct sn_daemon d;
static struct sn_daemon_node node[NODES];
static struct sn_view_node view[NODES];
static sn_timer_fn on_timer;
static int64_t timer_ms;
static struct sn_work *todo[NODES];
static uint32_t n_todo, n_run;
static char ran[64][4096];
static int ends_with;

int sn_loop_timer(struct sn_loop *loop, sn_timer_fn fn, void *ctx, struct sn_timer **ret, struct sn_err *err)
{
	(void)loop, (void)ctx, (void)err;
	on_timer = fn;
	*ret = (struct sn_timer *)&on_timer;
	return 0;
}

void sn_timer_set(struct sn_timer *timer, int64_t in_ms)
{
	(void)timer;
	timer_ms = in_ms;
}

int sn_pool_create(struct sn_loop *loop, const char *name, uint32_t threads, struct sn_pool **ret, struct sn_err *err)
{
	(void)loop, (void)name, (void)err;
	assert_int_equal(threads, SN_PROBES_AT_ONCE);
	*ret = NULL;
	return 0;
}

void sn_pool_give(struct sn_pool *pool, struct sn_work *work)
{
	(void)pool;
	todo[n_todo++] = work;
}

const struct sn_view_node *sn_view_node(const struct sn_view_nodes *nodes, const char *name)
{
	(void)nodes;
	return &view[atoi(name + 1) - 1];
}

int sn_programs_run(struct sn_program *program, uint32_t n, const struct sn_program_limits *limits, struct sn_err *err)
{
	size_t at = 0;

	assert_int_equal(n, 1);
	assert_true(limits->seconds >= 20);
	for (const char *const *word = program->argv; *word; word++)
		at += (size_t)snprintf(ran[n_run] + at, sizeof(ran[n_run]) - at, "%s%s", at ? " " : "", *word);
	n_run++;
	return ends_with ? sn_err_set(err, ends_with, "it failed") : 0;
}

void sn_programs_done(struct sn_program *program, uint32_t n)
{
	(void)program, (void)n;
}

void sn_log_limited(enum sn_log_level level, const char *fmt, ...)
{
	(void)level, (void)fmt;
}

/* ---- a daemon in charge ----------------------------------------------------------------- */

static char dir[] = "/tmp/sn-probe-XXXXXX";

static int begin(void **state)
{
	const char *text = "SupernodeName=sn1 Nodes=n[1-8]\n";
	struct sn_err err;

	(void)state;
	memset(&d, 0, sizeof(d));
	memset(node, 0, sizeof(node));
	memset(view, 0, sizeof(view));
	n_todo = n_run = 0;
	ends_with = 0;
	timer_ms = -1;
	assert_int_equal(sn_topo_parse(text, strlen(text), "topology.conf", NULL, NULL, &d.topo, &err), 0);
	d.n_nodes = NODES;
	d.node = node;
	d.duty = SN_DUTY_IN_CHARGE;
	strcpy(d.conf.policy.health_probe_program, "/opt/probe");
	return probe_start(&d, &err);
}

static int end(void **state)
{
	(void)state;
	sn_topo_destroy(d.topo);
	return 0;
}

static void want(uint32_t n)
{
	node[n].probe = 1;
	probe_want(&d, n);
}

/* The first that runs ends; its cards were asked for, or not. */
static void one_ends(bool asked)
{
	struct sn_work *work = todo[0];

	memmove(todo, todo + 1, --n_todo * sizeof(*todo));
	work->run(work);
	if (asked)
		for (uint32_t n = 0; n < NODES; n++)
			if (strstr(ran[n_run - 1], d.topo->node[n].name))
				node[n].probe = 0;
	work->done(work);
}

static void one_is_started(void **state)
{
	(void)state;
	want(2);
	want(2);
	assert_true(timer_ms > 0 && timer_ms < 1000);
	on_timer(&d);
	assert_int_equal(n_todo, 1);
	one_ends(true);
	assert_non_null(strstr(ran[0], "/srun --no-allocate "));
	assert_non_null(strstr(ran[0], " --nodelist n3 "));
	assert_string_equal(ran[0] + strlen(ran[0]) - strlen(" /opt/probe"), " /opt/probe");
	on_timer(&d);
	assert_int_equal(n_todo, 0);
}

static void not_too_many(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < NODES; n++)
		want(n);
	on_timer(&d);
	assert_int_equal(n_todo, SN_PROBES_AT_ONCE);
	on_timer(&d);
	assert_int_equal(n_todo, SN_PROBES_AT_ONCE);
	while (n_todo) {
		timer_ms = -1;
		one_ends(true);
		if (d.n_probe_due)
			assert_int_equal(timer_ms, 0);
		on_timer(&d);
		assert_true(n_todo <= SN_PROBES_AT_ONCE);
	}
	assert_int_equal(n_run, NODES);
	assert_int_equal(d.n_probe_due + d.n_probing, 0);
}

/* A card that comes while its node is probed is not in what that was told. */
static void once_more(void **state)
{
	(void)state;
	want(0);
	on_timer(&d);
	want(0);
	on_timer(&d);
	assert_int_equal(n_todo, 1);
	one_ends(false);
	assert_int_equal(timer_ms, 0);
	on_timer(&d);
	assert_int_equal(n_todo, 1);
	one_ends(true);
	on_timer(&d);
	assert_int_equal(n_todo, 0);
}

/* One that fails is not tried again until the engine asks anew. */
static void one_fails(void **state)
{
	(void)state;
	ends_with = -ECHILD;
	want(0);
	on_timer(&d);
	one_ends(false);
	on_timer(&d);
	assert_int_equal(n_todo, 0);
	assert_int_equal(node[0].probe, 1);
	want(0);
	on_timer(&d);
	assert_int_equal(n_todo, 1);
	one_ends(true);
}

static void where_none_is(void **state)
{
	(void)state;
	view[0].down = view[1].silent = true;
	for (uint32_t n = 0; n < 3; n++)
		want(n);
	node[2].probe = 0; /* released meanwhile */
	on_timer(&d);
	assert_int_equal(n_todo + d.n_probe_due, 0);
	d.options.dry_run = true;
	want(3);
	assert_int_equal(d.n_probe_due, 0);
	d.options.dry_run = false;
	*d.conf.policy.health_probe_program = '\0';
	want(3);
	assert_int_equal(d.n_probe_due, 0);
}

static void srun_in_path(void **state)
{
	char path[400], found[200], want_file[64];
	struct sn_err err;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(want_file, sizeof(want_file), "%s/srun", dir);
	snprintf(path, sizeof(path), "/nowhere:%s:relative:/", dir);
	assert_int_equal(probe_find_srun(path, found, sizeof(found), &err), -ENOENT);
	f = fopen(want_file, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(probe_find_srun(path, found, sizeof(found), &err), -ENOENT); /* no program */
	assert_int_equal(chmod(want_file, 0755), 0);
	assert_int_equal(probe_find_srun(path, found, sizeof(found), &err), 0);
	assert_string_equal(found, want_file);
	assert_int_equal(probe_find_srun(NULL, found, sizeof(found), &err), -ENOENT);
	assert_non_null(strstr(err.text, "HealthProbeProgram"));
	unlink(want_file);
	rmdir(dir);
}

int main(void)
{
	char path[4200];
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_is_started, begin, end),
		cmocka_unit_test_setup_teardown(not_too_many, begin, end),
		cmocka_unit_test_setup_teardown(once_more, begin, end),
		cmocka_unit_test_setup_teardown(one_fails, begin, end),
		cmocka_unit_test_setup_teardown(where_none_is, begin, end),
		cmocka_unit_test(srun_in_path),
	};
	char own[] = "/tmp/sn-probe-XXXXXX";
	FILE *f;
	int rc;

	/* There may be no Slurm here. */
	if (!mkdtemp(own))
		return 1;
	snprintf(path, sizeof(path), "%s/srun", own);
	f = fopen(path, "w");
	if (!f || fclose(f) || chmod(path, 0755))
		return 1;
	setenv("PATH", own, 1);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(own);
	return rc;
}
