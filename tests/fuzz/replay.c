/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replay.c - runs a fuzzer over its corpus, without clang's libFuzzer.
 *
 * usage: fuzz_NAME [FILE|DIRECTORY …]; without arguments, the directory
 * $SN_SRCDIR/tests/fuzz/corpus/NAME. TAP, one line a file; a fault ends the
 * program, which the test driver reports.
 *
 * Each input is also run cut short at several places, so that even a build
 * without libFuzzer sees broken text.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned count;

static void run(const uint8_t *data, size_t size)
{
	/* A copy of exactly that size, so that reading past it is seen. */
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	static uint8_t data[1 << 20];
	size_t size, cut, step;

	if (!f) {
		printf("not ok %u - %s: %s\n", ++count, path, strerror(errno));
		return 1;
	}
	size = fread(data, 1, sizeof(data), f);
	fclose(f);
	/* Said before the run, so that a crash has a name. */
	printf("# %s\n", path);
	fflush(stdout);
	run(data, size);
	step = size / 64 + 1;
	for (cut = 0; cut < size; cut += step)
		run(data, cut);
	printf("ok %u - %s\n", ++count, path);
	return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int run_path(const char *path)
{
	struct dirent **entry;
	struct stat st;
	char file[4096];
	int n, i, bad = 0;

	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return run_file(path);
	n = scandir(path, &entry, NULL, by_name);
	if (n < 0) {
		printf("not ok %u - %s: %s\n", ++count, path, strerror(errno));
		return 1;
	}
	for (i = 0; i < n; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, entry[i]->d_name);
		if (entry[i]->d_name[0] != '.')
			bad |= run_file(file);
		free(entry[i]);
	}
	free(entry);
	return bad;
}

int main(int argc, char **argv)
{
	const char *src = getenv("SN_SRCDIR");
	const char *name = strrchr(argv[0], '/');
	char path[4096];
	int i, bad = 0;

	name = name ? name + 1 : argv[0];
	/* Libtool calls what it has not installed lt-fuzz_NAME. */
	if (strncmp(name, "lt-", 3) == 0)
		name += 3;
	if (argc == 1) {
		snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/%s", src ? src : ".",
			 strncmp(name, "fuzz_", 5) ? name : name + 5);
		bad = run_path(path);
	}
	for (i = 1; i < argc; i++)
		bad |= run_path(argv[i]);
	if (!count) {
		printf("not ok 1 - the corpus is empty\n");
		count = bad = 1;
	}
	printf("1..%u\n", count);
	return bad;
}
