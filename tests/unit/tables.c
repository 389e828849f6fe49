/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tables.c - plans and files for the tests of inventories and rank tables.
 */
#include "config.h"

#include <errno.h>
#include <ftw.h>
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

#include "snctl/readfile.h"
#include "tests/unit/tables.h"

void tables_plan(const char *conf, const char *const *name, uint32_t n,
		 uint32_t cards, const char *spec, struct sn_plan *ret)
{
	static const uint32_t number[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	struct sn_plan_offer *offer = calloc(n, sizeof(*offer));
	struct sn_topo *topo;
	struct sn_layout l;
	struct sn_err err;

	assert_non_null(offer);
	if (sn_layout_parse(spec, cards, &l, &err) ||
	    sn_topo_parse(conf, strlen(conf), "t", NULL, NULL, &topo, &err))
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < n; i++)
		offer[i] = (struct sn_plan_offer){ name[i], NULL, number, cards };
	if (sn_plan_build(&l, 0, topo, offer, n, ret, &err))
		fail_msg("%s", err.text);
	ret->job_id = 42;
	sn_topo_destroy(topo);
	free(offer);
}

static void golden_path(const char *name, char *buf, size_t size)
{
	const char *src = getenv("SN_SRCDIR");

	snprintf(buf, size, "%s/tests/golden/ranktable/%s", src ? src : ".", name);
}

char *tables_golden(const char *name)
{
	char path[1024], *text;
	struct sn_err err;
	size_t len;

	golden_path(name, path, sizeof(path));
	if (snctl_read_file(path, &text, &len, &err))
		fail_msg("%s", err.text);
	return text;
}

void tables_equal_golden(const char *name, const char *text)
{
	char path[1024], *golden;

	if (getenv("SN_UPDATE_GOLDEN")) {
		FILE *f;

		golden_path(name, path, sizeof(path));
		f = fopen(path, "w");
		assert_non_null(f);
		fputs(text, f);
		assert_int_equal(fclose(f), 0);
		return;
	}
	golden = tables_golden(name);
	assert_string_equal(text, golden);
	free(golden);
}

int tables_load(const struct sn_plan *plan, const char *text,
		struct sn_inventory *ret, struct sn_err *err)
{
	struct sn_policy policy;
	struct sn_inv_want *want;
	char *dir = tables_dir();
	uint32_t n;
	int rc;

	sn_policy_init(&policy);
	snprintf(policy.inventory, sizeof(policy.inventory), "%s/inventory", dir);
	tables_put(dir, "inventory", text, false);
	assert_int_equal(sn_ranktable_wants(plan, &want, &n, err), 0);
	rc = sn_inventory_load(&policy, want, n, NULL, ret, err);
	free(want);
	tables_rmdir(dir);
	return rc;
}

char *tables_replace(const char *text, const char *old, const char *new_text)
{
	const char *at = strstr(text, old);
	char *ret;

	if (!at)
		fail_msg("there is no %s to be replaced", old);
	assert_true(asprintf(&ret, "%.*s%s%s", (int)(at - text), text, new_text,
			     at + strlen(old)) > 0);
	return ret;
}

char *tables_dir(void)
{
	const char *tmp = getenv("TMPDIR");
	char *dir;

	assert_true(asprintf(&dir, "%s/sn-tables-XXXXXX", tmp ? tmp : "/tmp") > 0);
	assert_non_null(mkdtemp(dir));
	return dir;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void tables_rmdir(char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(dir);
}

void tables_put(const char *dir, const char *name, const char *text, bool program)
{
	char path[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	if (program)
		assert_int_equal(chmod(path, 0700), 0);
}
