#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job with --elastic is a base of min_dp and member jobs: it starts with those
# that can start, grows as others do, shrinks as they go, and none outlives it.
. "$(dirname "$0")/lib.sh"
. "$TESTS/train.sh"
. "$TESTS/resize.sh"
CL_NODES=12 CL_PER=6 CL_PODS=1 CL_UNIT=0
CL_EXTRA="PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=high Nodes=ALL PriorityTier=9 PreemptMode=OFF DefMemPerCPU=10"
start_cluster
echo "JobDir=$WORK/jobs/%j RestartWait=3 NodePoll=200 ElasticPoll=1 ElasticWait=20" >>"$CL_DIR/etc/supernode.conf"
LOG_ALLOW='slurm_bufs_sendto.*failed|Step complete from .* was already processed|Removing failed node|batch script missing|Kill task failed|error: step_signal'
# Atoms of 16 ranks, a step of two replicas: two nodes each, three in a supernode.
layout=tp=8,ep=16,etp=1,dp=6
STEPS=160 STEP_MS=50 EVERY=10
TRAIN_RUN=snrun TRAIN_ARGS=--elastic
# The job's members, one "ID STATE NODES" a line
members() { squeue -h -o '%A %T %N %k' | awk -v c="supernode:member=$1:" 'index($0, c) { print $1, $2, $3 }'; }
n_members() { members "$1" | grep -c "${2:-.}"; }
has_members() { [ "$(n_members "$1" "${3:-.}")" = "$2" ]; }
dp_of() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["layout"]["dp"])' "$WORK/jobs/$1/layout.json" 2>/dev/null; }
dp_is() { [ "$(dp_of "$1")" = "$2" ] && [ "$(cat "$WORK/jobs/$1/generation")" -ge "${3:-0}" ]; }
batch_of() { scontrol -o show job "$1" | sed -nE 's/.* BatchHost=([^ ]*).*/\1/p'; }
# No job but completing ones, and no rank
nothing_left() { [ -z "$(squeue -h -o '%A %T %j' | grep -v COMPLETING)" ] && ! pgrep -f "$SNTRAIN --state-dir $WORK" >/dev/null; }
now() { date +%s.%N; }
# Seconds from MOMENT to the end of the first step of generation G
since() { awk -v g="$2" -v at="$3" '$1 >= g { printf "%.2f", $3 - at; exit }' "$1/steps"; }

# ---- all cards are free ----------------------------------------------------------
id=$(submit_train $layout one --elastic=min_dp=2 --mem=3000 --time=9)
ok "the base runs" await "$id" RUNNING
ok "and two members" until_true 20 has_members "$id" 2 RUNNING
both=$(members "$id" | cut -d' ' -f1)
of_both() { for m in $both; do scontrol -o show job "$m" | grep -oE " ($1)=[^ ]*"; done | sort -u | tr -d '\n'; } # FIELD|…
is "each with the base's memory and what is left of its time" "$(of_both 'MinMemoryNode|TimeLimit')" " MinMemoryNode=3000M TimeLimit=00:09:00"
base=$(scontrol show hostnames "$(scontrol -o show job "$id" | sed -nE 's/.* NodeList=([^ ]*).*/\1/p')")
is "the base has min_dp: two nodes" "$(echo "$base" | wc -l)" 2
ok "48 ranks start at once" until_true 40 reached one 2
ok "with the files of dp=6" plan_is_whole "$id" 6
is "in the base's supernode" "$(python3 -c 'import json, sys; print(len(set(json.load(open(sys.argv[1]))["supernodes"])))' "$WORK/jobs/$id/layout.json")" 1
is "and no card of another's" \
	"$(python3 -c 'import json, sys; [print(n, c) for n, c in json.load(open(sys.argv[1]))["ranks"]]' "$WORK/jobs/$id/layout.json" | sort)" \
	"$( (cards_of "$id"; for m in $(members "$id" | cut -d' ' -f1); do cards_of "$m"; done) | sort)"
