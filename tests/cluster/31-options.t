#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --parallel beside Slurm's other options: each keeps its meaning, and the
# groups stay whole.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/where.sh"
CL_NODES=8 CL_PER=4 CL_PODS=0 CL_UNIT=0
CL_EXTRA='PartitionName=left Nodes=n[001,003,005,007] DefMemPerCPU=10
PartitionName=right Nodes=n[002,004,006,008] DefMemPerCPU=10
PartitionName=small Nodes=ALL MaxNodes=1 DefMemPerCPU=10
PartitionName=alone Nodes=ALL OverSubscribe=EXCLUSIVE DefMemPerCPU=10
Licenses=sim:4'
start_cluster
scontrol update nodename=n00[1-4] availablefeatures=old
scontrol update nodename=n00[5-8] availablefeatures=new,fast

nodes()
{
	cards_said "$1" | cut -d' ' -f1 | uniq -c | awk '{ print $2 ":" $1 }' | paste -sd' '
}

# run WHAT WHERE LAYOUT OPTION…: it runs, whole, on these "node:ranks"; or on
# as many nodes as WHERE says, if that is a number. $ID is gone afterwards.
run()
{
	local what=$1 where=$2 layout=$3 got
	shift 3

	ID=$(submit_held "--parallel=$layout" "$@")
	ok "$what: runs" await_ranks "$ID" || { scancel "$ID" 2>/dev/null; return 0; }
	ok "$what: whole" check_ranks "$ID" "$layout"
	is "$what: its cards are Slurm's" "$(cards_said "$ID")" "$(cards_of "$ID")"
	got=$(nodes "$ID")
	case $where in
	[0-9]*) is "$what: $where nodes" "$(echo "$got" | wc -w)" "$where" ;;
	*) is "$what: where it should be" "$got" "$where" ;;
	esac
	DETAIL=$(scontrol -o -d show job "$ID")
	vacate "$ID"
}

eight=tp=4,dp=2

# ---- CPUs and memory
run "-c 4" n001:8 $eight -c4
like "-c 4: 32 CPUs" "$DETAIL" 'NumCPUs=32 .*CPUs/Task=4 '
# 64 CPUs a node: 2 ranks of 32 each; TP must share a node.
run "-c 32" "n001:2 n003:2 n005:2 n007:2" tp=2,dp=4 -c32
refused "-c 32 with TP of four on a node" 'can never fit' --parallel=tp=4,dp=2 -c32
run "--mem-per-cpu" n001:8 $eight -c2 --mem-per-cpu=20
like "--mem-per-cpu: 320M" "$DETAIL" 'mem=320M'
# 4000M a node: at most two ranks.
run "--mem-per-cpu bounds the ranks of a node" 4 tp=2,dp=4 --mem-per-cpu=1500
run "--mem" n001:8 $eight --mem=3000
like "--mem: 3000M" "$DETAIL" 'mem=3000M'
run "--mem=0" n001:8 $eight --mem=0
refused "--mem more than a node has" 'memory|configuration' --parallel=$eight --mem=9000
run "--cpu-bind and --hint" n001:8 $eight --hint=compute_bound

# ---- which nodes
run "-w" n006:8 $eight -w n006
run "-w of two" "n003:4 n005:4" $eight -w n003,n005
run "-w of one in the other supernode" 2 tp=8,dp=2 -w n002
like "-w is kept" "$DETAIL" 'NodeList=n\[002,'
run "-x" n005:8 $eight -x n001,n003
run "-C" n005:8 $eight -C new
run "-C with an AND" n005:8 $eight -C 'new&fast'
run "-C with an OR" n001:8 $eight -C 'old|new'
run "-C of atoms wider than a node" "n005:8 n007:8" tp=8,ep=16,etp=1,dp=2 -C fast
refused "a counted feature" 'counted features' --parallel=$eight -C 'new*2'
refused "a feature that nobody has" 'feature' --parallel=$eight -C none
run "--switches" n001:8 $eight --switches=1
# The first supernode has a node less: 16 cards must be had on two of them.
hold=$(SN_STEP=no submit --exclusive -N6 -w n001,n003,n005,n002,n004,n006 "$TESTS/held.sh")
ok "--switches: two nodes are free, one in each supernode" await "$hold" RUNNING
run "--switches of two" "n007:8 n008:8" tp=4,dp=4 --switches=2
waits "--switches of one waits" --parallel=tp=4,dp=4 --switches=1@5:00
like "and snctl says for what" "$(snctl why "$WAITING")" 'waits for room in 1 supernode \(--switches\).* in 2'
scancel "$WAITING"
waits "a plain job too" -N2 --switches=1@5:00 --gres=npu:8
scancel "$WAITING"
run "until the time is over" "n007:8 n008:8" tp=4,dp=4 --switches=1@0:03
vacate "$hold"
run "--nice, --comment, --time" n001:8 $eight --nice=5 --comment=x --time=10
run "-N 1" n001:8 $eight -N1
run "-N 2" "n001:4 n003:4" $eight -N2
run "-N 4" 4 tp=2,dp=4 -N4
refused "-N 3 of two groups" 'can never fit|contradicts' --parallel=$eight -N3
refused "-N 9" 'contradicts' --parallel=$eight -N9

