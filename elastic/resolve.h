/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resolve.h - is a name this address? Answers of name servers are kept for a minute,
 * for nodes report often. May block; from any thread.
 *
 * IPv4 alone, as munge's credentials have no other addresses: a node that has only
 * IPv6 is not believed to be itself.
 */
#ifndef SN_ELASTIC_RESOLVE_H
#define SN_ELASTIC_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

/* addr: in network order; 0: not known, false. */
bool sn_resolves_to(const char *name, uint32_t addr);

#endif
