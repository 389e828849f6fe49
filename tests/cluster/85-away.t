#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Soak: slurmctld is away for SN_AWAY seconds (300; by SN_AWAY_BY=KILL it is killed, by
# STOP it hangs). A job trains on and one ends; a card falls sick, a user wants his job
# smaller, operators give orders that have to wait, and snelasticd is killed. When
# slurmctld is back all is done, once, nothing is lost or held, and the jobs' ends are
# those of uninterrupted runs.
. "$(dirname "$0")/lib.sh"
. "$TESTS/elastic.sh"
. "$TESTS/train.sh"
. "$TESTS/resize.sh"
AWAY=${SN_AWAY:-300} BY=${SN_AWAY_BY:-TERM}
TOPO=$(mktemp)
cat >"$TOPO" <<'END'
SupernodeName=a Nodes=n[001-004]
SupernodeName=b Nodes=n[005-008]
SupernodeName=c Nodes=n[009-012]
SupernodeName=d Nodes=n[013-016]
END
CL_NODES=16 CL_PER=4 CL_CARDS=4 CL_UNIT=0 CL_PODS=0 CL_TOPOLOGY=$TOPO
LOG_ALLOW='slurm_bufs_sendto.*failed|Step complete from|Removing failed node|step_signal|_step_partial_comp|agent_fini|Registered PENDING|[Oo]rphan|Kill task failed|batch step received|Job/step already completing|StepId'
start_cluster
rm -f "$TOPO"
command -v snelasticd >/dev/null || skip_all "snelasticd is not built"
echo "JobDir=$WORK/jobs/%j RestartWait=1 NodePoll=300 ElasticPoll=2 ElasticWait=10 CheckpointHard=30" >>"$CL_DIR/etc/supernode.conf"
field() { scontrol -o show job "$1" 2>/dev/null | sed -nE "s/.* $2=([^ ]*).*/\1/p"; } # JOB NAME
act() { request "{\"op\":\"elastic.act\",$1}"; }
event() { snctl events --limit 1000 2>/dev/null | grep -Eq "$1"; }
events() { snctl events --limit 1000 | grep -Ec "$1"; }
attached() { [ "$(status attached)" = "$1" ]; }
dp_of() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["layout"]["dp"])' "$WORK/jobs/$1/layout.json" 2>/dev/null; }
generation() { cat "$WORK/jobs/$1/generation" 2>/dev/null; }
steps_of() { awk 'END { print $2 + 0 }' "$WORK/$1/steps" 2>/dev/null; } # NAME
members_of() { squeue -h -O 'JobID:12,Comment:60' | awk -v of="supernode:member=$1:" 'index($2, of) == 1' | wc -l; }
layout=tp=4,dp=2
TRAIN_RUN=snrun TRAIN_ARGS=--elastic STEP_MS=1000 EVERY=5
ok "a daemon" start_elasticd -v || bail "and so the rest"

# ---- who is there -----------------------------------------------------------------
# train NAME STEPS OPTION…: its base has a node, and a member the other
train()
{
	STEPS=$2
	id=$(submit_train $layout "$1" --elastic=min_dp=1 "${@:3}")
	jobs="$jobs $1:$id:$2"
}
jobs=
train on $((AWAY + 60)) -x 'n[005-016]'; on=$id
train ends $((AWAY / 2)) -x 'n[001-004,009-016]'; ends=$id
train sick $((AWAY + 60)) -x 'n[001-008,013-016]'; sick=$id
train small $((AWAY + 60)) -x 'n[001-012]'; small=$id
plain() { submit --parallel=tp=4,dp=1 "$@" --wrap='sleep 3000'; }
again=$(plain -x 'n[005-016]') over=$(plain -x 'n[001-004,009-016]' --no-requeue)
for name in on ends sick small; do
	ok "$name trains" until_true 60 reached $name 5
done
for id in $on $ends $sick $small; do
	is "job $id is whole" "$(dp_of "$id") $(generation "$id")" "2 0"
done
ok "they are attached" until_true 20 attached 4
await "$again" RUNNING >/dev/null
await "$over" RUNNING >/dev/null
idle=$(sinfo -h -N -o '%N %t' | awk '$2 == "idle" { print $1; exit }')
ok "slurmctld has saved them" until_true 30 state_saved "$over"
before=$(steps_of on)

# ---- slurmctld goes ---------------------------------------------------------------
from=$(date +%s)
if [ "$BY" = STOP ]; then
	kill -STOP "$(ctld_pid)"
