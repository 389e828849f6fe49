/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poollimit.c - is there room for a region with a name, and may its owner have it?
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "snctl/poollimit.h"
#include "topology/text.h"

#define SIZE_MAX_TEXT 32

/* Rounded down, as what is allowed. */
static uint64_t part(uint64_t memory, uint32_t percent)
{
	return (uint64_t)((unsigned __int128)memory * percent / 100);
}

/* held + want > most, for any numbers. */
static bool is_over(uint64_t held, uint64_t want, uint64_t most)
{
	return want > most || held > most - want;
}

static int refuse(const struct poollimit *l, const char *who, uint64_t held,
		  const char *key, uint32_t percent, struct sn_err *err)
{
	char want[SIZE_MAX_TEXT], has[SIZE_MAX_TEXT], most[SIZE_MAX_TEXT], all[SIZE_MAX_TEXT];

	sn_format_size(l->want, want, sizeof(want));
	sn_format_size(held, has, sizeof(has));
	sn_format_size(part(l->memory, percent), most, sizeof(most));
	sn_format_size(l->memory, all, sizeof(all));
	return sn_err_set(err, -EDQUOT,
			  "%s are wanted, and regions with names of %s hold %s of supernode %s's pool; %s=%u in supernode.conf lets them hold %s of its %s",
			  want, who, has, l->supernode, key, percent, most, all);
}

int poollimit_check(const struct poollimit *l, struct sn_err *err)
{
	char want[SIZE_MAX_TEXT], left[SIZE_MAX_TEXT], who[40];

	if (l->limited && !l->percent)
		return sn_err_set(err, -EDQUOT,
				  "PoolNamed is 0 in supernode.conf, so only root and SlurmUser create regions with names here");
	if (is_over(l->held, l->want, l->there)) {
		sn_format_size(l->want, want, sizeof(want));
		sn_format_size(l->held < l->there ? l->there - l->held : 0, left, sizeof(left));
		return sn_err_set(err, -ENOSPC,
				  "%s are wanted, and of supernode %s's pool %s are free; jobs and other regions hold the rest",
				  want, l->supernode, left);
	}
	if (!l->limited)
		return 0;
	snprintf(who, sizeof(who), "user %u", l->uid);
	if (is_over(l->by_user, l->want, part(l->memory, l->percent_user)))
		return refuse(l, who, l->by_user, "PoolNamedUser", l->percent_user, err);
	if (is_over(l->by_users, l->want, part(l->memory, l->percent)))
		return refuse(l, "users", l->by_users, "PoolNamed", l->percent, err);
	return 0;
}
