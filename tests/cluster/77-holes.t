#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What Slurm leaves undone for jobs with --parallel, snelasticd does: jobs whose batch
# host is lost, requeued ones that wait for nothing or for a node that is gone, members
# without a base, nodes that are set down and come back.
. "$(dirname "$0")/lib.sh"
. "$TESTS/elastic.sh"
CL_NODES=16 CL_PER=8 CL_PODS=1 CL_UNIT=0
CL_POLICY="ElasticdPoll=300"
start_cluster
LOG_ALLOW='agent_fini|_step_partial_comp: batch step received|Removing failed node|batch script missing|Kill task failed|slurm_bufs_sendto.*failed|Step complete from|[Pp]rolog'
field() { scontrol -o show job "$1" 2>/dev/null | sed -nE "s/.* $2=([^ ]*).*/\1/p"; } # JOB NAME
nodes_of() { scontrol show hostnames "$(field "$1" NodeList)"; }
# It runs, and its batch host is none of its nodes.
is_zombie() { [ "$(state_of "$1")" = RUNNING ] && ! nodes_of "$1" | grep -qx "$(field "$1" BatchHost)"; }
restarted() { [ "$(field "$1" Restarts)" = "${2:-1}" ] && [ "$(state_of "$1")" = RUNNING ]; }
event() { snctl events | grep -Eq "$1"; }
lose() # NODE…
{
	nodes_down "$@" 2>/dev/null
	# Down alone does not last: an answer that was on its way brings a node back.
	scontrol update "NodeName=$(echo "$*" | tr ' ' ,)" State=DOWN Reason=lost
	scontrol update "NodeName=$(echo "$*" | tr ' ' ,)" State=DRAIN Reason=lost
}
act() { request "{\"op\":\"elastic.act\",$1}"; }
took() { diag "$1: $(($(date +%s%3N) - at)) ms"; }
layout=tp=8,dp=2
run() { submit "--parallel=$layout" "$@" --wrap='sleep 600'; }

# ---- batch hosts, lost while no daemon is there to see it -------------------------
one=$(run -k)
two=$(run -k --no-requeue)
plain=$(submit -k -N2 --gres=npu:8 --exclusive --wrap='sleep 600')
for id in $one $two $plain; do
	await "$id" RUNNING >/dev/null
done
lose "$(field "$one" BatchHost)" "$(field "$two" BatchHost)" "$(field "$plain" BatchHost)"
ok "a job without its batch host runs on, with no script" until_true 20 is_zombie "$one"
ok "so does another" until_true 20 is_zombie "$two"
ok "and one without --parallel" until_true 20 is_zombie "$plain"

ok "in dry-run" start_elasticd --dry-run
ok "it says what it would do" until_true 20 event "dry-run: would requeue job $one: its batch host .* is lost"
ok "in the journal, too" until_true 10 grep -q '^{"dry":.*"kind":"requeue"' "$CL_DIR/state/snelasticd/journal"
is "and does nothing" "$(is_zombie "$one" && is_zombie "$two" && field "$one" Restarts)" 0
stop_elasticd

at=$(date +%s%3N)
ok "the daemon comes" start_elasticd
ok "the job is requeued and starts at once" until_true 30 restarted "$one"
took "from the daemon's start to the job's"
is "whole" "$(nodes_of "$one" | wc -l)" 2
ok "with an event" event "requeue job $one: its batch host n0.* is lost, and so is its script; done"
ok "and one for its start" event "start job $one: requeued, it would wait for 1[0-9][0-9] s; done"
ok "one that is not to be requeued is cancelled" until_true 20 state_is "$two" CANCELLED
ok "with an event that says why" event "requeue job $two: .*; done: cancelled, as it is not to be requeued \(Requeue=0\)"
is "one without --parallel is left alone" "$(is_zombie "$plain" && field "$plain" Restarts)" 0
scancel "$plain"

