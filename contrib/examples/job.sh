#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An ordinary batch script: no node list, no rank file, no wrapper. Submit it as
#	sbatch --parallel=tp=8,ep=32,etp=1,pp=2,dp=8 job.sh
# The layout says how many tasks and cards there are; plain srun starts rank R
# on the card that its groups need, and the task's environment names that card.
#SBATCH --job-name=groups
#SBATCH --output=%x-%j.out
srun sh -c 'echo "rank $SLURM_PROCID node $SLURMD_NODENAME card $ASCEND_RT_VISIBLE_DEVICES supernode ${SUPERNODE_NAME:--}"'
