/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include "topology/place_internal.h"
uint32_t pl_large_cap(const struct pl *p, uint32_t s) { (void)p; (void)s; return 0; }
int pl_large_nodes(struct pl *p, uint32_t s, uint32_t atoms, uint32_t nodes,
		   bool *used) { (void)p; (void)s; (void)atoms; (void)nodes; (void)used; return -EINVAL; }
pl_cost pl_large_cost(const struct pl *p, uint32_t s, uint32_t atoms) { (void)p; (void)s; (void)atoms; return 0; }
int pl_large_spread(struct pl *p, struct pl_choice *c) { (void)p; (void)c; return -EINVAL; }
