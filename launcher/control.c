/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * control.c - how a running snrun is told something.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "launcher/control.h"
#include "launcher/writefile.h"

#define REQUEST ".request"
#define ANSWER ".answer"
#define LOOK_MS 50

static const char *const names[] = {
	[SN_CONTROL_STATUS] = "status", [SN_CONTROL_SHRINK] = "shrink",
	[SN_CONTROL_GROW] = "grow", [SN_CONTROL_SWAP] = "swap",
	[SN_CONTROL_PAUSE] = "pause", [SN_CONTROL_RESUME] = "resume",
	[SN_CONTROL_REPLACE] = "replace", [SN_CONTROL_REQUEUE] = "requeue",
};

const char *sn_control_name(enum sn_control_op op)
{
	return names[op];
}

int sn_control_find(const char *name, enum sn_control_op *ret)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name)) {
			*ret = (enum sn_control_op)i;
			return 0;
		}
	return -EINVAL;
}

static int read_text(json_object *root, const char *key, char *ret, size_t size)
{
	json_object *at;

	*ret = '\0';
	if (!json_object_object_get_ex(root, key, &at))
		return 0;
	if (!json_object_is_type(at, json_type_string) ||
	    (size_t)snprintf(ret, size, "%s", json_object_get_string(at)) >= size)
		return -EINVAL;
	/* It goes to terminals, and into files' lines. */
	for (const char *c = ret; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return -EINVAL;
	return 0;
}

static int read_cards(json_object *root, uint64_t *ret)
{
	json_object *list, *at;
	int64_t card;

	*ret = 0;
	if (!json_object_object_get_ex(root, "cards", &list))
		return 0;
	if (!json_object_is_type(list, json_type_array))
		return -EINVAL;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		at = json_object_array_get_idx(list, i);
		card = json_object_is_type(at, json_type_int) ? json_object_get_int64(at) : -1;
		if (card < 0 || card > 63)
			return -EINVAL;
		*ret |= UINT64_C(1) << card;
	}
	return 0;
}

static int read_number(json_object *root, const char *key, uint32_t *ret)
{
	json_object *at;
	int64_t n = 0;

	if (json_object_object_get_ex(root, key, &at))
		n = json_object_is_type(at, json_type_int) ? json_object_get_int64(at) : -1;
	if (n < 0 || n > UINT32_MAX)
		return -EINVAL;
	*ret = (uint32_t)n;
	return 0;
}

int sn_control_read(struct json_object *root, struct sn_control *ret, struct sn_err *err)
{
	json_object *at;

	if (!json_object_object_get_ex(root, "op", &at) ||
	    !json_object_is_type(at, json_type_string) ||
	    sn_control_find(json_object_get_string(at), &ret->op))
		return sn_err_set(err, -EINVAL,
				  "\"op\" is none of " SN_CONTROL_NAMES);
	if (read_number(root, "dp", &ret->dp))
		return sn_err_set(err, -EINVAL, "\"dp\" is no number of replicas");
	if (read_text(root, "node", ret->node, sizeof(ret->node)))
		return sn_err_set(err, -EINVAL, "\"node\" is no node's name");
	if (ret->op == SN_CONTROL_SWAP && !*ret->node)
		return sn_err_set(err, -EINVAL, "swap needs a \"node\"");
	if (read_cards(root, &ret->cards))
		return sn_err_set(err, -EINVAL, "\"cards\" is no list of numbers from 0 to 63");
	if (ret->cards && !*ret->node)
		return sn_err_set(err, -EINVAL, "\"cards\" needs a \"node\"");
	if (read_number(root, "well", &ret->well))
		return sn_err_set(err, -EINVAL, "\"well\" is no number of seconds");
	if (read_text(root, "why", ret->why, sizeof(ret->why)))
		return sn_err_set(err, -EINVAL, "\"why\" is no text of less than %d bytes",
				  SN_CONTROL_WHY_MAX);
	return 0;
}

