/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hold.c - a member's script: it holds the nodes while the base lives.
 *
 * The base's snrun cancels its members when it ends. This is for an snrun that
 * could not: killed, or gone with its node. It looks at the base now and then, and
 * ends with it, or when the base has been requeued, or has no script any more.
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "launcher/snrun.h"
#include "snctl/slurmconnect.h"
#include "topology/text.h"

/* Members of one base that started together do not ask together. */
static void wait_a_turn(uint32_t poll, bool first)
{
	uint32_t ms = poll * 1000;
	struct timespec ts;

	if (first)
		ms = 200 + (uint32_t)(getpid() * 997) % (ms > 400 ? ms - 200 : 200);
	ts = (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
	nanosleep(&ts, NULL);
}

int snrun_hold(const char *base, const char *restarts)
{
	struct sn_policy policy;
	struct sn_err err;
	uint64_t id, count;
	bool first = true;

	if (sn_parse_uint(base, 1, UINT32_MAX, &id, &err) ||
	    sn_parse_uint(restarts, 0, UINT32_MAX, &count, &err) ||
	    slurmconnect(&err)) {
		snrun_say("--member: %s", err.text);
		return 2;
	}
	sn_job_policy(&policy);
	for (;;) {
		struct sn_jobview view;

		/* A slurmctld that does not answer says nothing of the base. */
		if (!sn_job_look((uint32_t)id, &view, &err)) {
			sn_names_done(&view.names);
			if (view.phase != SN_JOB_RUNS || view.headless ||
			    view.restarts != count)
				return 0;
		}
		wait_a_turn(policy.elastic_poll, first);
		first = false;
	}
}
