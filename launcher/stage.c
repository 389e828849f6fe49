/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stage.c - the files of a job directory as one stream, and back.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/planfiles.h"
#include "launcher/runstate.h"
#include "launcher/stage.h"
#include "launcher/writefile.h"

#define NAME_LEN_MAX 200
#define TOKEN_LEN_MAX 64

/* snrun's own, and what ranks write, is not the plan's. */
static bool is_ours(int dirfd, const char *name)
{
	static const char *const not[] = {
		"lock", SN_RUNSTATE_FILE, "progress", SN_STAGE_TOKEN_FILE,
	};
	struct stat st;

	for (size_t i = 0; i < sizeof(not) / sizeof(not[0]); i++)
		if (!strcmp(name, not[i]))
			return false;
	return name[0] != '.' && strlen(name) <= NAME_LEN_MAX &&
		!strchr(name, ' ') && !strchr(name, '\n') &&
		!fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) &&
		S_ISREG(st.st_mode);
}

static int append(const char *dir, const char *name, char **data, size_t *len,
		  struct sn_err *err)
{
	char *text, *grown, head[NAME_LEN_MAX + 32];
	size_t size, n;
	int rc = sn_read_file(dir, name, SN_STAGE_FILE_MAX, &text, &size, err);

	if (rc)
		return rc;
	n = (size_t)snprintf(head, sizeof(head), "%s %zu\n", name, size);
	grown = realloc(*data, *len + n + size + 1);
	if (!grown) {
		free(text);
		return sn_err_set(err, -ENOMEM, "%s/%s: no memory", dir, name);
	}
	memcpy(grown + *len, head, n);
	memcpy(grown + *len + n, text, size);
	*data = grown;
	*len += n + size;
	free(text);
	return 0;
}

int sn_stage_pack(const char *dir, char **ret, size_t *ret_len,
		  struct sn_err *err)
{
	struct dirent *entry;
	char *data = NULL;
	size_t len = 0;
	int dirfd, rc;
	DIR *d;

	rc = sn_dir_open(dir, &dirfd, err);
	if (rc)
		return rc;
	d = fdopendir(dirfd);
	if (!d) {
		close(dirfd);
		return sn_err_set(err, -ENOMEM, "%s: no memory", dir);
	}
	while (!rc && (entry = readdir(d)))
		if (strcmp(entry->d_name, SN_GENERATION) &&
		    is_ours(dirfd, entry->d_name))
			rc = append(dir, entry->d_name, &data, &len, err);
	closedir(d);
	if (!rc)
		rc = append(dir, SN_GENERATION, &data, &len, err);
	if (rc) {
		free(data);
		return rc;
	}
	*ret = data;
	*ret_len = len;
	return 0;
}

int sn_stage_unpack(const char *dir, const char *data, size_t len,
		    struct sn_err *err)
{
	const char *end = data + len;
	bool whole = false;
	int fd, rc = sn_dir_make(dir, &fd, err);

	if (!rc)
		close(fd);
	while (!rc && data < end) {
		const char *eol = memchr(data, '\n', (size_t)(end - data));
		char name[NAME_LEN_MAX + 1];
		size_t size;

		if (!eol || sscanf(data, "%200[^ \n/] %zu", name, &size) != 2 ||
		    name[0] == '.' || size > (size_t)(end - eol - 1)) {
			whole = false;
			break;
		}
		rc = sn_write_file(dir, name, eol + 1, size, err);
		data = eol + 1 + size;
		whole = !strcmp(name, SN_GENERATION);
	}
	if (!rc && !whole)
		rc = sn_err_set(err, -EINVAL,
				"%s: the files did not arrive whole", dir);
	return rc;
}

bool sn_stage_is_shared(const char *dir, const char *token)
{
	size_t len;
	char *text;
	bool is;

	if (sn_read_file(dir, SN_STAGE_TOKEN_FILE, TOKEN_LEN_MAX, &text, &len,
			 NULL))
		return false;
	is = !strcmp(text, token);
	free(text);
	return is;
}
