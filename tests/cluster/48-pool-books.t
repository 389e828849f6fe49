#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The books of the pool: what a supernode has left follows from the jobs, whatever
# becomes of them and of its nodes, and is promised once.
. "$(dirname "$0")/lib.sh"
. "$TESTS/where.sh"
. "$TESTS/live.sh"
. "$TESTS/pool.sh"
TOPO=$(mktemp)
cat >"$TOPO" <<-'END'
	SupernodeName=a Nodes=n[001-004] PoolMemory=160M PoolBandwidth=100G
	SupernodeName=b Nodes=n[005-008] PoolMemory=160M
END
CL_NODES=8 CL_PER=4 CL_CARDS=4 CL_TOPOLOGY=$TOPO CL_UNIT=0 CL_PODS=0
CL_EXTRA="PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=low Nodes=ALL PriorityTier=1 DefMemPerCPU=10
PartitionName=high Nodes=ALL PriorityTier=9 PreemptMode=OFF DefMemPerCPU=10"
LOG_ALLOW='Removing failed node n00[0-9] from JobId'
start_cluster
rm -f "$TOPO"
POOL=$(sed -n 's/^PoolDir=//p' "$CL_DIR/etc/supernode.conf")
A=n001,n002,n003,n004 B=n005,n006,n007,n008

books() # SUPERNODE: size, held by jobs, free, there
{
	snctl show pool --json | grep -o "\"supernode\":\"$1\"[^}]*" |
		sed -E 's/.*"size":"?([^",]*)"?,"jobs_hold":"?([^",]*)"?,.*"free":"?([^",]*)"?,.*"there":"?([^",]*)"?.*/\1 \2 \3 \4/'
}

quiet() # ARGUMENT…: a job that only keeps its nodes
{
	SN_STEP=no submit "$@" "$TESTS/held.sh"
}

# ---- spares hold nothing until they run ranks --------------------------------------

