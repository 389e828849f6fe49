#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Random submissions over every way in for $SN_RANDOM_SECONDS (60; an hour:
# 3600), from the seed $SN_SEED: jobs with and without --parallel, segments,
# arrays, heterogeneous jobs, dependencies, licences, holds, requeues, cancels,
# reservations, drained nodes, updates. An independent checker holds every
# running job and Slurm's books to what was asked.
#
# As 39-random.t --outcomes FILE [stock] it runs jobs without --parallel only
# and writes what came of each: for 39-stock.t.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
export CL_NODES=18
CL_PER=4 CL_PODS=2 CL_UNIT=0
list() { local i; for ((i = $1; i <= CL_NODES; i += 2)); do printf '%sn%03d' "${c-}" "$i"; c=,; done; unset c; }
CL_EXTRA="PartitionName=left Nodes=$(list 1) DefMemPerCPU=10
PartitionName=right Nodes=$(list 2) DefMemPerCPU=10
Licenses=sim:4"
seed=${SN_SEED:-$(date +%s)}
mode=drive
[ "${1:-}" != --outcomes ] || mode=outcomes
if [ "${3:-}" = stock ]; then
	# The same supernodes as blocks.
	CL_EXTRA="$CL_EXTRA
TopologyPlugin=topology/block"
	eval "conf_write_plain$(declare -f conf_write | tail -n +2 | sed '1s/^/()\n/')"
	conf_write()
	{
		conf_write_plain "$1" && { conf_topology | sed -nE 's/^SupernodeName=([^ ]*) (Nodes=[^ ]*).*/BlockName=\1 \2/p'
			echo "BlockSizes=4"; } >"$1/topology.conf"
	}
fi
# shellcheck disable=SC2086 # nothing or a word
start_cluster ${3:-}
export WORK CL_DIR TESTS
scontrol update "nodename=n[001-009]" availablefeatures=old
scontrol update "nodename=n[010-012]" availablefeatures=new
scontrol update "nodename=n[013-018]" availablefeatures=new,fast
LOG_ALLOW='build_cg_bitmap: node_bitmap is NULL|reservation|Reservation|resv|_slurm_rpc_submit_batch|_update_job|update_job|requeue|Job/step already completing|drain'
if [ $mode = outcomes ]; then
	python3 -B "$TESTS/rnd_drive.py" outcomes --seed "$seed" --count "${SN_RANDOM_COUNT:-60}" --out "$2"
	is "the jobs were run" $? 0
	finish
fi
diag "seed $seed (SN_SEED=$seed runs the same again)"
python3 -B "$TESTS/rnd_drive.py" drive --seed "$seed" --seconds "${SN_RANDOM_SECONDS:-60}"
is "nothing was wrong" $? 0
finish
