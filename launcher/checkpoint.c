/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checkpoint.c - the files of the checkpoint protocol, and when what was seen.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launcher/checkpoint.h"
#include "launcher/memsafe.h"
#include "launcher/writefile.h"

/* ---- the marker --------------------------------------------------------------- */

static void take_stat(const struct stat *st, struct sn_ckpt_mark *mark)
{
	mark->dev = st->st_dev;
	mark->ino = st->st_ino;
	mark->size = (uint64_t)st->st_size;
	mark->sec = st->st_mtim.tv_sec;
	mark->nsec = (uint32_t)st->st_mtim.tv_nsec;
}

/* A marker may be a pipe by mistake, which must not hold snrun up. */
static void look_at_file(const struct sn_ckpt *ckpt, const char *path,
			 struct sn_ckpt_mark *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char text[SN_CKPT_TEXT_MAX];
	struct stat st;
	ssize_t n = 0;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		do
			n = read(fd, text, sizeof(text));
		while (n < 0 && errno == EINTR);
		if (n >= 0) {
			take_stat(&st, ret);
			sn_ckpt_read(ckpt, "", text, (size_t)n, ret);
		}
	}
	close(fd);
}

/* A file or, where a checkpoint is one, a directory. */
static void look_at_pattern(const struct sn_ckpt *ckpt, struct sn_ckpt_mark *ret)
{
	char path[SN_CKPT_PATH_MAX];
	struct dirent *entry;
	char *slash;
	DIR *dir;

	snprintf(path, sizeof(path), "%s", ckpt->marker);
	slash = strrchr(path, '/');
	if (slash)
		slash[slash == path] = '\0';
	dir = opendir(slash ? path : ".");
	while (dir && (entry = readdir(dir))) {
		struct sn_ckpt_mark mark = { .there = false };
		struct stat st;

		if (*entry->d_name == '.')
			continue;
		sn_ckpt_read(ckpt, entry->d_name, NULL, 0, &mark);
		if (!mark.there || fstatat(dirfd(dir), entry->d_name, &st, 0))
			continue;
		take_stat(&st, &mark);
		if (sn_ckpt_later(ret, &mark))
			*ret = mark;
	}
	if (dir)
		closedir(dir);
}

void sn_ckptfile_look(const struct sn_ckpt *ckpt, const char *dir,
		      struct sn_ckpt_mark *ret)
{
	char path[PATH_MAX + 16];

	memset(ret, 0, sizeof(*ret));
	if (ckpt->pattern) {
		look_at_pattern(ckpt, ret);
	} else if (*ckpt->marker) {
		look_at_file(ckpt, ckpt->marker, ret);
	} else {
		snprintf(path, sizeof(path), "%s/" SN_CKPT_MARKER, dir);
		look_at_file(ckpt, path, ret);
	}
	if (!ret->there)
		memset(ret, 0, sizeof(*ret));
}

/* ---- the request ----------------------------------------------------------------- */

static void add_uint(json_object *to, const char *key, uint32_t n)
{
	json_object_object_add(to, key, json_object_new_int64(n));
}

int sn_ckptfile_ask(const char *dir, const struct sn_ckptask *ask,
		    struct sn_err *err)
{
	json_object *root = json_object_new_object();
	const char *text;
	int rc;

	add_uint(root, "request", ask->request);
	add_uint(root, "generation", ask->generation);
	json_object_object_add(root, "why", json_object_new_string(ask->why));
	json_object_object_add(root, "then", json_object_new_string(
		ask->exit ? "exit" : "go on"));
	add_uint(root, "soft", ask->soft);
	add_uint(root, "hard", ask->hard);
	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN);
	rc = text ? sn_write_file(dir, SN_CKPT_REQUEST, text, strlen(text), err) :
		sn_err_set(err, -ENOMEM, "no memory");
	json_object_put(root);
	return rc;
}

void sn_ckptfile_forget(const char *dir)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/" SN_CKPT_REQUEST, dir);
	unlink(path);
}

/* ---- progress --------------------------------------------------------------------- */

static void look_at_progress(const char *dir, struct stat *ret)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/" SN_CKPT_PROGRESS, dir);
	memset(ret, 0, sizeof(*ret));
	if (lstat(path, ret))
		memset(ret, 0, sizeof(*ret));
}

static bool changed(const struct stat *a, const struct stat *b)
{
	return a->st_ino != b->st_ino || a->st_size != b->st_size ||
		a->st_mtim.tv_sec != b->st_mtim.tv_sec ||
		a->st_mtim.tv_nsec != b->st_mtim.tv_nsec;
}

bool sn_ckptwatch_progressed(const struct sn_ckptwatch *watch, const char *dir)
{
	struct stat st;

	look_at_progress(dir, &st);
	if (changed(&st, &watch->progress))
		return true;
	if (!watch->durable || watch->durable < watch->started)
		return false;
	/* To save the same iteration again is not to get on. */
	return !watch->mark.has_iteration || !watch->had_iteration ||
		watch->mark.iteration > watch->progress_iteration;
}

/* ---- what was seen when -------------------------------------------------------------- */

void sn_ckptwatch_init(struct sn_ckptwatch *watch, const struct sn_ckpt *ckpt)
{
	*watch = (struct sn_ckptwatch){ .ckpt = *ckpt, .seconds = -1 };
}

static void take(struct sn_ckptwatch *watch, const struct sn_ckpt_mark *mark,
		 int64_t now)
{
	watch->mark = *mark;
	watch->durable = now;
	if (!watch->asked)
		return;
	watch->seconds = (double)(now - watch->asked) / 1000;
	watch->asked = 0;
}

