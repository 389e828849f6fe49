/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_gres_filter.c - Slurm's own gres_filter.c, compiled in as its topology plugins have it.
 *
 * slurm_xlator.h comes first: without it "error" could bind to the C library's.
 */
#include "src/common/slurm_xlator.h"

#include "src/plugins/topology/common/gres_filter.c"
