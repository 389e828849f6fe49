/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layoutbed.h - layouts from text, and refusals.
 */
#ifndef SN_TESTS_LAYOUTBED_H
#define SN_TESTS_LAYOUTBED_H

#include "topology/layout.h"

static inline struct sn_layout parse(const char *spec, uint32_t cards)
{
	struct sn_layout l;
	struct sn_err err;

	if (sn_layout_parse(spec, cards, &l, &err))
		fail_msg("%s: %s", spec, err.text);
	return l;
}

/* Refused, with every one of the texts (NULL-terminated) in the sentence. */
static inline void refused(const char *spec, uint32_t cards, ...)
{
	struct sn_layout l;
	struct sn_err err;
	const char *want;
	va_list ap;

	memset(&l, 0x5a, sizeof(l));
	err.text[0] = '\0';
	if (sn_layout_parse(spec, cards, &l, &err) != -EINVAL)
		fail_msg("\"%s\" is not refused", spec);
	assert_int_equal(sn_layout_parse(spec, cards, &l, NULL), -EINVAL);
	assert_int_equal(*(unsigned char *)&l, 0x5a);
	va_start(ap, cards);
	while ((want = va_arg(ap, const char *)))
		if (!strstr(err.text, want))
			fail_msg("\"%s\": \"%s\" lacks \"%s\"", spec, err.text,
				 want);
	va_end(ap);
}

#define REFUSED(spec, cards, ...) refused(spec, cards, __VA_ARGS__, NULL)

#endif
