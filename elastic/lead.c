/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lead.c - who is in charge.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "elastic/lead.h"
#include "launcher/writefile.h"
#include "snctl/jsonread.h"

void sn_lead_init(struct sn_lead *lead, const char *dir, const char *host)
{
	unsigned char salt[8] = { 0 };
	size_t n;

	memset(lead, 0, sizeof(*lead));
	lead->fd = -1;
	snprintf(lead->dir, sizeof(lead->dir), "%s", dir);
	snprintf(lead->host, sizeof(lead->host), "%s", host);
	if (getrandom(salt, sizeof(salt), GRND_NONBLOCK) < 0)
		memcpy(salt, &(time_t){ time(NULL) }, sizeof(salt));
	n = (size_t)snprintf(lead->id, sizeof(lead->id), "%.40s-%d-", host, (int)getpid());
	for (size_t i = 0; i < sizeof(salt) && n + 3 < sizeof(lead->id); i++)
		n += (size_t)snprintf(lead->id + n, sizeof(lead->id) - n, "%02x", salt[i]);
}

static struct json_object *read_file(const struct sn_lead *lead, int *ret_rc,
				     struct sn_err *err)
{
	struct json_object *o = NULL;
	char *text;
	size_t len;

	*ret_rc = sn_read_file(lead->dir, SN_LEAD_FILE, 65536, &text, &len, err);
	if (*ret_rc)
		return NULL;
	*ret_rc = snctl_json_parse(text, len, SN_LEAD_FILE, &o, err);
	free(text);
	return o;
}

static const char *word(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	return o && json_object_object_get_ex(o, key, &v) &&
		json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
}

static int write_file(struct sn_lead *lead, struct sn_err *err)
{
	struct json_object *o = json_object_new_object();
	const char *text;
	int rc;

	if (!o)
		return sn_err_set(err, -ENOMEM, "no memory");
	json_object_object_add(o, "id", json_object_new_string(lead->id));
	json_object_object_add(o, "host", json_object_new_string(lead->host));
	json_object_object_add(o, "pid", json_object_new_int(getpid()));
	json_object_object_add(o, "term", json_object_new_int64((int64_t)lead->term));
	json_object_object_add(o, "since", json_object_new_int64(time(NULL)));
	text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
	rc = text ? sn_write_file(lead->dir, SN_LEAD_FILE, text, strlen(text), err) :
		sn_err_set(err, -ENOMEM, "no memory");
	json_object_put(o);
	return rc;
}

static int lock(const struct sn_lead *lead, int dir_fd, int *ret_fd, struct sn_err *err)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = openat(dir_fd, SN_LEAD_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int code;

	if (fd < 0)
		return sn_err_set(err, -errno, "%s/" SN_LEAD_LOCK ": %s", lead->dir, strerror(errno));
	if (!fcntl(fd, F_OFD_SETLK, &fl)) {
		*ret_fd = fd;
		return 0;
	}
	code = errno;
	close(fd);
	if (code == EAGAIN || code == EACCES)
		return -EBUSY;
	return sn_err_set(err, -code,
			  "%s: its file system gives no locks (%s); ElasticdStateDir must be on one that does",
			  lead->dir, strerror(code));
}

int sn_lead_take(struct sn_lead *lead, struct sn_err *err)
{
	struct json_object *o, *v = NULL;
	int dir_fd, rc, fd = -1;

	rc = sn_dir_make(lead->dir, &dir_fd, err);
	if (rc)
		return rc;
	rc = lock(lead, dir_fd, &fd, err);
	close(dir_fd);
	if (rc && rc != -EBUSY)
		return rc;
	if (rc == -EBUSY) {
		o = read_file(lead, &(int){ 0 }, NULL);
		sn_err_set(err, -EBUSY, "snelasticd on %s is in charge",
			   *word(o, "host") ? word(o, "host") : "another host");
		json_object_put(o);
		return -EBUSY;
	}
	o = read_file(lead, &rc, NULL);
	if (o && json_object_object_get_ex(o, "term", &v))
		lead->term = (uint64_t)json_object_get_int64(v);
	json_object_put(o);
	lead->term++;
	lead->fd = fd;
	rc = write_file(lead, err);
	if (rc)
		sn_lead_give(lead);
	return rc;
}

/* The file that is locked must still be the one that the next would lock. */
static int check_lock(const struct sn_lead *lead, struct sn_err *err)
{
	char path[sizeof(lead->dir) + 16];
	struct stat mine, there;

	snprintf(path, sizeof(path), "%s/" SN_LEAD_LOCK, lead->dir);
	if (stat(path, &there))
		return errno == ENOENT ?
			sn_err_set(err, -ESTALE, "%s is gone", path) :
			sn_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (fstat(lead->fd, &mine) || mine.st_ino != there.st_ino || mine.st_dev != there.st_dev)
		return sn_err_set(err, -ESTALE, "%s is another file than the one that is locked", path);
	return 0;
}

int sn_lead_check(const struct sn_lead *lead, struct sn_err *err)
{
	struct json_object *o;
	int rc;

	if (lead->fd < 0)
		return sn_err_set(err, -ESTALE, "not in charge");
	rc = check_lock(lead, err);
	if (rc)
		return rc;
	o = read_file(lead, &rc, err);
	if (rc == -ENOENT || rc == -EINVAL)
		rc = sn_err_set(err, -ESTALE, "%s/" SN_LEAD_FILE " is gone or damaged", lead->dir);
	else if (!rc && strcmp(word(o, "id"), lead->id))
		rc = sn_err_set(err, -ESTALE, "snelasticd on %.80s has taken over", word(o, "host"));
	json_object_put(o);
	return rc;
}

void sn_lead_give(struct sn_lead *lead)
{
	if (lead->fd >= 0)
		close(lead->fd);
	lead->fd = -1;
}