# ---- requeued jobs ----------------------------------------------------------------
at=$(date +%s%3N)
scontrol requeue "$one"
ok "a requeued job starts at once" until_true 30 restarted "$one" 2
took "from the requeue to the start"
scontrol requeuehold "$one"
is_held() { [ "$(state_of "$one"):$(field "$one" Priority)" = PENDING:0 ]; }
ok "one that is held" until_true 20 is_held
later=$(run)
await "$later" RUNNING >/dev/null
scontrol requeue "$later"
later() { scontrol update "JobId=$later" StartTime=now+3600 2>/dev/null; }
ok "one that its user wants to wait" until_true 20 later
other=$(run)
await "$other" RUNNING >/dev/null
scontrol requeue "$other"
ok "while another starts" until_true 30 restarted "$other"
ok "stays held" is_held
is "the other waits" "$(state_of "$later")" PENDING
scontrol release "$one"
ok "released, it starts" until_true 30 restarted "$one" 3
scancel "$other"

# ---- a job that slurmctld holds, as its launch has failed ------------------------------
# So it is with one that a killed slurmctld starts once more where it runs.
printf '#!/bin/sh\n! rm %q 2>/dev/null\n' "$WORK/fail" >"$WORK/prolog"
chmod 755 "$WORK" "$WORK/prolog"
touch "$WORK/fail"
echo "Prolog=$WORK/prolog" >>"$CL_DIR/etc/slurm.conf"
scontrol reconfigure
ok "a prolog that fails once" until_true 20 eval 'scontrol show config | grep -q "Prolog.*$WORK/prolog"'
until_true 20 ctld_answers
held=$(run)
ok "a job whose launch has failed is not left held" until_true 30 restarted "$held" 1
ok "it was" event "release job $held: held as its launch has failed, [0-9]+ s after slurmctld was started.*; done"
scancel "$held" "$later"
for node in $(sinfo -h -N -o '%N %t %E' | awk '/Prolog/ { print $1 }' | sort -u); do
	scontrol update "NodeName=$node" State=RESUME
done

# ---- -w of a node that is gone ------------------------------------------------------
must=$(nodes_of "$one" | tail -n 1)
scancel "$one"
await "$one" "CANCELLED" >/dev/null
stale=$(run -w "$must")
ok "a job that must have $must" await "$stale" RUNNING
lose "$must"
ok "loses it, and runs elsewhere" until_true 40 restarted "$stale"
like "without the list" "$(field "$stale" ReqNodeList)" '^\(null\)$'
ok "as an event says" event "start job $stale: .* its -w names $must, which is gone; done: its list of nodes is cleared"
scancel "$stale"

# ---- members without a base ---------------------------------------------------------
member() { submit --parallel=tp=8,dp=1 --no-requeue --comment="supernode:member=$1:${2:-0}" "${@:3}" --wrap='sleep 600'; }
base=$(run)
await "$base" RUNNING >/dev/null
a=$(member "$base") b=$(member "$base" 0 --begin=now+3600) c=$(member "$base" 0)
odd=$(submit -N1 --comment="supernode:member=999999:0" --wrap='sleep 600')
await "$a" RUNNING >/dev/null
await "$c" RUNNING >/dev/null
scancel "$c"
scontrol requeue "$base"
ok "its base is requeued: a member ends" until_true 30 state_is "$a" CANCELLED
ok "one that waits, too" until_true 10 state_is "$b" CANCELLED
ok "and the base runs again" until_true 30 restarted "$base"
a=$(member "$base" 1) b=$(member "$base" 1 --begin=now+3600)
await "$a" RUNNING >/dev/null
ok "an event says it" event "cancel job .*: it is a member of job $base, which has been requeued; done"
is "members of the new run live" "$(state_of "$a"):$(state_of "$b")" RUNNING:PENDING
scancel "$base"
ok "the base ends: a member ends" until_true 30 state_is "$a" CANCELLED
ok "one that waits, too" until_true 10 state_is "$b" CANCELLED
is "a job without --parallel that calls itself a member is left alone" "$(state_of "$odd")" RUNNING

