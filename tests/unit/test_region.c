/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In a mount namespace of its own; skipped where that is not allowed. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/region.h"

#define MB (UINT64_C(1) << 20)
#define USER 65534

static bool can_mount;
static char base[] = "/tmp/sn-region-XXXXXX";
static struct sn_policy policy;

/* Not skip(): cmocka's TAP says "not ok" of it, which make check takes for a failure. */
#define NEED(what, why) \
	do { \
		if (!(what)) { \
			print_message("# " why ": not tried\n"); \
			return; \
		} \
	} while (0)
#define NEED_MOUNTS() NEED(can_mount, "nothing can be mounted here")

static struct sn_region_node open_node(void)
{
	struct sn_region_node node;
	struct sn_err err = { "" };

	if (sn_region_open(&policy, "n1", true, &node, &err))
		fail_msg("%s", err.text);
	return node;
}

/* As the user: can a file of so many bytes be written below path? */
static bool can_write(const char *path, uid_t uid, uint64_t bytes)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		static char block[65536];
		char file[PATH_MAX];
		int fd;

		if (setgid(uid) || setuid(uid))
			_exit(9);
		snprintf(file, sizeof(file), "%s/file", path);
		fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (fd < 0)
			_exit(1);
		for (uint64_t n = 0; n < bytes; n += sizeof(block))
			if (write(fd, block, sizeof(block)) != sizeof(block))
				_exit(2);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return !status;
}

static uint32_t mounts(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "r");
	char line[4096];
	uint32_t n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, base) != NULL;
	if (f)
		fclose(f);
	return n;
}

static void a_region_is_exact_and_private(void **state)
{
	struct sn_region_ask ask = { .job = 5, .uid = USER, .gid = USER, .bytes = 3 * MB };
	struct sn_region_node node;
	struct sn_region region, again;
	struct statvfs fs;
	struct stat st;
	struct sn_err err;

	(void)state;
	NEED_MOUNTS();
	node = open_node();
	assert_int_equal(sn_region_find(&node, 5, USER, &region, &err), -ENOENT);
	assert_int_equal(sn_region_make(&node, &ask, &region, &err), 0);
	assert_int_equal(region.bytes, 3 * MB);
	assert_int_equal(statvfs(region.path, &fs), 0);
	assert_int_equal((uint64_t)fs.f_blocks * fs.f_frsize, 3 * MB);
	assert_int_equal(stat(region.path, &st), 0);
	assert_int_equal(st.st_uid, USER);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_true(fs.f_flag & ST_NOSUID);
	assert_true(can_write(region.path, USER, 3 * MB));
	assert_false(can_write(region.path, USER, 3 * MB + 65536));
	assert_false(can_write(region.path, USER - 1, 1));
	/* another step */
	assert_int_equal(sn_region_make(&node, &ask, &again, &err), 0);
	assert_string_equal(again.path, region.path);
	assert_int_equal(mounts(), 1);
	/* nobody else's job */
	assert_int_equal(sn_region_find(&node, 5, USER - 1, &again, &err), -EPERM);
	assert_int_equal(sn_region_destroy(&node, 5, &err), 0);
	assert_int_equal(sn_region_destroy(&node, 5, &err), 0);
	assert_int_equal(mounts(), 0);
	assert_int_equal(stat(region.path, &st), -1);
	sn_region_close(&node);
}

static void odd_sizes_never_grow(void **state)
{
	struct sn_region_ask ask = { .job = 6, .uid = USER, .gid = USER, .bytes = 2 * MB - 1 };
	struct sn_region_node node;
	struct sn_region region;
	long page = sysconf(_SC_PAGESIZE);

	(void)state;
	NEED_MOUNTS();
	node = open_node();
	assert_int_equal(sn_region_make(&node, &ask, &region, NULL), 0);
	assert_int_equal(region.bytes, 2 * MB - (uint64_t)page);
	assert_int_equal(sn_region_destroy(&node, 6, NULL), 0);
	sn_region_close(&node);
}

