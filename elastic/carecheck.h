/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * carecheck.h - does a node that a job's snrun has lost still answer? A user's word
 * alone takes no node from others; nor does this alone (carejudge.h).
 */
#ifndef SN_ELASTIC_CARECHECK_H
#define SN_ELASTIC_CARECHECK_H

#include <stdint.h>

enum sn_node_word {
	SN_NODE_ANSWERS, /* somebody accepts a connection */
	SN_NODE_REFUSES, /* the host does not: it is alive, and slurmd is not */
	SN_NODE_IS_SILENT, /* nothing comes back, or nobody knows a way there */
	SN_NODE_UNKNOWN, /* it cannot be told: a name that no name server knows, no descriptor */
};

/* What is at slurmd's port? Blocks, for ms at most; address is a name or a number. */
enum sn_node_word sn_node_ask(const char *address, uint16_t port, int64_t ms);

#endif
