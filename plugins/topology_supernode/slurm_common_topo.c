/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_common_topo.c - Slurm's own common_topo.c, compiled in as its topology plugins have it.
 *
 * slurm_xlator.h comes first: without it "error" could bind to the C library's.
 */
#include "src/common/slurm_xlator.h"

#include "src/plugins/topology/common/common_topo.c"
