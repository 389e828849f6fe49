/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * binds.c - what of a job must be seen inside a container.
 */
#include "config.h"

#include <string.h>

#include "launcher/binds.h"
#include "topology/text.h"

const char *const sn_binds_ascend[] = {
	"/usr/local/Ascend/driver", "/usr/local/dcmi", "/usr/local/bin/npu-smi",
	"/etc/ascend_install.info", NULL,
};

bool sn_bind_usable(const char *path)
{
	if (*path != '/')
		return false;
	for (; *path; path++)
		if ((unsigned char)*path <= ' ' || *path == 0x7f ||
		    strchr(",:\"'\\", *path))
			return false;
	return true;
}

/* An entry may say more than the path: "/a:/b:ro". */
static bool has(const char *list, char separator, const char *path)
{
	size_t len = strlen(path);

	while (list && *list) {
		if (!strncmp(list, path, len) &&
		    (!list[len] || list[len] == separator || list[len] == ':'))
			return true;
		list = strchr(list, separator);
		if (list)
			list++;
	}
	return false;
}

char *sn_binds_join(const char *list, char separator, const char *const *path,
		    size_t n, const char **ret_left)
{
	struct sn_buf buf = { 0 };

	if (ret_left)
		*ret_left = NULL;
	sn_buf_add(&buf, "%s", list ? list : "");
	for (size_t i = 0; i < n; i++) {
		if (!path[i] || !*path[i])
			continue;
		if (!sn_bind_usable(path[i])) {
			if (ret_left && !*ret_left)
				*ret_left = path[i];
			continue;
		}
		if (has(buf.text, separator, path[i]))
			continue;
		if (buf.len)
			sn_buf_add(&buf, "%c", separator);
		sn_buf_add(&buf, "%s", path[i]);
	}
	return buf.text;
}
