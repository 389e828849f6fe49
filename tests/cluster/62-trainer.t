#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The test trainer under plain srun: its ranks find each other by what the suite
# puts into their environment, its end state depends on the layout alone, and it
# goes on after a rank has died and after SIGTERM. Under snrun it does so by
# itself, also after the loss of a node. (69-kill-node.t does that many times.)
. "$(dirname "$0")/lib.sh"
. "$TESTS/train.sh"
CL_NODES=16
start_cluster
printf '%s\n' CardGres=npu "JobDir=$WORK/jobs/%j" >"$CL_DIR/etc/supernode.conf"
LOG_ALLOW='Removing failed node|Step complete from .* was already processed|slurm_bufs_sendto.*failed'

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
TRAIN_ARGS=--fault=die@13:21
id=$(submit_train "$layout" five --no-kill)
ok "a rank is killed: the step ends" until_true 60 test -e five/ended-0
took=$(awk -v end="$(stat -c %.9Y five/ended-0)" '$1 == 0 { last = $3 } END { printf "%.0f", (end - last) * 1000 }' five/steps)
diag "it took $took ms from the end of the step before"
[ "$took" -lt 5000 ]
is "soon" $? 0
ok "the next start goes on" await "$id" COMPLETED
is "to the same state" "$(final five)" "$right"
from=$(sed -n 's/^generation 1 begins after step //p' "$id.out")
like "from a checkpoint" "$from" '^[0-9]+$'
is "of the last ten steps" "$((from == 5 || from == 10))" 1
TRAIN_ARGS=
export STEP_MS=80

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

# The same under snrun, which starts it again by itself, from its own files.
export TRAIN_RUN=snrun
TRAIN_ARGS=--fault=die@9:60
id=$(submit_train "$layout" seven)
TRAIN_ARGS=
ok "a rank is killed: snrun starts it again" await "$id" COMPLETED
is "to the same state" "$(final seven)" "$right"
is "in one restart" "$(grep -c '^snrun: generation 1 starts' "$id.out") $(cat "$WORK/jobs/$id/generation")" "1 1"

id=$(submit_train "$layout" eight --spares=1)
ok "with a spare: it gets to step 11" until_true 60 reached eight 11
node=$(tail -n 1 "$WORK/jobs/$id/hostfile")
nodes_down "$node" 2>/dev/null &
scontrol update "NodeName=$node" State=DOWN Reason=test
# Slurm takes a minute to close its books on the step that lost a node.
ok "a node is killed: the job goes on" await "$id" "COMPLETED COMPLETING"
is "to the same state" "$(final eight)" "$right"
like "on a spare" "$(cat "$id.out")" "^snrun: node n[0-9]+ takes the place of $node\$"
is "the node has no rank any more" "$(grep -c "^$node\$" "$WORK/jobs/$id/hostfile")" 0
finish