struct json_object *sn_control_json(const struct sn_control *request)
{
	json_object *root = json_object_new_object(), *list;

	if (!root)
		return NULL;
	json_object_object_add(root, "op", json_object_new_string(names[request->op]));
	if (request->dp)
		json_object_object_add(root, "dp", json_object_new_int64(request->dp));
	if (*request->node)
		json_object_object_add(root, "node", json_object_new_string(request->node));
	if (request->cards && (list = json_object_new_array())) {
		for (int c = 0; c < 64; c++)
			if (request->cards >> c & 1)
				json_object_array_add(list, json_object_new_int(c));
		json_object_object_add(root, "cards", list);
	}
	if (request->well)
		json_object_object_add(root, "well", json_object_new_int64(request->well));
	if (*request->why)
		json_object_object_add(root, "why", json_object_new_string(request->why));
	return root;
}

int sn_control_parse(const char *text, struct sn_control *ret,
		     struct sn_err *err)
{
	json_object *root = json_tokener_parse(text);
	int rc;

	ret->dp = ret->well = 0;
	ret->node[0] = ret->why[0] = '\0';
	ret->cards = 0;
	if (root && json_object_is_type(root, json_type_object))
		rc = sn_control_read(root, ret, err);
	else
		rc = sn_err_set(err, -EINVAL, "it is no JSON object");
	json_object_put(root);
	return rc ? sn_err_prefix(err, rc, "the request cannot be read: ") : 0;
}

/* ---- files --------------------------------------------------------------------------- */

static int path_of(const char *dir, char *buf, size_t size, struct sn_err *err)
{
	if ((size_t)snprintf(buf, size, "%s/" SN_CONTROL_DIR, dir) < size)
		return 0;
	return sn_err_set(err, -ENAMETOOLONG, "%s: too long", dir);
}

static void remove_file(const char *dir, const char *name)
{
	int fd;

	if (sn_dir_open(dir, &fd, NULL))
		return;
	unlinkat(fd, name, 0);
	close(fd);
}

static bool ends_with(const char *name, const char *with)
{
	size_t n = strlen(name), m = strlen(with);

	return n > m && !strcmp(name + n - m, with);
}

static int make_id(char id[SN_CONTROL_ID_MAX], struct sn_err *err)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return sn_err_set(err, -EIO, "no random numbers: %s",
				  strerror(errno));
	snprintf(id, SN_CONTROL_ID_MAX, "%016llx", (unsigned long long)random);
	return 0;
}

static int write_request(const char *path, const char *name,
			 const struct sn_control *request, struct sn_err *err)
{
	json_object *root = sn_control_json(request);
	const char *text;
	int rc;

	text = root ? json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN) : NULL;
	rc = text ? sn_write_file(path, name, text, strlen(text), err) :
		sn_err_set(err, -ENOMEM, "no memory");
	json_object_put(root);
	return rc;
}

int sn_control_ask(const char *dir, const struct sn_control *request,
		   uint32_t wait_ms, char **ret_answer, struct sn_err *err)
{
	const struct timespec pause = { 0, LOOK_MS * 1000000 };
	char path[PATH_MAX], id[SN_CONTROL_ID_MAX];
	char asked[SN_CONTROL_ID_MAX + 16], answer[SN_CONTROL_ID_MAX + 16];
	size_t len;
	int fd, rc = path_of(dir, path, sizeof(path), err);

	if (!rc)
		rc = sn_dir_open(path, &fd, err);
	if (rc == -ENOENT)
		return sn_err_set(err, rc, "no snrun runs in %s", dir);
	if (rc)
		return rc;
	close(fd);
	rc = make_id(id, err);
	snprintf(asked, sizeof(asked), "%s" REQUEST, id);
	snprintf(answer, sizeof(answer), "%s" ANSWER, id);
	if (!rc)
		rc = write_request(path, asked, request, err);
	if (rc)
		return rc;
	for (uint32_t waited = 0;; waited += LOOK_MS) {
		rc = sn_read_file(path, answer, SN_CONTROL_TEXT_MAX, ret_answer,
				  &len, err);
		if (rc != -ENOENT || waited >= wait_ms)
			break;
		nanosleep(&pause, NULL);
	}
	remove_file(path, asked);
	remove_file(path, answer);
	if (rc == -ENOENT)
		return sn_err_set(err, -ETIMEDOUT,
				  "snrun did not answer in %u s; is it alive, and does its host see %s?",
				  wait_ms / 1000, dir);
	return rc;
}

