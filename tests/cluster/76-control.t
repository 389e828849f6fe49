#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# snctl elastic: status, shrink, grow, swap, pause and resume reach the job's snrun
# without a daemon, from its owner and root; ranks are asked to save first, and the
# end state is that of an uninterrupted run over the same sizes.
. "$(dirname "$0")/lib.sh"
. "$TESTS/train.sh"
. "$TESTS/resize.sh"
CL_NODES=12 CL_PER=6 CL_PODS=1 CL_UNIT=0
start_cluster
echo "JobDir=$WORK/jobs/%j RestartWait=3 NodePoll=200 ElasticPoll=1 ElasticWait=20 CheckpointHard=20" >>"$CL_DIR/etc/supernode.conf"
LOG_ALLOW='slurm_bufs_sendto.*failed|Step complete from .* was already processed|step_signal'
layout=tp=8,ep=16,etp=1,dp=6
STEPS=400 STEP_MS=60 EVERY=100
TRAIN_RUN=snrun TRAIN_ARGS=--elastic
elastic() { snctl elastic "$@" 2>&1; }
field() { elastic status "$1" --json | python3 -c 'import json, sys; print(json.load(sys.stdin).get(sys.argv[1]))' "$2" 2>/dev/null; }
is_now() { [ "$(field "$1" "$2")" = "$3" ]; }
n_members() { squeue -h -o '%k' | grep -c "^supernode:member=$1:"; }
has_members() { [ "$(n_members "$1")" = "$2" ]; }
ends_in() { [[ $(elastic status "$1" --json) == *'"state":"'$2'"'* ]]; }
# reached_again NAME JOB: a step in the generation that status tells
reached_again() { reached "$1" 1 "$(cat "$WORK/jobs/$2/generation")"; }
now() { date +%s.%N; }
took() # NAME GENERATION MOMENT
{
	awk -v g="$2" -v at="$3" '$1 >= g { printf "%.2f", $3 - at; exit }' "$1/steps"
}
generation() { cat "$WORK/jobs/$1/generation"; }

id=$(submit_train $layout one --elastic=min_dp=2)
ok "48 ranks train" until_true 60 reached one 3
ok "and its snrun says so" until_true 30 is_now "$id" dp 6
is "status: sizes and members" "$(field "$id" min_dp) $(field "$id" next_lower) $(n_members "$id")" "2 4 2"
like "the same in words" "$(elastic status "$id")" "job $id: running, dp=6 with 48 ranks, generation [01], 0 restarts"
member=$(squeue -h -o '%A %k' | awk '/supernode:member=/ { print $1; exit }')
like "a member's id means its base" "$(elastic status "$member")" "^job $id: running"
# A comment is its user's to write.
a=$(SN_STEP=no submit -x "$(squeue -h -o %N | paste -sd,)" "$TESTS/held.sh")
b=$(SN_STEP=no submit --comment="supernode:member=$a:0" "$TESTS/held.sh")
ok "two jobs" await "$b" RUNNING
like "one that calls itself a member gets its base's snrun" "$(elastic status "$b" --timeout 1)" 'no snrun runs in .*'"/$a\$"
ok "which says the same of it" scontrol update "JobId=$a" "Comment=supernode:member=$b:0"
like "that are each other's member are none" "$(timeout 20 snctl elastic status "$b" --timeout 1 2>&1)" "calls itself a member of job $a, and is none"
scancel "$a" "$b"
like "a size off the step is refused with the neighbours" "$(elastic shrink "$id" --dp 3)" 'dp=3 is no size of the job .*near it are 2 and 4'
like "so is one that is no less" "$(elastic shrink "$id" --dp 6)" 'dp=6 is not less than dp=6'
like "and one beyond max_dp" "$(elastic grow "$id")" 'dp=6 is the largest size'
like "a node that is not in the job" "$(elastic swap "$id" n099)" 'node n099 is not in the job'
like "another user is refused" "$(setpriv --reuid=65534 --clear-groups --regid=65534 "$SN_BUILDDIR/snctl/snctl" elastic status "$id" 2>&1)" "only he and root|cannot|denied|Permission"

at=$(now) g=$(generation "$id")
ok "shrink" elastic shrink "$id"
ok "takes it to dp=4" until_true 30 is_now "$id" dp 4
ok "and trains" until_true 30 reached one 1 $((g + 1))
diag "seconds from shrink to the end of the first step: $(took one $((g + 1)) "$at")"
is "from the checkpoint that was asked for: no step was lost" \
	"$(awk -v g=$((g + 1)) '$1 == g { print $2; exit }' one/steps)" "$(($(awk -v g="$g" '$1 == g { s = $2 } END { print s }' one/steps) + 1))"
ok "the request was written" grep -q '"then":"exit"' "$WORK/jobs/$id/checkpoint.request"
is "a member has gone" "$(n_members "$id")" 1
is "which counts as no restart" "$(field "$id" restarts)" 0
ok "the plan is whole" plan_is_whole "$id" 4

at=$(now) g=$(generation "$id")
ok "grow" elastic grow "$id" --dp=6
ok "takes it back to dp=6" until_true 30 is_now "$id" dp 6
ok "and trains" until_true 30 reached one 1 $((g + 1))
diag "seconds from grow to the end of the first step: $(took one $((g + 1)) "$at")"
ok "the plan is whole" plan_is_whole "$id" 6

