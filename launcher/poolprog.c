/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poolprog.c - what a site's pool program says, and whether to believe it.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json.h>

#include "launcher/poolprog.h"
#include "launcher/program.h"
#include "snctl/jsonread.h"

static int parse_object(const char *text, size_t len, const char *who,
			struct json_object **ret, struct sn_err *err)
{
	int rc = snctl_json_parse(text, len, who, ret, err);

	if (rc)
		return rc;
	if (json_object_is_type(*ret, json_type_object))
		return 0;
	sn_err_set(err, -EINVAL, "%s: want a JSON object, and it says %s", who,
		   snctl_json_kind(*ret));
	json_object_put(*ret);
	return -EINVAL;
}

/* A whole number, 0 or more; fallback UINT64_MAX where it may be missing. */
static int get_count(struct json_object *root, const char *key, const char *who,
		     int must, uint64_t *ret, struct sn_err *err)
{
	struct json_object *value;
	int64_t n;

	*ret = UINT64_MAX;
	if (!json_object_object_get_ex(root, key, &value))
		return must ? sn_err_set(err, -EINVAL, "%s: \"%s\" is missing",
					 who, key) : 0;
	if (!json_object_is_type(value, json_type_int))
		return sn_err_set(err, -EINVAL,
				  "%s: \"%s\" is %s; want a whole number",
				  who, key, snctl_json_kind(value));
	n = json_object_get_int64(value);
	if (n < 0)
		return sn_err_set(err, -EINVAL,
				  "%s: \"%s\" is %" PRId64 "; want 0 or more",
				  who, key, n);
	*ret = (uint64_t)n;
	return 0;
}

/* "/a/../b" or "/a/.." */
static bool climbs(const char *path)
{
	const char *at = path;

	while ((at = strstr(at, "/..")) && at[3] && at[3] != '/')
		at += 3;
	return at;
}

int sn_poolprog_parse_place(const char *text, size_t len, const char *who,
			    struct sn_poolprog_place *ret, struct sn_err *err)
{
	struct json_object *root, *dir;
	const char *path;
	int rc = parse_object(text, len, who, &root, err);

	if (rc)
		return rc;
	memset(ret, 0, sizeof(*ret));
	rc = get_count(root, "bytes", who, 1, &ret->bytes, err);
	if (rc)
		goto out;
	if (!json_object_object_get_ex(root, "dir", &dir) ||
	    !json_object_is_type(dir, json_type_string)) {
		rc = sn_err_set(err, -EINVAL,
				"%s: \"dir\" is missing: want the region's directory",
				who);
		goto out;
	}
	path = json_object_get_string(dir);
	if (path[0] != '/' || climbs(path) ||
	    strlen(path) >= sizeof(ret->dir) ||
	    strlen(path) != (size_t)json_object_get_string_len(dir)) {
		rc = sn_err_set(err, -EINVAL,
				"%s: \"dir\" is \"%.80s\"; want an absolute path without \"..\" of at most %zu characters",
				who, path, sizeof(ret->dir) - 1);
		goto out;
	}
	memcpy(ret->dir, path, strlen(path) + 1);
out:
	json_object_put(root);
	return rc;
}

int sn_poolprog_parse_usage(const char *text, size_t len, const char *who,
			    struct sn_poolprog_usage *ret, struct sn_err *err)
{
	struct json_object *root, *load;
	const struct { const char *key; uint64_t *to; int must; } counts[] = {
		{ "size", &ret->size, 1 }, { "used", &ret->used, 1 },
		{ "hits", &ret->hits, 0 }, { "misses", &ret->misses, 0 },
		{ "swap_ins", &ret->swap_ins, 0 },
		{ "swap_outs", &ret->swap_outs, 0 },
	};
	int rc = parse_object(text, len, who, &root, err);

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < sizeof(counts) / sizeof(*counts); i++)
		rc = get_count(root, counts[i].key, who, counts[i].must,
			       counts[i].to, err);
	if (!rc && ret->used > ret->size)
		rc = sn_err_set(err, -EINVAL,
				"%s: %" PRIu64 " bytes used of %" PRIu64 " cannot be",
				who, ret->used, ret->size);
	ret->bus_load = -1;
	if (!rc && json_object_object_get_ex(root, "bus_load", &load)) {
		double d = json_object_get_double(load);

		if ((!json_object_is_type(load, json_type_double) &&
		     !json_object_is_type(load, json_type_int)) ||
		    !(d >= 0 && d <= 1))
			rc = sn_err_set(err, -EINVAL,
					"%s: \"bus_load\" is %.40s; want a number from 0 to 1",
					who, json_object_to_json_string(load));
		else
			ret->bus_load = d;
	}
	json_object_put(root);
	return rc;
}

