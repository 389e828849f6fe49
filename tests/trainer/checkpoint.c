/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checkpoint.c - STATE_DIR/ckpt-STEP/rank-N, each written whole, and a marker
 * beside them that rank 0 writes last. Without a marker a checkpoint is nothing.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snctl/readfile.h"
#include "tests/trainer/trainer.h"
#include "topology/layout.h"

#define PATH_SIZE 4096
#define MARKER "complete"

static void dir_of(const struct trainer *t, uint32_t step, char *path)
{
	snprintf(path, PATH_SIZE, "%s/ckpt-%08u", t->opt.state_dir, step);
}

/* A rename is on disk when its directory is. */
static int sync_dir(const char *path)
{
	char dir[PATH_SIZE];
	char *slash;
	int fd, rc;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fsync(fd) ? -errno : 0;
	close(fd);
	return rc;
}

static int write_and_sync(const char *path, const char *text)
{
	size_t len = strlen(text), at = 0;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), rc = 0;

	if (fd < 0)
		return -errno;
	while (!rc && at < len) {
		ssize_t n = write(fd, text + at, len - at);

		if (n < 0 && errno != EINTR)
			rc = -errno;
		else if (n > 0)
			at += (size_t)n;
	}
	if (!rc && fsync(fd))
		rc = -errno;
	if (close(fd) && !rc)
		rc = -errno;
	return rc;
}

int tr_write_whole(const char *path, const char *text, struct sn_err *err)
{
	char temporary[PATH_SIZE + 32];
	int rc;

	/* A rank of the generation before may still be writing the same. */
	snprintf(temporary, sizeof(temporary), "%s.%ld.tmp", path, (long)getpid());
	rc = write_and_sync(temporary, text);
	if (!rc && rename(temporary, path))
		rc = -errno;
	if (!rc)
		rc = sync_dir(path);
	if (!rc)
		return 0;
	unlink(temporary);
	return sn_err_set(err, rc, "cannot write %s: %s", path, strerror(-rc));
}

void tr_part_text(const struct trainer *t, char *text, size_t size)
{
	snprintf(text, size, "rank %u step %u state %016" PRIx64 " messages %" PRIu64 " odd %" PRIu64 "\nend\n",
		 t->self.rank, t->begun, t->state, t->messages, t->odd);
}

int tr_checkpoint_write(struct trainer *t, struct sn_err *err)
{
	char path[PATH_SIZE], text[256];
	size_t n;

	dir_of(t, t->begun, path);
	if (mkdir(path, 0755) && errno != EEXIST)
		return sn_err_set(err, -errno, "cannot make %s: %s", path, strerror(errno));
	n = strlen(path);
	snprintf(path + n, sizeof(path) - n, "/rank-%u", t->self.rank);
	tr_part_text(t, text, sizeof(text));
	return tr_write_whole(path, text, err);
}

void tr_marker_text(const struct trainer *t, uint32_t step, char *text, size_t size)
{
	snprintf(text, size, "step %u world %u groups %016" PRIx64 " seed %" PRIu64 " payload %u\n",
		 step, t->self.world, t->self.layout_sum, t->opt.seed,
		 t->opt.payload);
}

static void remove_checkpoint(const struct trainer *t, uint32_t step)
{
	char path[PATH_SIZE + 300];
	struct dirent *entry;
	size_t n;
	DIR *dir;

	dir_of(t, step, path);
	n = strlen(path);
	/* The marker first: half of a checkpoint must not look whole. */
	snprintf(path + n, sizeof(path) - n, "/%s", MARKER);
	unlink(path);
	path[n] = '\0';
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path + n, sizeof(path) - n, "/%s", entry->d_name);
		unlink(path);
	}
	if (dir)
		closedir(dir);
	path[n] = '\0';
	rmdir(path);
}

