/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include "topology/place_internal.h"
int pl_tree(struct pl *p, const struct pl_forest *f, uint32_t k, uint64_t slack, struct pl_choice *ret)
{ (void)p; (void)f; (void)k; (void)slack; (void)ret; return -EINVAL; }
