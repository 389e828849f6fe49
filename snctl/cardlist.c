/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cardlist.c - cards of a node as people write them: "0-3,5".
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "snctl/cardlist.h"

#define CARDS 64

/* A number at *p, which is moved behind it; -1: none, or over 63. */
static int number(const char **p)
{
	int n = 0;

	if (**p < '0' || **p > '9')
		return -1;
	for (; **p >= '0' && **p <= '9'; ++*p) {
		n = n * 10 + (**p - '0');
		if (n >= CARDS)
			return -1;
	}
	return n;
}

int snctl_cards_parse(const char *text, uint64_t *ret, struct sn_err *err)
{
	const char *p = text;
	uint64_t cards = 0;

	while (1) {
		int first = number(&p), last = first;

		if (first >= 0 && *p == '-') {
			p++;
			last = number(&p);
		}
		if (first < 0 || last < first || (*p && *p != ','))
			return sn_err_set(err, -EINVAL,
					  "\"%.60s\" is no list of cards; want numbers from 0 to %d, such as 3 or 0-3,5",
					  text, CARDS - 1);
		for (; first <= last; first++)
			cards |= UINT64_C(1) << first;
		if (!*p)
			break;
		p++;
	}
	*ret = cards;
	return 0;
}

void snctl_cards_format(uint64_t cards, char buf[SNCTL_CARDLIST_MAX])
{
	size_t len = 0;

	snprintf(buf, SNCTL_CARDLIST_MAX, "-");
	for (int c = 0; c < CARDS; c++) {
		int last = c;

		if (!(cards >> c & 1))
			continue;
		while (last + 1 < CARDS && cards >> (last + 1) & 1)
			last++;
		len += (size_t)snprintf(buf + len, SNCTL_CARDLIST_MAX - len,
					last > c ? "%s%d-%d" : "%s%d",
					len ? "," : "", c, last);
		c = last;
	}
}

int snctl_cards_split(const char *text, size_t *ret_colon, uint64_t *ret,
		      struct sn_err *err)
{
	const char *colon = strrchr(text, ':');

	if (!colon || colon == text || !colon[1])
		return sn_err_set(err, -EINVAL,
				  "\"%.80s\": want NODE:CARDS, such as n001:3 or n[001-004]:0-3,5",
				  text);
	*ret_colon = (size_t)(colon - text);
	return snctl_cards_parse(colon + 1, ret, err);
}