static void a_name_outlives_its_jobs(void **state)
{
	struct sn_region_ask ask = { .job = 7, .uid = USER, .gid = USER, .bytes = 4 * MB,
				     .name = "w", .incarnation = 3 };
	struct sn_region_entry *all;
	struct sn_region_node node;
	struct sn_region region;
	struct sn_err err;
	struct stat st;
	char path[PATH_MAX + 8];
	size_t n;

	(void)state;
	NEED_MOUNTS();
	node = open_node();
	assert_int_equal(sn_region_make(&node, &ask, &region, &err), 0);
	assert_true(can_write(region.path, USER, MB));
	/* in use by job 7 */
	assert_int_equal(sn_region_forget(&node, "w.3", &err), -EBUSY);
	assert_int_equal(sn_region_destroy(&node, 7, &err), 0);
	/* read-only for the next */
	ask.job = 8;
	ask.read_only = true;
	assert_int_equal(sn_region_make(&node, &ask, &region, &err), 0);
	snprintf(path, sizeof(path), "%s/file", region.path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, MB);
	assert_false(can_write(region.path, USER, 1));
	/* never another user's */
	ask.job = 9;
	ask.uid = USER - 1;
	assert_int_equal(sn_region_make(&node, &ask, &region, &err), -EPERM);
	assert_non_null(strstr(err.text, "belongs to user 65534"));
	/* What a killed one was writing is no region: nothing could take it away. */
	assert_true(close(openat(node.fd, "named/w.4.new", O_WRONLY | O_CREAT, 0600)) == 0);
	assert_int_equal(sn_region_list(&node, &all, &n, &err), 0);
	assert_int_equal(n, 2);
	free(all);
	assert_int_equal(sn_region_destroy(&node, 8, &err), 0);
	assert_int_equal(sn_region_forget(&node, "w.3", &err), 0);
	assert_int_equal(sn_region_list(&node, &all, &n, &err), 0);
	assert_int_equal(n, 0);
	assert_int_equal(mounts(), 0);
	ask.name = "../w";
	assert_int_equal(sn_region_make(&node, &ask, &region, &err), -EINVAL);
	sn_region_close(&node);
}

