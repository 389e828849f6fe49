/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine's /dev, /proc and /sys in a directory. */
#include "config.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/bindcard.h"

static char root[] = "/tmp/sn-bindcard-XXXXXX";

static const char *at(const char *path)
{
	static char buf[512];

	snprintf(buf, sizeof(buf), "%s/%s", root, path);
	return buf;
}

static void dirs(const char *path)
{
	char buf[512], *p;

	snprintf(buf, sizeof(buf), "%s", at(path));
	for (p = buf + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(buf, 0755);
		*p = '/';
	}
	mkdir(buf, 0755);
}

static void file(const char *path, const char *text)
{
	FILE *f = fopen(at(path), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(root))
		return -1;
	dirs("dev");
	dirs("proc/driver/nvidia/gpus/0000:81:00.0");
	dirs("proc/driver/nvidia/gpus/0000:07:00.0");
	dirs("proc/driver/nvidia/gpus/broken");
	file("proc/driver/nvidia/gpus/0000:81:00.0/information",
	     "Model: \t\t Tesla\nBus Location: \t 0000:81:00.0\nDevice Minor: \t 0\n");
	file("proc/driver/nvidia/gpus/0000:07:00.0/information",
	     "Model: \t\t Tesla\nDevice Minor: \t 11\n");
	file("proc/driver/nvidia/gpus/broken/information", "Device Minor: 5\n");
	dirs("sys/dev/char");
	dirs("sys/devices/pci0000:80/0000:80:01.0/0000:83:00.0/davinci/davinci3");
	dirs("sys/devices/virtual/davinci4");
	return 0;
}

static int drop(const char *path, const struct stat *st, int type,
		struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int tear_down(void **state)
{
	(void)state;
	return nftw(root, drop, 16, FTW_DEPTH | FTW_PHYS);
}

static void is(enum sn_vendor vendor, const char *list, uint32_t card,
	       const char *want)
{
	char pci[SN_PCI_MAX] = "";
	int rc = sn_bind_card_pci(root, vendor, list, card, pci);

	assert_int_equal(rc, want ? 0 : -ENOENT);
	if (want)
		assert_string_equal(pci, want);
}

static void the_sites_list_comes_first(void **state)
{
	(void)state;
	is(SN_VENDOR_NVIDIA, "0000:01:00.0 \t0000:02:00.0 ", 0, "0000:01:00.0");
	is(SN_VENDOR_NONE, "0000:01:00.0 0000:02:00.0", 1, "0000:02:00.0");
	is(SN_VENDOR_NONE, "0000:01:00.0 0000:02:00.0", 2, NULL);
	is(SN_VENDOR_NONE, "", 0, NULL);
}

static void nvidias_driver_says_it(void **state)
{
	(void)state;
	is(SN_VENDOR_NVIDIA, "", 0, "0000:81:00.0");
	is(SN_VENDOR_NVIDIA, "", 11, "0000:07:00.0");
	is(SN_VENDOR_NVIDIA, "", 1, NULL);
	is(SN_VENDOR_NVIDIA, "", 5, NULL);
	is(SN_VENDOR_ASCEND, "", 0, NULL);
}

static bool device(const char *name, unsigned int minor, const char *to)
{
	char link[512], path[64];

	snprintf(path, sizeof(path), "dev/%s", name);
	if (mknod(at(path), S_IFCHR | 0600, makedev(236, minor)))
		return false; /* only root may */
	snprintf(path, sizeof(path), "sys/dev/char/236:%u", minor);
	snprintf(link, sizeof(link), "../../devices/%s", to);
	assert_int_equal(symlink(link, at(path)), 0);
	return true;
}

static void sysfs_says_it(void **state)
{
	(void)state;
	if (!device("davinci3", 3, "pci0000:80/0000:80:01.0/0000:83:00.0/davinci/davinci3") ||
	    !device("davinci4", 4, "virtual/davinci4"))
		return;
	is(SN_VENDOR_ASCEND, "", 3, "0000:83:00.0");
	/* As where cards are not on PCI. */
	is(SN_VENDOR_ASCEND, "", 4, NULL);
	is(SN_VENDOR_ASCEND, "", 5, NULL);
}

static void cards_are_counted_by_their_files(void **state)
{
	uint32_t card[8];

	(void)state;
	file("dev/davinci10", "");
	file("dev/davinci2", "");
	file("dev/davinci_manager", "");
	file("dev/davinci1x", "");
	file("dev/nvidia0", "");
	file("dev/nvidiactl", "");
	unlink(at("dev/davinci3"));
	unlink(at("dev/davinci4"));
	assert_int_equal(sn_bind_cards_here(root, SN_VENDOR_ASCEND, card, 8), 2);
	assert_int_equal(card[0], 2);
	assert_int_equal(card[1], 10);
	assert_int_equal(sn_bind_cards_here(root, SN_VENDOR_ASCEND, card, 1), 1);
	assert_int_equal(sn_bind_cards_here(root, SN_VENDOR_NVIDIA, card, 8), 1);
	assert_int_equal(sn_bind_cards_here(root, SN_VENDOR_NONE, card, 8), 0);
	assert_int_equal(sn_bind_cards_here("/nonexistent", SN_VENDOR_ASCEND, card, 8), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sites_list_comes_first),
		cmocka_unit_test(nvidias_driver_says_it),
		cmocka_unit_test(sysfs_says_it),
		cmocka_unit_test(cards_are_counted_by_their_files),
	};

	return cmocka_run_group_tests_name("bindcard", tests, set_up, tear_down);
}
