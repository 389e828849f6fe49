/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linkstate.h - what snrun says of the job on its link.
 */
#ifndef SN_LAUNCHER_LINKSTATE_H
#define SN_LAUNCHER_LINKSTATE_H

#include <string.h>

#include "launcher/snrun.h"

struct json_object;
struct json_object *snrun_link_state(const struct snrun *run); /* yours to put */
/* Its text without the figures that change by themselves: two that are the same say
 * nothing new. Yours to free; NULL: no memory. */
char *snrun_link_essence(struct json_object *state);

#endif
