#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kill -9 of slurmctld with a job running and one pending: nothing is lost,
# nothing moves, and what comes after is placed as if nothing had been.
. "$(dirname "$0")/lib.sh"
CL_NODES=32
start_cluster

run=$(submit_held "--parallel=$HEADLINE")
ok "a job runs" await_ranks "$run"
big=tp=8,ep=32,etp=1,pp=2,dp=16
wait=$(submit_held "--parallel=$big")
until_true 20 test "$(reason_of "$wait")" != None
like "one that needs the whole cluster waits" "$(state_of "$wait") $(reason_of "$wait")" '^PENDING (Resources|Priority)$'
small=$(submit_held --parallel=tp=2,dp=3)
ok "a small one runs beside" await_ranks "$small"
cards=$(cards_of "$run") less=$(cards_of "$small")

for i in 1 2; do
	state_saved "$run"
	ctld_kill KILL
	ok "slurmctld starts after kill -9 ($i)" ctld_up
	ok "all nodes are up ($i)" cluster_ready
	ok "the job still runs ($i)" state_is "$run" RUNNING
	is "on its cards ($i)" "$(cards_of "$run")" "$cards"
	is "so does the small one ($i)" "$(cards_of "$small")" "$less"
	ok "the other still waits ($i)" state_is "$wait" PENDING
done
late=$(submit_held --parallel=tp=4,ep=8,etp=1,dp=2)
release "$small"
ok "the small one ends well" await "$small" COMPLETED
scancel "$late"
release "$run"
ok "the job ends well" await "$run" COMPLETED
ok "the waiting one then runs" await_ranks "$wait"
ok "and is whole" check_ranks "$wait" "$big"
is "on the cards that Slurm allocated" "$(cards_said "$wait")" "$(cards_of "$wait")"
is "nobody shares a card" "$(cat "$WORK"/*.out | grep -c DOUBLE)" 0

# A job that is killed with its nodes and requeued starts again whole.
nodes_down n001 n002
for i in 0 1; do node_up $i; done
ok "after a power cut of two nodes all are up again" cluster_ready
# slurmctld may have requeued it by itself, or not yet noticed.
state_is "$wait" PENDING || scontrol requeue "$wait"
ok "the job waits to run again" await "$wait" PENDING
: >"$WORK/$wait.out"
start_now "$wait"
ok "the requeued job runs again" await_ranks "$wait"
ok "and is whole" check_ranks "$wait" "$big"
release "$wait"
ok "and ends" await "$wait" COMPLETED
LOG_ALLOW='Nodes n.* not responding|requeue|Node n[0-9]+ |_slurm_rpc|Killing|n00[12]'
finish
