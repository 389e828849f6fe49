/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * writefile.c - files in a directory of the user's own, each there whole or not
 * at all.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/writeat.h"
#include "launcher/writefile.h"

static int say(struct sn_err *err, int code, const char *dir, const char *name)
{
	const char *slash = name ? "/" : "", *what = "cannot be written";

	if (!name)
		name = "";
	switch (code) {
	case -ENOSPC:
	case -EDQUOT:
		return sn_err_set(err, code,
				  "%s%s%s: %s; make room there, or name another place by SUPERNODE_JOB_DIR",
				  dir, slash, name, code == -ENOSPC ?
				  "the file system is full" :
				  "your disk quota is used up");
	case -EROFS:
		return sn_err_set(err, code,
				  "%s%s%s: the file system is read-only; name another place by SUPERNODE_JOB_DIR",
				  dir, slash, name);
	default:
		return sn_err_set(err, code, "%s%s%s: %s: %s", dir, slash, name,
				  what, strerror(-code));
	}
}

/* Somebody else's directory may change under our hands. */
static int check_own(int fd, const char *dir, struct sn_err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return say(err, -errno, dir, NULL);
	if (!S_ISDIR(st.st_mode))
		return sn_err_set(err, -ENOTDIR, "%s: not a directory", dir);
	if (st.st_uid != geteuid())
		return sn_err_set(err, -EPERM,
				  "%s: belongs to user %u and not to you (user %u); name another place by SUPERNODE_JOB_DIR",
				  dir, st.st_uid, geteuid());
	/* Who may read is the user's affair, as it may be a place of his own
	 * choice; who may write is not. */
	if (st.st_mode & 022)
		return sn_err_set(err, -EPERM,
				  "%s: others may write to it (mode %04o): chmod go-w it, or name another place by SUPERNODE_JOB_DIR",
				  dir, st.st_mode & 07777);
	return 0;
}

int sn_dir_open(const char *dir, int *ret_fd, struct sn_err *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc;

	if (fd < 0) {
		rc = -errno;
		if (rc == -ELOOP || rc == -ENOTDIR)
			return sn_err_set(err, rc,
					  "%s: is a symbolic link or not a directory; it must be a directory of your own",
					  dir);
		return sn_err_set(err, rc, "%s: cannot be opened: %s", dir,
				  strerror(-rc));
	}
	rc = check_own(fd, dir, err);
	if (rc)
		close(fd);
	else
		*ret_fd = fd;
	return rc;
}

static int make_parents(char *path, const char *dir, struct sn_err *err)
{
	for (char *slash = strchr(path + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0700) && errno != EEXIST &&
		    access(path, F_OK))
			return say(err, -errno, dir, NULL);
		*slash = '/';
	}
	return 0;
}

int sn_dir_make(const char *dir, int *ret_fd, struct sn_err *err)
{
	size_t len = strlen(dir);
	char *path;
	int rc = 0;

	if (dir[0] != '/')
		return sn_err_set(err, -EINVAL,
				  "%s: the job's directory must be a path that begins with \"/\"",
				  dir);
	path = strdup(dir);
	if (!path)
		return sn_err_set(err, -ENOMEM, "%s: no memory", dir);
	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	if (mkdir(path, 0700) && errno != EEXIST) {
		rc = errno == ENOENT ? make_parents(path, dir, err) :
			say(err, -errno, dir, NULL);
		if (!rc && mkdir(path, 0700) && errno != EEXIST)
			rc = say(err, -errno, dir, NULL);
	}
	if (!rc)
		rc = sn_dir_open(path, ret_fd, err);
	free(path);
	return rc;
}

int sn_write_file(const char *dir, const char *name, const void *data,
		  size_t len, struct sn_err *err)
{
	const struct iovec part = { (void *)(uintptr_t)data, len };
	int dirfd, rc;

	if (!*name || strchr(name, '/'))
		return sn_err_set(err, -EINVAL, "%s: no name for a file", name);
	rc = sn_dir_open(dir, &dirfd, err);
	if (rc)
		return rc;
	rc = sn_write_at(dirfd, name, &part, 1, true);
	close(dirfd);
	return rc ? say(err, rc, dir, name) : 0;
}

int sn_read_file(const char *dir, const char *name, size_t max,
		 char **ret_text, size_t *ret_len, struct sn_err *err)
{
	int dirfd, rc;

	rc = sn_dir_open(dir, &dirfd, err);
	if (rc)
		return rc;
	rc = sn_read_at(dirfd, name, max, ret_text, ret_len);
	close(dirfd);
	if (rc == -EFBIG)
		return sn_err_set(err, -EINVAL,
				  "%s/%s: not a file of at most %zu bytes", dir,
				  name, max);
	return rc ? sn_err_set(err, rc, "%s/%s: cannot be read: %s", dir, name,
			       strerror(-rc)) : 0;
}
