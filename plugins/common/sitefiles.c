/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sitefiles.c - the files beside slurm.conf.
 */
#include "plugins/compat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/common/read_config.h"
#include "src/common/run_in_daemon.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "src/slurmd/slurmd/slurmd.h"

#include "plugins/common/sitefiles.h"

/* Only slurmd and slurmstepd have it. */
#pragma weak conf

#define TOPOLOGY_CONF "topology.conf"

static int read_all(int fd, const char *name, char **ret_text, size_t *ret_len,
		    struct sn_err *err)
{
	size_t len = 0, size = 0;
	char *text = NULL;

	for (;;) {
		ssize_t n;

		if (len + 1 >= size) {
			size_t more = size ? size * 2 : 1u << 16;
			char *grown = more > SN_SITE_FILE_MAX ? NULL :
				realloc(text, more);

			if (!grown) {
				free(text);
				return more > SN_SITE_FILE_MAX ?
					sn_err_set(err, -EFBIG,
						   "%s: over %u MB; no cluster has so long a description",
						   name, SN_SITE_FILE_MAX >> 20) :
					sn_err_set(err, -ENOMEM, "%s: out of memory", name);
			}
			text = grown;
			size = more;
		}
		n = read(fd, text + len, size - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int rc = -errno;

			free(text);
			return sn_err_set(err, rc, "%s: cannot be read: %s", name,
					  strerror(-rc));
		}
		if (!n)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	*ret_text = text;
	*ret_len = len;
	return 0;
}

static int read_path(const char *path, const char *name, char **ret_text,
		     size_t *ret_len, struct sn_err *err)
{
	struct stat st;
	int fd, rc;

	/* O_NONBLOCK: a fifo in the place of a file must not stop slurmctld. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		rc = -errno;
		return sn_err_set(err, rc, "%s: cannot be opened: %s", name,
				  strerror(-rc));
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		rc = sn_err_set(err, -EINVAL, "%s: not a regular file", name);
	else
		rc = read_all(fd, name, ret_text, ret_len, err);
	close(fd);
	return rc;
}

char *sn_site_path(const char *name)
{
	char *path = get_extra_conf_path((char *)name);
	char *ret = path ? strdup(path) : NULL;

	xfree(path);
	return ret;
}

int sn_site_read(const char *name, char **ret_text, size_t *ret_len,
		 struct sn_err *err)
{
	char *path = get_extra_conf_path((char *)name);
	int rc = read_path(path, name, ret_text, ret_len, err);

	xfree(path);
	return rc;
}

/* You now own text through files. */
static int keep(struct sn_site_files *files, const char *path, char *text,
		size_t len)
{
	struct sn_site_file *grown;
	char *name = strdup(path);

	grown = realloc(files->file, (files->n + 1) * sizeof(*grown));
	if (grown)
		files->file = grown;
	if (!grown || !name) {
		free(name);
		return -ENOMEM;
	}
	files->file[files->n++] = (struct sn_site_file){ name, text, len };
	return 0;
}

static int copy_text(const struct sn_site_file *file, char **ret_text,
		     size_t *ret_len)
{
	char *text = malloc(file->len + 1);

	if (!text)
		return -ENOMEM;
	memcpy(text, file->text, file->len + 1);
	*ret_text = text;
	*ret_len = file->len;
	return 0;
}

static int read_include(void *ctx, const char *path, const char *from,
			char **ret_text, size_t *ret_len, struct sn_err *err)
{
	struct sn_site_files *files = ctx;
	char *text;
	size_t len;
	int rc;

	(void)from;
	rc = sn_site_read(path, &text, &len, err);
	if (rc)
		return rc;
	rc = keep(files, path, text, len);
	if (rc) {
		free(text);
		return sn_err_set(err, rc, "%s: out of memory", path);
	}
	return copy_text(&files->file[files->n - 1], ret_text, ret_len);
}

static int reread_include(void *ctx, const char *path, const char *from,
			  char **ret_text, size_t *ret_len, struct sn_err *err)
{
	const struct sn_site_files *files = ctx;
	size_t n;

	(void)from;
	for (n = 1; n < files->n; n++)
		if (!strcmp(files->file[n].path, path))
			return copy_text(&files->file[n], ret_text, ret_len);
	return sn_err_set(err, -ENOENT, "%s: was not kept", path);
}

int sn_site_topology(struct sn_topo **ret, struct sn_site_files *files,
		     struct sn_err *err)
{
	struct sn_site_files read = { NULL, 0 };
	char *text;
	size_t len;
	int rc;

	rc = sn_site_read(TOPOLOGY_CONF, &text, &len, err);
	if (rc)
		return rc;
	rc = keep(&read, TOPOLOGY_CONF, text, len);
	if (rc) {
		free(text);
		sn_site_files_done(&read);
		return sn_err_set(err, rc, TOPOLOGY_CONF ": out of memory");
	}
	rc = sn_topo_parse(text, len, TOPOLOGY_CONF, read_include, &read, ret,
			   err);
	if (!rc && files)
		*files = read;
	else
		sn_site_files_done(&read);
	return rc;
}

int sn_site_topology_again(const struct sn_site_files *files,
			   struct sn_topo **ret, struct sn_err *err)
{
	if (!files->n)
		return sn_err_set(err, -ENOENT, TOPOLOGY_CONF ": never read");
	return sn_topo_parse(files->file[0].text, files->file[0].len,
			     files->file[0].path, reread_include,
			     (void *)files, ret, err);
}

void sn_site_files_done(struct sn_site_files *files)
{
	size_t n;

	for (n = 0; n < files->n; n++) {
		free(files->file[n].path);
		free(files->file[n].text);
	}
	free(files->file);
	files->file = NULL;
	files->n = 0;
}

/* One header line a file, "LEN PATH\n", then its bytes and a newline. */
int sn_site_files_save(const struct sn_site_files *files, const char *path,
		       struct sn_err *err)
{
	char *tmp = NULL;
	FILE *f = NULL;
	size_t n;
	int fd, rc = 0;

	if (asprintf(&tmp, "%s.new", path) < 0)
		return sn_err_set(err, -ENOMEM, "%s: out of memory", path);
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0)
		f = fdopen(fd, "w");
	if (!f) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		goto out;
	}
	for (n = 0; n < files->n; n++) {
		fprintf(f, "%zu %s\n", files->file[n].len, files->file[n].path);
		fwrite(files->file[n].text, 1, files->file[n].len, f);
		fputc('\n', f);
	}
	errno = 0;
	if (fflush(f) || ferror(f) || fsync(fd))
		rc = errno ? -errno : -EIO;
	if (fclose(f) && !rc)
		rc = -errno;
	if (!rc && rename(tmp, path))
		rc = -errno;
	if (rc)
		unlink(tmp);
out:
	if (rc)
		sn_err_set(err, rc, "%s: cannot be written: %s", path,
			   strerror(-rc));
	free(tmp);
	return rc;
}