static void leftovers_are_found_and_cleared(void **state)
{
	struct sn_region_ask ask = { .job = 11, .uid = USER, .gid = USER, .bytes = MB };
	struct sn_region_entry *all;
	struct sn_region_node node;
	struct sn_region region;
	struct sn_err err;
	size_t n;

	(void)state;
	NEED_MOUNTS();
	node = open_node();
	/* as after a reboot: directory and record, no mount */
	assert_int_equal(sn_region_make(&node, &ask, &region, &err), 0);
	assert_int_equal(umount2(region.path, MNT_DETACH), 0);
	assert_int_equal(sn_region_find(&node, 11, USER, &region, &err), -ENOENT);
	assert_int_equal(sn_region_list(&node, &all, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_int_equal(all[0].job, 11);
	free(all);
	assert_int_equal(sn_region_make(&node, &ask, &region, &err), 0);
	assert_int_equal(sn_region_destroy(&node, 11, &err), 0);
	assert_int_equal(sn_region_list(&node, &all, &n, &err), 0);
	assert_int_equal(n, 0);
	free(all);
	sn_region_close(&node);
}

static void hostile_paths_are_refused(void **state)
{
	struct sn_region_ask ask = { .job = 12, .uid = USER, .gid = USER, .bytes = MB };
	struct sn_policy bad = policy;
	struct sn_region_node node;
	struct sn_region region;
	struct sn_err err;
	char path[PATH_MAX];

	(void)state;
	NEED(!geteuid(), "this is not root");
	snprintf(bad.pool_dir, sizeof(bad.pool_dir), "%s/link", base);
	assert_int_equal(symlink("/etc", bad.pool_dir), 0);
	assert_int_equal(sn_region_open(&bad, "n1", true, &node, &err), -ELOOP);
	snprintf(bad.pool_dir, sizeof(bad.pool_dir), "%s/link/deeper", base);
	assert_int_equal(sn_region_open(&bad, "n1", true, &node, &err), -ELOOP);
	snprintf(bad.pool_dir, sizeof(bad.pool_dir), "%s/user", base);
	assert_int_equal(mkdir(bad.pool_dir, 0755), 0);
	assert_int_equal(chown(bad.pool_dir, USER, USER), 0);
	assert_int_equal(sn_region_open(&bad, "n1", true, &node, &err), -EPERM);
	snprintf(bad.pool_dir, sizeof(bad.pool_dir), "%s/open", base);
	assert_int_equal(mkdir(bad.pool_dir, 0755), 0);
	assert_int_equal(chmod(bad.pool_dir, 01777), 0);
	assert_int_equal(sn_region_open(&bad, "n1", true, &node, &err), -EPERM);
	snprintf(bad.pool_dir, sizeof(bad.pool_dir), "%s/x/../y", base);
	assert_true(sn_region_open(&bad, "n1", true, &node, &err) < 0);
	snprintf(bad.pool_dir, sizeof(bad.pool_dir), "relative");
	assert_int_equal(sn_region_open(&bad, "n1", true, &node, &err), -EINVAL);
	assert_int_equal(sn_region_open(&policy, "../n1", true, &node, &err), -EINVAL);
	/* something in a region's place */
	node = open_node();
	snprintf(path, sizeof(path), "%s/job-12", node.path);
	assert_int_equal(symlink("/etc", path), 0);
	assert_true(sn_region_make(&node, &ask, &region, &err) < 0);
	assert_int_equal(unlink(path), 0);
	sn_region_close(&node);
}

static void no_pages_no_region(void **state)
{
	struct sn_policy huge = policy;
	struct sn_region_ask ask = { .job = 13, .uid = USER, .gid = USER, .bytes = UINT64_C(1) << 50 };
	struct sn_region_node node;
	struct sn_region region;
	struct sn_err err;

	(void)state;
	NEED_MOUNTS();
	huge.pool_provider = SN_POOL_PROVIDER_HUGETLBFS;
	assert_int_equal(sn_region_open(&huge, "n1", true, &node, &err), 0);
	assert_int_equal(sn_region_make(&node, &ask, &region, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "huge pages"));
	assert_int_equal(mounts(), 0);
	sn_region_close(&node);
}

static uint64_t huge_pages(const char *key)
{
	FILE *f = fopen("/proc/meminfo", "r");
	unsigned long long n = 0;
	char line[160];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			n = strtoull(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	return n;
}

/* As the user: is there room for so many bytes of huge pages, which want mmap? */
static bool can_map(const char *path, uint64_t bytes)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		char file[PATH_MAX];
		char *at;
		int fd;

		if (setgid(USER) || setuid(USER))
			_exit(9);
		snprintf(file, sizeof(file), "%s/file", path);
		fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 || ftruncate(fd, (off_t)bytes))
			_exit(1);
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (at == MAP_FAILED)
			_exit(2);
		memset(at, 1, bytes);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return !status;
}

/* Where the machine has some: echo 4 >/proc/sys/vm/nr_hugepages */
static void whole_huge_pages_are_the_jobs_own(void **state)
{
	uint64_t page = huge_pages("Hugepagesize:") << 10, before = huge_pages("HugePages_Free:");
	struct sn_region_ask ask = { .job = 15, .uid = USER, .gid = USER };
	struct sn_policy huge = policy;
	struct sn_region_node node;
	struct sn_region region;
	struct sn_err err;

	(void)state;
	NEED_MOUNTS();
	NEED(before >= huge_pages("HugePages_Rsvd:") + 3, "fewer than 3 huge pages are free");
	huge.pool_provider = SN_POOL_PROVIDER_HUGETLBFS;
	assert_int_equal(sn_region_open(&huge, "n1", true, &node, &err), 0);
	ask.bytes = 3 * page - 1;
	if (sn_region_make(&node, &ask, &region, &err))
		fail_msg("%s", err.text);
	assert_int_equal(region.bytes, 2 * page);
	/* They are kept for it before it writes. */
	assert_true(huge_pages("HugePages_Rsvd:") >= 2);
	assert_true(can_map(region.path, 2 * page));
	assert_false(can_map(region.path, 3 * page));
	assert_int_equal(sn_region_destroy(&node, 15, &err), 0);
	assert_int_equal(mounts(), 0);
	ask.bytes = page - 1;
	assert_int_equal(sn_region_make(&node, &ask, &region, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "less than one huge page"));
	sn_region_close(&node);
}

static void a_program_makes_one(void **state)
{
	struct sn_region_ask ask = { .job = 14, .uid = USER, .gid = USER, .bytes = 12345 };
	struct sn_policy site = policy;
	struct sn_region_node node;
	struct sn_region region;
	struct sn_err err;
	char path[PATH_MAX];
	struct stat st;
	FILE *f;

	(void)state;
	NEED_MOUNTS();
	site.pool_provider = SN_POOL_PROVIDER_PROGRAM;
	site.pool_timeout = 5;
	assert_int_equal(sn_region_open(&site, "n1", true, &node, &err), 0);
	assert_int_equal(sn_region_make(&node, &ask, &region, &err), -EINVAL);
	assert_non_null(strstr(err.text, "PoolProgram"));
	sn_region_close(&node);
	snprintf(site.pool_program, sizeof(site.pool_program), "%s/program", base);
	f = fopen(site.pool_program, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\ncase $1 in create) mkdir -m 700 %s/at-$2; chown $4:$5 %s/at-$2; echo \"{\\\"dir\\\": \\\"%s/at-$2\\\", \\\"bytes\\\": $3}\" ;; destroy) rm -rf %s/at-$2 ;; esac\n",
		base, base, base, base);
	fclose(f);
	assert_int_equal(chmod(site.pool_program, 0755), 0);
	assert_int_equal(sn_region_open(&site, "n1", true, &node, &err), 0);
	if (sn_region_make(&node, &ask, &region, &err))
		fail_msg("%s", err.text);
	assert_int_equal(region.bytes, 12345);
	assert_true(can_write(region.path, USER, 1));
	snprintf(path, sizeof(path), "%s/at-job-14", base);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(sn_region_destroy(&node, 14, &err), 0);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(mounts(), 0);
	sn_region_close(&node);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(base))
		return -1;
	sn_policy_init(&policy);
	snprintf(policy.pool_dir, sizeof(policy.pool_dir), "%s/pool", base);
	can_mount = !geteuid() && !unshare(CLONE_NEWNS) &&
		!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		!chmod(base, 0711);
	return 0;
}

static int tear_down(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_region_is_exact_and_private),
		cmocka_unit_test(odd_sizes_never_grow),
		cmocka_unit_test(a_name_outlives_its_jobs),
		cmocka_unit_test(leftovers_are_found_and_cleared),
		cmocka_unit_test(hostile_paths_are_refused),
		cmocka_unit_test(no_pages_no_region),
		cmocka_unit_test(whole_huge_pages_are_the_jobs_own),
		cmocka_unit_test(a_program_makes_one),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
