#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# snelasticd under faults: killed amid reports, slurmctld away or slow, a damaged
# history, a full disk, two daemons, a bad policy file, a clock that is set.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/elastic.sh"
CL_NODES=8 CL_PER=4 CL_PODS=0
start_cluster
command -v snelasticd >/dev/null || skip_all "snelasticd is not built"
STATE=$CL_DIR/state/snelasticd POLICY=$CL_DIR/etc/supernode.conf
ok "it starts" start_elasticd || bail "and so the rest" "$(tail -n 5 "$CL_DIR/log/snelasticd.log")"

# ---- killed amid reports: what was answered is known, and masked
reporter() # NODE: its cards one after another, and which of them were answered
{
	local card

	for card in 0 1 2 3 4 5 6 7; do
		snctl health report "$1:$card" 2>/dev/null | grep -q suspect && echo "$card" >>"$WORK/answered-$1"
	done
}
is_answered() { [ -s "$WORK/answered-n001" ]; }
holds() # NODE: are all answered cards known, and marked?
{
	local card

	for card in $(cat "$WORK/answered-$1" 2>/dev/null); do
		[ "$(state_of_card "$1" "$card")" = suspect ] || { echo "$1:$card is $(state_of_card "$1" "$card")"; return 1; }
	done
	until_true 20 marked "$1" && return 0
	echo "$1 has $(marks "$1" | paste -sd,), answered were $(paste -sd, "$WORK/answered-$1")"
	return 1
}
marked()
{
	[ -z "$(comm -23 <(sort "$WORK/answered-$1") <(marks "$1" | cut -d' ' -f1 | sort))" ]
}
for round in 1 2; do
	rm -f "$WORK"/answered-*
	pids=
	for node in n001 n002 n003; do
		reporter "$node" &
		pids="$pids $!"
	done
	until_true 20 is_answered
	stop_elasticd KILL
	wait $pids
	ok "killed amid reports ($round), it is there again" start_elasticd
	for node in n001 n002 n003; do
		[ -s "$WORK/answered-$node" ] || continue
		ok "all that was answered of $node is known and masked" holds "$node"
	done
	for node in n001 n002 n003; do
		snctl health release "$node:0-7" >/dev/null
		until_true 20 marks_are "$node" "" || fail "$node is released" "$(extra "$node")"
	done
done

# Has slurmctld saved the nodes' records, with this in one and all before it?
nodes_saved() { grep -qaF "$1" "$CL_DIR/state/node_state"; }

# ---- escalation counts: three marks in a day
passed() # a probe of n004:1 passes
{
	request '{"op":"health.report","node":"n004","probes":[{"card":1,"passed":true}]}' &&
		until_true 20 marks_are n004 ""
}
ok "a first report" snctl health report n004:1
stop_elasticd KILL
start_elasticd
marks_of() { snctl health show n004 --json | python3 -c 'import json, sys; print(*[c["marks"] for c in json.load(sys.stdin)["cards"] if c["card"] == 1])'; }
is "is counted still after a kill" "$(marks_of)" 1
ok "the card passes a probe" passed
snctl health report n004:1 >/dev/null
stop_elasticd KILL
start_elasticd
is "and so is a second" "$(marks_of)" 2
ok "it passes another" passed
like "the third takes a release by hand" "$(snctl health report n004:1 --text=the-third)" 'manual'
stop_elasticd KILL
start_elasticd
ok "also after a kill" become n004 "1 manual"
# The state is lost, but not the records: slurmctld, which is killed below, has saved
# that those above have no marks. Nobody would know where both are lost.
ok "which slurmctld saves" until_true 30 nodes_saved the-third
stop_elasticd KILL
rm "$STATE/health.json"
start_elasticd
manual() { [ "$(state_of_card n004 1)" = manual ]; }
ok "and after the state is lost: the node's record has it" until_true 20 manual
stop_elasticd
echo '{"format":1,"cards":[{' >"$STATE/health.json"
start_elasticd
ok "and after it was damaged" until_true 20 manual
ok "which is said" log_says 'error: .*health state is damaged'
snctl health release n004:1 >/dev/null
ok "released, it is free" become n004 ""

