/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics.c - what snelasticd counts for others to scrape.
 */
#include "config.h"

#include "elastic/daemon.h"
#include "elastic/metrics.h"

void metrics_decision(struct sn_daemon *d, enum sn_means means)
{
	if (means < SN_MEANS_KINDS)
		d->decisions[means]++;
}

void metrics_state(struct sn_daemon *d, uint32_t job, struct json_object *state)
{
	(void)d;
	(void)job;
	(void)state;
}
