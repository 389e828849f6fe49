/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topobed.h - topology.conf from text.
 */
#ifndef SN_TESTS_TOPOBED_H
#define SN_TESTS_TOPOBED_H

#include "topology/text.h"
#include "topology/topo.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* Files by name, for Include. */
struct file { const char *name, *text; };

static inline int read_file(void *ctx, const char *path, const char *from,
		     char **ret_text, size_t *ret_len, struct sn_err *err)
{
	const struct file *f;

	(void)from;
	for (f = ctx; f->name; f++) {
		if (strcmp(f->name, path) == 0) {
			*ret_text = strdup(f->text);
			*ret_len = strlen(f->text);
			return 0;
		}
	}
	return sn_err_set(err, -ENOENT, "no such file");
}

static inline struct sn_topo *parsed_with(const char *text, const struct file *files)
{
	struct sn_topo *topo;
	struct sn_err err;

	if (sn_topo_parse(text, strlen(text), "t.conf", files ? read_file : NULL,
			  (void *)files, &topo, &err))
		fail_msg("%s", err.text);
	return topo;
}

static inline struct sn_topo *parsed(const char *text)
{
	return parsed_with(text, NULL);
}

/* Refused with a sentence that holds both texts. */
struct bad { const char *text, *says, *too; };

static inline void refused(const struct bad *bad, size_t n, const struct file *files)
{
	struct sn_topo *topo = (struct sn_topo *)bad;
	struct sn_err err;
	size_t i;
	int rc;

	for (i = 0; i < n; i++) {
		err.text[0] = '\0';
		rc = sn_topo_parse(bad[i].text, strlen(bad[i].text), "t.conf",
				   files ? read_file : NULL, (void *)files, &topo, &err);
		if (rc >= 0 || rc == -ENOMEM || topo != (struct sn_topo *)bad)
			fail_msg("not refused: %s", bad[i].text);
		if (!strstr(err.text, bad[i].says) ||
		    (bad[i].too && !strstr(err.text, bad[i].too)))
			fail_msg("%s: \"%s\" does not say \"%s\" and \"%s\"", bad[i].text,
				 err.text, bad[i].says, bad[i].too ? bad[i].too : "");
		if (strchr(err.text, '\n'))
			fail_msg("not one line: %s", err.text);
		/* No one is obliged to listen. */
		assert_int_equal(sn_topo_parse(bad[i].text, strlen(bad[i].text), "t.conf",
				 files ? read_file : NULL, (void *)files, &topo, NULL), rc);
	}
}

#endif
