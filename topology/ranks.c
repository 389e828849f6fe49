/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ranks.c - lists of ranks as text; see records.h.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "topology/records.h"

static int number(const char **p, uint32_t *ret)
{
	uint64_t v = 0;

	if (!isdigit((unsigned char)**p))
		return -EINVAL;
	for (; isdigit((unsigned char)**p); (*p)++) {
		v = v * 10 + (uint64_t)(**p - '0');
		if (v >= SN_REC_NONE)
			return -EINVAL;
	}
	*ret = (uint32_t)v;
	return 0;
}

static int bad(const char *text, struct sn_err *err)
{
	char shown[64];

	return sn_err_set(err, -EINVAL,
			  "\"%s\" is no list of ranks; want numbers and runs, such as 0-7 or 0-504:8,3",
			  sn_text_clip(text, shown, sizeof(shown)));
}

int sn_ranks_parse(const char *text, uint32_t max, uint32_t **ret,
		   uint32_t *ret_n, struct sn_err *err)
{
	const char *p = text;

	while (*p) {
		uint32_t first, last, step = 1, n, *grown;

		if (number(&p, &first))
			return bad(text, err);
		last = first;
		if (*p == '-') {
			p++;
			if (number(&p, &last) || last < first)
				return bad(text, err);
			if (*p == ':') {
				p++;
				if (number(&p, &step) || !step)
					return bad(text, err);
			}
		}
		if (*p == ',' && p[1])
			p++;
		else if (*p)
			return bad(text, err);
		n = (last - first) / step + 1;
		if (n > max || *ret_n > max - n)
			return sn_err_set(err, -EINVAL,
					  "a list of more than %u ranks", max);
		grown = realloc(*ret, ((size_t)*ret_n + n) * sizeof(**ret));
		if (!grown)
			return sn_err_set(err, -ENOMEM, "no memory for %u ranks",
					  *ret_n + n);
		*ret = grown;
		for (uint32_t i = 0; i < n; i++)
			grown[(*ret_n)++] = first + i * step;
	}
	return 0;
}

void sn_ranks_format(const uint32_t *rank, uint32_t n, struct sn_buf *buf)
{
	for (uint32_t i = 0; i < n;) {
		uint32_t k = 1, step = 0;

		if (i + 1 < n && rank[i + 1] > rank[i]) {
			step = rank[i + 1] - rank[i];
			while (i + k < n && rank[i + k] > rank[i + k - 1] &&
			       rank[i + k] - rank[i + k - 1] == step)
				k++;
		}
		if (k < 3) {
			sn_buf_add(buf, i ? ",%u" : "%u", rank[i]);
			i++;
			continue;
		}
		sn_buf_add(buf, i ? ",%u-%u" : "%u-%u", rank[i], rank[i + k - 1]);
		if (step > 1)
			sn_buf_add(buf, ":%u", step);
		i += k;
	}
}
