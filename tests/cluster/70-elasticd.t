#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# snelasticd: who is believed and who is not, that a report masks its card for the
# next placement, what operators and administrators do, and what it tells.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/elastic.sh"
CL_NODES=8 CL_PER=4 CL_PODS=0
CL_POLICY="Operators=bin"
OWNER=daemon # Slurm 26.05 takes no jobs of nobody
LOG_ALLOW="Security violation, UPDATE_NODE" # by operators, who then ask snelasticd
start_cluster
command -v snelasticd >/dev/null || skip_all "snelasticd is not built"
SOCKET=$CL_DIR/run/elasticd.socket
chmod 711 "$WORK" "$CL_DIR" "$CL_DIR/etc"
like "without it snctl says so" "$(snctl health show 2>&1; echo "exit $?")" 'no snelasticd answers.*'
ok "it starts" start_elasticd -v || bail "and so the rest" "$(tail -n 5 "$CL_DIR/log/snelasticd.log")"
is "and is in charge" "$(status in_charge) $(status term)" "True 1"
like "nothing is sick" "$(snctl health show)" 'every card .* is healthy'

# ---- a report, and the next placement
fits() # NODE CARDS: would a job with so many cards of the node start now?
{
	local id

	id=$(SN_STEP=no submit -w "$1" "--gres=npu:$2" --time=1 "$TESTS/held.sh")
	until_true 10 state_is "$id" RUNNING
	set -- $?
	scancel "$id"
	await "$id" CANCELLED >/dev/null
	return "$1"
}
own=snctl
[ "$CL_MODE" = loopback ] || own="on n003 snctl"
before=${EPOCHREALTIME/[.,]/}
like "root on its own node reports" "$($own health report n003:3 --code=sick --text='very odd' 2>&1)" '^n003: 3 suspect$'
has_mark() { [[ $(scontrol -o show node n003) == *suspect* ]]; }
until has_mark || [ $((${EPOCHREALTIME/[.,]/} - before)) -gt 20000000 ]; do :; done
after=${EPOCHREALTIME/[.,]/}
is "the card is marked in its node's record" "$(marks n003)" "3 suspect"
diag "from the report to the mark, with the clients' start: $(((after - before) / 1000)) ms"
a=$(SN_STEP=no submit -w n003 --gres=npu:7 "$TESTS/held.sh")
ok "seven other cards serve" await "$a" RUNNING
is "without the sick one" "$(cards_of "$a" | awk '{print $2}' | paste -sd,)" "0,1,2,4,5,6,7"
scancel "$a"
await "$a" CANCELLED >/dev/null
b=$(SN_STEP=no submit -w n003 --gres=npu:8 "$TESTS/held.sh")
is_waiting() { [ "$(reason_of "$b")" = Resources ]; }
ok "eight do not fit" until_true 20 is_waiting
like "show says what and why" "$(snctl health show)" '^n003 +3 +sn1 +suspect.* very odd'
is "of the node, all cards" "$(snctl health show n003 | grep -c ^n003)" 8

# ---- who is not believed: nothing changes, and it is logged
refused() # WHAT REGEX COMMAND…
{
	local what=$1 regex=$2 text
	shift 2

	text=$("$@" 2>&1; echo "exit $?")
	like "$what" "$text" "$regex"
	like "exit 1: $what" "$text" '^exit 1$'
}
refused "a user without a job" "only root on the node itself" as_user snctl health report n004:1
if [ "$CL_MODE" = netns ]; then
	refused "root on another node" "root at .* speaks for node n004" on n002 snctl health report n004:1
	refused "root on another node, for a job" "root at" on n002 snctl health report n004:1 --job=1
else
	skip "root on another node" "all nodes are on loopback"
fi
refused "a user, of a job that is not there" "not running" as_user snctl health report n004:1 --job=4711
is "the card is as it was" "$(marks n004)$(state_of_card n004 1)" "healthy"
ok "it is logged" log_says "refused: health.report by user $USER1 at this host"
like "and an event" "$(snctl events --kind=refused)" "refused +n004 +health report: user $USER1"
refused "an unknown node" "no node n099" snctl health report n099:1
text=$(snctl health report n004:9 2>&1; echo "exit $?")
like "an unknown card" "$text" 'node n004 has no card 9; it has 8'
like "is bad input" "$text" '^exit 2$'
like "so is an unknown metric" "$(snctl health report n004:1 speed=7 2>&1; echo "exit $?")" 'speed'
like "and a value that is none" "$(snctl health report n004:1 step_time=x 2>&1; echo "exit $?")" 'no number'