/* Take one file off p; returns where the next begins, NULL where none does. */
static const char *take(const char *p, const char *end,
			struct sn_site_files *ret)
{
	const char *eol = memchr(p, '\n', (size_t)(end - p));
	char *blank, *path, *text;
	unsigned long len;

	if (!eol)
		return NULL;
	len = strtoul(p, &blank, 10);
	if (blank == p || *blank != ' ' || len >= (size_t)(end - eol - 1))
		return NULL;
	path = strndup(blank + 1, (size_t)(eol - blank - 1));
	text = malloc(len + 1);
	if (text) {
		memcpy(text, eol + 1, len);
		text[len] = '\0';
	}
	if (!path || !text || keep(ret, path, text, len)) {
		free(text);
		free(path);
		return NULL;
	}
	free(path);
	return eol + 1 + len + 1;
}

int sn_site_files_load(const char *path, struct sn_site_files *ret,
		       struct sn_err *err)
{
	struct sn_site_files files = { NULL, 0 };
	const char *p, *end;
	char *text;
	size_t len;
	int rc;

	rc = read_path(path, path, &text, &len, err);
	if (rc)
		return rc;
	for (p = text, end = text + len; p && p < end;)
		p = take(p, end, &files);
	free(text);
	if (!p || !files.n) {
		sn_site_files_done(&files);
		return sn_err_set(err, -EINVAL, "%s: damaged", path);
	}
	*ret = files;
	return 0;
}

char *sn_site_state_path(void)
{
	const char *dir = NULL;
	char *path = NULL;

	if (running_in_slurmctld())
		dir = slurm_conf.state_save_location;
	else if ((running_in_slurmd() || running_in_slurmstepd()) && &conf && conf)
		dir = conf->spooldir;
	if (dir && asprintf(&path, "%s/topology_supernode", dir) < 0)
		path = NULL;
	return path;
}

int sn_site_topology_in_effect(struct sn_topo **ret, struct sn_err *err)
{
	struct sn_site_files files = { NULL, 0 };
	char *path = sn_site_state_path();
	int rc = -ENOENT;

	if (path && !sn_site_files_load(path, &files, NULL))
		rc = sn_site_topology_again(&files, ret, NULL);
	sn_site_files_done(&files);
	free(path);
	return rc ? sn_site_topology(ret, NULL, err) : 0;
}

int sn_site_policy(struct sn_policy *ret, struct sn_err *err)
{
	char *text;
	size_t len;
	int rc;

	sn_policy_init(ret);
	rc = sn_site_read("supernode.conf", &text, &len, err);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	rc = sn_policy_parse(text, len, "supernode.conf", ret, err);
	free(text);
	return rc;
}

bool sn_site_selects_supernode(void)
{
	return !xstrcasecmp(slurm_conf.select_type, "select/supernode") ||
		!xstrcasecmp(slurm_conf.select_type, "select/cons_tres_supernode");
}

bool sn_site_fills_by_topology(void)
{
#if SN_SLURM_AT_LEAST(26, 5)
	return !xstrcasecmp(slurm_conf.topology_plugin, "topology/supernode") &&
		!(slurm_conf.select_type_param & SELECT_NO_DIST_TOPO_BLOCK);
#else
	return false;
#endif
}
