/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runstate.c - one snrun at a time in a job directory, and what the next one
 * must know of it if it is killed.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "launcher/runstate.h"
#include "launcher/writefile.h"

#define LOCK "lock"
#define FILE_MAX 16384

static uint32_t get_uint(json_object *from, const char *key, bool *ok)
{
	json_object *at;
	int64_t n = -1;

	if (json_object_object_get_ex(from, key, &at) &&
	    json_object_is_type(at, json_type_int))
		n = json_object_get_int64(at);
	*ok = *ok && n >= 0 && n <= UINT32_MAX;
	return (uint32_t)n;
}

static uint32_t item(json_object *pair, size_t i)
{
	int64_t n = json_object_get_int64(json_object_array_get_idx(pair, i));

	return n < 0 || n > UINT32_MAX ? 0 : (uint32_t)n;
}

/* What is no pair of numbers is no srun to look for. */
static void get_parts(json_object *root, struct sn_runstate *state)
{
	json_object *parts;
	size_t n;

	if (!json_object_object_get_ex(root, "parts", &parts) ||
	    !json_object_is_type(parts, json_type_array))
		return;
	n = json_object_array_length(parts);
	for (size_t i = 0; i < n && i < SN_RUNSTATE_PARTS; i++) {
		json_object *pair = json_object_array_get_idx(parts, i);

		if (json_object_is_type(pair, json_type_array) &&
		    json_object_array_length(pair) == 2)
			state->part[state->n_parts++] = (struct sn_runstate_part){
				item(pair, 0), item(pair, 1),
			};
	}
}

static void add_parts(json_object *root, const struct sn_runstate *state)
{
	json_object *parts = json_object_new_array();

	for (uint32_t i = 0; i < state->n_parts; i++) {
		json_object *pair = json_object_new_array();

		json_object_array_add(pair, json_object_new_int64(state->part[i].job));
		json_object_array_add(pair, json_object_new_int64(state->part[i].srun_pid));
		json_object_array_add(parts, pair);
	}
	json_object_object_add(root, "parts", parts);
}

int sn_runstate_read(const char *dir, struct sn_runstate *ret,
		     struct sn_err *err)
{
	struct sn_runstate state = { 0 };
	json_object *root, *at;
	bool ok = true;
	size_t len;
	char *text;
	int rc = sn_read_file(dir, SN_RUNSTATE_FILE, FILE_MAX, &text, &len, err);

	if (rc)
		return rc;
	root = json_tokener_parse(text);
	free(text);
	state.job = get_uint(root, "job", &ok);
	if (json_object_object_get_ex(root, "submitted", &at))
		state.submitted = json_object_get_int64(at);
	state.run = get_uint(root, "run", &ok);
	state.generation = get_uint(root, "generation", &ok);
	state.restarts = get_uint(root, "restarts", &ok);
	state.requeues = get_uint(root, "requeues", &ok);
	state.srun_pid = get_uint(root, "srun_pid", &ok);
	get_parts(root, &state);
	state.ended = json_object_object_get_ex(root, "ended", &at) &&
		json_object_get_boolean(at);
	state.overlap = json_object_object_get_ex(root, "overlap", &at) &&
		json_object_get_boolean(at);
	state.unsure = json_object_object_get_ex(root, "unsure", &at) &&
		json_object_get_boolean(at);
	if (json_object_object_get_ex(root, "cluster", &at) &&
	    json_object_is_type(at, json_type_string))
		snprintf(state.cluster, sizeof(state.cluster), "%s",
			 json_object_get_string(at));
	if (json_object_object_get_ex(root, "host", &at) &&
	    json_object_is_type(at, json_type_string))
		snprintf(state.host, sizeof(state.host), "%s",
			 json_object_get_string(at));
	json_object_put(root);
	if (!ok)
		return sn_err_set(err, -EINVAL, "%s/" SN_RUNSTATE_FILE ": damaged",
				  dir);
	*ret = state;
	return 0;
}

int sn_runstate_write(const char *dir, const struct sn_runstate *state,
		      struct sn_err *err)
{
	json_object *root = json_object_new_object();
	const char *text;
	int rc;

	json_object_object_add(root, "job", json_object_new_int64(state->job));
	json_object_object_add(root, "submitted",
			       json_object_new_int64(state->submitted));
	json_object_object_add(root, "run", json_object_new_int64(state->run));
	json_object_object_add(root, "generation",
			       json_object_new_int64(state->generation));
	json_object_object_add(root, "restarts",
			       json_object_new_int64(state->restarts));
	json_object_object_add(root, "requeues",
			       json_object_new_int64(state->requeues));
	json_object_object_add(root, "ended",
			       json_object_new_boolean(state->ended));
	json_object_object_add(root, "overlap",
			       json_object_new_boolean(state->overlap));
	json_object_object_add(root, "unsure",
			       json_object_new_boolean(state->unsure));
	json_object_object_add(root, "srun_pid",
			       json_object_new_int64(state->srun_pid));
	json_object_object_add(root, "cluster", json_object_new_string(state->cluster));
	json_object_object_add(root, "host", json_object_new_string(state->host));
	if (state->n_parts)
		add_parts(root, state);
	text = root ? json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN) :
		NULL;
	rc = text ? sn_write_file(dir, SN_RUNSTATE_FILE, text, strlen(text), err) :
		sn_err_set(err, -ENOMEM, "no memory");
	json_object_put(root);
	return rc;
}

static int held_by_other(const char *dir, int fd, char *ret_holder, struct sn_err *err)
{
	char who[SN_RUNSTATE_HOST_MAX + 64] = "";
	ssize_t n = pread(fd, who, sizeof(who) - 1, 0);

	who[n > 0 ? strcspn(who, "\n") : 0] = '\0';
	if (ret_holder && sscanf(who, "process %*d on %255s", ret_holder) != 1)
		*ret_holder = '\0';
	return sn_err_set(err, -EBUSY,
			  "%s: another snrun%s%s uses it; wait for its end, or give this one a directory of its own by SUPERNODE_JOB_DIR",
			  dir, *who ? ", " : "", who);
}

int sn_runstate_lock(const char *dir, const char *host, int *ret_fd,
		     char *ret_holder, struct sn_err *err)
{
	char who[SN_RUNSTATE_HOST_MAX + 64];
	int dirfd, fd, rc, n;

	rc = sn_dir_open(dir, &dirfd, err);
	if (rc)
		return rc;
	fd = openat(dirfd, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC |
		    O_NONBLOCK, 0600);
	rc = fd < 0 ? -errno : 0;
	close(dirfd);
	if (rc == -EROFS || rc == -ENOSPC || rc == -EDQUOT)
		/* The same sentence as for any other file of it. */
		return sn_write_file(dir, LOCK, "", 0, err);
	if (rc)
		return sn_err_set(err, rc, "%s/" LOCK ": cannot be opened: %s",
				  dir, strerror(-rc));
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		rc = -errno;
		if (rc == -EWOULDBLOCK)
			rc = held_by_other(dir, fd, ret_holder, err);
		close(fd);
		if (rc == -EBUSY)
			return rc;
		*ret_fd = -1;
		sn_err_set(err, 0, "%s: the file system knows no locks (%s); see that only one snrun runs in it",
			   dir, strerror(-rc));
		return 0;
	}
	n = snprintf(who, sizeof(who), "process %ld on %s\n", (long)getpid(), host);
	if (ftruncate(fd, 0) || pwrite(fd, who, (size_t)n, 0) != n)
		errno = 0; /* only for the sentence of a second one */
	*ret_fd = fd;
	return 0;
}
