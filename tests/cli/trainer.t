#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# sntrain, the test trainer: 16 ranks as processes of this host. Its end state is
# what tests of the launcher go by, so it must tell a right run from a wrong one.
. "$SN_SRCDIR/tests/cli/lib.sh"
TRAIN=$SN_BUILDDIR/tests/trainer/sntrain
spec=tp=2,cp=2,ep=2,etp=1,pp=2,dp=2
pids=
trap 'kill -KILL $pids 2>/dev/null; rm -rf "$dir"' EXIT

# start GENERATION ARGS…: all ranks, into pids; JOBDIR, if any, is their job's
# directory and says the groups.
start() {
	generation=$1 pids= r=0
	shift
	port=$("$TRAIN" --free-port)
	[ -n "$JOBDIR" ] || set -- --parallel "${SPEC:-$spec}" "$@"
	while [ $r -lt ${WORLD:-16} ]; do
		env ${JOBDIR:+SUPERNODE_JOB_DIR="$JOBDIR"} RANK=$r WORLD_SIZE=${WORLD:-16} LOCAL_RANK=$r \
			MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" TORCHELASTIC_RESTART_COUNT="$generation" \
			"$TRAIN" --meet 30 "$@" >out.$r 2>err.$r &
		pids="$pids $!" r=$((r + 1))
	done
}

# reap: waits for them; codes is how they ended, each code once
reap() {
	codes=
	for pid in $pids; do
		wait "$pid" 2>/dev/null
		status=$?
		case " $codes " in *" $status "*) ;; *) codes="${codes:+$codes }$status" ;; esac
	done
	pids=
	cat out.* >out
	cat err.* >err
	state=$(sed -n 's/^final state \([0-9a-f]*\) .*/\1/p' out)
}

train() {
	start "$@"
	reap
}

# pid K: of rank K
pid() {
	echo "$pids" | cut -d' ' -f$(($1 + 2))
}

# await FILE LINES: until it has so many
await() {
	i=0
	while [ "$(cat "$1" 2>/dev/null | wc -l)" -lt "$2" ]; do
		i=$((i + 1))
		[ $i -lt 1500 ] || return 1
		sleep 0.02
	done
}

train 0 --steps 20
right=$state
[ "$codes" = 0 ] && [ ${#right} = 16 ]
ok "16 ranks train and end in a state" || show
# tp, cp and ep twice, pp and dp once: 8 messages to each rank in each step.
grep -q ' steps 20 world 16 messages 2560 odd 0$' out
ok "every axis has passed its messages" || show
train 0 --steps 20
[ "$codes" = 0 ] && [ "$state" = "$right" ]
ok "the same again" || show
train 0 --steps 20 --step-ms 2 --slow 5:300
[ "$codes" = 0 ] && [ "$state" = "$right" ]
ok "how long a step takes does not matter" || show
for other in "--seed 2" "--payload 1K" "--steps 21"; do
	# shellcheck disable=SC2086 # two words
	train 0 --steps 20 $other
	[ "$codes" = 0 ] && [ -n "$state" ] && [ "$state" != "$right" ]
	ok "another state with $other" || show
done

for fault in drop@7 dup@7 misroute@7 drop@20:15 dup@20:8 misroute@20:0; do
	train 0 --steps 20 --fault $fault
	[ "$codes" = 0 ] && [ -n "$state" ] && [ "$state" != "$right" ]
	ok "$fault changes the state" || show
	grep -q '^sntrain: rank [0-9]*: in step .*: got a message of rank' err
	ok "$fault is told" || show
done

# What its ranks write down is in order; that of a run that hung names the rank.
train 0 --steps 5 --records "$dir/records"
[ "$codes" = 0 ] && run groups verify records
[ "$status" = 0 ]
ok "the records of a right run agree" || show
start 0 --steps 100 --step-ms 20 --checkpoint-every 1 --state-dir "$dir/stopped" --records "$dir/records-2"
await stopped/steps 4
stopped=$(pid 6)
kill -STOP "$stopped"
# Until the records of all are a second old.
tries=0
while [ $tries -lt 200 ]; do
	tries=$((tries + 1))
	run groups verify records-2 --stall 1
	[ "$status" = 1 ] && grep -q 'rank 6' out && break
	sleep 0.05
done
[ "$status" = 1 ] && grep -q 'rank 6' out
ok "those of a run that hangs name the rank that has stopped" || show
# shellcheck disable=SC2086 # a list
kill -KILL $pids
reap

# A rank is killed: all end, at once, and the next generation goes on.
start 0 --steps 20 --step-ms 60 --checkpoint-every 4 --state-dir "$dir/killed"
await killed/steps 9
kill -KILL "$(pid 9)"
before=$(date +%s)
reap
[ "$codes" = "3 137" ] && [ $(($(date +%s) - before)) -le 3 ]
ok "a rank is killed, all others exit with 3" || show
# Two are kept; it was killed some steps after the eighth.
last=$(ls killed/ckpt-*/complete | tail -n 1)
[ "$(ls killed/ckpt-*/complete | wc -l)" -ge 2 ] && [ ! -e killed/final ]
ok "what is marked complete stays" || show
rm "$last"
from=$(expr "$last" : 'killed/ckpt-0*\([0-9]*\)/' - 4)
train 1 --steps 20 --checkpoint-every 4 --state-dir "$dir/killed"
[ "$codes" = 0 ] && [ "$state" = "$right" ] &&
	grep -q "^generation 1 begins after step $from\$" out &&
	[ "$(cut -d' ' -f2 killed/final | head -c 5)" = state ]
ok "without its marker a checkpoint does not count; the end is the same" || show
is_first=$(awk '$1 == 1 { print $2; exit }' killed/steps)
[ "$is_first" = $((from + 1)) ]
ok "the log of steps shows both generations" || show
train 2 --steps 20 --seed 3 --state-dir "$dir/killed"
case " $codes " in *" 2 "*) ;; *) false ;; esac && grep -q "is another run's" err
ok "another run's checkpoints are refused" || show

