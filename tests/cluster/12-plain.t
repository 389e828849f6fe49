#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs without --parallel: the fewest supernodes, with CPUs, memory and cards
# counted by Slurm as ever, and nothing that ran before refused.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/where.sh"
# Nodes of 64 CPUs and 8 cards.
CL_NODES=16 CL_PER=4 CL_PODS=2 CL_UNIT=0
CL_EXTRA="PartitionName=odd Nodes=n001,n003,n005,n007,n009,n011,n013,n015 DefMemPerCPU=10"
start_cluster

cpus_of() # JOB: "n001:64 n005:36"
{
	scontrol show job -d "$1" | sed -nE 's/^ *Nodes=([^ ]*) CPU_IDs=([^ ]*) .*/\1 \2/p' |
		while read -r nodes ids; do
			n=$(tr , '\n' <<<"$ids" | awk -F- '{ n += (NF > 1 ? $2 : $1) - $1 + 1 } END { print n }')
			for node in $(scontrol show hostnames "$nodes"); do echo "$node:$n"; done
		done | sort | paste -sd' '
}

# How many nodes.
is "nodes: as many as fit in one supernode" "$(try -N4)" "sn1:4"
is "nodes: one more" "$(try -N5)" "sn1:4 sn2:1"
is "nodes: two supernodes of one pod" "$(try -N8)" "sn1:4 sn2:4"
is "nodes: all" "$(try -N16)" "sn1:4 sn2:4 sn3:4 sn4:4"
is "a range gets its end" "$(try -N2-6)" "sn1:4 sn2:2"
is "a list of sizes gets the largest" "$(try -N2,4,20)" "sn1:4"
is "tasks without -N take the fewest nodes" "$(try -n128)" "sn1:2"
is "tasks: more than a supernode" "$(try -n300)" "sn1:4 sn2:1"
is "tasks of several CPUs" "$(try -n9 -c32)" "sn1:4 sn2:1"
is "one task" "$(try -n1)" "sn1:1"
is "so many tasks on each node" "$(try -n8 --ntasks-per-node=2)" "sn1:4"
is "fewer tasks than are to be on each node" "$(try -n1 --ntasks-per-node=2)" "sn1:1"
is "whole nodes" "$(try -N3 --exclusive)" "sn1:3"
is "overcommitted" "$(try -N2 -n500 -O)" "sn1:2"
is "memory" "$(try -N4 --mem=3000)" "sn1:4"
is "memory per CPU" "$(try -n8 --mem-per-cpu=1000)" "sn1:2"

# Which nodes.
is "-w" "$(try -N4 -w "$(nodes_in sn3 | head -n 1)")" "sn3:4"
is "-w of two supernodes" "$(try -N4 -w "$(nodes_in sn2 | head -n 1),$(nodes_in sn4 | head -n 1)")" "sn2:3 sn4:1"
is "-x" "$(try -N4 -x "$(nodes_in sn1 | head -n 1)")" "sn2:4"
for node in $(nodes_in sn2 | head -n 3) $(nodes_in sn3); do
	scontrol update "NodeName=$node" Features=fast
done
is "-C" "$(try -N4 -C fast)" "sn3:4"
is "-C, more" "$(try -N5 -C fast)" "sn2:3 sn3:2"
is "-C, counted" "$(try -N4 -C 'fast*2')" "sn2:4"
for node in $(nodes_in sn1); do scontrol update "NodeName=$node" Weight=10; done
is "the lower weight" "$(try -N4)" "sn2:4"
for node in $(nodes_in sn1); do scontrol update "NodeName=$node" Weight=1; done
# As under topology/block: it is for the node table without a topology.
is "--contiguous changes nothing" "$(try -N4 --contiguous)" "sn1:4"
is "nor where no two nodes are neighbours in the table" "$(try -p odd -N3 --contiguous)" "sn1:3"
is "nor for more than a supernode" "$(try -p odd -n300 --contiguous)" "sn1:4 sn3:1"
is "nor with --spread-job" "$(try -p odd -n3 --spread-job --contiguous | tr ' ' '\n' | awk -F: '{ n += $2 } END { print n }')" 3
is "--spread-job is Slurm's" "$(try -n4 --spread-job | tr ' ' '\n' | awk -F: '{ n += $2 } END { print n }')" 4
printf '%s\n' n003 n007 n004 >"$WORK/hosts"
is "SLURM_HOSTFILE is the user's" "$(SLURM_HOSTFILE=$WORK/hosts try -m arbitrary -n3)" "sn3:2 sn4:1"