# ---- slurmctld away, slow, restarted
ctld_kill
ok "a report while slurmctld is away" snctl health report n005:2
is "is kept" "$(state_of_card n005 2)" suspect
is_down() { [ "$(status slurmctld)" = down ]; }
ok "the daemon says that it is away" until_true 60 is_down
like "and events do" "$(snctl events --kind=slurm)" 'slurmctld (does not tell|has not answered)|not written yet'
stop_elasticd KILL
ok "killed and started without it" start_elasticd
is "it knows still" "$(state_of_card n005 2)" suspect
ok "slurmctld is back" ctld_up
ok "and the mark is written" become n005 "2 suspect" 60
until_true 30 nodes_idle
pid=$(ctld_pid)
kill -STOP "$pid"
before=${EPOCHREALTIME/[.,]/}
ok "a report while slurmctld hangs" snctl health report n006:3
diag "answered in $(((${EPOCHREALTIME/[.,]/} - before) / 1000)) ms"
is "is kept, too" "$(state_of_card n006 3)" suspect
kill -CONT "$pid"
ok "and written when it goes on" become n006 "3 suspect" 60
snctl health release n005:2 >/dev/null
snctl health release n006:3 >/dev/null
ok "and so is a release" become n006 ""

# ---- slurmctld is killed before it has saved what was written last
ok "two cards are marked" snctl health report n003:0,1 --text=to-be-lost
ok "in the record" become n003 "0 suspect,1 suspect"
ok "which slurmctld saves" until_true 30 nodes_saved to-be-lost
cp "$CL_DIR/state/node_state" "$WORK/node_state"
snctl health release n003:0 >/dev/null
snctl health report n003:1 --code=xid-79 >/dev/null
snctl health report n003:2 >/dev/null
ok "one is released, one is worse, and a third is sick" become n003 "1 quarantined,2 suspect"
pid=$(pid_of "$CL_DIR/run/elasticd")
kill -STOP "$pid"
ctld_kill
cp "$WORK/node_state" "$CL_DIR/state/node_state"
ctld_up
is "it is killed, and the record is as before" "$(marks n003 | paste -sd,)" "0 suspect,1 suspect"
kill -CONT "$pid"
ok "the daemon sets it right" become n003 "1 quarantined,2 suspect" 60
is "and takes the released card for no sick one" "$(state_of_card n003 0)" healthy
until_true 30 nodes_idle
snctl health release n003:1,2 >/dev/null
ok "all are released" become n003 ""

# ---- a damaged history
stop_elasticd
head -c 20000 /dev/urandom >"$STATE/history.db"
ok "it starts with a damaged history" start_elasticd
ok "says so" log_says 'error: history: .*moved to .*history.db.bad'
like "and goes on" "$(snctl events)" 'moved to .*history.db.bad'
ok "the damaged one is kept" test -s "$STATE/history.db.bad"

# ---- a full disk (its own, which goes with the process)
stop_elasticd
cat >"$WORK/snelasticd" <<END
#!/bin/bash
exec unshare --mount sh -c 'mount -t tmpfs -o mode=700,size=400k none "$STATE" && exec "\$0" "\$@"' "$(command -v snelasticd)" "\$@"
END
chmod 755 "$WORK/snelasticd"
with_disk()
{
	CL_ELASTICD=$WORK/snelasticd
	elasticd_up
}
if [ "$CL_MODE" = netns ] && with_disk; then
	disk() { nsenter -t "$(pid_of "$CL_DIR/run/elasticd")" -m -- "$@"; }
	disk dd if=/dev/zero of="$STATE/ballast" bs=1k 2>/dev/null
	ok "a report with a full disk" snctl health report n007:1
	ok "is masked" become n007 "1 suspect"
	ok "loudly" until_true 20 log_says 'error: .*(could not be saved|going on without history)'
	like "events are there still" "$(snctl events)" 'n007:1 +mask'
	disk rm "$STATE/ballast"
	saved() { [ "$(status state)" = saved ]; }
	ok "with room again it is saved" until_true 20 saved
	ok "the card, too" disk grep -q '"n007","card":1' "$STATE/health.json"
	snctl health release n007:1 >/dev/null
	ok "and released" become n007 ""
	stop_elasticd
else
	skip "a full disk" "needs a mount namespace"
	stop_elasticd
fi

