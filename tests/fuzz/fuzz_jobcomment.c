/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_jobcomment.c - an admin_comment: what a site, too, may have written there.
 */
#include "config.h"

#include <errno.h>

#include "fuzz.h"
#include "topology/jobcomment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *nodes = NULL, *mark;
	struct sn_jobspec spec, again;
	struct sn_err err = { "" };
	int rc;

	mark = strstr(text, SN_JOBCOMMENT_MARK);
	rc = sn_jobcomment_read(text, 8, &spec, &err);
	MUST((rc == -ENOENT) == !mark);
	if (rc) {
		fuzz_check_err(&err);
	} else {
		MUST(memchr(spec.service, '\0', SN_NAME_MAX));
		MUST(memchr(spec.pool.name, '\0', SN_NAME_MAX));
		MUST(!spec.has_elastic || spec.has_parallel);
		/* What the site wrote before it is none of ours. */
		memset(&again, 0, sizeof(again));
		MUST(!sn_jobcomment_read(mark, 8, &again, NULL));
		MUST(again.has_parallel == spec.has_parallel);
		MUST(again.pool.per == spec.pool.per && again.pool.size == spec.pool.size);
		MUST(again.spares == spec.spares);
	}
	rc = sn_jobcomment_nodes(text, &nodes, &err);
	if (rc) {
		fuzz_check_err(&err);
		MUST(rc == -ENOENT && !nodes);
	} else {
		MUST(mark && !nodes[strcspn(nodes, "; \t\n")]);
		MUST(strstr(mark, SN_JOBCOMMENT_NODES));
	}
	free(nodes);
	MUST(!sn_jobcomment_poolmem(text) || (mark && strstr(mark, SN_JOBCOMMENT_POOLMEM)));
	free(text);
	return 0;
}
