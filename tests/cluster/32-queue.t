#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --parallel in the queue: arrays, heterogeneous jobs, dependencies, held and
# requeued jobs, updates of pending ones, a layout changed while it waits.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/where.sh"
CL_NODES=8 CL_PER=4 CL_PODS=0 CL_UNIT=0
CL_EXTRA='PartitionName=right Nodes=n[002,004,006,008] DefMemPerCPU=10'
start_cluster
scontrol update nodename=n00[5-8] availablefeatures=new

# Every part of it has ended well.
all_done()
{
	[ "$(state_of "$1" | sort -u)" = COMPLETED ]
}

whole() # WHAT JOB LAYOUT: it runs, is whole, and goes
{
	ok "$1: runs" await_ranks "$2" || { scancel "$2" 2>/dev/null; return 0; }
	ok "$1: whole" check_ranks "$2" "$3"
	is "$1: its cards are Slurm's" "$(cards_said "$2")" "$(cards_of "$2")"
	DETAIL=$(scontrol -o -d show job "$2")
	vacate "$2"
}

nodes()
{
	scontrol show hostnames "$(echo "$DETAIL" | sed -n 's/.* NodeList=\([^ ]*\).*/\1/p')" | paste -sd' '
}

# tasks_of ARRAY: the job numbers of its tasks
tasks_of()
{
	scontrol -o show job "$1" | sed -nE 's/^JobId=([0-9]+) .*ArrayTaskId=[0-9]+ .*/\1/p' | sort -n
}

eight=tp=4,dp=2

# ---- arrays
id=$(submit_held --array=1-3 --parallel=$eight)
array_runs() { [ "$(tasks_of "$id" | wc -l)" = "$1" ] && [ "$(squeue -h -t R -j "$id" -o %i | wc -l)" = "$1" ]; }
ok "the three tasks of an array run" until_true 60 array_runs 3
all=
for task in $(tasks_of "$id"); do
	ok "task $task runs" await_ranks "$task"
	ok "task $task is whole" check_ranks "$task" $eight
	all="$all$(cards_of "$task")
"
done
is "they have 24 cards" "$(printf %s "$all" | sort -u | wc -l)" 24
vacate "$id"
id=$(submit_held --array=1-3%1 --parallel=$eight)
ok "with %1 one runs" until_true 60 array_runs 1
is "and one only" "$(squeue -h -t R -j "$id" -o %i | wc -l)" 1
vacate "$id"

