/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bindcard.c - the PCI address of a card, from what the kernel shows.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "launcher/bindcard.h"

static const char *stem(enum sn_vendor vendor)
{
	return vendor == SN_VENDOR_ASCEND ? "davinci" :
		vendor == SN_VENDOR_NVIDIA ? "nvidia" : NULL;
}

static bool keep(const char *word, size_t len, char ret[SN_PCI_MAX])
{
	if (!len || len >= SN_PCI_MAX ||
	    sn_policy_bad_word(SN_POLICY_PCI, word, len, NULL))
		return false;
	memcpy(ret, word, len);
	ret[len] = '\0';
	return true;
}

static bool from_list(const char *list, uint32_t card, char ret[SN_PCI_MAX])
{
	const char *p = list;

	for (;;) {
		size_t len;

		p += strspn(p, " \t");
		len = strcspn(p, " \t");
		if (!len)
			return false;
		if (!card--)
			return keep(p, len, ret);
		p += len;
	}
}

/* A small file of the kernel's. */
static bool read_some(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return false;
	buf[n] = '\0';
	return true;
}

/* /proc/driver/nvidia/gpus/0000:81:00.0/information: "Device Minor: \t 3" */
static bool from_nvidia(const char *root, uint32_t card, char ret[SN_PCI_MAX])
{
	char path[PATH_MAX], text[4096];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus", root);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		const char *minor;

		if ((size_t)snprintf(path, sizeof(path),
				     "%s/proc/driver/nvidia/gpus/%s/information",
				     root, entry->d_name) >= sizeof(path) ||
		    !read_some(path, text, sizeof(text)))
			continue;
		minor = strstr(text, "Device Minor:");
		found = minor && strtoul(minor + 13, NULL, 10) == card &&
			keep(entry->d_name, strlen(entry->d_name), ret);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* The innermost PCI device on the way to the one that the file stands for. */
static bool from_sysfs(const char *root, enum sn_vendor vendor, uint32_t card,
		       char ret[SN_PCI_MAX])
{
	char path[PATH_MAX], real[PATH_MAX], *word, *save;
	struct stat st;
	bool found = false;

	snprintf(path, sizeof(path), "%s/dev/%s%u", root, stem(vendor), card);
	if (stat(path, &st) || !S_ISCHR(st.st_mode))
		return false;
	snprintf(path, sizeof(path), "%s/sys/dev/char/%u:%u", root,
		 major(st.st_rdev), minor(st.st_rdev));
	if (!realpath(path, real))
		return false;
	for (word = strtok_r(real, "/", &save); word;
	     word = strtok_r(NULL, "/", &save))
		if (strchr(word, '.') && keep(word, strlen(word), ret))
			found = true;
	return found;
}

int sn_bind_card_pci(const char *root, enum sn_vendor vendor,
		     const char *card_pci, uint32_t card, char ret[SN_PCI_MAX])
{
	if (from_list(card_pci, card, ret) ||
	    (vendor == SN_VENDOR_NVIDIA && from_nvidia(root, card, ret)) ||
	    (stem(vendor) && from_sysfs(root, vendor, card, ret)))
		return 0;
	return -ENOENT;
}

static int ascending(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

uint32_t sn_bind_cards_here(const char *root, enum sn_vendor vendor,
			    uint32_t *ret, uint32_t max)
{
	const char *name = stem(vendor);
	char path[PATH_MAX];
	struct dirent *entry;
	uint32_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/dev", root);
	dir = name ? opendir(path) : NULL;
	while (dir && n < max && (entry = readdir(dir))) {
		const char *number = entry->d_name + strlen(name);
		char *end;
		unsigned long card;

		if (strncmp(entry->d_name, name, strlen(name)) ||
		    !isdigit((unsigned char)*number))
			continue;
		card = strtoul(number, &end, 10);
		if (!*end && card < UINT32_MAX)
			ret[n++] = (uint32_t)card;
	}
	if (dir)
		closedir(dir);
	if (n)
		qsort(ret, n, sizeof(*ret), ascending);
	return n;
}
