/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * followstubs.h - for what runs opelastic.c without a Slurm to look at: no job is looked
 * for once more, and events go no further than their ring. Looks by hints are counted.
 */
#ifndef SN_TESTS_FOLLOWSTUBS_H
#define SN_TESTS_FOLLOWSTUBS_H

#include "elastic/daemon.h"

static uint32_t stub_looks;

bool follow_is_unknown(const struct sn_daemon *d, uint32_t job)
{
	(void)d, (void)job;
	return true;
}

void follow_unknown(struct sn_daemon *d, uint32_t job)
{
	(void)d, (void)job;
}

void follow_soon(struct sn_daemon *d)
{
	(void)d;
}

void follow_hint(struct sn_daemon *d)
{
	(void)d;
	stub_looks++;
}

void keep_events(struct sn_daemon *d)
{
	(void)d;
}

void followers_tell(struct sn_daemon *d)
{
	(void)d;
}

#endif
