/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cardask.h - have snelasticd drain or resume cards, for operators, who may not
 * write node records themselves.
 */
#ifndef SNCTL_CARDASK_H
#define SNCTL_CARDASK_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/err.h"

/* Node by node: where it fails, those before are done, and the sentence says so.
 * -EPERM: the daemon refuses; -EHOSTUNREACH: none answers, and the sentence is for
 * who needs one; -ETIMEDOUT: nor in time, and it may be done or not. */
int cardask(const char *config, bool drain, const char *reason, const char *node,
	    uint64_t cards, struct sn_err *err);

#endif
