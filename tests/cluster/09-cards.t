#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Nodes with more cards than can be told apart: all who see it say so, once; jobs with
# --parallel get those that can, and others what Slurm gives them.
. "$(dirname "$0")/lib.sh"
CL_NODES=2 CL_PER=2 CL_PODS=0 CL_UNIT=0 CL_CARDS=66
LOG_ALLOW='has Gres=npu:66, more than the 64'
start_cluster
log=$CL_DIR/log/slurmctld.log

text=$(snctl check 2>&1)
like "snctl check says which nodes, how many, the limit and what follows" "$text" \
	'66 cards a node by Gres=npu:66, more than the 64 that can be told apart: jobs with --parallel get cards 0 to 63 only.*at most 64'
is "in one sentence" "$(printf '%s\n' "$text" | grep -c 'told apart')" 1

# All at once: two nodes have 128 cards that can be told apart, not 132.
like "a job that needs more is refused" "$(submit --parallel=tp=2,dp=66 --wrap=true)" '66_atoms.*128_of_128_cards_free'
job=$(submit --parallel=tp=2,dp=2 --wrap='srun true')
ok "a job with --parallel runs" await "$job" COMPLETED
job=$(submit --parallel=tp=2,dp=3 --wrap='srun true')
ok "and another" await "$job" COMPLETED
is "slurmctld has said it once" "$(grep -c 'node n001 has Gres=npu:66, more than the 64 cards of a node that can be told apart' "$log")" 1
is "a job without it gets all cards of a node" \
	"$(timeout 60 srun -N1 --gres=npu:66 scontrol show job -d 2>/dev/null | grep -o 'GRES=npu:[^ ]*IDX:[0-9-]*' | head -n 1)" \
	"GRES=npu:66(IDX:0-65"
if command -v snelasticd >/dev/null; then
	ok "snelasticd starts" start_elasticd
	ok "and says it" until_true 20 grep -q 'node n00. has 66 cards, more than the 64 of a node' "$CL_DIR/log/snelasticd.log"
fi
finish