# ---- what a node's word is good for: the daemon would not look for a minute -----------
stop_elasticd
sed -i 's/ElasticdPoll=300/ElasticdPoll=60000/' "$CL_DIR/etc/supernode.conf"
ok "a daemon that looks once a minute" start_elasticd -v
hinted() { log_says "hint from .*\"job\": ?$1, .*\"what\": ?\"$2\""; }
base=$(submit "--parallel=$layout" --wrap='srun sh -c "exit 3"; touch "$SLURM_JOB_ID"; sleep 600')
ok "a step's tasks fail: a node says so" until_true 20 hinted "$base" failed
ok "and the script goes on" until_true 10 test -e "$base"
a=$(member "$base")
await "$a" RUNNING >/dev/null
at=$(date +%s%3N)
scancel "$base"
ok "the base ends: its member ends at once" until_true 20 state_is "$a" CANCELLED
took "from scancel of the base to the end of the member"
ok "as a node has said" hinted "$base" ended
is "one or two nodes of it" "$(grep -cE "hint from .*\"job\": ?$base, .*ended" "$CL_DIR/log/snelasticd.log" | grep -x '[12]' | wc -l)" 1
kill -STOP "$(pid_of "$CL_DIR/run/elasticd")"
base=$(submit "--parallel=$layout" --wrap='srun sh -c "exit 3"')
ok "a daemon that hangs holds up no job" until_true 20 state_is "$base" FAILED
idle() { [ -z "$(squeue -h -j "$base" -o %T 2>/dev/null)" ]; }
ok "nor its nodes" until_true 20 idle
kill -CONT "$(pid_of "$CL_DIR/run/elasticd")"
stop_elasticd
sed -i 's/ElasticdPoll=60000/ElasticdPoll=300/' "$CL_DIR/etc/supernode.conf"
ok "and one that looks more often" start_elasticd

# ---- a node that comes back ---------------------------------------------------------
node_state() { sinfo -h -N -n "$1" -o %T | head -n 1; }
node_is() { node_state "$1" | grep -Eq "$2"; }
mapfile -t free < <(sinfo -h -N -o '%N %t' | awk '$2 == "idle" { print $1 }' | sort -u)
# An answer of a living slurmd, as to the end of a job, brings it back.
id=$(submit --no-requeue -w "${free[0]}" -N1 --exclusive --wrap='sleep 600')
other=$(submit --no-requeue -w "${free[1]}" -N1 --exclusive --wrap='sleep 600')
await "$id" RUNNING >/dev/null
await "$other" RUNNING >/dev/null
ok "a node is taken out by hand" act "\"do\":\"node-out\",\"node\":\"${free[0]}\",\"why\":\"test\""
scontrol update "NodeName=${free[1]}" State=DOWN Reason=test
ok "what ran there is ended" until_true 20 eval '! state_is "$id" RUNNING'
ok "one that is only set down comes back" until_true 90 node_is "${free[1]}" '^idle'
ok "it is out" node_is "${free[0]}" '^(drained|down)'
like "for that reason" "$(scontrol -o show node "${free[0]}")" 'Reason=snelasticd: by user 0: test'
ok "alive" until_true 60 node_is "${free[0]}" '^drained'
ok "with an event" event "take node ${free[0]} out: by user 0: test; done"
# As slurmd drains a node; 25.05 and later say which step it was.
scontrol update "NodeName=${free[2]}" State=DRAIN "Reason=Kill task failed (JobId=7 StepId=batch)"
ok "an event says what to do where slurmd has drained a node" until_true 10 event "${free[2]}.*drained by slurmd, as a step did not end.*scontrol update nodename=${free[2]} state=resume"
cred=$(printf '{"op":"elastic.act","do":"node-out","node":"%s"}' "${free[1]}" | as_user munge -S "$CL_DIR/munge/socket" -i /dev/stdin)
"$TESTS/wire.py" send "$CL_DIR/run/elasticd.socket" "$cred" >/dev/null
ok "users may not" until_true 10 event 'refused.*elastic.act'
is "and it stays" "$(node_state "${free[1]}")" idle
act "\"do\":\"cancel\",\"job\":$odd" >/dev/null
is "nor may anybody, to what has no --parallel" "$(state_of "$odd")" RUNNING
finish
