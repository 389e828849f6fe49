/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmconnect.h - begin with libslurm, in snctl and snrun alike.
 */
#ifndef SNCTL_SLURMCONNECT_H
#define SNCTL_SLURMCONNECT_H

#include "topology/err.h"

/* Once; later calls do nothing. Where there is no configuration at all, libslurm
 * says so and ends the process; its exit status is then 2, bad input. */
int slurmconnect(struct sn_err *err);

#endif
