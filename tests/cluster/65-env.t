#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every variable of a rank, in real tasks: the vendor's, the site's and the
# user's own; conflicts are told once; inner steps; binding to CPUs.
. "$(dirname "$0")/lib.sh"
CL_NODES=4 CL_PER=2 CL_PODS=1 CL_UNIT=1 CL_CARDS=4
start_cluster

# policy LINE…: the site's supernode.conf from now on
policy()
{
	printf '%s\n' "CardGres=npu" "JobDir=$WORK/dir/%u-%j" "$@" >"$CL_DIR/etc/supernode.conf.new"
	mv "$CL_DIR/etc/supernode.conf.new" "$CL_DIR/etc/supernode.conf"
}

cat >env.sh <<'END2'
#!/bin/sh
# What the rank sees, in one write, so that ranks do not mix.
text=$(env | sed -n "s/^[A-Z_]*=/var $SLURM_PROCID &/p"
	sed -n "s/^Cpus_allowed_list:[[:space:]]*/var $SLURM_PROCID CPUS_ALLOWED=/p" /proc/self/status)
printf '%s\n' "$text"
END2
chmod +x env.sh
# of FILE RANK NAME: its value
of()
{
	sed -n "s/^var $2 $3=//p" "$1"
}
run() # FILE SRUN-ARGUMENT…
{
	local file=$1
	shift
	srun "$@" "$WORK/env.sh" >"$file" 2>"$file.err"
}
all() # FILE NAME: every rank's value, in the order of ranks
{
	sed -n "s/^var \([0-9]*\) $2=/\1 /p" "$1" | sort -n | cut -d' ' -f2- | tr '\n' ' '
}

layout=tp=2,ep=4,etp=1,pp=2,dp=2
policy 'TaskEnv="SITE=1 HCCL_CONNECT_TIMEOUT=600"' "HcclIfIp=lo SocketIfName=eth0"
ok "a direct srun" run one "--parallel=$layout"
is "no word of ours on stderr" "$(grep supernode: one.err)" ""
is "RANK, WORLD_SIZE, RANK_ID, RANK_SIZE" "$(all one RANK)$(all one RANK_ID)$(all one WORLD_SIZE | tr ' ' '\n' | sort -u | tr -d '\n')$(all one RANK_SIZE | tr ' ' '\n' | sort -u | tr -d '\n')" \
	"0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 88"
is "LOCAL_RANK" "$(all one LOCAL_RANK)" "0 1 2 3 0 1 2 3 "
is "GROUP_RANK" "$(all one GROUP_RANK)" "0 0 0 0 1 1 1 1 "
is "each card's number: visible, DEVICE_ID, SUPERNODE_CARDS" \
	"$(all one ASCEND_RT_VISIBLE_DEVICES)|$(all one DEVICE_ID)|$(all one SUPERNODE_CARDS)" \
	"0 1 2 3 0 1 2 3 |0 0 0 0 0 0 0 0 |0 1 2 3 0 1 2 3 "
is "and the node's" "$(of one 5 SUPERNODE_NODE_CARDS)" 0,1,2,3
is "the super pod is the supernode" "$(of one 0 HCCL_LOGIC_SUPERPOD_ID)" "$(of one 0 SUPERNODE_NAME)"
is "no table yet" "$(of one 0 RANK_TABLE_FILE)" ""
is "the interfaces" "$(of one 3 HCCL_IF_IP) $(of one 3 HCCL_SOCKET_IFNAME) $(of one 3 GLOO_SOCKET_IFNAME)" "127.0.0.1 eth0 eth0"
is "the site's" "$(of one 7 SITE) $(of one 7 HCCL_CONNECT_TIMEOUT)" "1 600"
is "HCCL_OP_EXPANSION_MODE is left alone" "$(of one 0 HCCL_OP_EXPANSION_MODE)" ""
like "the job's directory" "$(of one 0 SUPERNODE_JOB_DIR)" "^$WORK/dir/root-[0-9]+$"
is "generation, spares, restarts" "$(of one 0 SUPERNODE_GENERATION) $(of one 0 SUPERNODE_SPARES) $(of one 0 TORCHELASTIC_RESTART_COUNT)" "0 0 0"

