#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What other schedulers got wrong, by their public bug reports: each with the
# right answer, as -N and --segment jobs and as --parallel where that can say it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/where.sh"
CL_NODES=24 CL_PER=6 CL_PODS=2 CL_UNIT=0
start_cluster

# An atom of k nodes of 8 cards, n of them.
atoms() # K N
{
	echo "--parallel=tp=8,ep=$(($1 * 8)),etp=1,dp=$(($1 * $2))"
}

# 1. Segments stay in their supernodes, also when the same topology is read again.
is "1: 12 nodes in segments of 4, of supernodes of 6" "$(try -N12 --segment=4)" "sn1:4 sn2:4 sn3:4"
is "1: the same as atoms" "$(try "$(atoms 4 3)")" "sn1:4 sn2:4 sn3:4"
ok "1: the unchanged topology is read again" scontrol reconfigure
ok "1: slurmctld answers" until_true 20 ctld_answers
ok "1: all nodes are back" until_true 60 nodes_idle
is "1: the same answer" "$(try -N12 --segment=4)" "sn1:4 sn2:4 sn3:4"
is "1: a supernode's own nodes can be asked for" \
	"$(try -N6 --segment=6 -w "$(nodes_in sn3 | paste -sd,)")" "sn3:6"

# 2. A segment as large as what is free in a whole supernode does not leak.
occupy sn1=3 sn2=3
is "2: 3/3/6/6, a segment of 5" "$(try -N5 --segment=5)" "sn3:5"
is "2: the same as an atom" "$(try "$(atoms 5 1)")" "sn3:5"
is "2: two of them" "$(try -N10 --segment=5)" "sn3:5 sn4:5"
is "2: a segment of a whole supernode" "$(try -N12 --segment=6)" "sn3:6 sn4:6"
waits "2: a third one waits" -N15 --segment=5
vacate "$BUSY" "$WAITING"

# 3. Nodes of supernodes alternate by name; ranks do not.
cat >"$WORK/say.sh" <<-'END'
	#!/bin/bash
	srun --ntasks-per-node=1 bash -c 'echo "$SLURM_PROCID $SLURMD_NODENAME"'
END
ranks_of() # ARGUMENT…: the supernodes of ranks 0, 1, … of one task a node
{
	local id

	id=$(submit "$@" --ntasks-per-node=1 "$WORK/say.sh") && await "$id" COMPLETED || { echo "$id"; return; }
	sort -n "$WORK/$id.out" | while read -r rank node; do
		for sn in $(supernodes); do
			nodes_in "$sn" | grep -qx "$node" && echo "$sn"
		done
	done | uniq -c | awk '{ print $2 ":" $1 }' | paste -sd' '
}
is "3: ranks of two segments do not alternate" "$(ranks_of -N12 --segment=6)" "sn1:6 sn2:6"
is "3: nor of a plain job" "$(ranks_of -N8)" "sn1:6 sn2:2"
id=$(submit -N12 --segment=6 --ntasks-per-node=1 "$WORK/say.sh")
ok "3: it ends" await "$id" COMPLETED
is "3: rank 0 is on the first node of the list" "$(sed -n 's/^0 //p' "$WORK/$id.out")" "n001"

# 4. Any supernodes together, not aligned pairs of them.
occupy sn1=4 sn4=5
is "4: 2/6/6/1, 12 nodes" "$(try -N12)" "sn2:6 sn3:6"
is "4: 2/6/6/1, 12 nodes of ranks" "$(try --parallel=tp=8,dp=12)" "sn2:6 sn3:6"
vacate "$BUSY"
occupy sn1=2 sn2=2 sn3=3 sn4=3
# Two pairs of one pod each: of sn1 and sn2 two nodes would be left over.
is "4: 4/4/3/3, 6 nodes" "$(try -N6)" "sn3:3 sn4:3"
is "4: 4/4/3/3, 6 nodes of ranks" "$(try --parallel=tp=8,dp=6)" "sn3:3 sn4:3"
is "4: 4/4/3/3, 14 nodes" "$(try -N14)" "sn1:4 sn2:4 sn3:3 sn4:3"
vacate "$BUSY"

# 5. Free nodes everywhere, and nowhere enough for a segment: a quick no.
occupy sn1=3 sn2=3 sn3=3 sn4=3
waits "5: 3/3/3/3, a segment of 4 waits" -N8 --segment=4
segments=$WAITING
waits "5: and as an atom" "$(atoms 4 1)"
before=$(date +%s%N)
ok "5: slurmctld answers meanwhile" sinfo -h
ok "5: at once" test $(($(date +%s%N) - before)) -lt 5000000000
is "5: segments of 3 run" "$(try -N12 --segment=3 --nice=-1000)" "sn1:3 sn2:3 sn3:3 sn4:3"
vacate "$WAITING"
scancel "$BUSY"
ok "5: the waiting job runs when there is room" await "$segments" RUNNING
is "5: in whole segments" "$(spots "$segments")" "sn1:4 sn2:4"
vacate "$segments"

# 7. Of several that fit, the one that leaves the fewest over.
occupy sn2=2
is "7: 6/4/6/6, 4 nodes" "$(try -N4)" "sn2:4"
is "7: as a segment" "$(try -N4 --segment=4)" "sn2:4"
is "7: as an atom" "$(try "$(atoms 4 1)")" "sn2:4"
vacate "$BUSY"