# Cards.
is "the same with cards" "$(try -n1 --gres=npu:6 --ntasks-per-node=2)" "sn1:1"
a=$(SN_STEP=no submit -N1 -w "$(nodes_in sn2 | head -n 1)" --gres=npu:4 "$TESTS/held.sh")
ok "4 cards of a node of sn2 are busy" await "$a" RUNNING
is "4 cards: what is broken into already" "$(try -N1 --gres=npu:4)" "sn2:1"
id=$(SN_STEP=no submit -N1 --gres=npu:4 "$TESTS/held.sh")
ok "it runs" await "$id" RUNNING
is "and on that very node" "$(cards_of "$id" | cut -d' ' -f1 | uniq -c | awk '{ print $2 ":" $1 }')" "$(nodes_in sn2 | head -n 1):4"
vacate "$id"
is "8 cards a node" "$(try -N4 --gres=npu:8)" "sn1:4"
is "a card a task" "$(try -n20 --tres-per-task=gres/npu:1)" "sn2:3"
is "a card a task, all that there are" "$(try -n124 --tres-per-task=gres/npu:1)" "sn1:4 sn2:4 sn3:4 sn4:4"
is "3 cards a task" "$(try -n8 --tres-per-task=gres/npu:3)" "sn1:4"
is "cards and CPUs" "$(try -n6 -c16 --tres-per-task=gres/npu:1)" "sn2:2"
waits "more cards than there are now" -n125 --tres-per-task=gres/npu:1
vacate "$WAITING" "$a"

# Uneven CPUs: 60 of a node of sn1 are busy.
a=$(SN_STEP=no submit -N1 -w n001 -n60 "$TESTS/held.sh")
ok "60 CPUs of n001 are busy" await "$a" RUNNING
is "4 nodes, and few CPUs: the rest of sn1 is enough" "$(try -N4 -n64)" "sn1:4"
is "4 nodes of all CPUs: not sn1" "$(try -N4 -n256)" "sn2:4"
id=$(SN_STEP=no submit -N4 -n196 "$TESTS/held.sh")
ok "196 CPUs of 4 nodes run" await "$id" RUNNING
is "in sn1, to the last CPU" "$(cpus_of "$id")" "n001:4 n005:64 n009:64 n013:64"
vacate "$id"
is "a range of nodes with CPUs for them" "$(try -N2-3 -n150)" "sn1:3"
is "all CPUs that there are" "$(try -n964)" "sn1:4 sn2:4 sn3:4 sn4:4"
waits "one more waits" -n965
vacate "$WAITING" "$a"

# --exclusive=topo: nobody else in the supernode.
a=$(SN_STEP=no submit -N2 --exclusive=topo "$TESTS/held.sh")
ok "a job has a supernode to itself" await "$a" RUNNING
is "it is in one" "$(spots "$a")" "sn1:2"
is "another job is not in it" "$(try -N4)" "sn2:4"
is "nor where only it has room" "$(try -N12)" "sn2:4 sn3:4 sn4:4"
waits "13 nodes wait" -N13
vacate "$WAITING"
b=$(SN_STEP=no submit -N1 -w "$(nodes_in sn2 | head -n 1)" "$TESTS/held.sh")
ok "a plain job in sn2" await "$b" RUNNING
is "a second one for itself is not there" "$(try -N4 --exclusive=topo)" "sn3:4"
vacate "$a" "$b"

# What will be: backfill's and sbatch's own question.
like "--test-only names the nodes" "$(sbatch --test-only -N4 --wrap true 2>&1)" 'nodes n\[001,005,009,013\]'
finish
