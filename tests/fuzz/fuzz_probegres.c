/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_probegres.c - a node's card files by a gres.conf.
 */
#include "config.h"

#include "fuzz.h"
#include "fuzzinclude.h"
#include "launcher/probe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sn_probe_device device[SN_PROBE_CARDS];
	struct fuzz_include in = fuzz_include_split(data, &size);
	uint32_t n = UINT32_MAX;
	struct sn_err err = { "" };
	bool detects;

	if (sn_probe_gres((const char *)data, size, "gres.conf", fuzz_include_read,
			  &in, "npu", "n2", device, &n, &detects, &err)) {
		fuzz_check_err(&err);
		MUST(!n);
		return 0;
	}
	MUST(n <= SN_PROBE_CARDS);
	for (uint32_t i = 0; i < n; i++) {
		const char *end = memchr(device[i].path, '\0', sizeof(device[i].path));

		MUST(end && end > device[i].path && !device[i].present);
		MUST(device[i].number < 1000000);
	}
	return 0;
}
