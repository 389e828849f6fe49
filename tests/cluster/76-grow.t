#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Soak: how long after cards come free a job begins to grow, SN_ROUNDS times each (10):
# its members are next in the queue; and behind a job that waits for other nodes, so
# that only backfill starts them. Begins: the ranks are asked to save. SN_SCHED takes
# the place of the cluster's SchedulerParameters.
. "$(dirname "$0")/lib.sh"
. "$TESTS/train.sh"
CL_NODES=12 CL_PER=6 CL_PODS=1 CL_UNIT=0
start_cluster
if [ -n "${SN_SCHED:-}" ]; then
	sed -i "s/^SchedulerParameters=.*/SchedulerParameters=$SN_SCHED/" "$CL_DIR/etc/slurm.conf"
	ok "SchedulerParameters=$SN_SCHED" scontrol reconfigure
fi
echo "JobDir=$WORK/jobs/%j RestartWait=3 ElasticPoll=1 ElasticWait=2" >>"$CL_DIR/etc/supernode.conf"
LOG_ALLOW='slurm_bufs_sendto.*failed|Step complete from .* was already processed|Kill task failed|error: step_signal'
# Atoms of 16 ranks, a step of two replicas: two nodes each, three in a supernode.
STEPS=100000 STEP_MS=50 EVERY=50
TRAIN_RUN=snrun TRAIN_ARGS=--elastic
field() { snctl elastic status "$1" --json 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin).get(sys.argv[1]))' "$2" 2>/dev/null; }
is_now() { [ "$(field "$1" "$2")" = "$3" ]; }
n_members() { squeue -h -t "$2" -o '%k' | grep -c "^supernode:member=$1:"; }
members_wait() { [ "$(n_members "$id" PENDING)" = "$1" ]; }
idle_nodes() { sinfo -h -N -t idle -o %N | sort -u | paste -sd,; }
trains() { reached "$1" 1 "$(cat "$WORK/jobs/$id/generation")"; }
asked() { stat -c %.3Y "$WORK/jobs/$id/checkpoint.request"; }
asked_since() { awk -v a="$(asked)" -v at="$1" 'BEGIN { exit !(a > at) }'; }

# round NAME: 1 where it does not grow; else prints the seconds till the ranks were
# asked, and till the first step of the larger size had ended
round()
{
	local block at g

	snctl elastic shrink "$id" --dp 2 >/dev/null && until_true 40 is_now "$id" dp 2 && until_true 40 trains "$1" &&
		until_true 20 members_wait 0 || return 1
	until_true 20 eval '[ "$(idle_nodes | tr , "\n" | grep -c .)" = 10 ]' || return 1
	block=$(submit --exclusive -w "$(idle_nodes)" --wrap='exec sleep 600')
	await "$block" RUNNING >/dev/null || return 1
	snctl elastic grow "$id" --dp 6 >/dev/null && until_true 20 members_wait 2 || return 1
	# They may start anywhere by then; and not in step with slurmctld's passes.
	sleep "$(awk "BEGIN { srand(); print 2.5 + 3 * rand() }")"
	g=$(cat "$WORK/jobs/$id/generation")
	at=$(date +%s.%N)
	scancel "$block"
	until_true 60 asked_since "$at" || return 1
	printf '%s ' "$(awk -v a="$(asked)" -v at="$at" 'BEGIN { printf "%.2f", a - at }')"
	until_true 60 is_now "$id" dp 6 && until_true 40 trains "$1" || return 1
	awk -v g="$((g + 1))" -v at="$at" '$1 >= g { printf "%.2f\n", $3 - at; exit }' "$1/steps"
}

rounds() # NAME WHAT
{
	local k line failed=0

	rm -f "$1.times"
	for ((k = 0; k < ${SN_ROUNDS:-10}; k++)); do
		line=$(round "$1") && echo "$line" >>"$1.times" || failed=$((failed + 1))
	done
	is "$2: it grew each time" "$failed" 0
	for k in 1 2; do
		sort -n -k $k,$k "$1.times" | awk -v k=$k '{ t[NR] = $k } END { printf "%s median %.2f worst %.2f\n", k == 1 ? "till the ranks are asked to save:" : "till the first step has ended:", t[int((NR + 1) / 2)], t[NR] }' |
			while read -r line; do diag "$2: seconds from scancel of who had the cards $line"; done
	done
}

id=$(submit_train tp=8,ep=16,etp=1,dp=2 one --time=60 --elastic=min_dp=2,max_dp=6)
ok "a job trains" until_true 60 reached one 3
ok "and grows as all is free" until_true 60 is_now "$id" dp 6
rounds one "next in the queue"

# It waits for the base's nodes, and comes before the members.
base=$(scontrol -o show job "$id" | sed -nE 's/.* NodeList=([^ ]*).*/\1/p')
others=$(comm -23 <(scontrol show hostnames "$(sinfo -h -o %N)" | sort) <(scontrol show hostnames "$base" | sort) | paste -sd,)
wait=$(submit --exclusive -N1 -x "$others" --time=1 --wrap=true)
ok "another job waits for nodes of the base" await "$wait" PENDING
rounds one "behind a job that waits for other nodes"
like "which still waits" "$(state_of "$wait")" PENDING
scancel "$id" "$wait"
finish