# ---- a range of nodes: the best answer within it
run "-N 1-4" n001:8 $eight -N1-4
run "-N 2-4" "n001:4 n003:4" $eight -N2-4
run "-N 3-5 of four groups" 3 tp=2,dp=4 -N3-5
occupy sn1=4
vacate "$BUSY"
refused "-N 3-8 of two groups" 'can never fit|contradicts' --parallel=$eight -N3-8
refused "-N 1-2 of 24 ranks" '-N 1-2 contradicts.*at least' --parallel=tp=8,dp=3 -N1-2
# Half of each node is busy: 8 ranks are on two nodes at best.
half=$(SN_STEP=no submit -N8 --gres=npu:4 "$TESTS/held.sh")
await "$half" RUNNING
run "-N 1-2 on half nodes" "n001:4 n003:4" $eight -N1-2
WAITING=
waits "-N 1 on half nodes waits" --parallel=$eight -N1
vacate "$half" "$WAITING"

# ---- whole nodes
run "--exclusive" n001:8 $eight --exclusive
like "--exclusive: the node's CPUs" "$DETAIL" 'NumCPUs=64 '
refused "--exclusive of half a node" 'exclusive does not go' --parallel=tp=4 --exclusive
run "a partition of whole nodes" n001:8 $eight -p alone
run "--exclusive of two nodes" "n001:8 n003:8" tp=8,dp=2 --exclusive

# ---- partitions
run "one partition" "n002:8" $eight -p right
run "two partitions" 1 $eight -p right,left
refused "more than a partition has" 'can never fit partition left' --parallel=tp=8,dp=5 -p left
run "more than one of two partitions has" 2 tp=8,dp=2 -p small,right
BUSY=$(SN_STEP=no submit -p left -N4 --exclusive "$TESTS/held.sh")
await "$BUSY" RUNNING
run "the partition that has room" "n002:8" $eight -p left,right
vacate "$BUSY"
run "a partition of one node at most" n001:8 $eight -p small
# As Slurm has it without EnforcePartLimits: taken, and told why it waits.
id=$(submit_held --parallel=tp=8,dp=2 -p small)
like "more than one node there waits for the limit" "$(state_of "$id") $(reason_of "$id")" 'PENDING (None|Partition(NodeLimit|Config))'
scancel "$id"

# ---- licences
run "-L" n001:8 $eight -L sim:3
first=$(SN_STEP=no submit -L sim:3 "$TESTS/held.sh")
await "$first" RUNNING
WAITING=$(submit_held --parallel=$eight -L sim:2)
until_true 20 test "$(reason_of "$WAITING")" = Licenses
is "without enough licences it waits for them" "$(reason_of "$WAITING")" Licenses
release "$first"
ok "and runs when they are back" await_ranks "$WAITING"
vacate "$WAITING"
refused "more licences than there are" 'license' --parallel=$eight -L sim:5

# ---- what does not go with a layout is said
refused "--ntasks-per-node=3" 'ntasks-per-node=3 contradicts' --parallel=$eight --ntasks-per-node=3
refused "--gres that is not whole nodes" 'gres.* contradicts' --parallel=$eight --gres=npu:3
refused "--distribution=arbitrary" 'distribution' --parallel=$eight -m plane=2
finish
