/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elasticask.h - steer a job through snelasticd: for operators, and where the job's
 * directory cannot be seen.
 */
#ifndef SNCTL_ELASTICASK_H
#define SNCTL_ELASTICASK_H

#include <stdint.h>

#include "launcher/control.h"
#include "topology/err.h"

/* *ret (free) is what snrun answers, JSON. -EHOSTUNREACH: no daemon answers. */
int elasticask(uint32_t job, const struct sn_control *order, uint32_t timeout_ms,
	       char **ret, struct sn_err *err);

#endif
