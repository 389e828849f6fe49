/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elasticlist.h - what snelasticd knows of the elastic jobs and has decided for them.
 */
#ifndef SNCTL_ELASTICLIST_H
#define SNCTL_ELASTICLIST_H

#include <stdbool.h>
#include <stdint.h>

#include <json-c/json.h>

#include "topology/err.h"

/* Print the table of all; -EIO and others: the daemon does not tell. */
int elasticlist_print(bool json, struct sn_err *err);
/* The job's decisions, an array, the latest first; NULL: the daemon does not tell, or
 * there are none. */
json_object *elasticlist_decisions(uint32_t job);
void elasticlist_print_decisions(json_object *decisions);

#endif