# ---- heterogeneous jobs
printf '#!/bin/bash\nsrun --het-group=0 "$SN_TASK" >"$1.0"\nsrun --het-group=1 "$SN_TASK" >"$1.1"\n' >het.sh
id=$(submit --parallel=tp=2,dp=3 : --parallel=tp=4,ep=4,etp=1,dp=2 het.sh "$WORK/het")
ok "a heterogeneous job of two layouts runs" until_true 60 all_done "$id" &&
	for part in "0 tp=2,dp=3" "1 tp=4,ep=4,etp=1,dp=2"; do
		ok "its part ${part% *} is whole" "$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --parallel "${part#* }" "het.${part% *}"
	done
is "no card is in both" "$(cat het.? | awk '/^rank/ { print $4, $6 }' | sort | uniq -d)" ""
printf '#!/bin/bash\nsrun --het-group=0 hostname >"$1.0"\nsrun --het-group=1 "$SN_TASK" >"$1.1"\n' >het2.sh
id=$(submit -n2 : --parallel=$eight het2.sh "$WORK/hetb")
ok "a plain part and one with a layout" until_true 60 all_done "$id"
ok "the latter is whole" "$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --parallel $eight hetb.1
is "the plain part has its two tasks" "$(wc -l <hetb.0)" 2

# SPANK would hand the first part's options on to the next.
# (SLURM_TRES_PER_TASK of the first part reaches every srun, in stock Slurm too.)
printf '#!/bin/bash\nsrun --het-group=0 "$SN_TASK" >"$1.0"\nenv -u SLURM_TRES_PER_TASK srun --het-group=1 hostname >"$1.1"\n' >het3.sh
id=$(submit --parallel=$eight : -n2 het3.sh "$WORK/hetc")
ok "a part with a layout and a plain one" until_true 60 all_done "$id"
ok "the former is whole" "$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --parallel $eight hetc.0
is "the latter has no layout" "$(scontrol -o show job "$((id + 1))" | grep -c 'AdminComment=supernode') $(wc -l <hetc.1)" "0 2"
salloc -Q --parallel=tp=2 : --parallel=tp=4 bash -c 'srun --het-group=0 "$SN_TASK" >het.3; srun --het-group=1 "$SN_TASK" >het.4' >salloc.txt 2>&1
ok "salloc: the first part is whole" "$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --parallel tp=2 het.3
ok "salloc: the second part is whole" "$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --parallel tp=4 het.4

# A job that a job's script submits has options of its own.
printf '#!/bin/bash\nsbatch --parsable -W -n2 -o inner.out --wrap "srun hostname"\n' >outer.sh
id=$(submit --parallel=$eight outer.sh)
ok "a script with a layout submits a plain job" await "$id" COMPLETED
is "which runs as such" "$(grep -c '^n00' inner.out)" 2

# ---- dependencies
first=$(submit_held --parallel=$eight)
second=$(submit_held --parallel=$eight -d "afterok:$first")
ok "the first runs" await_ranks "$first"
is "the second depends on it" "$(state_of "$second") $(reason_of "$second")" "PENDING Dependency"
release "$first"
whole "and then" "$second" $eight

# ---- held, begun later, requeued
id=$(submit_held -H --parallel=$eight)
is "-H holds" "$(state_of "$id") $(reason_of "$id")" "PENDING JobHeldUser"
scontrol release "$id"
whole "released" "$id" $eight
id=$(submit_held --begin=now+1hour --parallel=$eight)
until_true 20 test "$(reason_of "$id")" = BeginTime
start_now "$id"
whole "--begin, and begun by hand" "$id" $eight
id=$(submit_held --parallel=$eight)
ok "one to requeue runs" await_ranks "$id"
scontrol requeuehold "$id"
ok "requeuehold puts it back" await "$id" "PENDING"
until_true 30 nothing_ends
rm -f "$WORK/$id.out"
scontrol release "$id"
start_now "$id"
whole "released after the requeue" "$id" $eight

# ---- updates of what waits
update() # WHAT FIELD…: a held job is changed and let go
{
	local what=$1
	shift

	ID=$(submit_held -H "--parallel=$LAYOUT")
	ok "$what is taken" scontrol update "JobId=$ID" "$@"
	scontrol release "$ID"
}
LAYOUT=$eight
update "NumNodes=2" NumNodes=2
whole "NumNodes=2" "$ID" $eight
is "NumNodes=2: on two nodes" "$(nodes)" "n001 n003"
update "NumNodes=2-4" NumNodes=2-4
whole "NumNodes=2-4" "$ID" $eight
is "NumNodes=2-4: on two" "$(nodes)" "n001 n003"
update "Partition" Partition=right
whole "Partition" "$ID" $eight
is "Partition: there" "$(nodes)" "n002"
update "Features" Features=new
whole "Features" "$ID" $eight
is "Features: on such a node" "$(nodes)" "n005"
update "ReqNodeList" ReqNodeList=n006
whole "ReqNodeList" "$ID" $eight
is "ReqNodeList: there" "$(nodes)" "n006"
update "ReqNodeList of two nodes" ReqNodeList=n006,n008
whole "ReqNodeList of two" "$ID" $eight
is "ReqNodeList of two: there" "$(nodes)" "n006 n008"
update "ExcNodeList" ExcNodeList=n001
whole "ExcNodeList" "$ID" $eight
is "ExcNodeList: elsewhere" "$(nodes)" "n003"
update "MinMemoryCPU" MinMemoryCPU=50
whole "MinMemoryCPU" "$ID" $eight
update "CPUsPerTask" CPUsPerTask=4
whole "CPUsPerTask" "$ID" $eight
like "CPUsPerTask: 32 CPUs" "$DETAIL" 'NumCPUs=32 '
update "TimeLimit and Nice" TimeLimit=9 Nice=3
whole "TimeLimit and Nice" "$ID" $eight

id=$(submit_held -H --parallel=$eight)
like "NumTasks=9 is refused with the arithmetic" "$(scontrol update "JobId=$id" NumTasks=9 2>&1)" 'NumTasks=9 contradicts.*8 ranks'
like "NumNodes=9 too" "$(scontrol update "JobId=$id" NumNodes=9 2>&1)" 'NumNodes=9 contradicts.*8 ranks'
like "Gres too" "$(scontrol update "JobId=$id" Gres=npu:3 2>&1)" 'follow from its --parallel'
like "a node that the features exclude too" "$(scontrol update "JobId=$id" Features=new ReqNodeList=n001 2>&1)" 'never fit.*n001'
like "counted features too" "$(scontrol update "JobId=$id" 'Features=new*2' 2>&1)" 'counted'

# ---- another layout
other=tp=2,ep=4,etp=1,dp=6
ok "Comment=--parallel= is taken" scontrol update "JobId=$id" "Comment=--parallel=$other"
text=$(scontrol -o show job "$id")
# From 26.05 on, as many nodes as tasks at most.
like "the job has its tasks, CPUs and nodes" "$text" 'NumNodes=2(-2|-12)? NumCPUs=12 NumTasks=12 '
like "and clients are told" "$text" 'AdminComment=supernode:parallel=tp=2,.*ep=4,.*dp=6'
is "the comment is not kept" "$(echo "$text" | grep -c ' Comment=--parallel')" 0
ok "another update does not undo it" scontrol update "JobId=$id" Comment=hello TimeLimit=20
like "a comment is a comment" "$(scontrol -o show job "$id")" ' Comment=hello '
ok "slurmctld writes its state" state_saved "$id"
ctld_kill KILL
ok "and starts again" ctld_up
scontrol release "$id"
whole "the other layout, after the restart" "$id" $other
# What its tasks are told is the new layout too.
printf '#!/bin/bash\nsrun sh -c "echo \\$TP_SIZE \\$EP_SIZE \\$DP_SIZE \\$WORLD_SIZE"\n' >sizes.sh
id=$(submit -H --parallel=$eight sizes.sh)
ok "one to ask its tasks" scontrol update "JobId=$id" "Comment=--parallel=$other"
scontrol release "$id"
ok "it runs" await "$id" COMPLETED
is "all tasks know the new sizes" "$(sort "$WORK/$id.out" | uniq -c | sed 's/^ *//')" "12 2 4 6 12"
id=$(submit_held -H --parallel=$eight)
ok "a smaller one" scontrol update "JobId=$id" Comment=--parallel=tp=2
scontrol release "$id"
whole "the smaller layout" "$id" tp=2
id=$(submit_held -H --parallel=$eight -N2)
like "one that contradicts its -N is refused" "$(scontrol update "JobId=$id" Comment=--parallel=tp=1 2>&1)" '-N 2 contradicts'
like "one that can never fit too" "$(scontrol update "JobId=$id" Comment=--parallel=tp=8,dp=200 2>&1)" 'contradicts|never fit'
like "one that is no layout" "$(scontrol update "JobId=$id" Comment=--parallel=zp=8 2>&1)" 'zp'
like "and one with other fields" "$(scontrol update "JobId=$id" Comment=--parallel=tp=2 NumNodes=2 2>&1)" 'update of its own'
scontrol release "$id"
whole "after refusals it is what it was" "$id" $eight
id=$(submit_held --parallel=$eight)
ok "a job runs" await_ranks "$id"
like "a running job's layout stays" "$(scontrol update "JobId=$id" Comment=--parallel=tp=2 2>&1)" 'only a pending job'
vacate "$id"
id=$(SN_STEP=no submit -H "$TESTS/held.sh")
like "a job without one gets none" "$(scontrol update "JobId=$id" Comment=--parallel=tp=2 2>&1)" 'submitted without --parallel'
scancel "$id"
LOG_ALLOW='_update_job|update_job'
finish
