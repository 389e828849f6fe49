/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/writefile.h"

static char base[] = "/tmp/sn-writefile-XXXXXX";
static char dir[64];

static int make_base(void **state)
{
	(void)state;
	if (!mkdtemp(base))
		return -1;
	snprintf(dir, sizeof(dir), "%s/a/b", base);
	return 0;
}

static int remove_base(void **state)
{
	char cmd[80];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", base);
	return system(cmd);
}

static int files_in(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void a_directory_is_the_users_own(void **state)
{
	struct sn_err err;
	struct stat st;
	char path[96];
	int fd;

	(void)state;
	assert_int_equal(sn_dir_make(dir, &fd, &err), 0);
	close(fd);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	/* Again, and with a slash behind. */
	snprintf(path, sizeof(path), "%s/", dir);
	assert_int_equal(sn_dir_make(path, &fd, &err), 0);
	close(fd);
	assert_int_equal(sn_dir_make("a/b", &fd, &err), -EINVAL);
	chmod(dir, 0770);
	assert_int_equal(sn_dir_make(dir, &fd, &err), -EPERM);
	assert_non_null(strstr(err.text, "0770"));
	chmod(dir, 0755);
	assert_int_equal(sn_dir_open(dir, &fd, &err), 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/link", base);
	assert_int_equal(symlink(dir, path), 0);
	assert_int_equal(sn_dir_open(path, &fd, &err), -ENOTDIR);
	assert_non_null(strstr(err.text, "symbolic link"));
	assert_int_equal(sn_dir_make(path, &fd, &err), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/none", base);
	assert_int_equal(sn_dir_open(path, &fd, &err), -ENOENT);
}

static void a_file_is_whole(void **state)
{
	char *text, path[96];
	struct sn_err err;
	struct stat st;
	size_t len;

	(void)state;
	assert_int_equal(sn_write_file(dir, "f", "one\n", 4, &err), 0);
	assert_int_equal(sn_write_file(dir, "f", "two\0x", 5, &err), 0);
	assert_int_equal(sn_read_file(dir, "f", 5, &text, &len, &err), 0);
	assert_int_equal(len, 5);
	assert_memory_equal(text, "two\0x", 6);
	free(text);
	assert_int_equal(sn_read_file(dir, "f", 4, &text, &len, &err), -EINVAL);
	assert_int_equal(sn_read_file(dir, "g", 4, &text, &len, &err), -ENOENT);
	assert_int_equal(sn_write_file(dir, "a/b", "", 0, &err), -EINVAL);
	assert_int_equal(files_in(dir), 1);
	/* A link in the file's place is replaced, not followed; nor read. */
	snprintf(path, sizeof(path), "%s/l", dir);
	assert_int_equal(symlink("/etc/hostname", path), 0);
	assert_int_equal(sn_read_file(dir, "l", 4096, &text, &len, &err), -ELOOP);
	assert_int_equal(sn_write_file(dir, "l", "x", 1, &err), 0);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

static void on_a_full_disk_the_old_file_stays(void **state)
{
	struct rlimit old, small;
	struct sn_err err;
	char *text, big[8192];
	size_t len;
	int rc;

	(void)state;
	memset(big, 'x', sizeof(big));
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	rc = sn_write_file(dir, "f", big, sizeof(big), &err);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(sn_read_file(dir, "f", 5, &text, &len, &err), 0);
	assert_memory_equal(text, "two\0x", 6);
	free(text);
	assert_int_equal(files_in(dir), 2);
}

static void a_device_without_room_is_said(void **state)
{
	struct sn_err err;

	(void)state;
	if (geteuid() || access("/proc/self", F_OK)) {
		print_message("# this is not root: not tried\n");
		return;
	}
	/* /proc takes no files, whoever asks. */
	assert_true(sn_write_file("/proc/self", "f", "x", 1, &err) < 0);
	assert_non_null(strstr(err.text, "/proc/self"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_directory_is_the_users_own),
		cmocka_unit_test(a_file_is_whole),
		cmocka_unit_test(on_a_full_disk_the_old_file_stays),
		cmocka_unit_test(a_device_without_room_is_said),
	};

	return cmocka_run_group_tests_name("writefile", tests, make_base, remove_base);
}
