#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# SpareNodes on a live cluster: who is kept from them, which they are, and the jobs
# with --replaces that they are there for.
. "$(dirname "$0")/lib.sh"
. "$TESTS/where.sh"
. "$TESTS/live.sh"
TOPO=$(mktemp)
cat >"$TOPO" <<-'END'
	SupernodeName=a Nodes=n[001-004] SpareNodes=1
	SupernodeName=b Nodes=n[005-008] SpareNodes=1
END
CL_NODES=8 CL_PER=4 CL_CARDS=4 CL_TOPOLOGY=$TOPO CL_UNIT=0 CL_PODS=0
CL_EXTRA="PartitionName=three Nodes=n[001-003] DefMemPerCPU=10
PartitionName=last Nodes=n[003-004] DefMemPerCPU=10"
LOG_ALLOW='Removing failed node n00[0-9] from JobId'
start_cluster
rm -f "$TOPO"
chmod 711 "$WORK"
A=n001,n002,n003,n004 B=n005,n006,n007,n008
USER2=daemon # Slurm 26.05 takes no jobs of nobody

quiet() # ARGUMENT…: a job that only keeps its nodes
{
	SN_STEP=no submit "$@" "$TESTS/held.sh"
}

held() # the SpareNodes of a and b
{
	snctl show supernodes --json | grep -oE '"held_now":("[^"]*"|null)' | cut -d: -f2 | tr -d '"' | paste -sd' '
}

extra() # NODE JSON
{
	scontrol update "NodeName=$1" "Extra=$2"
}

# ---- which they are -----------------------------------------------------------------

is "the last of each are held" "$(held)" "n004 n008"
scontrol update NodeName=n004 State=DRAIN Reason=test
is "one that is drained is not" "$(held)" "n003 n008"
is "and its place is kept" "$(try -x "$B" --parallel=tp=4,dp=2)" "a:2"
scontrol update NodeName=n004 State=RESUME
until_true 10 eval '[ "$(held)" = "n004 n008" ]'
extra n008 '{"cards": {"1": {"drain": {"by": "root", "at": 1, "why": "ECC"}}}}'
is "nor one with a masked card" "$(held)" "n004 n007"
id=$(quiet -x "$A" --parallel=tp=2,dp=5)
ok "whose other cards serve" await "$id" RUNNING
is "and not the new spare's" "$(nodes_of "$id")" "n[005-006,008]"
vacate "$id"
extra n008 ''
is "then it is again" "$(held)" "n004 n008"

# ---- who is kept from them -------------------------------------------------------------

full=$(quiet -x "$B" -t 30 --parallel=tp=4,dp=3)
ok "three nodes are in use" await "$full" RUNNING
is "the spare is not among them" "$(nodes_of "$full")" "n[001-003]"
end=$(scontrol -o show job "$full" | sed -nE 's/.* EndTime=([^ ]*).*/\1/p')
waits "a job with --parallel waits" -x "$B" --parallel=tp=2
like "why says for whom the node is kept" "$(snctl why "$WAITING")" '^SpareNodes of a: n004, for jobs with --replaces'
like "and counts it" "$(snctl why "$WAITING")" '1 node held back as SpareNodes'
scancel "$WAITING"
waits "one without cards" -x "$B" -n1 --exclusive
like "why says so, too" "$(snctl why "$WAITING")" '^SpareNodes of a: n004, for jobs with --replaces'
scancel "$WAITING"
later() # WHAT ARGUMENT…: it is not to start before $full ends
{
	local what=$1 text start
	shift

	text=$(sbatch --test-only -t 5 "$@" "$TESTS/held.sh" 2>&1)
	start=$(sed -nE 's/.* to start at ([^ ]*) .*/\1/p' <<<"$text")
	if [ -n "$start" ] && [ "$(date -d "$start" +%s)" -ge "$(date -d "$end" +%s)" ]; then
		pass "$what"
	else
		fail "$what" "$text, and the other ends at $end"
	fi
}
later "in the future they wait for the others" -x "$B" --parallel=tp=4
later "one with cards" -x "$B" -n1 --gres=npu:4
later "one without" -x "$B" -n1 --exclusive
later "one in a partition with little else" -p last -n1 --exclusive
vacate "$full"
is "a partition without the spare can be filled" "$(try -p three --parallel=tp=4,dp=3)" "a:3"

# ---- what can never be is told ------------------------------------------------------------

