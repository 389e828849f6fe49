#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `scontrol reconfigure` moves nodes between supernodes, out of all of them and
# back, with jobs running and waiting: running ones keep their cards, and their
# next steps are right by the new file or say why not; waiting ones are placed
# by the new file; none is lost or held.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/where.sh"
. "$(dirname "$0")/live.sh"
CL_NODES=12 CL_PER=4 CL_PODS=0 CL_UNIT=0
CL_TOPOLOGY=$(mktemp)
cat >"$CL_TOPOLOGY" <<-END
	SupernodeName=a Nodes=n[001,004,007,010]
	SupernodeName=b Nodes=n[002,005,008,011]
	SupernodeName=c Nodes=n[003,006,009,012]
END
start_cluster
rm -f "$CL_TOPOLOGY"
VERSION=$(slurm_version_of "$SN_SLURM_PREFIX/sbin/slurmctld")

# An atom of 16 ranks is two nodes.
layout=tp=8,ep=16,etp=1,dp=4
stepped "--parallel=$layout"
run=$STEPPED
is "a job runs in a" "$(spots "$run")" "a:4"
ok "its ranks are right" check_step "$run" 0 "$layout"
cards=$(cards_of "$run")
kept() # WHEN
{
	is "$1: the job runs, on its cards" "$(state_of "$run") $(cards_of "$run")" "RUNNING $cards"
}

# A node leaves: the second atom has one node in a and one that is loose.
ok "n010 leaves a" reconfigure <<-END
	SupernodeName=a Nodes=n[001,004,007]
	SupernodeName=b Nodes=n[002,005,008,011]
	SupernodeName=c Nodes=n[003,006,009,012]
END
kept "left"
like "left: it is loose" "$(show_topology n010)" '^SupernodeName=n010 .*Loose=yes'
text=$(next_step "$run" 1)
like "left: a step that would be split does not run" "$(tail -n 1 <<<"$text")" '^exit [1-9]'
is "left: none of its ranks did" "$(grep -c '^rank ' <<<"$text")" 0
like "left: and it says why" "$text" 'supernode: .*supernode.* 16 .*requeue'
is "left: once" "$(grep -c 'supernode: ' <<<"$text")" 1
ok "left: a step of fewer ranks runs" srun --overlap "--jobid=$run" -n1 -N1 true
is "left: four nodes of a supernode are b's" "$(try -N4 --exclusive)" "b:4"

ok "n010 comes back" reconfigure <<-END
	SupernodeName=a Nodes=n[001,004,007,010]
	SupernodeName=b Nodes=n[002,005,008,011]
	SupernodeName=c Nodes=n[003,006,009,012]
END
kept "back"
next_step "$run" 2 >/dev/null
ok "back: the next step is right" check_step "$run" 2 "$layout"

# Two nodes change places with two of b: the atoms are whole, but others.
ok "n004 and n010 change places with n002 and n005" reconfigure <<-END
	SupernodeName=a Nodes=n[001,002,005,007]
	SupernodeName=b Nodes=n[004,008,010,011]
	SupernodeName=c Nodes=n[003,006,009,012]
END
kept "changed"
is "changed: by the new file it is in both" "$(spots "$run")" "a:2 b:2"
text=$(next_step "$run" 3)
if [ "$(printf '%s\n' 25.05 "$VERSION" | sort -V | head -n 1)" = 25.05 ]; then
	# From 25.05 on Slurm keeps the order that the job was allocated with.
	like "changed: a step in the old order fails" "$(tail -n 1 <<<"$text")" '^exit [1-9]'
	like "changed: and says what to do" "$text" 'rank 8 is not where the layout puts it, so it does not run; .* start the step with snrun'
else
	ok "changed: the next step is right by it" check_step "$run" 3 "$layout"
	is "changed: an atom is n001 and n007" "$(sed -nE 's/^rank ([0-9]|1[0-5]) node ([^ ]*) .*/\2/p' "$WORK/$run-3.step" | sort -u | paste -sd,)" "n001,n007"
fi
is "changed: a's others are a place for two" "$(try -N2 --exclusive -w n002)" "a:2"

# Jobs that wait for a supernode of four free nodes, while c is busy.
occupy c=4
busy=$BUSY
big=tp=8,ep=32,etp=1,dp=4
four=$(submit_held "--parallel=$big")
until_true 20 eval '[ "$(reason_of "$four")" != None ]'
like "32 ranks of one supernode wait" "$(state_of "$four") $(reason_of "$four")" '^PENDING (Resources|Priority)'
ok "d gets the free nodes of a and b" reconfigure <<-END
	SupernodeName=a Nodes=n[001,007]
	SupernodeName=b Nodes=n[004,010]
	SupernodeName=c Nodes=n[003,006,009,012]
	SupernodeName=d Nodes=n[002,005,008,011]
END
ok "they run" await_ranks "$four"
is "in d" "$(spots "$four")" "d:4"
ok "and are right" check_ranks "$four" "$big"
kept "d"

# What waits may have no place for a while.
wait=$(submit_held "--parallel=$big,pp=2")
until_true 20 eval '[ "$(reason_of "$wait")" != None ]'
ok "all supernodes become small" reconfigure <<-END
	SupernodeName=a Nodes=n[001,007]
	SupernodeName=b Nodes=n[004,010]
END
kept "small"
release "$four"
ok "small: a running job ends well" await "$four" COMPLETED
vacate "$busy"
is "small: other jobs start" "$(try -N2 --exclusive)" "n002 n003"
is "small: what fits nowhere now still waits" "$(state_of "$wait")" PENDING
is "small: and is not held" "$(scontrol -o show job "$wait" | grep -c ' Priority=0 ')" 0
like "small: a new one is refused, with the numbers" "$(submit_held "--parallel=$big")" 'refused:.*32'
ok "supernodes are large again" reconfigure <<-END
	SupernodeName=a Nodes=n[001,004,007,010]
	SupernodeName=b Nodes=n[002,005,008,011]
	SupernodeName=c Nodes=n[003,006,009,012]
END
ok "the waiting job runs" await_ranks "$wait"
is "where it must" "$(spots "$wait")" "b:4 c:4"
ok "and is right" check_ranks "$wait" "$big,pp=2"
release "$wait"
ok "and ends well" await "$wait" COMPLETED
next_step "$run" 4 >/dev/null
ok "the first job's next step is right" check_step "$run" 4 "$layout"
release "$run"
ok "and it ends well" await "$run" COMPLETED
is "nobody shared a card" "$(cat "$WORK"/*.out "$WORK"/*.step | grep -c DOUBLE)" 0
finish