like "members are named after their base" "$(squeue -h -o %j | sort | tail -n 1)" '^train-job.sh\+2$'
ok "it ends well" await "$id" COMPLETED
ok "and nothing is left" until_true 20 nothing_left
like "members write nothing, and are cancelled or complete" "$(of_both 'StdOut|JobState')" '^ JobState=(CANCELLED|COMPLETED) StdOut=/dev/null$'
like "in its first generation" "$(cat "$WORK/jobs/$id/generation")" '^0$'
same_end "$id" one $layout

# What the tasks of all parts are told.
cat >who.sh <<'END2'
#!/bin/bash
echo "$RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $GROUP_RANK $GROUP_WORLD_SIZE $MASTER_ADDR $MASTER_PORT $DP_RANK $SLURMD_NODENAME $ASCEND_RT_VISIBLE_DEVICES $SUPERNODE_JOB_DIR" >"$WHO/$RANK"
END2
printf '#!/bin/bash\nexec snrun ./who.sh\n' >who-job.sh
chmod +x who.sh who-job.sh
export WHO=$WORK/who
mkdir "$WHO"
python3 - >inventory.json <<'END2'
import json
print(json.dumps({"nodes": {"n%03d" % i: {"cards": [
    {"device_id": c, "super_device_id": i << 22 | c, "device_ip": "192.0.%d.%d" % (i, c + 1)}
    for c in range(8)]} for i in range(1, 13)}}))
END2
echo "RankTable=1.2 Inventory=$WORK/inventory.json" >>"$CL_DIR/etc/supernode.conf"
id=$(submit --parallel=tp=2,dp=18 --elastic=min_dp=2 who-job.sh)
ok "36 ranks of small atoms, several jobs on a node" await "$id" COMPLETED
like "came from several jobs" "$(cat "$id.out")" '16 member jobs submitted'
is "each has its number, once" "$(cat who/* | awk '{ print $1 }' | sort -n | tr '\n' ' ')" "$(seq -s ' ' 0 35) "
is "one world, one master, one directory" "$(cat who/* | awk '{ print $2, $7, $8, $12 }' | sort -u | wc -l)" 1
is "on a node local ranks count to its size" \
	"$(cat who/* | awk '{ n[$10]++; of[$10] = $4; if ($3 >= $4) bad++; seen[$10 "/" $3]++ } END { for (k in n) if (n[k] != of[k]) bad++; for (s in seen) if (seen[s] > 1) bad++; print bad + 0 }')" 0
is "GROUP_RANK is the node's" "$(cat who/* | awk '{ print $5, $10 }' | sort -u | awk '{ g[$1]++; n[$2]++ } END { for (k in g) if (g[k] > 1) b++; for (k in n) if (n[k] > 1) b++; print b + 0 }')" 0
is "each is on its card of the plan" "$(cat who/* | awk '{ print $1, $10, $11 }' | sort -n)" \
	"$(python3 -c 'import json, sys; [print(r, n, c) for r, (n, c) in enumerate(json.load(open(sys.argv[1]))["ranks"])]' "$WORK/jobs/$id/layout.json")"
# A server once, with the cards of all jobs there, and the servers of a super pod together.
is "the rank table has each there, too" "$(python3 - "$WORK/jobs/$id" <<'END2'
import json, sys
table = json.load(open(sys.argv[1] + "/ranktable.json"))
ranks = json.load(open(sys.argv[1] + "/layout.json"))["ranks"]
has = [(int(d["rank_id"]), s["server_id"], int(d["device_id"])) for s in table["server_list"] for d in s["device"]]
servers = [s["server_id"] for s in table["server_list"]]
pods = [s["server_id"] for p in table["super_pod_list"] for s in p["server_list"]]
print(has == [(r, n, c) for r, (n, c) in enumerate(ranks)], len(set(servers)) == len(servers), pods == servers)
END2
)" "True True True"
sed -i '/^RankTable=/d' "$CL_DIR/etc/supernode.conf"
is "and knows its replica" "$(cat who/* | awk '$9 != int($1 / 2) { print }')" ""
ok "nothing is left" until_true 20 nothing_left