# ---- the owner of a job gives hints
USER1=$(id -u "$OWNER")
cp "$TESTS/held.sh" "$WORK/held.sh"
printf '#!/bin/bash\nexec sleep 600\n' >"$WORK/sleeper"
chmod 755 "$WORK/sleeper"
j=$(SN_STEP=no submit --uid="$OWNER" -w n006 --gres=npu:4 --output=/dev/null -D / "$WORK/sleeper")
ok "a user's job runs" await "$j" RUNNING
mine=$(cards_of "$j" | awk '{print $2}' | head -n 1)
like "its owner hints at a card of it" "$(as_user snctl health report "n006:$mine" --job="$j" 2>&1)" 'taken as a hint'
is "a hint masks nothing" "$(marks n006)$(state_of_card n006 "$mine")" "healthy"
like "but is shown" "$(snctl health show)" "^n006 +$mine .*hinted"
refused "a card of another" "cards of node n006 that the job does not have" as_user snctl health report n006:7 --job="$j"
USER1=65534
refused "somebody else's job" "a job of user" as_user snctl health report "n006:$mine" --job="$j"
scancel "$j"

# ---- operators, and administrators without the daemon's help
refused "no operator" "Operators" as_user snctl health release n003:3
refused "nor may he drain" "Operators" as_user snctl card drain n005:1 --reason=x
USER1=$(id -u bin)
ok "an operator drains a card" as_user snctl card drain n005:1 --reason='his own eyes'
like "it is in the record, in his name" "$(extra n005)" '"1": *\{ *"drain": *\{ *"by": *"bin".*his own eyes'
ok "and resumes it" as_user snctl card resume n005:1
is "nothing is left in the record" "$(extra n005)" ""
ok "he releases the sick card" as_user snctl health release n003:3 --reason=cleaned
ok "its mark goes" become n003 ""
ok "and the waiting job starts" await "$b" RUNNING
scancel "$b"
like "who did it is an event" "$(snctl events --kind=operator --node=n003)" 'released by user [0-9]+: cleaned'
USER1=65534
ok "marked again" snctl health report n003:3
ok "again in the record" become n003 "3 suspect"
ok "root takes the mark away by himself" snctl card resume n003:3
gone_healthy() { [ "$(state_of_card n003 3)" = healthy ]; }
ok "the daemon sees that" until_true 20 gone_healthy
ok "and leaves it so" become n003 ""

# ---- events as they happen
snctl events -f --json --kind=health >"$WORK/follow.out" 2>&1 &
follower=$!
ok "a follower begins with the past" until_true 20 grep -q '"card":3' "$WORK/follow.out"
$own health report n003:5 >/dev/null
ok "and hears of what happens" until_true 20 grep -q '"card":5.*mask' "$WORK/follow.out"
kill "$follower"
wait "$follower" 2>/dev/null
snctl health release n003:5 >/dev/null

# ---- the wire
cred=$(printf '{"op":"status"}' | munge -S "$CL_DIR/munge/socket" -i /dev/stdin)
set -- $("$TESTS/wire.py" send "$SOCKET" "$cred" "$cred")
ok "a request by hand is answered" test "${1:-0}" -gt 100
is "sent once more it is not" "${2:-}" 0
ok "as munge has seen it before" log_says 'refused: a request from .*[Rr]eplayed'
is "a request that is too large is cut off" "$("$TESTS/wire.py" send "$SOCKET" 300000)" 0
"$TESTS/wire.py" garbage "$SOCKET" 40
"$TESTS/wire.py" garbage "127.0.0.1:$((CL_PORT + 1))" 40
coproc flood { "$TESTS/wire.py" flood "$SOCKET" 600; }
read -r word <&"${flood[0]}"
is "hundreds of connections that say nothing" "$word" held
before=$(date +%s%N)
ok "do not keep out one that does" snctl health report n007:2
diag "a report amid them: $((($(date +%s%N) - before) / 1000000)) ms"
ok "and its mark is written" become n007 "2 suspect"
ok "the oldest of them went" test "$(status evicted)" -gt 100
exec {flood[1]}>&-
wait "$flood_PID" 2>/dev/null
ok "it is as it was" test "$(status in_charge)" = True

ok "it ends on SIGTERM" stop_elasticd
ok "and says so" log_says ' ended$'
is "the socket is gone" "$(ls "$SOCKET" "$CL_DIR/run/elasticd.own" 2>/dev/null)" ""
finish