refused "an atom that takes all of a supernode" '1 atom of 16 cards is wanted, room for 0.*2 nodes held back as SpareNodes' --parallel=tp=4,ep=16,etp=1,dp=4
refused "all nodes" 'the job might never run: 8 nodes are wanted, and of the 8 that it may use 2 are held back as SpareNodes .n\[004,008\].*6 are left' -N8
refused "the spare by name" 'node n008 is required, but it is held back as one of the SpareNodes of b' -w n008 --parallel=tp=4
refused "for a job without --parallel" '-w n008 might never be had: node n008 is held back as one of the SpareNodes of b, .* while they are wholly free' -w n008

# ---- replacements ---------------------------------------------------------------------------

plain=$(quiet -w n005 -n1)
job=$(quiet -k -x "$B" --parallel=tp=4,dp=3)
until_true 60 state_is "$plain" RUNNING
ok "a job on three nodes" await "$job" RUNNING
refused "nothing is to be replaced yet" "--replaces=$job: job $job has lost no node and holds no masked card" "--replaces=$job" -N1
refused "nor of a job that is not there" '--replaces=99999: there is no job 99999' --replaces=99999 -N1
refused "nor of one without a layout" 'was submitted without --parallel' "--replaces=$plain" -N1
scancel "$plain"
nodes_down n002
scontrol update NodeName=n002 State=DOWN Reason=test
# What it sent before it died may have Slurm believe that it is well.
scontrol update NodeName=n002 State=DRAIN Reason=test
is "the job goes on without a node" "$(state_of "$job") $(nodes_of "$job")" "RUNNING n[001,003]"
low=$(quiet -x "$B" -N1 --gres=npu:4)
until_true 20 eval '[ "$(reason_of "$low")" != None ]'
is "an ordinary job does not get the spare" "$(state_of "$low")" PENDING
as_other() # COMMAND…
{
	(cd / && setpriv --reuid="$USER2" --regid="$(id -g "$USER2")" --clear-groups "$@" 2>&1)
}
if as_other sbatch --version >/dev/null; then
	like "another user may not" "$(as_other sbatch -o /dev/null "--replaces=$job" -N1 --wrap=true)" "--replaces=$job: job $job is another user's"
else
	skip "another user may not" "this Slurm is installed where others cannot read it"
fi
refused "two nodes for one are too many" "2 nodes are wanted, and of job $job 1 is to be replaced .a: 1" "--replaces=$job" -N2
new=$(quiet "--replaces=$job" -N1 --gres=npu:4)
ok "a replacement runs" await "$new" RUNNING
is "on the spare, and not in the other supernode" "$(nodes_of "$new")" "n004"
is "while the ordinary job waits" "$(state_of "$low")" PENDING
scancel "$low"
is "nothing is held there now" "$(held)" "null n008"
refused "a second one is not wanted" 'other jobs replace as many already' "--replaces=$job" -N1
vacate "$new"
new=$(submit_held --parallel=tp=4 "--replaces=$job")
ok "one with a layout runs" await_ranks "$new"
is "on the spare" "$(nodes_of "$new")" "n004"
vacate "$new"
scontrol update NodeName=n004 State=DRAIN Reason=test
waits "where the spare is away it waits" --parallel=tp=4 "--replaces=$job"
new=$WAITING
like "for b is none of its business" "$(snctl why "$new")" "stands in for 1 node that job $job has lost"
ctld_kill TERM
ok "a new slurmctld" ctld_up
is "it waits still" "$(state_of "$new")" PENDING
# Of a node that has not yet registered Slurm refuses to say that it is well.
until_true 30 eval 'scontrol update NodeName=n004 State=RESUME 2>/dev/null; [[ $(sinfo -h -n n004 -o %t) =~ ^(idle|alloc|mix|plnd)$ ]]'
ok "and runs when the spare is back" await "$new" RUNNING
is "there" "$(nodes_of "$new")" "n004"
vacate "$new"
late=$(quiet --begin=now+1hour "--replaces=$job" -N1)
scancel "$job"
ok "the job ends" until_true 30 nothing_ends
scontrol update "JobId=$late" StartTime=now
until_true 20 eval '[ "$(reason_of "$late")" = Resources ]'
is "what would replace its nodes does not start" "$(state_of "$late")" PENDING
like "and why says what to do" "$(snctl why "$late")" "job $job, which does not run any more or has none to be replaced: scancel it"
scancel "$late"

# ---- a masked card -----------------------------------------------------------------------------

job=$(quiet -x "$A" --parallel=tp=4)
ok "a job on one node" await "$job" RUNNING
at=$(nodes_of "$job")
extra "$at" '{"cards": {"2": {"health": {"state": "suspect", "at": 1, "why": "slow"}}}}'
new=$(quiet "--replaces=$job" --parallel=tp=4)
ok "may be replaced when one of its cards is masked" await "$new" RUNNING
is "in the same supernode" "$(spots "$new")" "b:1"
extra "$at" ''
vacate "$job" "$new"
finish