# ---- it grows --------------------------------------------------------------------
sed -i 's/ElasticWait=20/ElasticWait=2/' "$CL_DIR/etc/supernode.conf"
STEPS=240
block=$(submit -N9 --exclusive --wrap='sleep 300')
ok "nine nodes are taken" await "$block" RUNNING
id=$(submit_train $layout two --elastic=min_dp=2)
ok "it starts with what there is" until_true 60 reached two 6
like "with dp=2" "$(dp_of "$id")" '^2$'
is "its members wait" "$(n_members "$id" PENDING)" 2
at=$(now)
scancel "$block"
ok "cards come free: it grows to all" until_true 40 dp_is "$id" 6 1
ok "and trains" until_true 40 reached two 1 1
diag "seconds from free cards to the end of the first step: $(since two 1 "$at")"
ok "with the files of dp=6" plan_is_whole "$id" 6

# ---- it shrinks ------------------------------------------------------------------
gone=$(members "$id" | head -n 1 | cut -d' ' -f1)
at=$(now) g=$(cat "$WORK/jobs/$id/generation")
scancel "$gone"
ok "a member is cancelled: it shrinks" until_true 40 dp_is "$id" 4 $((g + 1))
ok "and trains" until_true 40 reached two 1 $((g + 1))
diag "seconds from scancel of a member to the end of the first step: $(since two $((g + 1)) "$at")"
# The cancelled one may take a moment to be gone.
ok "and asks for no other" until_true 20 eval '[ "$(n_members "$id")" = 1 ]'
ok "it ends well" await "$id" "COMPLETED COMPLETING" 120
ok "and nothing is left" until_true 20 nothing_left
same_end "$id" two $layout

sed -i 's/ElasticWait=2/ElasticWait=20/' "$CL_DIR/etc/supernode.conf"
# A member's node is lost: another member comes in its place.
STEPS=200
id=$(submit_train $layout three --elastic=min_dp=2)
ok "48 ranks of another job train" until_true 60 reached three 3
lost=$(members "$id" | head -n 1 | cut -d' ' -f3)
lost=$(scontrol show hostnames "$lost" | head -n 1)
g=$(cat "$WORK/jobs/$id/generation")
nodes_down "$lost" 2>/dev/null
at=$(now)
scontrol update "NodeName=$lost" State=DOWN Reason=test
ok "a member's node is lost: it goes on" until_true 60 reached three 1 $((g + 1))
diag "seconds from the loss to the end of the first step: $(since three $((g + 1)) "$at")"
ok "and has its size again" until_true 60 dp_is "$id" 6 $((g + 1))
ok "it ends well" await "$id" "COMPLETED COMPLETING" 120
same_end "$id" three $layout

# ---- none outlives its base ------------------------------------------------------
STEPS=2000
id=$(submit_train tp=8,ep=16,etp=1,dp=4 four --elastic=min_dp=2)
ok "a job with a member trains" until_true 60 reached four 3
scancel "$id"
ok "scancel of the base ends all" until_true 30 nothing_left
id=$(submit_train tp=8,ep=16,etp=1,dp=4 five --elastic=min_dp=2)
ok "another" until_true 60 reached five 3
pid=$(pgrep -f "snrun --max-restarts.*$WORK/five" | head -n 1)
kill -9 "$pid"
ok "kill -9 of snrun, whose script ends with it: all end" until_true 30 nothing_left
STEPS=100
id=$(submit_train tp=8,ep=16,etp=1,dp=4 six --elastic=min_dp=2)
ok "another" until_true 60 reached six 12
old=$(members "$id" | cut -d' ' -f1)
ok "its base is requeued" requeue "$id"
ended() { [ -z "$(squeue -h -j "$1" -o %T 2>/dev/null | grep -v COMPLETING)" ]; }
ok "its member of before is gone" until_true 30 ended "$old"
ok "it ends well" await "$id" COMPLETED 90
ok "nothing is left" until_true 30 nothing_left