else
	ctld_kill "$BY"
fi
ok "slurmctld is away, which the daemon says" until_true 30 event 'slurmctld (does not|did not|has not)|[Uu]nable to contact'
node=$(sort -u "$WORK/jobs/$sick/hostfile" | tail -n 1)
ok "a card is sick" snctl health report "$node:1" --code=link-down
ok "a job is to be requeued" act "\"do\":\"requeue\",\"job\":$again"
ok "another cancelled" act "\"do\":\"cancel\",\"job\":$over"
ok "a node taken out" act "\"do\":\"node-out\",\"node\":\"$idle\",\"why\":\"test\""
is "they wait in the journal" "$(journal_quiet; echo $?)" 1
ok "a user wants his job smaller" snctl elastic shrink "$small"
left() { echo $((from + AWAY - $(date +%s))); }
[ "$(left)" -le 0 ] || sleep $(($(left) * 2 / 3))
during=$(steps_of on)
ok "a job trains on meanwhile" test "$during" -gt $((before + AWAY / 3))
ok "the daemon is killed" stop_elasticd KILL
ok "another comes, without slurmctld" start_elasticd -v
[ "$(left)" -le 0 ] || sleep "$(left)"
is "of all that nothing was lost" "$(journal_quiet; echo $?)" 1
ok "one job's training has ended" test -n "$(final ends)"
away=$(($(date +%s) - from))

# ---- and comes back ----------------------------------------------------------------
back=$(date +%s%3N)
took() { diag "$1: $(($(date +%s%3N) - back)) ms after slurmctld was back"; }
if [ "$BY" = STOP ]; then
	kill -CONT "$(ctld_pid)"
	ok "slurmctld is back" until_true 20 ctld_answers
else
	ok "slurmctld is back" ctld_up
fi
diag "it was away for $away s ($BY)"
ok "all that was open is done" until_true 60 journal_quiet
took "the journal has nothing open"
requeued() { [ "$(field "$again" Restarts)" = 1 ] && [ "$(state_of "$again")" = RUNNING ]; }
ok "the one is requeued, and runs" until_true 60 requeued
took "it runs again"
ok "the other is cancelled" until_true 30 state_is "$over" CANCELLED
# What was true of a node two minutes ago need not be so now.
[ "$AWAY" -lt 100 ] && out=$idle node_end='done' || out='' node_end='void: it is in service, and the order is old'
ok "the node is out, or the order was too old" until_true 30 event "take node $idle out: .*; $node_end"
ok "the job that ended meanwhile has ended" until_true 90 state_is "$ends" COMPLETED
took "it is COMPLETED"
none() { [ "$(members_of "$ends")" = 0 ]; }
ok "and has left no member" until_true 60 none
ok "the job with the sick card goes on" await "$sick" "COMPLETED COMPLETING" 240
took "it has ended"
ok "so does the one that was to be smaller" await "$small" "COMPLETED COMPLETING" 240
took "it has ended"
ok "and the one that nothing happened to" await "$on" "COMPLETED COMPLETING" $((AWAY + 240))
is "in one go" "$(generation "$on")" 0
is "the smaller one is smaller" "$(dp_of "$small")" 1
ok "the sick card was left" eval '! tail -n +2 "$WORK/jobs/$sick/hostfile" | grep -qx "$node" || [ "$(dp_of "$sick")" = 1 ]'
for job in $jobs; do
	IFS=: read -r name id STEPS <<<"$job"
	same_end "$id" "$name" $layout
	grep -E 'asked to|generation|slurmctld|srun: error' "$id.out" | head -n 20 | sed "s/^/# $name: /"
done
is "each order was done once" "$(events "requeue job $again: .*done") $(events "cancel job $over: .*done") $(events "take node $idle out: .*; $node_end")" "1 1 1"
is "and the one for the sick card" "$(events "\\(job $sick\\)" | awk '{ print ($1 > 0) }')" 1
is "nothing is held" "$(squeue -h -o '%A %r' | grep -i held)" ""
is "no member is left" "$(squeue -h -O Comment:60 | grep -c 'supernode:member=')" 0
scancel "$again"
ok "all ends" until_true 60 eval '[ -z "$(squeue -h -o %A)" ]'
is "and only that node is out of service" "$(sinfo -h -N -o '%N %T' | awk '$2 != "idle" { print $1 }' | sort -u)" "$out"
finish