/* The directory is what tasks will write into: the user's, and his alone. */
static int check_place(const char *who, const struct sn_poolprog_place *place,
		       uint64_t bytes, uint32_t uid, struct sn_err *err)
{
	struct stat st;

	if (bytes && place->bytes != bytes)
		return sn_err_set(err, -EINVAL,
				  "%s: %" PRIu64 " bytes were asked for, and it says it made %" PRIu64,
				  who, bytes, place->bytes);
	if (lstat(place->dir, &st))
		return sn_err_set(err, -EINVAL,
				  "%s: it says that the region is in %s, and there is none: %s",
				  who, place->dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return sn_err_set(err, -EINVAL, "%s: %s is not a directory", who,
				  place->dir);
	if (st.st_uid != uid || st.st_mode & (S_IRWXG | S_IRWXO))
		return sn_err_set(err, -EINVAL,
				  "%s: %s belongs to user %u with mode %04o; want user %u and 0700",
				  who, place->dir, st.st_uid,
				  st.st_mode & 07777, uid);
	return 0;
}

static int ask_place(const char *const *argv, uint32_t seconds, const char *who,
		     uint64_t bytes, uint32_t uid,
		     struct sn_poolprog_place *ret, struct sn_err *err)
{
	char *text;
	size_t len;
	int rc = sn_program_ask(argv, seconds, SN_PROGRAM_ANSWER, &text, &len, err);

	if (rc)
		return sn_err_prefix(err, rc, "PoolProgram %s %s: ", argv[1],
				     argv[2]);
	rc = sn_poolprog_parse_place(text, len, who, ret, err);
	free(text);
	return rc ? rc : check_place(who, ret, bytes, uid, err);
}

int sn_poolprog_create(const char *program, uint32_t seconds, const char *id,
		       uint64_t bytes, uint32_t uid, uint32_t gid,
		       struct sn_poolprog_place *ret, struct sn_err *err)
{
	char size[24], user[16], group[16], who[700];
	const char *argv[] = { program, "create", id, size,
			 user, group, NULL };
	int rc;

	snprintf(size, sizeof(size), "%" PRIu64, bytes);
	snprintf(user, sizeof(user), "%u", uid);
	snprintf(group, sizeof(group), "%u", gid);
	snprintf(who, sizeof(who), "PoolProgram %s create %s", program, id);
	rc = ask_place(argv, seconds, who, bytes, uid, ret, err);
	/* What it made of a lie, or half, is not left behind. */
	if (rc)
		(void)sn_poolprog_destroy(program, seconds, id, NULL);
	return rc;
}

int sn_poolprog_attach(const char *program, uint32_t seconds, const char *id,
		       uint64_t bytes, uint32_t uid, uint32_t gid,
		       struct sn_poolprog_place *ret, struct sn_err *err)
{
	char user[16], group[16], who[700];
	const char *argv[] = { program, "attach", id, user,
			 group, NULL };

	snprintf(user, sizeof(user), "%u", uid);
	snprintf(group, sizeof(group), "%u", gid);
	snprintf(who, sizeof(who), "PoolProgram %s attach %s", program, id);
	return ask_place(argv, seconds, who, bytes, uid, ret, err);
}

int sn_poolprog_destroy(const char *program, uint32_t seconds, const char *id,
			struct sn_err *err)
{
	const char *argv[] = { program, "destroy", id, NULL };
	char *text;
	size_t len;
	int rc = sn_program_ask(argv, seconds, SN_PROGRAM_ANSWER, &text, &len, err);

	if (rc)
		return sn_err_prefix(err, rc, "PoolProgram destroy %s: ", id);
	free(text);
	return 0;
}

int sn_poolprog_usage(const char *program, uint32_t seconds, const char *id,
		      struct sn_poolprog_usage *ret, struct sn_err *err)
{
	const char *argv[] = { program, "usage", id, NULL };
	char who[700], *text;
	size_t len;
	int rc = sn_program_ask(argv, seconds, SN_PROGRAM_ANSWER, &text, &len, err);

	if (rc)
		return sn_err_prefix(err, rc, "PoolProgram usage %s: ", id);
	snprintf(who, sizeof(who), "PoolProgram %s usage %s", program, id);
	rc = sn_poolprog_parse_usage(text, len, who, ret, err);
	free(text);
	return rc;
}
