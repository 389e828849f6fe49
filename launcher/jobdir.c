/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobdir.c - where a job's files go.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "launcher/jobdir.h"

static bool climbs(const char *path)
{
	const char *p;

	for (p = path; (p = strstr(p, "..")); p += 2)
		if ((p == path || p[-1] == '/') && (!p[2] || p[2] == '/'))
			return true;
	return false;
}

int sn_jobdir_expand(const char *pattern, uint32_t job, const char *user,
		     const char *home, char *buf, size_t size,
		     struct sn_err *err)
{
	const char *p, *word;
	char number[16];
	size_t n = 0;

	for (p = pattern; *p; p++) {
		char one[2] = { *p, '\0' };

		word = one;
		if (*p == '%') {
			p++;
			snprintf(number, sizeof(number), "%u", job);
			word = *p == 'j' ? number : *p == 'u' ? user :
				*p == 'h' ? home : *p == '%' ? "%" : NULL;
			if (!word && *p && strchr("uh", *p))
				return sn_err_set(err, -EINVAL,
						  "JobDir=%s: the user's %s is not known",
						  pattern, *p == 'u' ? "name" : "home directory");
			if (!word)
				return sn_err_set(err, -EINVAL,
						  "JobDir=%s: after %% want j (the job), u (user), h (home directory) or %%",
						  pattern);
		}
		if (n + strlen(word) >= size)
			return sn_err_set(err, -ENAMETOOLONG,
					  "JobDir=%s: the path has over %zu characters",
					  pattern, size - 1);
		memcpy(buf + n, word, strlen(word));
		n += strlen(word);
	}
	buf[n] = '\0';
	if (*buf != '/' || climbs(buf))
		return sn_err_set(err, -EINVAL,
				  "JobDir=%s: \"%s\" is not an absolute path without \"..\"",
				  pattern, buf);
	return 0;
}
