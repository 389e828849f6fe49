#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job with --elastic that loses nodes and has no spare goes on with the largest
# legal size that its live cards hold, to the state of an uninterrupted run over
# the same sizes; below min_dp it ends.
. "$(dirname "$0")/lib.sh"
. "$TESTS/train.sh"
. "$TESTS/resize.sh"
CL_NODES=16 CL_PER=8 CL_PODS=1 CL_UNIT=0
CL_POLICY=ElasticMembers=no
start_cluster
echo "JobDir=$WORK/jobs/%j RestartWait=2 NodePoll=200" >>"$CL_DIR/etc/supernode.conf"
LOG_ALLOW='slurm_bufs_sendto.*failed|Step complete from .* was already processed|Removing failed node'
# Atoms of 16 ranks, which are a step of two replicas: two nodes each.
layout=tp=8,ep=16,etp=1,dp=8
STEPS=160 STEP_MS=40
TRAIN_RUN=snrun TRAIN_ARGS=--elastic
supernode_of() { python3 -c 'import json, sys; print(*{s for (n, c), s in zip(*[json.load(open(sys.argv[1]))[k] for k in ("ranks", "supernodes")]) if n == sys.argv[2]})' "$WORK/jobs/$1/layout.json" "$2"; }
batch_of() { scontrol -o show job "$1" | sed -nE 's/.* BatchHost=([^ ]*).*/\1/p'; }
lose() # NODE
{
	date +%s%N >"$WORK/lost"
	nodes_down "$1" 2>/dev/null &
	scontrol update "NodeName=$1" State=DOWN Reason=test
	wait $!
}
# Seconds from the loss to the end of the first step of generation G.
took() # NAME G
{
	awk -v g="$2" -v lost="$(cat lost)" '$1 == g { printf "%.2f\n", $3 - lost / 1e9; exit }' "$1/steps"
}
generation_is() { [ "$(cat "$WORK/jobs/$1/generation" 2>/dev/null)" = "$2" ]; }

id=$(submit_train $layout one --elastic=min_dp=4,gbs=36,mbs=1)
like "a size without whole micro batches is refused" "$id" 'refused:.*dp=8:_gbs=36_is_no_multiple'
id=$(submit_train $layout one --elastic=min_dp=3)
like "one off the step, too, with those beside it" "$id" 'refused:.*min_dp=3_is_off_the_dp_step_of_2.*2_or_4_would_do'

# On four nodes of each supernode.
id=$(submit_train $layout one --elastic=min_dp=4,gbs=48,mbs=1 -x 'n[001-006]')
ok "64 ranks run" until_true 60 reached one 8
first=$(scontrol show hostnames "$(scontrol -o show job "$id" | sed -nE 's/.* NodeList=([^ ]*).*/\1/p')" | sort)
is "on eight nodes" "$(echo "$first" | wc -l)" 8
batch=$(batch_of "$id")
victim=$(echo "$first" | grep -vx "$batch" | tail -n 1)
lost=$(supernode_of "$id" "$victim")
lose "$victim"
ok "a node is lost: the job goes on" until_true 60 reached one 1 1
diag "seconds from the loss to the end of the first step: $(took one 1)"
took one 1 >times
ok "with dp=6, whole atoms of other nodes" plan_is_whole "$id" 6
is "the lost node has no rank" "$(grep -c "^$victim\$" "$WORK/jobs/$id/hostfile")" 0
like "snrun says what it does" "$(cat "$id.out")" 'snrun: dp=6 after dp=8: 48 ranks on [0-9]+ nodes'

# Another node of that supernode: what was left over of it stands in.
like "the lost one was of a supernode" "$lost" '^sn[12]$'
second=$(sort -u "$WORK/jobs/$id/hostfile" | grep -vx "$batch" | tail -n 1)
lose "$second"
ok "a second one is lost: it goes on" until_true 60 reached one 1 2
took one 2 >>times
dp=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["layout"]["dp"])' "$WORK/jobs/$id/layout.json")
like "with a legal size" "$dp" '^[46]$'
ok "and files that say so" plan_is_whole "$id" "$dp"
ok "the job ends well" await "$id" "COMPLETED COMPLETING" 120
same_end "$id" one $layout
like "no message was odd" "$(cat one/final)" ' odd 0$'

# The number of micro batches reaches the ranks; below min_dp the job ends.
cat >micro.sh <<'END2'
#!/bin/bash
echo "$RANK $WORLD_SIZE $DP_SIZE $SLURMD_NODENAME $ASCEND_RT_VISIBLE_DEVICES $SUPERNODE_MICRO_BATCHES" >"$MICRO/$SUPERNODE_GENERATION.$RANK"
exec sleep 300
END2
cat >micro-job.sh <<'END2'
#!/bin/bash
exec snrun ./micro.sh
END2
chmod +x micro.sh micro-job.sh
export MICRO=$WORK/micro
mkdir "$MICRO"
id=$(submit --parallel=$layout --elastic=min_dp=6,gbs=48,mbs=1 -w 'n[001-006]' micro-job.sh)
all_said() { [ "$(cat "$MICRO/$1".* 2>/dev/null | wc -l)" = "$2" ]; }
ok "64 ranks of another job run" until_true 60 all_said 0 64
is "each has six micro batches" "$(awk '{ print $2, $3, $NF }' "$MICRO"/0.* | sort -u)" "64 8 6"
batch=$(batch_of "$id")
victim=$(sort -u "$WORK/jobs/$id/hostfile" | grep -vx "$batch" | head -n 1)
lose "$victim"
ok "with a node less 48 run" until_true 60 all_said 1 48
is "with eight" "$(awk '{ print $2, $3, $NF }' "$MICRO"/1.* | sort -u)" "48 6 8"
is "each on its card of the plan" \
	"$(cat "$MICRO"/1.* | awk '{ print $1, $4, $5 }' | sort -n)" \
	"$(python3 -c 'import json, sys; [print(r, n, c) for r, (n, c) in enumerate(json.load(open(sys.argv[1]))["ranks"])]' "$WORK/jobs/$id/layout.json")"
# Three of one supernode leave an atom of it at most.
for node in $(sort -u "$WORK/jobs/$id/hostfile" | grep -vx "$batch" | head -n 3); do
	lose "$node"
done
ok "below min_dp the job ends" await "$id" "FAILED COMPLETING" 60
like "and says why" "$(cat "$id.out")" 'hold no legal size: min_dp=6 takes 48 cards'
diag "seconds from loss to the end of the first step: $(tr '\n' ' ' <times)"
finish
