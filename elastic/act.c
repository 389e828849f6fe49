/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * act.c - the way of an action: journal, Slurm, journal.
 */
#include "config.h"

#include <errno.h>

#include "elastic/act.h"
#include "elastic/daemon.h"

int act_do(struct sn_daemon *d, const struct sn_act *act, uint64_t *ret_id,
	   struct sn_err *err)
{
	(void)d, (void)act, (void)ret_id;
	return sn_err_set(err, -EAGAIN, "not yet");
}

bool act_under_way(const struct sn_daemon *d, enum sn_act_kind kind, uint32_t job,
		   const char *node)
{
	(void)d, (void)kind, (void)job, (void)node;
	return false;
}

bool act_ended(const struct sn_daemon *d, enum sn_act_kind kind, uint32_t job,
	       const char *node, enum sn_act_end *ret, int64_t *ret_ago_ms)
{
	(void)d, (void)kind, (void)job, (void)node, (void)ret, (void)ret_ago_ms;
	return false;
}

int act_start(struct sn_daemon *d, struct sn_err *err)
{
	(void)d, (void)err;
	return 0;
}

void act_end(struct sn_daemon *d)
{
	(void)d;
}

void act_take_charge(struct sn_daemon *d)
{
	(void)d;
}

void act_follow(struct sn_daemon *d, int64_t began)
{
	(void)d, (void)began;
}
