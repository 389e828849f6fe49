#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A node that runs ranks is killed, slurmd and tasks, at a random step of a
# training job under snrun, $SN_KILLS times (20), from the seed $SN_SEED: a spare of
# the same supernode takes its place, and the end state is the uninterrupted run's.
# Says how long it is from the mark that the node has failed to the end of the
# first step of the new generation. SN_STEP_MS (20) is a step's computing,
# SN_MARK=no leaves it to snrun to notice.
. "$(dirname "$0")/lib.sh"
. "$TESTS/train.sh"
CL_NODES=${SN_NODES:-32}
kills=${SN_KILLS:-20} seed=${SN_SEED:-$(date +%s)} layout=${SN_LAYOUT:-$HEADLINE}
diag "seed $seed (SN_SEED=$seed runs the same again)"
RANDOM=$seed
STEPS=40 STEP_MS=${SN_STEP_MS:-20}
TRAIN_RUN=snrun
export TRAIN_RUN
start_cluster
printf '%s\n' CardGres=npu "JobDir=$WORK/jobs/%j" >"$CL_DIR/etc/supernode.conf"
LOG_ALLOW='slurm_bufs_sendto.*failed|Step complete from .* was already processed|Removing failed node|node.*(down|DOWN|not resp)|Killing job|killing job|requeue|agent|REQUEST_TERMINATE|RPC:REQUEST|Nodes .* not responding'

now_us()
{
	echo "${EPOCHREALTIME/[.,]/}"
}

# The nodes of a job that run ranks, save the batch host; from its plan.
rank_nodes() # JOB
{
	sort -u "$WORK/jobs/$1/hostfile" | grep -vx "$(scontrol -o show job "$1" | sed -nE 's/.* BatchHost=([^ ]*).*/\1/p')"
}

index_of() # NAME
{
	local i

	for ((i = 0; i < CL_NODES; i++)); do
		[ "${CL_NAME[i]}" != "$1" ] || { echo $i; return; }
	done
}

back_up() # NAME
{
	node_up "$(index_of "$1")" || return 1
	until_true 120 node_answers "$1"
}

node_answers()
{
	scontrol update "NodeName=$1" State=RESUME 2>/dev/null
	[[ $(sinfo -h -n "$1" -o %t) =~ ^(idle|mix|alloc)$ ]]
}

# What the steps' log says of the first step of generation 1 and later, in us
first_again() # NAME
{
	awk '$1 > 0 { sub(/\./, "", $3); print $3; exit }' "$WORK/$1/steps"
}

one_kill() # K
{
	local id at nodes node name=kill-$1 marked from first

	id=$(submit_train "$layout" "$name" --spares=1)
	at=$((2 + RANDOM % (STEPS - 8)))
	until_true 120 reached "$name" "$at" || { fail "kill $1: the job gets to step $at" "$(tail -n 5 "$WORK/$id.out" 2>&1)"; return; }
	mapfile -t nodes < <(rank_nodes "$id")
	node=${nodes[RANDOM % ${#nodes[@]}]}
	from=$(now_us)
	{ nodes_down "$node"; : >"$WORK/down-$1"; } &
	[ "${SN_MARK:-yes}" = no ] || scontrol update "NodeName=$node" State=DOWN Reason=killed
	marked=$(now_us)
	# Slurm may take minutes to close its books on a job that lost a node.
	if ! await "$id" "COMPLETED COMPLETING" 180 >"$WORK/why"; then
		fail "kill $1 (job $id, $node at step $at): the job ends well" "$(cat "$WORK/why"; tail -n 20 "$WORK/$id.out")"
		scancel "$id"
	else
		is "kill $1 (job $id, $node at step $at): the state is right" "$(final "$name")" "$right"
		first=$(first_again "$name")
		if [ -n "$first" ]; then
			echo "$(((first - marked) / 1000)) $(((first - from) / 1000)) $(awk '{ if ($1 > g) g = $1 } END { print g }' "$WORK/$name/steps")" >>"$WORK/times"
			diag "$(tail -n 1 "$WORK/times" | awk '{ printf "%.2f s from the mark, %.2f s from the kill, last generation %d", $1 / 1000, $2 / 1000, $3 }')"
		else
			fail "kill $1: there is a second generation" "$(cat "$WORK/$id.out")"
		fi
	fi
	until_true 30 test -e "$WORK/down-$1"
	back_up "$node" || fail "kill $1: $node comes back" "$(sinfo -h -n "$node" -o '%t %E')"
}

id=$(submit_train "$layout" whole --spares=1)
ok "an uninterrupted run" await "$id" COMPLETED 120 || bail "there is something to compare with" "$(tail -n 20 "$id.out")"
right=$(final whole)
for ((k = 1; k <= kills; k++)); do
	one_kill $k
done
diag "$(sort -n times | awk '{ a[NR] = $1 } END { if (NR) printf "from the mark to the end of the first new step: median %.2f s, worst %.2f s, best %.2f s of %d", a[int((NR + 1) / 2)] / 1000, a[NR] / 1000, a[1] / 1000, NR }')"
finish