# SIGTERM at one rank: all agree on a step, and its checkpoint is whole.
start 0 --steps 1000 --step-ms 20 --checkpoint-every 500 --state-dir "$dir/term"
await term/steps 6
kill -TERM "$(pid 3)"
reap
[ "$codes" = 143 ] && [ -e "$(echo term/ckpt-*)/complete" ]
ok "SIGTERM: a checkpoint that is whole, and exit 143" || show
train 1 --steps 20 --state-dir "$dir/term"
[ "$codes" = 0 ] && [ "$state" = "$right" ]
ok "and from there to the same end" || show

# Other numbers of ranks on the way: the end tells the sequence.
train 0 --steps 10 --state-dir "$dir/shrink"
rm -f out.* err.*
WORLD=8 SPEC=${spec%2}1
train 1 --steps 20 --state-dir "$dir/shrink"
case " $codes " in *" 2 "*) ;; *) false ;; esac && grep -q "is another run's" err
ok "half the ranks do not go on by themselves" || show
train 1 --steps 20 --elastic --state-dir "$dir/shrink"
shrunk=$state
[ "$codes" = 0 ] && [ -n "$state" ] && grep -q '^generation 1: 8 ranks begin after step 10 of 16$' out &&
	grep -q ' steps 20 world 8 messages 1[0-9]* odd 0$' out
ok "with --elastic they do" || show
train 0 --steps 20 --elastic
[ "$codes" = 0 ] && [ "$state" != "$shrunk" ] && [ "$shrunk" != "$right" ]
ok "to another state than without the change" || show
WORLD=16 SPEC=$spec
start 0 --steps 20 --elastic --step-ms 40 --state-dir "$dir/cut"
await cut/steps 12
kill -KILL "$(pid 5)"
reap
rm -f out.* err.*
WORLD=8 SPEC=${spec%2}1
train 1 --steps 20 --elastic --state-dir "$dir/cut"
[ "$codes" = 0 ] && grep -q '8 ranks begin after step 10 of 16$' out && [ "$state" = "$shrunk" ]
ok "a killed run that goes on with half the ranks: the same state" || show
WORLD=16 SPEC=$spec
train 2 --steps 30 --elastic --state-dir "$dir/cut"
grown=$state
WORLD=16 SPEC=$spec
train 2 --steps 30 --elastic --state-dir "$dir/shrink"
[ "$codes" = 0 ] && [ "$state" = "$grown" ] && [ -n "$grown" ]
ok "and grown again" || show
SPEC='' WORLD=''

# Groups from the job's directory.
mkdir job
"$SNCTL" groups --parallel $spec --json >job/groups.json
JOBDIR=$dir/job
train 0 --steps 20
[ "$codes" = 0 ] && [ "$state" = "$right" ] && [ -e job/progress ]
ok "the same from groups.json; progress is touched" || show
sed 's/"tp":\[\[0,1\],\[2,3\]/"tp":[[0,2],[1,3]/' job/groups.json >job/new && mv job/new job/groups.json
train 0 --steps 20
[ "$codes" = 0 ] && [ -n "$state" ] && [ "$state" != "$right" ]
ok "two ranks swapped between groups: another state" || show
echo '{"world":16,"groups":{"tp":[' >job/groups.json
train 0 --steps 20
[ "$codes" = 2 ] && grep -q 'groups.json:' err
ok "half a groups.json is refused" || show
JOBDIR=
train 0 --steps 20 --parallel tp=2
[ "$codes" = 2 ] && grep -q 'the layout has 2 ranks, but WORLD_SIZE is 16' err
ok "a layout of another size is refused" || show
finish
