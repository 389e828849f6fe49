/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_jobspec.c - the options of a job, one a line: parallel, pool, spares,
 * elastic, role, service.
 */
#include "config.h"

#include "fuzz.h"
#include "topology/jobspec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *rest = text;
	struct sn_jobspec_text t = { .parallel = NULL };
	const char **field[] = {
		&t.parallel, &t.pool, &t.spares, &t.elastic, &t.role, &t.service,
	};
	struct sn_jobspec spec;
	struct sn_err err = { "" };
	size_t i;

	for (i = 0; i < 6 && rest; i++)
		*field[i] = strsep(&rest, "\n");
	if (sn_jobspec_parse(&t, 8, &spec, &err)) {
		fuzz_check_err(&err);
	} else {
		MUST(spec.has_parallel == (t.parallel && *t.parallel));
		MUST(spec.has_elastic == (t.elastic && *t.elastic));
		MUST(memchr(spec.service, '\0', SN_NAME_MAX));
		MUST(memchr(spec.pool.name, '\0', SN_NAME_MAX));
		MUST((spec.pool.per == SN_POOL_NONE) == !(t.pool && *t.pool));
		if (spec.has_elastic) {
			MUST(spec.has_parallel);
			MUST(spec.elastic.min_dp >= 1);
			MUST(spec.elastic.min_dp <= spec.layout.dp);
			MUST(spec.elastic.max_dp >= spec.layout.dp);
		}
	}
	free(text);
	return 0;
}
