#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Masked cards where slurmctld knows each card (Cores= in gres.conf): in use, now,
# in the future, with preemption. 46-masks.t has the rest.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/masks.sh"
CL_GRES_MORE=Cores=0-63
start_cluster
in_use
future
preemption
finish