# A job with a script: the table, the user's values, inner steps.
cat >job.sh <<END2
#!/bin/bash
dir=$WORK/dir/root-\$SLURM_JOB_ID
mkdir -p "\$dir"
echo 1 >"\$dir/generation"
echo '{}' >"\$dir/ranktable.json"
srun $WORK/env.sh >moved
rm "\$dir/generation"
srun $WORK/env.sh >table
touch -d '2 days ago' "\$dir/ranktable.json"
srun $WORK/env.sh >stale
touch "\$dir/ranktable.json"
RANK=0 MASTER_ADDR=login MASTER_PORT=29500 HCCL_LOGIC_SUPERPOD_ID=x HCCL_BUFFSIZE=400 SITE=mine \
	ASCEND_RT_VISIBLE_DEVICES=9 srun $WORK/env.sh >mine 2>mine.err
srun bash -c '[ \$RANK != 5 ] || srun --overlap --mem=1 -N1 -n1 $WORK/env.sh' >inner 2>inner.err
srun --gres=none --tres-per-task=cpu:1 -n1 -N1 $WORK/env.sh >none 2>none.err
# As snrun would, and the other way round than without it.
scontrol show hostnames | tac | tee order | sed 'p;p;p' >hosts
SUPERNODE_PLAN=generation=2,port=12345,max_restarts=4,master=me SUPERNODE_PLAN_NODES=\$(paste -sd, order) \
	SLURM_HOSTFILE=hosts srun -m arbitrary $WORK/env.sh >plan 2>plan.err
# What a job of before has left: an earlier run of this one, or another of its number.
echo 7 >"\$dir/generation"
echo '{}' >"\$dir/groups.json"
echo dear >"\$dir/weights"
mkdir "\$dir/records" && echo x >"\$dir/records/rank-0.jsonl"
touch -d '2 days ago' "\$dir"/{generation,groups.json,weights,ranktable.json,records/rank-0.jsonl}
echo '{}' >"\$dir/layout.json"
SLURM_RESTART_COUNT=1 srun $WORK/env.sh >requeued
ls "\$dir" >requeued.files
srun $WORK/env.sh >another
ls "\$dir" >another.files
END2
id=$(submit -N2 "--parallel=$layout" job.sh)
ok "a job with steps of many kinds" await "$id" COMPLETED
is "its table is found" "$(of table 6 RANK_TABLE_FILE)" "$WORK/dir/root-$id/ranktable.json"
is "and then no super pod is named" "$(of table 6 HCCL_LOGIC_SUPERPOD_ID)" ""
is "a table from before the job is not" "$(of stale 6 RANK_TABLE_FILE)" ""
is "nor one after snrun moved ranks" "$(of moved 6 RANK_TABLE_FILE) $(of moved 6 SUPERNODE_GENERATION) $(of moved 6 TORCHELASTIC_RESTART_COUNT)" " 1 1"
is "a requeued job goes on counting, with its files" "$(of requeued 6 SUPERNODE_GENERATION) $(paste -sd' ' requeued.files)" \
	"7 generation groups.json layout.json ranktable.json records weights"
is "another job of the number does not" "$(all another SUPERNODE_GENERATION)$(of another 6 RANK_TABLE_FILE)" "0 0 0 0 0 0 0 0 "
is "and has nothing of the earlier one's" "$(paste -sd' ' another.files)" "layout.json weights"
is "the user's own are kept" \
	"$(of mine 5 RANK) $(of mine 5 MASTER_ADDR) $(of mine 5 MASTER_PORT) $(of mine 5 HCCL_BUFFSIZE) $(of mine 5 SITE) $(of mine 5 ASCEND_RT_VISIBLE_DEVICES)" \
	"0 login 29500 400 mine 9"
is "what breaks the run is told once" "$(grep -c supernode: mine.err)" 1
for name in RANK=0 MASTER_ADDR=login HCCL_LOGIC_SUPERPOD_ID=x ASCEND_RT_VISIBLE_DEVICES=9; do
	like "with $name" "$(cat mine.err)" "$name \("