/* Each name in the place for requests that ends so, until act says true. */
static int each(const char *path, const char *with,
		bool (*act)(int dirfd, const char *name, void *arg), void *arg)
{
	struct dirent *entry;
	int fd, rc = sn_dir_open(path, &fd, NULL);
	bool found = false;
	DIR *d;

	if (rc)
		return rc;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	while (!found && (entry = readdir(d)))
		if (ends_with(entry->d_name, with))
			found = act(fd, entry->d_name, arg);
	closedir(d);
	return found ? 0 : -ENOENT;
}

static bool drop(int dirfd, const char *name, void *arg)
{
	(void)arg;
	unlinkat(dirfd, name, 0);
	return false;
}

int sn_control_open(const char *dir, struct sn_err *err)
{
	char path[PATH_MAX];
	int fd, rc = path_of(dir, path, sizeof(path), err);

	if (!rc)
		rc = sn_dir_make(path, &fd, err);
	if (rc)
		return rc;
	close(fd);
	each(path, REQUEST, drop, NULL);
	each(path, ANSWER, drop, NULL);
	return 0;
}

void sn_control_close(const char *dir)
{
	char path[PATH_MAX];

	if (path_of(dir, path, sizeof(path), NULL))
		return;
	each(path, REQUEST, drop, NULL);
	/* With an answer in it, it stays for who has asked. */
	rmdir(path);
}

static bool take_name(int dirfd, const char *name, void *arg)
{
	char *id = arg;
	size_t len = strlen(name) - strlen(REQUEST);

	(void)dirfd;
	if (*name == '.' || len >= SN_CONTROL_ID_MAX)
		return false;
	memcpy(id, name, len);
	id[len] = '\0';
	return true;
}

int sn_control_next(const char *dir, struct sn_control *ret)
{
	char path[PATH_MAX], name[SN_CONTROL_ID_MAX + 16], why[SN_ERR_SIZE + 64];
	struct sn_err err;
	size_t len;
	char *text;
	int rc = path_of(dir, path, sizeof(path), NULL);

	if (!rc)
		rc = each(path, REQUEST, take_name, ret->id);
	if (rc)
		return -ENOENT;
	snprintf(name, sizeof(name), "%s" REQUEST, ret->id);
	rc = sn_read_file(path, name, SN_CONTROL_TEXT_MAX, &text, &len, &err);
	remove_file(path, name);
	if (!rc) {
		rc = sn_control_parse(text, ret, &err);
		free(text);
	}
	if (!rc)
		return 0;
	/* The sentence has no quotes of the request's in it but our own. */
	for (char *c = err.text; *c; c++)
		if (*c == '"' || *c == '\\')
			*c = '\'';
	snprintf(why, sizeof(why), "{\"ok\":false,\"error\":\"%s\"}", err.text);
	sn_control_answer(dir, ret->id, why);
	return -ENOENT;
}

int sn_control_answer(const char *dir, const char *id, const char *text)
{
	char path[PATH_MAX], name[SN_CONTROL_ID_MAX + 16];

	snprintf(name, sizeof(name), "%s" ANSWER, id);
	if (path_of(dir, path, sizeof(path), NULL))
		return -ENAMETOOLONG;
	return sn_write_file(path, name, text, strlen(text), NULL);
}