static bool step_of(const char *name, uint32_t *ret)
{
	char end;

	return sscanf(name, "ckpt-%8" SCNu32 "%c", ret, &end) == 1;
}

int tr_checkpoint_mark(struct trainer *t, uint32_t step, struct sn_err *err)
{
	char path[PATH_SIZE], text[256];
	struct dirent *entry;
	size_t n;
	DIR *dir;
	int rc;

	dir_of(t, step, path);
	n = strlen(path);
	snprintf(path + n, sizeof(path) - n, "/%s", MARKER);
	tr_marker_text(t, step, text, sizeof(text));
	/* The directory itself has to be on disk before its marker counts. */
	path[n] = '\0';
	rc = sync_dir(path);
	path[n] = '/';
	if (rc)
		return sn_err_set(err, rc, "cannot sync %s: %s", t->opt.state_dir, strerror(-rc));
	rc = tr_write_whole(path, text, err);
	if (rc)
		return rc;
	/* So that whoever asked for it knows: snrun, which makes the directory. Under
	 * a plain srun there is none. */
	if (t->self.job_dir && !access(t->self.job_dir, F_OK)) {
		snprintf(path, sizeof(path), "%s/checkpoint", t->self.job_dir);
		snprintf(text, sizeof(text), "%u\n", step);
		rc = tr_write_whole(path, text, err);
		if (rc)
			return rc;
	}
	/* The one before is kept, should this one be damaged. */
	dir = opendir(t->opt.state_dir);
	while (dir && (entry = readdir(dir))) {
		uint32_t old;

		if (step_of(entry->d_name, &old) && old < t->durable)
			remove_checkpoint(t, old);
	}
	if (dir)
		closedir(dir);
	return 0;
}

/* *ret_world: 0 without a marker, else of how many ranks the checkpoint is;
 * *ret_same: of this very layout. */
static int check_marker(const struct trainer *t, uint32_t step,
			uint32_t *ret_world, bool *ret_same, struct sn_err *err)
{
	char path[PATH_SIZE], want[256];
	uint32_t got = 0, payload = 0;
	uint64_t groups, seed = 0;
	char *text;
	size_t n, len;
	int rc;

	*ret_world = 0;
	*ret_same = false;
	dir_of(t, step, path);
	n = strlen(path);
	snprintf(path + n, sizeof(path) - n, "/%s", MARKER);
	if (access(path, F_OK))
		return 0;
	rc = snctl_read_file(path, &text, &len, err);
	if (rc)
		return rc;
	tr_marker_text(t, step, want, sizeof(want));
	if (sscanf(text, "step %" SCNu32 " world %" SCNu32 " groups %" SCNx64 " seed %" SCNu64 " payload %" SCNu32,
		   &got, ret_world, &groups, &seed, &payload) != 5 ||
	    *ret_world > SN_WORLD_MAX)
		*ret_world = 0;
	*ret_same = !strcmp(text, want);
	if (!*ret_world || (!*ret_same && (!t->opt.elastic || got != step ||
			    seed != t->opt.seed || payload != t->opt.payload))) {
		text[strcspn(text, "\n")] = '\0';
		want[strcspn(want, "\n")] = '\0';
		rc = sn_err_set(err, -EINVAL, "%s is another run's: \"%s\", this one is \"%s\"; use another --state-dir", path, text, want);
	}
	free(text);
	return rc;
}

int tr_checkpoint_last(struct trainer *t, uint32_t *ret, struct sn_err *err)
{
	struct dirent *entry;
	uint32_t step, world;
	bool same;
	DIR *dir;
	int rc = 0;

	*ret = 0;
	if (!t->opt.state_dir)
		return 0;
	if (mkdir(t->opt.state_dir, 0755) && errno != EEXIST)
		return sn_err_set(err, -errno, "cannot make %s: %s", t->opt.state_dir, strerror(errno));
	dir = opendir(t->opt.state_dir);
	if (!dir)
		return sn_err_set(err, -errno, "cannot read %s: %s", t->opt.state_dir, strerror(errno));
	while (!rc && (entry = readdir(dir))) {
		if (!step_of(entry->d_name, &step) || step <= *ret)
			continue;
		rc = check_marker(t, step, &world, &same, err);
		if (!rc && world)
			*ret = step;
	}
	closedir(dir);
	return rc;
}