is "all of it is free" "$(books a); $(books b)" "160M 0 160M 160M; 160M 0 160M 160M"
stepped -x "$B" --parallel=tp=4,dp=2 --spares=1 --pool=64M,bw=60G || bail "a job with a spare runs"
job=$STEPPED
is "its ranks hold what it asked, and its spare nothing" "$(books a)" "160M 64M 96M 160M"
is "of the bandwidth, too" "$(snctl show pool --json | grep -o '"bandwidth_free":"[^"]*"')" '"bandwidth_free":"40G"'
like "where it began is on its record" "$(scontrol show job "$job")" 'AdminComment=supernode:[^ ]*;nodes=n\[001-003\]'
is "the nodes with ranks have their regions" "$(regions n001 | grep -c "^ $POOL") $(regions n002 | grep -c "^ $POOL")" "1 1"
is "and the spare has none" "$(regions n003)" ""
fits=$(quiet -x "$B" --parallel=tp=4 --pool=96M)
ok "what is left goes to the next job, all of it" await "$fits" RUNNING
is "and is gone" "$(books a)" "160M 160M 0 160M"
id=$(quiet -x "$B" --parallel=tp=4 --pool=1M)
like "then no more is given" "$(until_true 20 eval '[ "$(reason_of "$id")" != None ]'; state_of "$id")" PENDING
scancel "$id"

# ---- a node goes, a spare takes over ------------------------------------------------

nodes_down n002
scontrol update NodeName=n002 State=DOWN Reason=test
ok "a job that loses a node goes on" state_is "$job" RUNNING
is "a spare in its place holds what it held; a quarter is not there" "$(books a)" "160M 160M 0 120M"
is "the other job is not hurt" "$(state_of "$fits")" RUNNING
next_step "$job" 1 >/dev/null
ok "the next step runs on the spare" check_step "$job" 1 tp=4,dp=2
is "which now has a region" "$(regions n003 | grep -c "^ $POOL")" 1
is "of the size that the other had" "$(inside n003 df -B1 --output=size "$POOL/n003/job-$job" | tail -n 1 | tr -d ' ')" $((32 << 20))
scancel "$fits"
ok "the other job ends" until_true 30 nothing_ends
is "what it had is there again, less what went with the node" "$(books a)" "160M 64M 56M 120M"
id=$(quiet -x "$B" --parallel=tp=4 --pool=57M)
until_true 20 eval '[ "$(reason_of "$id")" != None ]'
is "more than that is not given" "$(state_of "$id")" PENDING
like "and why says so" "$(snctl why "$id")" 'memory pool is short in 1 supernode .57M in all is wanted; the most they have free is 56M, a'
like "with the same number in its table" "$(snctl why "$id" | grep '^ *a ')" 'pool 56M free of 120M that is there'
scancel "$id"
id=$(quiet -x "$B" --parallel=tp=4 --pool=56M)
ok "that much is" await "$id" RUNNING
scancel "$id"
ok "slurmctld saves its state" state_saved "$job"
ctld_kill
ok "a new slurmctld" ctld_up
until_true 30 eval '[ "$(books a)" = "160M 64M 56M 120M" ]'
is "knows the same" "$(books a)" "160M 64M 56M 120M"
release "$job"
ok "the job ends" await "$job" COMPLETED

# ---- nodes come back; drained ones count ---------------------------------------------

node_up 1
ok "the node is back" cluster_ready
is "with its part" "$(books a)" "160M 0 160M 160M"
scontrol update NodeName=n006 State=DRAIN Reason=test
is "a drained node keeps its part" "$(books b)" "160M 0 160M 160M"
scontrol update NodeName=n006 State=RESUME

# ---- shrinking ------------------------------------------------------------------------

id=$(quiet -x "$A" --parallel=tp=4,dp=4 --pool=160M)
ok "a job that holds a whole pool" await "$id" RUNNING
is "holds it" "$(books b)" "160M 160M 0 160M"
ok "it gives two of its four nodes back" scontrol update "JobId=$id" NumNodes=2
is "and half of the pool" "$(books b)" "160M 80M 80M 160M"
like "they are not missed" "$(scontrol show job "$id")" 'AdminComment=supernode:[^ ]*;nodes=n\[005-006\] *$'
next=$(quiet -x "$A" --parallel=tp=4,dp=2 --pool=80M)
ok "which another has then" await "$next" RUNNING
vacate "$id" "$next"

# ---- backfill: in the future it is free again ------------------------------------------

id=$(quiet -t 20 -w n005 -x "$A" --parallel=tp=4 --pool=150M)
ok "a job holds most of a pool for 20 minutes" await "$id" RUNNING
end=$(scontrol -o show job "$id" | sed -nE 's/.* EndTime=([^ ]*).*/\1/p')
text=$(sbatch --test-only -t 5 -x "$A" --parallel=tp=4 --pool=100M "$TESTS/held.sh" 2>&1)
start=$(sed -nE 's/.* to start at ([^ ]*) .*/\1/p' <<<"$text")
if [ -n "$start" ] && [ "$(date -d "$start" +%s)" -ge "$(date -d "$end" +%s)" ] &&
	[ "$(date -d "$start" +%s)" -le $(($(date -d "$end" +%s) + 120)) ]; then
	pass "one that wants it would start at its end"
else
	fail "one that wants it would start at its end" "$text, and the other ends at $end"
fi
like "one that fits beside it now" "$(sbatch --test-only -t 5 -x "$A" --parallel=tp=4 --pool=10M "$TESTS/held.sh" 2>&1)" \
	" to start at $(date +%Y-%m-%dT%H:)"
wait=$(quiet -t 5 -x "$A" --parallel=tp=4 --pool=100M)
until_true 20 eval '[ "$(reason_of "$wait")" != None ]'
like "why says when" "$(snctl why "$wait")" "Later: at $end at the latest"
scancel "$id"
ok "and when it ends sooner, it starts sooner" await "$wait" RUNNING
vacate "$wait"

# ---- preemption ---------------------------------------------------------------------------

low=$(quiet -p low -x "$A" -w n005 --parallel=tp=4 --pool=150M)
ok "a job that may be preempted holds a pool" await "$low" RUNNING
id=$(quiet -p high -x "$A" --parallel=tp=4 --pool=100M)
ok "one for which only the pool is short has it go" await "$id" RUNNING
is "and it is gone" "$(state_of "$low")" PENDING
is "the books are right" "$(books b)" "160M 100M 60M 160M"
vacate "$low" "$id"

# ---- many at once ----------------------------------------------------------------------------

ids=()
for ((i = 0; i < 12; i++)); do
	ids+=("$(quiet --parallel=tp=2 --pool=50M)")
done
until_true 30 eval '[ "$(squeue -h -t running -o %i | wc -l)" = 6 ]'
is "of 12 jobs of 50M, three run in each pool of 160M" "$(books a); $(books b)" "160M 150M 10M 160M; 160M 150M 10M 160M"
scancel "${ids[@]}"
ok "all are gone" until_true 60 eval '[ -z "$(squeue -h -o %i)" ]'
is "and nothing is held" "$(books a); $(books b)" "160M 0 160M 160M; 160M 0 160M 160M"
finish