static void look(struct sn_ckptwatch *watch, const char *dir, int64_t now,
		 bool settled)
{
	struct sn_ckpt_mark mark;

	watch->looked_at = now;
	sn_ckptfile_look(&watch->ckpt, dir, &mark);
	if (!sn_ckpt_is_new(&watch->mark, &mark))
		return;
	if (watch->ckpt.pattern && !settled) {
		if (sn_ckpt_is_new(&watch->unsettled, &mark)) {
			watch->unsettled = mark;
			watch->unsettled_at = now;
		}
		if (now - watch->unsettled_at < SN_CKPT_SETTLE_MS)
			return;
	}
	take(watch, &mark, now);
}

/* By the clock of who wrote it: that of a file just written beside it, if there is
 * one on the same file system, else this host's. */
static double age_by_files(const struct sn_ckptwatch *watch, const char *dir)
{
	char path[PATH_MAX + 32];
	struct timespec now, written;
	struct stat st;
	int fd;

	clock_gettime(CLOCK_REALTIME, &now);
	written = now;
	snprintf(path, sizeof(path), "%s/.clock.%ld", dir, (long)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0) {
		if (!fstat(fd, &st) && st.st_dev == watch->mark.dev)
			written = st.st_mtim;
		close(fd);
		unlink(path);
	}
	return sn_ckpt_age(&watch->mark, written.tv_sec, (uint32_t)written.tv_nsec);
}

void sn_ckptwatch_start(struct sn_ckptwatch *watch, const char *dir, int64_t now)
{
	/* What is there now is no work of these ranks. */
	sn_ckptfile_look(&watch->ckpt, dir, &watch->mark);
	look_at_progress(dir, &watch->progress);
	watch->unsettled = watch->mark;
	watch->progress_iteration = watch->mark.iteration;
	watch->had_iteration = watch->mark.has_iteration;
	watch->started = watch->looked_at = now;
	watch->asked = 0;
	/* What these ranks have not saved is no safe point of theirs, and may be gone. */
	sn_memsafe_forget(dir);
	watch->memory = 0;
	watch->memory_next = now + SN_CKPT_LOOK_MS;
	if (!watch->durable && watch->mark.there) {
		watch->age = age_by_files(watch, dir);
		watch->age_at = now;
	}
}

void sn_ckptwatch_stop(struct sn_ckptwatch *watch, const char *dir, int64_t now)
{
	look(watch, dir, now, true);
	/* Who goes on from memory has not lost it, but would by what is on disk. */
	if (!watch->memory)
		watch->carried = 0;
	else if (watch->durable > watch->started)
		watch->carried = now - watch->durable;
	else
		watch->carried += now - watch->started;
	watch->started = watch->asked = 0;
}

static void look_at_memory(struct sn_ckptwatch *watch, const char *dir, int64_t now)
{
	struct timespec from, to;
	uint64_t iteration;
	size_t n;

	if (!watch->started || now < watch->memory_next)
		return;
	clock_gettime(CLOCK_MONOTONIC, &from);
	if (sn_memsafe_look(dir, watch->generation, &iteration, &n) && iteration > watch->memory) {
		watch->memory = iteration;
		watch->memory_at = now;
	}
	/* A file for each node, on storage that may be slow, and the caller waits. */
	clock_gettime(CLOCK_MONOTONIC, &to);
	watch->memory_next = now + SN_CKPT_LOOK_MS + SN_CKPT_MEMORY_REST *
		((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000);
}

void sn_ckptwatch_look(struct sn_ckptwatch *watch, const char *dir, int64_t now)
{
	look_at_memory(watch, dir, now);
	if (watch->asked || now - watch->looked_at >= SN_CKPT_LOOK_MS)
		look(watch, dir, now, false);
}

void sn_ckptwatch_ask(struct sn_ckptwatch *watch, const char *dir, int64_t now)
{
	look(watch, dir, now, false);
	watch->requests++;
	watch->before = watch->mark;
	watch->asked = now;
}

bool sn_ckptwatch_is_new(const struct sn_ckptwatch *watch)
{
	return sn_ckpt_is_new(&watch->before, &watch->mark);
}

/* ---- the report -------------------------------------------------------------------- */

static bool read_progress(const char *dir, uint64_t *ret)
{
	static const struct sn_ckpt as = { .number = SN_CKPT_MAY };
	struct sn_ckpt_mark mark = { .there = false };
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/" SN_CKPT_PROGRESS, dir);
	look_at_file(&as, path, &mark);
	*ret = mark.iteration;
	return mark.has_iteration;
}

void sn_ckptwatch_state(const struct sn_ckptwatch *watch, const char *dir,
			int64_t now, struct sn_ckptstate *ret)
{
	*ret = (struct sn_ckptstate){
		.since_safe = sn_ckpt_since_safe(now, watch->started, watch->durable,
						 watch->started != 0),
		.since_memory = -1,
		.age = -1,
		.seconds = watch->seconds,
		.has_iteration = watch->mark.has_iteration,
		.iteration = watch->mark.iteration,
	};
	if (watch->started && watch->durable <= watch->started)
		ret->since_safe += (double)watch->carried / 1000;
	if (watch->memory) {
		ret->since_memory = sn_ckpt_since_safe(now, watch->started, watch->memory_at,
						       watch->started != 0);
		ret->memory = watch->memory;
	}
	if (watch->mark.there)
		ret->age = watch->durable ? (double)(now - watch->durable) / 1000 :
			watch->age + (double)(now - watch->age_at) / 1000;
	ret->has_progress = read_progress(dir, &ret->progress);
	if (!ret->has_progress && watch->mark.has_iteration) {
		ret->has_progress = true;
		ret->progress = watch->mark.iteration;
	}
}