struct part {
	uint64_t state, messages, odd;
};

static int parse_part(const char *text, uint32_t step, uint32_t of, struct part *ret)
{
	uint32_t rank = 0, got = 0;
	char end[4] = "";

	return sscanf(text, "rank %" SCNu32 " step %" SCNu32 " state %" SCNx64 " messages %" SCNu64 " odd %" SCNu64 " %3s",
		      &rank, &got, &ret->state, &ret->messages, &ret->odd, end) == 6 &&
		!strcmp(end, "end") && rank == of && got == step ? 0 : -EINVAL;
}

static bool from_memory(const struct trainer *t, uint32_t step)
{
	return t->memory_step == step;
}

static int read_part(struct trainer *t, uint32_t step, uint32_t of,
		     struct part *ret, struct sn_err *err)
{
	char path[PATH_SIZE], marker[256], part[256];
	char *text;
	size_t n, len;
	int rc;

	if (from_memory(t, step)) {
		rc = tr_memory_load(t, of, marker, part, err);
		if (!rc && parse_part(part, step, of, ret))
			rc = sn_err_set(err, -EINVAL, "memory: shard %u is not rank %u's of step %u", of, of, step);
		return rc;
	}
	dir_of(t, step, path);
	n = strlen(path);
	snprintf(path + n, sizeof(path) - n, "/rank-%u", of);
	rc = snctl_read_file(path, &text, &len, err);
	if (rc)
		return rc;
	rc = parse_part(text, step, of, ret);
	free(text);
	if (rc)
		return sn_err_set(err, -EINVAL, "%s is not rank %u's checkpoint of step %u, although it is marked complete", path, of, step);
	return 0;
}

/* Is it of this very layout? */
static int check_memory(struct trainer *t, uint32_t step, uint32_t *ret_world,
			bool *ret_same, struct sn_err *err)
{
	char marker[256], part[256], want[256];
	int rc = tr_memory_load(t, t->self.rank < t->memory_world ? t->self.rank : 0,
				marker, part, err);

	tr_marker_text(t, step, want, sizeof(want));
	*ret_world = t->memory_world;
	*ret_same = !rc && !strcmp(marker, want);
	return rc;
}

/*
 * Another number of ranks: each begins with an integer that depends on those of
 * all ranks before, and on its own new number. So the end state tells the whole
 * sequence of sizes, with the step of each change.
 */
static int reshard(struct trainer *t, uint32_t step, uint32_t world,
		   struct sn_err *err)
{
	struct part part;
	uint64_t sum = 0;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < world; i++) {
		rc = read_part(t, step, i, &part, err);
		if (rc)
			break;
		sum = tr_mix(sum ^ tr_mix(part.state + i));
		if (!t->self.rank) {
			t->messages += part.messages;
			t->odd += part.odd;
		}
	}
	t->state = tr_mix(sum ^ tr_mix(t->self.rank + 1));
	return rc;
}

int tr_checkpoint_read(struct trainer *t, uint32_t step, struct sn_err *err)
{
	struct part part;
	uint32_t world;
	bool same;
	int rc = from_memory(t, step) ? check_memory(t, step, &world, &same, err) :
		check_marker(t, step, &world, &same, err);

	if (rc)
		return rc;
	t->resume_world = world;
	if (world && !same)
		return reshard(t, step, world, err);
	rc = read_part(t, step, t->self.rank, &part, err);
	if (rc)
		return rc;
	t->state = part.state;
	t->messages = part.messages;
	t->odd = part.odd;
	return 0;
}