ok "pause" elastic pause "$id"
ok "ends the ranks" until_true 30 ends_in "$id" paused
last=$(tail -n 1 one/steps | cut -d' ' -f2)
no_rank() { ! pgrep -f "^$SNTRAIN --state-dir $WORK/one" >/dev/null; }
ok "no rank runs" until_true 20 no_rank
is "the nodes are kept" "$(squeue -h -j "$id" -o %T) $(n_members "$id")" "RUNNING 2"
g=$(generation "$id")
ok "resume" elastic resume "$id"
next() { awk -v s="$last" '$2 > s { found = 1 } END { exit !found }' one/steps; }
ok "goes on" until_true 30 next
is "with the next step" "$(awk -v s="$last" '$2 > s { print $2; exit }' one/steps)" $((last + 1))

# A node of the base, but not its batch host, is to have no ranks.
node=$(scontrol show hostnames "$(scontrol -o show job "$id" | sed -nE 's/.* NodeList=([^ ]*).*/\1/p')" |
	grep -vx "$(scontrol -o show job "$id" | sed -nE 's/.* BatchHost=([^ ]*).*/\1/p')" | head -n 1)
ok "swap" elastic swap "$id" "$node"
gone() { ! grep -qx "$node" "$WORK/jobs/$id/hostfile"; }
ok "takes the ranks off the node" until_true 30 gone
ok "and trains" until_true 30 reached_again one "$id"
scancel "$id"
no_job() { [ -z "$(squeue -h -o %T | grep -v COMPLETING)" ]; }
ok "scancel ends all" until_true 30 no_job
like "nobody answers then" "$(elastic status "$id" --timeout 1)" "does not run|there is no job|no snrun runs"

# The whole of it once more, to its end.
STEPS=80 EVERY=20
id=$(submit_train $layout two --elastic=min_dp=2)
ok "another trains" until_true 60 reached two 5
ok "shrink to dp=2" elastic shrink "$id" --dp 2
ok "is there" until_true 30 is_now "$id" dp 2
ok "with no member" until_true 10 has_members "$id" 0
ok "trains" until_true 30 reached_again two "$id"
ok "grow to dp=4" elastic grow "$id"
ok "is there" until_true 30 is_now "$id" dp 4
ok "it ends well" await "$id" "COMPLETED COMPLETING" 90
same_end "$id" two $layout

# Ranks that do not end when they are asked are killed, but not at once.
cat >deaf.sh <<'END2'
#!/bin/bash
trap 'echo asked >>"$DEAF/asked"' TERM
echo >"$DEAF/$SUPERNODE_GENERATION.$RANK"
while :; do sleep 0.3; done
END2
printf '#!/bin/bash\nexec snrun ./deaf.sh\n' >deaf-job.sh
chmod +x deaf.sh deaf-job.sh
sed -i 's/CheckpointHard=20/CheckpointHard=3/' "$CL_DIR/etc/supernode.conf"
export DEAF=$WORK/deaf
mkdir "$DEAF"
id=$(submit --parallel=tp=8,dp=2 --elastic=min_dp=1 deaf-job.sh)
sixteen() { [ "$(ls "$DEAF/$1".* 2>/dev/null | wc -l)" = "$2" ]; }
ok "16 ranks that do not listen" until_true 40 sixteen 0 16
ok "shrink" elastic shrink "$id"
ok "all were asked" until_true 20 bash -c "[ \$(wc -l <'$DEAF/asked') -ge 16 ]"
ok "and after CheckpointHard eight run" until_true 30 sixteen 1 8
like "snrun says that there is no checkpoint" "$(cat "$id.out")" 'no checkpoint was marked as durable'
scancel "$id"
ok "scancel ends all" until_true 30 no_job

# ---- what is well again is used again: a card is left until its mark is gone
printf '#!/bin/bash\necho >"$DEAF/card.$SUPERNODE_GENERATION.$RANK"\nexec sleep 300\n' >said.sh
printf '#!/bin/bash\nexec snrun ./said.sh\n' >said-job.sh
chmod +x said.sh said-job.sh
id=$(submit --parallel=tp=8,dp=2 --elastic=min_dp=1 said-job.sh)
ok "16 ranks of a base and a member" until_true 40 sixteen card.0 16
node=$(squeue -h -j "$id" -o %N)
scontrol update "NodeName=$(sinfo -h -N -o %N | sort -u | grep -vxFf <(sort -u "$WORK/jobs/$id/hostfile") | paste -sd,)" State=DRAIN Reason=test
ok "a card has a mark" snctl card drain "$node:3" --reason=test
# As the daemon orders it, which is not there.
printf '{"op":"swap","node":"%s","cards":[3],"well":1}' "$node" >"$WORK/jobs/$id/control/.1" && mv "$WORK/jobs/$id/control/.1" "$WORK/jobs/$id/control/1.request"
ok "its ranks leave it: one replica is left" until_true 30 sixteen card.1 8
ok "and another member waits for a node" until_true 20 has_members "$id" 2
left() { elastic status "$id" --json | python3 -c 'import json, sys; print(*[(e["node"], e["cards"], e["well"]) for e in json.load(sys.stdin)["left"]])'; }
is "status says what is left" "$(left)" "('$node', [3], 1)"
ok "the mark is gone" snctl card resume "$node:3"
ok "and both replicas run" until_true 30 sixteen card.2 16
is "on the base's node" "$(sort "$WORK/jobs/$id/hostfile" | uniq -c | awk -v n="$node" '$2 == n { print $1 }')" 8
is "and nothing is left" "$(left)" ""
ok "nor does a member wait" until_true 20 has_members "$id" 1
like "snrun says so" "$(cat "$id.out")" "wrong at node $node has been well for its time"
scancel "$id"
finish
