/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * openmetrics.h - text of the OpenMetrics 1.0 exposition format. Pure.
 *
 * The text is a sequence of families, each with its type, unit and help before its
 * samples, and ends with "# EOF". A family's name ends in its unit; a counter's samples
 * end in _total; a histogram's buckets are cumulative and end with +Inf. What would
 * break these rules is a mistake of the program's, and asserted by the tests
 * (tests/metrics/openmetrics.py), not here; what comes from outside, the values of
 * labels, is escaped, and a number that is none is left out.
 */
#ifndef SN_ELASTIC_OPENMETRICS_H
#define SN_ELASTIC_OPENMETRICS_H

#include <stddef.h>
#include <stdint.h>

#include "topology/text.h"

#define SN_OM_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

enum sn_om_type { SN_OM_GAUGE, SN_OM_COUNTER, SN_OM_HISTOGRAM, SN_OM_INFO };

struct sn_om {
	struct sn_buf buf;
	const char *name; /* of the family at hand */
	enum sn_om_type type;
};

/* unit NULL: none. All borrowed until the next. */
void sn_om_family(struct sn_om *om, enum sn_om_type type, const char *name,
		  const char *unit, const char *help);
/* Samples of the family at hand. label NULL: without a label; else one or two, name
 * and value. */
struct sn_om_label { const char *name, *value; };
void sn_om_int(struct sn_om *om, const struct sn_om_label *label, size_t n, uint64_t value);
void sn_om_float(struct sn_om *om, const struct sn_om_label *label, size_t n, double value);
/* A histogram without labels: n bounds, n + 1 counts, not cumulative, the last of what
 * is above all. */
void sn_om_histogram(struct sn_om *om, const double *bound, const uint64_t *count,
		     size_t n, double sum);
/* The whole: yours to free; NULL: no memory. The writer is empty then. */
char *sn_om_end(struct sn_om *om, size_t *ret_len);

#endif
