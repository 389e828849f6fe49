/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * readfile.c - whole files into memory, and a topology from its file.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snctl/confpath.h"
#include "snctl/readfile.h"
#include "topology/text.h"

static int read_fd(int fd, const char *path, char **ret_text, size_t *ret_len,
		   struct sn_err *err)
{
	struct stat st;
	char *text;
	size_t len = 0;

	if (fstat(fd, &st))
		return sn_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return sn_err_set(err, -EISDIR, "%s: is a directory, not a file",
				  path);
	if (!S_ISREG(st.st_mode))
		return sn_err_set(err, -EINVAL, "%s: is not a regular file", path);
	if (st.st_size > SNCTL_FILE_MAX)
		return sn_err_set(err, -EFBIG,
				  "%s: has %lld bytes, more than the %u that are read",
				  path, (long long)st.st_size, SNCTL_FILE_MAX);
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return sn_err_set(err, -ENOMEM, "%s: no memory for %lld bytes",
				  path, (long long)st.st_size);
	while (len < (size_t)st.st_size) {
		ssize_t n = read(fd, text + len, (size_t)st.st_size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int code = -errno;

			free(text);
			return sn_err_set(err, code, "%s: %s", path,
					  strerror(-code));
		}
		if (!n) /* it shrank meanwhile */
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	*ret_text = text;
	*ret_len = len;
	return 0;
}

int snctl_read_file(const char *path, char **ret_text, size_t *ret_len,
		    struct sn_err *err)
{
	/* O_NONBLOCK: a FIFO must be refused, not waited for. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return sn_err_set(err, -errno, "%s: %s", path, strerror(errno));
	rc = read_fd(fd, path, ret_text, ret_len, err);
	close(fd);
	return rc;
}

int snctl_read_include(void *ctx, const char *path, const char *from,
		       char **ret_text, size_t *ret_len, struct sn_err *err)
{
	const char *file = ctx;
	const char *slash = strrchr(file, '/');
	struct sn_buf full = { 0 };
	int rc;

	(void)from;
	if (path[0] == '/' || !slash)
		return snctl_read_file(path, ret_text, ret_len, err);
	sn_buf_add(&full, "%.*s/%s", (int)(slash - file), file, path);
	if (full.failed)
		return sn_err_set(err, -ENOMEM, "no memory");
	rc = snctl_read_file(full.text, ret_text, ret_len, err);
	sn_buf_done(&full);
	return rc;
}

int snctl_read_topology(const char *path, struct sn_topo **ret,
			struct sn_err *err)
{
	char *text;
	size_t len;
	int rc;

	rc = snctl_read_file(path, &text, &len, err);
	if (rc)
		return rc;
	rc = sn_topo_parse(text, len, path, snctl_read_include, (void *)path, ret, err);
	free(text);
	return rc;
}

int snctl_read_policy(const char *path, struct sn_policy *ret,
		      struct sn_err *err)
{
	char *file = snctl_sibling(path, "supernode.conf"), *text;
	size_t len;
	int rc = 0;

	sn_policy_init(ret);
	if (!file)
		return sn_err_set(err, -ENOMEM, "no memory");
	if (!access(file, F_OK)) {
		rc = snctl_read_file(file, &text, &len, err);
		if (!rc) {
			rc = sn_policy_parse(text, len, file, ret, err);
			free(text);
		}
	}
	free(file);
	return rc;
}
