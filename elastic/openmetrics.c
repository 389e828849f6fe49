/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * openmetrics.c - text of the OpenMetrics 1.0 exposition format.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "elastic/openmetrics.h"

static const char *const types[] = {
	[SN_OM_GAUGE] = "gauge", [SN_OM_COUNTER] = "counter",
	[SN_OM_HISTOGRAM] = "histogram", [SN_OM_INFO] = "info",
};

/* A label's value, or a help, which has no quotes to be escaped. */
static void add_escaped(struct sn_buf *buf, const char *text)
{
	char piece[64];
	size_t n = 0;

	for (const char *p = text; *p; p++) {
		/* What is no printable text would make the whole unreadable. */
		unsigned char c = (unsigned char)*p;

		if (*p == '\\' || *p == '"') {
			piece[n++] = '\\';
			piece[n++] = *p;
		} else if (*p == '\n') {
			piece[n++] = '\\';
			piece[n++] = 'n';
		} else {
			piece[n++] = c < 0x20 || c >= 0x7f ? '?' : *p;
		}
		if (n > sizeof(piece) - 3) {
			sn_buf_add(buf, "%.*s", (int)n, piece);
			n = 0;
		}
	}
	sn_buf_add(buf, "%.*s", (int)n, piece);
}

void sn_om_family(struct sn_om *om, enum sn_om_type type, const char *name,
		  const char *unit, const char *help)
{
	om->name = name;
	om->type = type;
	sn_buf_add(&om->buf, "# TYPE %s %s\n", name, types[type]);
	if (unit)
		sn_buf_add(&om->buf, "# UNIT %s %s\n", name, unit);
	sn_buf_add(&om->buf, "# HELP %s ", name);
	add_escaped(&om->buf, help);
	sn_buf_add(&om->buf, "\n");
}

static void begin(struct sn_om *om, const char *suffix, const struct sn_om_label *label,
		  size_t n)
{
	sn_buf_add(&om->buf, "%s%s", om->name, suffix);
	for (size_t i = 0; i < n; i++) {
		sn_buf_add(&om->buf, "%s%s=\"", i ? "," : "{", label[i].name);
		add_escaped(&om->buf, label[i].value);
		sn_buf_add(&om->buf, "\"");
	}
	sn_buf_add(&om->buf, "%s ", n ? "}" : "");
}

static const char *suffix(const struct sn_om *om)
{
	return om->type == SN_OM_COUNTER ? "_total" : om->type == SN_OM_INFO ? "_info" : "";
}

void sn_om_int(struct sn_om *om, const struct sn_om_label *label, size_t n, uint64_t value)
{
	begin(om, suffix(om), label, n);
	sn_buf_add(&om->buf, "%" PRIu64 "\n", value);
}

void sn_om_float(struct sn_om *om, const struct sn_om_label *label, size_t n, double value)
{
	if (!isfinite(value) || (om->type == SN_OM_COUNTER && value < 0))
		return;
	begin(om, suffix(om), label, n);
	/* Milliseconds of what has gone on for a century, and no exponent of the
	 * small. */
	if (fabs(value) < 1e15)
		sn_buf_add(&om->buf, "%.3f\n", value);
	else
		sn_buf_add(&om->buf, "%.17g\n", value);
}

void sn_om_histogram(struct sn_om *om, const double *bound, const uint64_t *count,
		     size_t n, double sum)
{
	uint64_t up_to = 0;

	for (size_t i = 0; i <= n; i++) {
		up_to += count[i];
		if (i < n)
			sn_buf_add(&om->buf, "%s_bucket{le=\"%.1f\"} %" PRIu64 "\n",
				   om->name, bound[i], up_to);
		else
			sn_buf_add(&om->buf, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n",
				   om->name, up_to);
	}
	sn_buf_add(&om->buf, "%s_count %" PRIu64 "\n%s_sum %.3f\n", om->name, up_to,
		   om->name, isfinite(sum) && sum > 0 ? sum : 0);
}

char *sn_om_end(struct sn_om *om, size_t *ret_len)
{
	char *text;

	sn_buf_add(&om->buf, "# EOF\n");
	text = om->buf.failed ? NULL : om->buf.text;
	*ret_len = om->buf.len;
	if (!text)
		sn_buf_done(&om->buf);
	memset(om, 0, sizeof(*om));
	return text;
}
