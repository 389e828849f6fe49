/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * carecheck.h - does a node that a job's snrun has lost still answer? A user's word
 * alone takes no node from others.
 */
#ifndef SN_ELASTIC_CARECHECK_H
#define SN_ELASTIC_CARECHECK_H

#include <stdbool.h>
#include <stdint.h>

/* Does somebody accept a connection to slurmd's port within the time? Blocks; address
 * is a name or a number. True also where it cannot be told, as with a name that no
 * name server knows. */
bool sn_node_answers(const char *address, uint16_t port, int64_t ms);

#endif