# ---- two daemons
ok "one daemon" start_elasticd
first=$(pid_of "$CL_DIR/run/elasticd")
# beside-*: ends with the cluster
setsid snelasticd -D >"$CL_DIR/log/second.log" 2>&1 </dev/null &
note_pid "$CL_DIR/run/beside-second" $!
ok "a second stands by" until_true 20 grep -q 'standing by: snelasticd on .* is in charge' "$CL_DIR/log/second.log"
is "the first is in charge" "$(status pid)" "$first"
term=$(status term)
is "its pid file is its own" "$(cat "$CL_DIR/run/elasticd.own")" "$first"
snctl health report n008:4 >/dev/null
stop_elasticd KILL
second=$(pid_of "$CL_DIR/run/beside-second")
took_over() { [ "$(status pid)" = "$second" ]; }
ok "killed, the second takes over" until_true 20 took_over
is "with the next term" "$(status term)" $((term + 1))
is "and knows what the first knew" "$(state_of_card n008 4)" suspect
ok "it masks" snctl health report n008:5
ok "as it should" become n008 "4 suspect,5 suspect"
# The lock is taken from it.
rm -rf "$STATE"
ok "one that has lost its lock ends" until_true 20 gone "$CL_DIR/run/beside-second"
ok "and says why" grep -q 'no longer in charge' "$CL_DIR/log/second.log"
ok "another begins" start_elasticd
is "and has the marks from the records" "$(state_of_card n008 5)" suspect
snctl health release n008:4-5 >/dev/null
ok "and takes them away" become n008 ""

# ---- a bad policy file
cp "$POLICY" "$WORK/policy"
echo 'ElasticdPoll=fast' >>"$POLICY"
pid=$(pid_of "$CL_DIR/run/elasticd")
kill -HUP "$pid"
ok "a bad policy file is refused" until_true 20 log_says 'the configuration is bad and the old one stays: .*supernode.conf:[0-9]+: ElasticdPoll=fast'
cp "$WORK/policy" "$POLICY"
ok "and the daemon goes on" snctl health report n001:1
ok "as before" become n001 "1 suspect"
echo 'HealthUnknownCode=SeparateNPU' >>"$POLICY"
kill -HUP "$pid"
ok "a good one" until_true 20 log_says 'the configuration was read again'
like "counts at once" "$(snctl health report n001:2 --code=never-heard-of)" '2 quarantined'
is "and what was known stays" "$(state_of_card n001 1)" suspect
cp "$WORK/policy" "$POLICY"
snctl health release n001:1-2 >/dev/null

# ---- slurmctld -c loses the records, and an administrator did not mean that
ok "a card is marked" snctl health report n002:6
ok "in the record" become n002 "6 suspect"
scontrol update nodename=n002 extra=
ok "the record was lost: the mark is written again" become n002 "6 suspect"
snctl health release n002:6 >/dev/null
become n002 "" >/dev/null

# ---- the clock is set
if cc -shared -fPIC -o "$WORK/clock.so" "$TESTS/clock-shim.c" 2>/dev/null &&
	[ -z "$(ldd "$(command -v snelasticd)" | grep -E 'lib(a|ub)san')" ]; then
	stop_elasticd
	LD_PRELOAD=$WORK/clock.so SN_CLOCK=$WORK/clock start_elasticd
	snctl health report n003:2 >/dev/null
	for seconds in 86400 -86400 100000000; do
		echo "$seconds" >"$WORK/clock.new" && mv "$WORK/clock.new" "$WORK/clock"
		ok "the clock is set by $seconds s: noticed" until_true 20 log_says "clock was set .* by (86400|172800|100086400)"
		is "and nothing is lost" "$(state_of_card n003 2)" suspect
		ok "reports are taken" snctl health report "n004:$((RANDOM % 8))"
	done
	ok "and released" snctl health release n003:2
	ok "in the record" become n003 ""
else
	skip "the clock is set" "no compiler, or sanitizers"
fi

# ---- dry-run
stop_elasticd
rm -rf "$STATE"
scontrol update nodename=n004 extra=
few_files() { (ulimit -n 600 && start_elasticd "$@"); }
ok "in dry-run, and with few files" few_files --dry-run
ok "which is said" log_says 'error: at most 600 files can be open here, .* want 9[0-9]{3}'
like "reports are taken" "$(snctl health report n005:5)" suspect
ok "what would be written is said" until_true 20 log_says 'dry-run: the marks of n005 are not written'
is "and is not" "$(extra n005)" ""
stop_elasticd
finish
