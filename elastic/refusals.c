/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * refusals.c - how often what was refused is told in the history.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "elastic/refusals.h"

bool sn_refusals_add(struct sn_refusals *r, const char *source, int64_t now)
{
	int place = SN_REFUSALS_MAX;

	for (int i = 0; i < SN_REFUSALS_MAX; i++) {
		if (!strncmp(r->entry[i].source, source, sizeof(r->entry[i].source) - 1)) {
			place = i;
			break;
		}
		if (!*r->entry[i].source && place == SN_REFUSALS_MAX)
			place = i;
	}
	if (*r->entry[place].source) {
		r->entry[place].more += r->entry[place].more < UINT32_MAX;
		return false;
	}
	snprintf(r->entry[place].source, sizeof(r->entry[place].source), "%s",
		 place == SN_REFUSALS_MAX ? SN_REFUSALS_OTHERS : source);
	r->entry[place].told = now;
	r->entry[place].more = 0;
	return true;
}

bool sn_refusals_due(struct sn_refusals *r, int64_t now, char ret_source[64],
		     uint32_t *ret_more)
{
	for (int i = 0; i <= SN_REFUSALS_MAX; i++) {
		if (!*r->entry[i].source || now - r->entry[i].told < SN_REFUSALS_MS)
			continue;
		if (!r->entry[i].more) {
			r->entry[i].source[0] = '\0';
			continue;
		}
		memcpy(ret_source, r->entry[i].source, sizeof(r->entry[i].source));
		*ret_more = r->entry[i].more;
		r->entry[i].told = now;
		r->entry[i].more = 0;
		return true;
	}
	return false;
}
