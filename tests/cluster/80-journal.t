#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# snelasticd is killed, or a call of its fails, in the middle of what it does to jobs
# and nodes: in the end all is done, once. With SN_POINTS=all at every point, which
# takes some minutes (make check-soak).
. "$(dirname "$0")/lib.sh"
. "$TESTS/elastic.sh"
CL_NODES=8 CL_PER=8 CL_PODS=1 CL_UNIT=0
CL_POLICY="ElasticdPoll=200"
start_cluster
LOG_ALLOW='_step_partial_comp: batch step received|Removing failed node|Kill task failed|slurm_bufs_sendto.*failed|Step complete from'
cc -shared -fPIC -o "$WORK/fault.so" "$TESTS/fault-shim.c" 2>/dev/null || skip_all "there is no compiler"
[ -z "$(ldd "$(command -v snelasticd)" | grep -E 'lib(a|ub)san')" ] || skip_all "sanitizers are in the way of a preloaded library"
field() { scontrol -o show job "$1" 2>/dev/null | sed -nE "s/.* $2=([^ ]*).*/\1/p"; } # JOB NAME
act() { request "{\"op\":\"elastic.act\",$1}" 2>/dev/null; }
node_is() { sinfo -h -N -n "$1" -o %T | head -n 1 | grep -Eq "$2"; }
ended() { gone "$CL_DIR/run/elasticd"; }
restarted() { [ "$(field "$job" Restarts)" = "$1" ] && [ "$(state_of "$job")" = RUNNING ]; }
drained() { node_is n008 '^(drained|down)' && scontrol -o show node n008 | grep -q 'State=[A-Z]*+DRAIN.*Reason=snelasticd: '; }
shimmed() { LD_PRELOAD=$WORK/fault.so SN_FAULT=$1 SN_FAULT_FILE=$WORK/points start_elasticd; }

job=$(submit --parallel=tp=8,dp=1 --wrap='sleep 3000')
ok "a job" await "$job" RUNNING
# one NAME:K:HOW [standby]: a node is taken out, and the job, which has a member that
# waits, requeued; one point fails
one()
{
	local fault=$1 r member rc

	r=$(field "$job" Restarts)
	member=$(submit --parallel=tp=8,dp=1 --no-requeue --begin=now+3600 --comment="supernode:member=$job:$r" --wrap='sleep 3000')
	rm -f "$WORK/points"
	shimmed "$fault" >/dev/null || { fail "$fault: it starts"; return; }
	if [ "${2:-}" = standby ]; then
		setsid snelasticd -D >>"$CL_DIR/log/second.log" 2>&1 </dev/null &
		note_pid "$CL_DIR/run/beside-second" $!
		until_true 20 grep -q 'standing by' "$CL_DIR/log/second.log"
	fi
	: >"$WORK/points"
	act '"do":"node-out","node":"n008","why":"test"'
	act "\"do\":\"requeue\",\"job\":$job"
	rc=$?
	case $fault in
	*:kill-*)
		until_true 30 ended || { fail "$fault: it is killed" "$(cat "$WORK/points")"; return; }
		mv "$WORK/points" "$WORK/points.$fault"
		[ "${2:-}" = standby ] || start_elasticd >/dev/null
		[ "${2:-}" != standby ] || until_true 20 grep -q 'in charge (term' "$CL_DIR/log/second.log"
		;;
	esac
	# What was not answered may not have begun.
	until_true 20 journal_quiet
	[ "$(field "$job" Restarts)" != "$r" ] || [ $rc = 0 ] || act "\"do\":\"requeue\",\"job\":$job"
	drained || act '"do":"node-out","node":"n008","why":"test"'
	until_true 40 restarted $((r + 1)) && until_true 20 drained &&
		until_true 20 state_is "$member" CANCELLED && until_true 20 journal_quiet
	rc=$?
	[ $rc = 0 ] || tail -n 20 "$CL_DIR/log/snelasticd.log" | sed 's/^/# /'
	is "$fault${2:+, and a second stands by}: all is done, once" \
		"$rc $(field "$job" Restarts) $(state_of "$job") $(state_of "$member")" \
		"0 $((r + 1)) RUNNING CANCELLED"
	stop_elasticd
	[ "${2:-}" != standby ] || end_pid "$CL_DIR/run/beside-second"
	scontrol update NodeName=n008 State=RESUME
	until_true 20 node_is n008 '^idle'
}

one none:0:none
sort "$WORK/points" | uniq -c | sed 's/^/# points: /'
if [ "${SN_POINTS:-}" = all ]; then
	n=$(wc -l <"$WORK/points")
	for ((k = 1; k <= n; k++)); do
		for how in kill-before kill-after fail lost; do
			one "any:$k:$how"
		done
	done
	diag "$n points"
else
	one slurm_requeue2:1:kill-after standby
	one slurm_update_node:2:kill-before
	one write:2:kill-after
	one slurm_update_job:1:lost
	one fsync:2:fail
fi

# ---- slurmctld away, and slow ------------------------------------------------------
ok "a daemon" start_elasticd
r=$(field "$job" Restarts)
# kill -9 takes what slurmctld has not written, such as the last requeue.
state_saved "$job" || diag "slurmctld does not save its state"
ctld_kill
ok "with slurmctld away an action begins" act '"do":"node-out","node":"n008","why":"test"'
ok "and another" act "\"do\":\"requeue\",\"job\":$job"
stop_elasticd KILL
ok "killed, and started without slurmctld" start_elasticd
ok "slurmctld is back" ctld_up
ok "it is done" until_true 60 drained
ok "the other, too" until_true 60 restarted $((r + 1))
ok "and nothing is left" until_true 30 journal_quiet
scontrol update NodeName=n008 State=RESUME
pid=$(ctld_pid)
kill -STOP "$pid"
ok "with a slurmctld that hangs" act "\"do\":\"requeue\",\"job\":$job"
stop_elasticd KILL
ok "killed, and started" start_elasticd
kill -CONT "$pid"
ok "slurmctld goes on: it is done" until_true 60 restarted $((r + 2))
ok "and nothing is left" until_true 30 journal_quiet
is "once" "$(field "$job" Restarts)" $((r + 2))

# ---- a damaged journal ---------------------------------------------------------------
stop_elasticd
printf 'rubbish\n{"begin":{"id":1,"ki' >>"$CL_DIR/state/snelasticd/journal"
ok "a damaged journal" start_elasticd
ok "is said" until_true 10 log_says 'error: 1 line of .*/journal is damaged; it is kept as journal.bad'
ok "kept" grep -q rubbish "$CL_DIR/state/snelasticd/journal.bad"
ok "and written anew" until_true 10 journal_quiet
stop_elasticd
finish
