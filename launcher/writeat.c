/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * writeat.c - a file in a directory that is open already, there whole or not at all.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/writeat.h"

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int sn_write_at(int dir, const char *name, const struct iovec *part, int n, bool durable)
{
	char temporary[NAME_MAX + 1];
	int fd, rc = 0;

	if (!*name || strchr(name, '/') ||
	    snprintf(temporary, sizeof(temporary), ".%s.%ld", name, (long)getpid()) >=
	    (int)sizeof(temporary))
		return -EINVAL;
	/* What a killed process of our number has left. */
	unlinkat(dir, temporary, 0);
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	for (int i = 0; i < n && !rc; i++)
		rc = write_all(fd, part[i].iov_base, part[i].iov_len);
	if (!rc && durable && fsync(fd))
		rc = -errno;
	/* NFS tells of a full disk only here. */
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc && renameat(dir, temporary, dir, name))
		rc = -errno;
	if (rc)
		unlinkat(dir, temporary, 0);
	else if (durable)
		/* The name, too, is to survive; a directory that cannot be
		 * synchronised has its file nevertheless. */
		(void)fsync(dir);
	return rc;
}

static int read_all(int fd, char *text, size_t size, size_t *ret_len)
{
	*ret_len = 0;
	while (*ret_len < size) {
		ssize_t n = read(fd, text + *ret_len, size - *ret_len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		*ret_len += (size_t)n;
	}
	return 0;
}

int sn_read_at(int dir, const char *name, size_t max, char **ret, size_t *ret_len)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), rc;
	struct stat st;
	char *text = NULL;

	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st) ? -errno : !S_ISREG(st.st_mode) || (size_t)st.st_size > max ? -EFBIG : 0;
	if (!rc && !(text = malloc((size_t)st.st_size + 1)))
		rc = -ENOMEM;
	if (!rc)
		rc = read_all(fd, text, (size_t)st.st_size, ret_len);
	close(fd);
	if (rc) {
		free(text);
		return rc;
	}
	text[*ret_len] = '\0';
	*ret = text;
	return 0;
}