done
is "and not what does not" "$(grep -c -e MASTER_PORT -e HCCL_BUFFSIZE -e SITE mine.err)" 0
is "a step inside a task is a step of its own" "$(of inner 0 RANK) $(of inner 0 WORLD_SIZE) $(of inner 0 TP_RANK)" "0 1 "
is "and nothing is told of it" "$(grep supernode: inner.err)" ""
is "a step without cards sees none" "$(of none 0 ASCEND_RT_VISIBLE_DEVICES)$(of none 0 DEVICE_ID)$(of none 0 SUPERNODE_CARDS)" ""
is "snrun's order of nodes" "$(all plan GROUP_RANK)" "0 0 0 0 1 1 1 1 "
is "its ranks are on those" "$(of plan 0 SLURMD_NODENAME),$(of plan 4 SLURMD_NODENAME)" "$(paste -sd, order)"
is "snrun's counters, port and master" \
	"$(of plan 7 SUPERNODE_GENERATION) $(of plan 7 TORCHELASTIC_RESTART_COUNT) $(of plan 7 TORCHELASTIC_MAX_RESTARTS) $(of plan 7 MASTER_PORT) $(of plan 7 MASTER_ADDR)" \
	"2 2 4 12345 me"
is "with its table" "$(of plan 7 RANK_TABLE_FILE)" "$WORK/dir/root-$id/ranktable.json"
is "the plan itself does not reach the tasks" "$(of plan 0 SUPERNODE_PLAN)$(of plan 0 SUPERNODE_PLAN_NODES)" ""
is "no word of ours on stderr" "$(grep supernode: plan.err)" ""

# Binding. The node has as many CPUs as this machine.
cpus=$(nproc)
policy "Bind=slices VisibleCards=node"
ok "ranks are bound" run bound --parallel=tp=4
is "each rank is where SUPERNODE_CPUS says" "$(all bound CPUS_ALLOWED)" "$(all bound SUPERNODE_CPUS)"
like "to a part of the CPUs" "$(all bound CPUS_ALLOWED)" "^([0-9,-]+ ){4}$"
if [ "$cpus" -lt 4 ]; then
	is "all CPUs are used, though fewer than ranks" "$(all bound CPUS_ALLOWED | tr ' ' '\n' | sort -u | grep -c .)" "$cpus"
else
	is "no two share one" "$(all bound CPUS_ALLOWED | tr ' ' '\n' | sort | uniq -d)" ""
fi
is "all the node's cards are visible, its own at LOCAL_RANK" "$(of bound 2 ASCEND_RT_VISIBLE_DEVICES) $(of bound 2 DEVICE_ID)" "0,1,2,3 2"
SUPERNODE_BIND=none run free --parallel=tp=4
is "SUPERNODE_BIND=none: as Slurm left them" "$(of free 1 CPUS_ALLOWED)$(of free 1 SUPERNODE_CPUS)" "$(sed -n 's/^Cpus_allowed_list:\s*//p' /proc/self/status)"
SUPERNODE_BIND=sideways run wrong --parallel=tp=4
like "another word is told" "$(cat wrong.err)" "SUPERNODE_BIND=sideways: want none, locality or slices"
is "once a node" "$(grep -c sideways wrong.err)" 1
# The table of the user guide.
names=$(sed -n 's/^| `\([A-Z_]*\)` |.*/\1/p' "$SN_SRCDIR/docs/user-guide.md" | paste -sd'|')
SUPERNODE_BIND=slices run same --parallel=tp=2
salloc -Q --parallel=tp=2 snrun --bind slices "$WORK/env.sh" >snrun 2>snrun.err
is "snrun --bind" "$(all snrun CPUS_ALLOWED)" "$(all snrun SUPERNODE_CPUS)"
like "binds" "$(all snrun SUPERNODE_CPUS)" "^[0-9,-]+ [0-9,-]+ $"
is "and sets what srun does" "$(sed -n 's/^var 1 \([A-Z_]*\)=.*/\1/p' snrun | grep -E "^($names)$" | sort | tr '\n' ' ')" \
	"$(sed -n 's/^var 1 \([A-Z_]*\)=.*/\1/p' same | grep -E "^($names)$" | sort | tr '\n' ' ')"
policy "TaskEnv=broken"
run bad --parallel=tp=2
like "a bad supernode.conf is told, and the task runs" "$(cat bad.err)$(of bad 1 RANK)" "supernode.conf:3: TaskEnv: \"broken\".*1$"
finish