# ---- who has to go ---------------------------------------------------------------
STEPS=200
id=$(submit_train tp=8,ep=16,etp=1,dp=6 eight --elastic=min_dp=2)
ok "a base and two members fill a supernode" until_true 60 dp_is "$id" 6
ok "and train" until_true 60 reached eight 3
free=$(sinfo -h -N -o '%N %t' | awk '$2 ~ /idle/ { print $1 }' | sort -u | paste -sd,)
block=$(submit -p high --exclusive -w "$free" --wrap='sleep 300')
ok "the other is taken" await "$block" RUNNING
g=$(cat "$WORK/jobs/$id/generation")
high=$(submit -p high --parallel=tp=8,ep=16,etp=1,dp=2 --wrap='sleep 3')
ok "a job that may preempt starts" await "$high" "RUNNING COMPLETED" 60
like "the base lives" "$(state_of "$id")" RUNNING
ok "with a member less" until_true 40 dp_is "$id" 4 $((g + 1))
scancel "$block"
ok "it ends well" await "$id" "COMPLETED COMPLETING" 90
same_end "$id" eight tp=8,ep=16,etp=1,dp=6
ok "nothing is left" until_true 30 nothing_left

STEPS=100
# ---- beyond dp -------------------------------------------------------------------
# As the README has it, but for the name of the program.
mkdir seven
printf '#!/bin/bash\nexec snrun --max-restarts 5 %q --state-dir %q --steps %d --checkpoint-every %d --step-ms %d --meet 30 --elastic\n' \
	"$SNTRAIN" "$WORK/seven" "$STEPS" "$EVERY" "$STEP_MS" >train.sh
line=$(sed -nE 's/^(sbatch .*--elastic=.* train\.sh)( .*)?$/\1/p' "$SN_SRCDIR/README.md")
like "the README has a job with --elastic" "$line" '--parallel=tp=8,dp=2 --elastic=min_dp=2,max_dp=4'
id=$(eval "$line" | sed -n 's/^Submitted batch job //p')
ok "cards are free: it takes them" until_true 60 dp_is "$id" 4
ok "and ends well" await "$id" COMPLETED 60
mv "slurm-$id.out" "$id.out"
same_end "$id" seven tp=8,dp=2
ok "nothing is left" until_true 30 nothing_left

# ---- all ranks in a member ---------------------------------------------------------
id=$(submit_train tp=8,ep=16,etp=1,dp=4 nine --elastic=min_dp=2)
ok "a base and a member train" until_true 60 reached nine 3
lost=$(scontrol show hostnames "$(scontrol -o show job "$id" | sed -nE 's/.* NodeList=([^ ]*).*/\1/p')" | grep -vx "$(batch_of "$id")")
g=$(cat "$WORK/jobs/$id/generation")
scontrol update "NodeName=$lost" State=DOWN Reason=test
ok "the base has less than an atom: it goes on in the member" until_true 60 reached nine 1 $((g + 1))
ok "and ends well" await "$id" "COMPLETED COMPLETING" 90
same_end "$id" nine tp=8,ep=16,etp=1,dp=4

# ---- less than min_dp ----------------------------------------------------------------
second() { scontrol show hostnames "$(scontrol -o show job "$1" | sed -nE 's/.* NodeList=([^ ]*).*/\1/p')" | grep -vx "$(batch_of "$1")"; }
id=$(submit_train tp=8,ep=16,etp=1,dp=2 ten --elastic=min_dp=2)
ok "a base without members trains" until_true 60 reached ten 12
lost=$(second "$id")
scontrol update "NodeName=$lost" State=DOWN Reason=test
ok "it loses a node: it goes on with a member" until_true 60 reached ten 1 1
ok "and ends well" await "$id" "COMPLETED COMPLETING" 90
same_end "$id" ten tp=8,ep=16,etp=1,dp=2
sed -i 's/ElasticWait=20/ElasticWait=2/' "$CL_DIR/etc/supernode.conf"
id=$(submit_train tp=8,ep=16,etp=1,dp=2 eleven --elastic=min_dp=2)
ok "another" until_true 60 reached eleven 12
scontrol update "NodeName=$(sinfo -h -N -o '%N %t' | awk '$2 ~ /idle/ { print $1 }' | sort -u | paste -sd,)" State=DRAIN Reason=test
lost=$(second "$id")
scontrol update "NodeName=$lost" State=DOWN Reason=test
scontrol update "NodeName=$lost" State=DRAIN Reason=test
ok "with no other nodes it is requeued" await "$id" PENDING
like "and says why" "$(cat "$id.out")" 'hold no legal size: .*; so it is requeued'
scancel "$id"
ok "nothing is left" until_true 30 nothing_left
finish
