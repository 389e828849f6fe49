#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 20 jobs of mixed layouts at once, cancelled and requeued at random (seeded by
# $SN_SEED) for $SN_CHURN_SECONDS: no group is ever split, no card given twice,
# each task's variable names its own card.
. "$(dirname "$0")/lib.sh"
CL_NODES=32
start_cluster
SECONDS_LONG=${SN_CHURN_SECONDS:-20}
RANDOM=${SN_SEED:-1}
diag "seed ${SN_SEED:-1}, $SECONDS_LONG s"

LAYOUTS=(tp=2 tp=2,dp=3 tp=4,dp=2 tp=8,dp=2 tp=2,dp=7,pp=1 tp=4,pp=2,dp=3
	tp=8,ep=16,etp=1,dp=4 tp=2,ep=8,etp=1,dp=4 tp=4,ep=4,etp=2,dp=4,pp=2
	tp=16,dp=2 tp=2,cp=2,dp=3 tp=8,ep=32,etp=1,pp=2,dp=8 tp=1,ep=8,dp=8
	tp=3,dp=3 tp=4,ep=2,etp=2,pp=2,dp=2,order=tp-cp-ep-pp-dp)
declare -A layout
jobs=()

new_job()
{
	local id spec=${LAYOUTS[RANDOM % ${#LAYOUTS[@]}]}

	id=$(SN_TASK_SECONDS=$((1 + RANDOM % 3)) submit --requeue --open-mode=append "--parallel=$spec" "$TESTS/churn.sh")
	[[ $id =~ ^[0-9]+$ ]] || { fail "sbatch --parallel=$spec" "$id"; return; }
	layout[$id]=$spec
	jobs+=("$id")
}

for ((i = 0; i < 20; i++)); do new_job; done
end=$((SECONDS + SECONDS_LONG)) cancelled=0 requeued=0
while [ "$SECONDS" -lt "$end" ]; do
	mapfile -t queue < <(squeue -h -o %i)
	if [ "${#queue[@]}" -gt 0 ]; then
		victim=${queue[RANDOM % ${#queue[@]}]}
		case $((RANDOM % 4)) in
		0) scancel "$victim" 2>/dev/null && cancelled=$((cancelled + 1)) ;;
		1 | 2) requeue "$victim" && requeued=$((requeued + 1)) ;;
		esac
	fi
	for ((i = ${#queue[@]}; i < 20 && i < ${#queue[@]} + 3 && SECONDS < end; i++)); do new_job; done
	sleep 0.2
done
queue_empty()
{
	[ -z "$(squeue -h -o %i)" ]
}
diag "${#jobs[@]} jobs, $cancelled cancelled, $requeued requeued"
mapfile -t queue < <(squeue -h -o %i)
for id in "${queue[@]}"; do start_now "$id"; done
ok "the rest of the queue runs dry" until_true 180 queue_empty || diag "$(squeue -o '%i %T %r %N' | head)"

# Each run of a job, between "begin" and "end" in its output, is one to check;
# runs cut short by a cancellation have no "end".
checked=0
for id in "${jobs[@]}"; do
	[ -f "$WORK/$id.out" ] || continue
	awk -v base="$WORK/run-$id-" '/^begin /{ n++; f = base n ".part" } f { print >f } /^end /{ close(f); system("mv " f " " base n ".whole"); f = "" }' "$WORK/$id.out"
	for part in "$WORK/run-$id"-*.whole; do
		[ -f "$part" ] || continue
		checked=$((checked + 1))
		text=$("$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --parallel "${layout[$id]}" "$part" 2>&1) ||
			fail "job $id (${layout[$id]})" "$text"
	done
done
if [ "$checked" -ge 10 ]; then pass "$checked whole runs were checked"; else fail "whole runs were checked" "only $checked"; fi
is "no card was given twice" "$(cat "$WORK"/*.out | grep -c DOUBLE)" 0
is "no task was without one card of its own" "$(cat "$WORK"/*.out | grep -E '^rank ' | grep -cvE 'card [0-9]+ ')" 0
bad=$(for id in "${jobs[@]}"; do scontrol -o show job "$id" 2>/dev/null; done | grep -oE 'JobId=[0-9]+|JobState=(FAILED|NODE_FAIL|BOOT_FAIL|OUT_OF_MEMORY)' | grep -B1 JobState= | tr '\n' ' ')
is "no job failed by itself" "$bad" ""
finish
