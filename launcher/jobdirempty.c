/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobdirempty.c - take the suite's own files out of a job's directory.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/accountjson.h"
#include "launcher/checkpoint.h"
#include "launcher/control.h"
#include "launcher/inventory.h"
#include "launcher/jobdirempty.h"
#include "launcher/planfiles.h"
#include "launcher/preflight.h"
#include "launcher/ranktable.h"
#include "launcher/runstate.h"
#include "launcher/stage.h"

/* A name, or with a "*" any that begins and ends so. */
static const char *const ours[] = {
	SN_LAYOUT_JSON, SN_GROUPS_JSON, SN_PARALLEL_GROUP_JSON, SN_HOSTFILE,
	SN_HOSTFILE ".*", SN_RT_FILE, SN_STAGE_TOKEN_FILE,
	SN_PREFLIGHT_JSON, SN_ACCOUNT_FILE, SN_CKPT_REQUEST, SN_CKPT_PROGRESS,
	SN_INV_CACHE_FILE, SN_RUNSTATE_FILE, "timeouts.json", "memory.*.json", NULL,
};
static const char *const the_last[] = { SN_GENERATION, NULL };
static const char *const in_control[] = { "*.request", "*.answer", NULL };
static const char *const in_records[] = { "rank-*.jsonl", NULL };

static const struct {
	const char *name;
	const char *const *ours;
} below[] = {
	{ SN_CONTROL_DIR, in_control }, { "records", in_records },
};

static bool fits(const char *name, size_t len, const char *pattern)
{
	const char *star = strchr(pattern, '*');
	size_t head = star ? (size_t)(star - pattern) : strlen(pattern);
	size_t tail = star ? strlen(star + 1) : 0;

	if (!star)
		return len == head && !strncmp(name, pattern, len);
	return len > head + tail && !strncmp(name, pattern, head) &&
		!strncmp(name + len - tail, star + 1, tail);
}

/* Also what a killed process left of it: ".NAME.PID" (writefile.c). */
static bool is_one_of(const char *name, const char *const *patterns)
{
	size_t len = strlen(name), digits = 0;

	if (*name == '.') {
		while (digits < len && isdigit((unsigned char)name[len - 1 - digits]))
			digits++;
		if (!digits || len < digits + 3 || name[len - 1 - digits] != '.')
			return false;
		len -= digits + 2;
		name++;
	}
	for (; *patterns; patterns++)
		if (fits(name, len, *patterns))
			return true;
	return false;
}

static bool is_old_file(int dir, const char *name, time_t before, struct stat *st)
{
	return !fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st->st_mode) &&
		(!before || st->st_mtime < before);
}

static void remove_files(int dir, const char *const *patterns, time_t before)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;

	if (!list && fd >= 0)
		close(fd);
	while (list && (entry = readdir(list)))
		if (is_one_of(entry->d_name, patterns) &&
		    is_old_file(dir, entry->d_name, before, &st))
			unlinkat(dir, entry->d_name, 0);
	if (list)
		closedir(list);
}

void sn_jobdir_empty(int dir, time_t before)
{
	struct stat st;

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		int fd = openat(dir, below[i].name,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			continue;
		remove_files(fd, below[i].ours, before);
		close(fd);
		unlinkat(dir, below[i].name, AT_REMOVEDIR);
	}
	remove_files(dir, ours, before);
	/* A marker alone; with something in it, it may be the checkpoint. */
	if (is_old_file(dir, SN_CKPT_MARKER, before, &st) && !st.st_size)
		unlinkat(dir, SN_CKPT_MARKER, 0);
	remove_files(dir, the_last, before);
}
