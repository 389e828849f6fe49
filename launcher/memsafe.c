/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memsafe.c - which iteration in memory survives the loss of a node.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/memsafe.h"
#include "launcher/writeat.h"

#define FILE_MAX 256
#define FILES_MAX 65536

int sn_memsafe_parse(const char *text, struct sn_memsafe_word *ret)
{
	struct sn_memsafe_word word;
	int end = -1;

	/* Digits only: scanf would take a sign. */
	if (text[strspn(text, "0123456789 \n")] ||
	    sscanf(text, "%" SCNu32 " %" SCNu64 " %" SCNu32 " %" SCNu32 "%n", &word.generation,
		   &word.iteration, &word.ranks, &word.world, &end) != 4 || end < 0 ||
	    strcmp(text + end, "\n") || !word.iteration || !word.ranks || word.ranks > word.world)
		return -EBADMSG;
	*ret = word;
	return 0;
}

static int later_first(const void *a, const void *b)
{
	const struct sn_memsafe_word *x = a, *y = b;

	return (x->iteration < y->iteration) - (x->iteration > y->iteration);
}

bool sn_memsafe_find(struct sn_memsafe_word *word, size_t n, uint32_t generation,
		     uint64_t *ret_iteration)
{
	uint64_t ranks = 0;
	uint32_t world = 0;

	if (n)
		qsort(word, n, sizeof(*word), later_first);
	for (size_t i = 0; i < n; i++) {
		if (word[i].generation != generation)
			continue;
		if (world && word[i].world != world)
			return false;
		world = word[i].world;
		ranks += word[i].ranks;
		if (ranks < world)
			continue;
		*ret_iteration = word[i].iteration;
		return ranks == world;
	}
	return false;
}

static DIR *open_dir(const char *dir)
{
	char path[PATH_MAX + sizeof(SN_MEMSAFE_DIR) + 1];
	int fd;
	DIR *ret;

	snprintf(path, sizeof(path), "%s/" SN_MEMSAFE_DIR, dir);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	ret = fd < 0 ? NULL : fdopendir(fd);
	if (!ret && fd >= 0)
		close(fd);
	return ret;
}

/* The next node's; NULL: no more. */
static const char *next(DIR *dir)
{
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		size_t len = strlen(entry->d_name), end = strlen(SN_MEMSAFE_END);

		if (*entry->d_name != '.' && len > end && !strcmp(entry->d_name + len - end, SN_MEMSAFE_END))
			return entry->d_name;
	}
	return NULL;
}

bool sn_memsafe_look(const char *dir, uint32_t generation, uint64_t *ret_iteration,
		     size_t *ret_n)
{
	DIR *files = open_dir(dir);
	struct sn_memsafe_word *word = NULL;
	const char *name;
	bool found;
	size_t n = 0;

	*ret_n = 0;
	while (files && n < FILES_MAX && (name = next(files))) {
		struct sn_memsafe_word *more = n & (n - 1) ? word :
			realloc(word, (n ? 2 * n : 1) * sizeof(*more));
		char *text = NULL;
		size_t len;

		if (!more)
			break;
		word = more;
		++*ret_n;
		if (!sn_read_at(dirfd(files), name, FILE_MAX, &text, &len) &&
		    !sn_memsafe_parse(text, &word[n]))
			n++;
		free(text);
	}
	if (files)
		closedir(files);
	found = sn_memsafe_find(word, n, generation, ret_iteration);
	free(word);
	return found;
}

void sn_memsafe_forget(const char *dir)
{
	DIR *files = open_dir(dir);
	const char *name;

	while (files && (name = next(files)))
		unlinkat(dirfd(files), name, 0);
	if (files)
		closedir(files);
}