# 8. Units of one name in different supernodes are not one: such a file is
# refused, and names that supernodes, units and fabrics share are no tie.
cat >"$WORK/twice.conf" <<-END
	SupernodeName=sn1 Nodes=$(nodes_in sn1 | paste -sd,)
	SupernodeName=sn2 Nodes=$(nodes_in sn2 | paste -sd,)
	UnitName=0 Nodes=$(nodes_in sn1 | head -n 2 | paste -sd,)
	UnitName=0 Nodes=$(nodes_in sn2 | head -n 2 | paste -sd,)
END
like "8: two units called 0 are refused, with both lines" "$(snctl check --config "$WORK/twice.conf" 2>&1)" \
	'twice.conf:4: UnitName=0: .*already declared \(.*twice.conf:3\)'
cp "$CL_DIR/etc/topology.conf" "$WORK/before.conf"
others=$(nodes_in sn3 | paste -sd,),$(nodes_in sn4 | paste -sd,)
cat >"$WORK/zeros.conf" <<-END
	SupernodeName=0 Nodes=$(nodes_in sn1 | paste -sd,)
	SupernodeName=1 Nodes=$(nodes_in sn2 | paste -sd,)
	UnitName=0 Nodes=$(nodes_in sn1 | head -n 3 | paste -sd,)
	UnitName=1 Nodes=$(nodes_in sn2 | head -n 3 | paste -sd,)
	UnitName=2 Nodes=$(nodes_in sn1 | tail -n 3 | paste -sd,)
	FabricName=0 Supernodes=0
	FabricName=1 Supernodes=1
END
reread() # FILE
{
	cp "$1" "$CL_DIR/etc/topology.conf" && scontrol reconfigure && until_true 20 ctld_answers && until_true 60 nodes_idle
}
ok "8: supernodes, units and fabrics called 0 and 1" reread "$WORK/zeros.conf"
id=$(submit_held --parallel=tp=16,dp=2,tp_within=unit)
ok "8: groups that must be in a unit run" await_ranks "$id"
ok "8: and are" check_ranks "$id" tp=16,dp=2,tp_within=unit
vacate "$id"
is "8: three nodes of a unit hold one" "$(try --parallel=tp=16,dp=3,tp_within=unit)" "0:4 1:2"
refused "8: and no more of them" 'never fit' --parallel=tp=24,dp=4,tp_within=unit -x "$others"
ok "8: the first topology again" reread "$WORK/before.conf"

# 9. Cards 2/4/3 free on three nodes: four groups of 2 and a single one.
BUSY=
rest=$(supernodes | while read -r sn; do nodes_in "$sn"; done | grep -vxE 'n00[159]' | paste -sd,)
for word in n001:6 n005:4 n009:5; do
	id=$(SN_STEP=no submit -N1 -w "${word%:*}" "--gres=npu:${word#*:}" "$TESTS/held.sh")
	await "$id" RUNNING
	BUSY="$BUSY $id"
done
is "9: four tasks of 2 cards" "$(try -x "$rest" -n4 --tres-per-task=gres/npu:2)" "sn1:3"
is "9: four groups of 2" "$(try -x "$rest" --parallel=tp=2,dp=4)" "sn1:3"
id=$(submit_held -x "$rest" --parallel=tp=2,dp=4)
ok "9: its ranks run" await_ranks "$id"
is "9: one group, two and one" "$(cards_said "$id" | cut -d' ' -f1 | uniq -c | awk '{ print $2 ":" $1 / 2 }' | paste -sd' ')" "n001:1 n005:2 n009:1"
is "9: and the single one beside it" "$(try -x "$rest" -n1 --gres=npu:1)" "sn1:1"
# shellcheck disable=SC2086 # a list
vacate $BUSY "$id"

# 10. No last segment that hangs for ever.
refused "10: 10 nodes in segments of 4 are refused with the arithmetic" '10 = 2\*4 \+ 2.*-N 8 or -N 12|does not fit the job size \(10\)' -N10 --segment=4
refused "10: a segment larger than any supernode" 'segment=7 .*6 nodes' -N7 --segment=7
refused "10: more segments than the cluster holds" '5 segments.*hold 4 of 4 nodes' -N20 --segment=4
refused "10: a range without a multiple" 'no multiple of 6|does not fit the job size \(7\)' -N7-11 --segment=6
refused "10: --segment and --parallel" 'segment' --segment=4 --parallel=tp=8,dp=4
id=$(SN_STEP=no submit -N8 --segment=4 -H "$TESTS/held.sh")
like "10: an update to 10 nodes is refused too" "$(scontrol update "JobId=$id" NumNodes=10 2>&1)" '10 = 2\*4 \+ 2|Invalid'
ok "10: to 12 it is not" scontrol update "JobId=$id" NumNodes=12
scancel "$id"

# 12. As many nodes as were asked for, not that many per segment.
is "12: a range gives the multiple that fits" "$(try -N4-11 --segment=4)" "sn1:4 sn2:4"
is "12: and no more than its end" "$(try -N1-8 --segment=4)" "sn1:4 sn2:4"
occupy sn1=3 sn2=3 sn3=3
is "12: the most that there are now" "$(try -N4-12 --segment=4)" "sn4:4"
is "12: not less than its start" "$(try -N2-20 --segment=1)" "sn1:3 sn2:3 sn3:3 sn4:6"
vacate "$BUSY"
finish
