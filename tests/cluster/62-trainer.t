#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The test trainer under plain srun: its ranks find each other by what the suite
# puts into their environment, its end state depends on the layout alone, and it
# goes on after a rank has died and after SIGTERM.
. "$(dirname "$0")/lib.sh"
. "$TESTS/train.sh"
CL_NODES=16
start_cluster

layout=tp=8,ep=16,etp=1,pp=2,dp=4
id=$(submit_train "$layout" one)
ok "64 ranks train on 8 nodes" await "$id" COMPLETED
right=$(final one)
like "and end in a state" "$right" '^[0-9a-f]{16}$'
like "no message was odd" "$(cat one/final)" 'world 64 .* odd 0$'
is "every step's end is noted" "$(awk '{ print $2 }' one/steps | tr '\n' ' ')" "$(seq -s ' ' 1 "$STEPS") "

# Other nodes, and two jobs at once.
first=$(scontrol -o show job "$id" | sed -nE 's/.* NodeList=([^ ]*).*/\1/p')
other=$(submit_train "$layout" two -x "$first")
same=$(submit_train "$layout" three -w "$first")
ok "the same on other nodes" await "$other" COMPLETED
ok "and beside it on the first" await "$same" COMPLETED
is "ends in the same state on other nodes" "$(final two)" "$right"
is "and on the same" "$(final three)" "$right"
id=$(submit_train tp=8,ep=8,etp=1,pp=2,dp=4,order=tp-cp-ep-pp-dp four)
ok "the other order of the axes trains too" await "$id" COMPLETED
like "to a state of its own" "$(final four)" "^[0-9a-f]{16}$"
[ "$(final four)" != "$right" ]
is "which is another" $? 0

# A rank dies in the middle; the second srun of the same job goes on.
export STEP_MS=40
id=$(submit_train "$layout" five --no-kill)
ok "it gets to step 12" until_true 60 reached five 12
kill -KILL "$(pid_of_rank "$id" 21)"
killed=$(date +%s%N)
ok "a rank is killed: the step ends" until_true 20 test -e five/ended-0
took=$((($(stat -c %.9Y five/ended-0 | tr -d .) - killed) / 1000000))
diag "it took $took ms"
[ $took -lt 5000 ]
is "soon" $? 0
ok "the next start goes on" await "$id" COMPLETED
is "to the same state" "$(final five)" "$right"
from=$(sed -n 's/^generation 1 begins after step //p' "$id.out")
like "from a checkpoint" "$from" '^[0-9]+$'
is "of the last ten steps" "$((from > 0 && from % 5 == 0))" 1

# SIGTERM to all of the step, as before a preemption.
id=$(submit_train "$layout" six)
ok "it gets to step 7" until_true 60 reached six 7
scancel --signal=TERM "$id"
ok "SIGTERM: the step ends" until_true 20 test -e six/ended-0
ok "the next start goes on" await "$id" COMPLETED
is "to the same state" "$(final six)" "$right"
stopped=$(sed -n 's/^sntrain: rank 0: terminated after step //p' "$id.out")
is "from the very step at which it stopped" \
	"$(sed -n 's/^generation 1 begins after step //p' "$id.out")" "$stopped"
finish
