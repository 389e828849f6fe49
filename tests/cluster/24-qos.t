#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# With accounting: preemption by QOS, in all its modes, takes what leaves one
# usable supernode; limits count the cards of a layout, and who is over one
# waits for it, never held; sacct knows the cards.
#
# It needs a slurmdbd and MariaDB, and starts its own.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/preempt.sh"
. "$(dirname "$0")/dbd.sh"
need_dbd
LOW="--qos %s" HIGH="--qos high"
CL_NODES=12 CL_PER=4 CL_PODS=0 CL_UNIT=0
CL_EXTRA="PreemptType=preempt/qos
PreemptMode=SUSPEND,GANG
PriorityType=priority/multifactor
PriorityWeightQOS=1000
PartitionName=better Nodes=ALL PriorityTier=9 DefMemPerCPU=10"
start_cluster
# Reasons come from the main scheduler, which looks at all jobs but once a minute.
sed -i 's/^SchedulerParameters=/&sched_interval=3,/' "$CL_DIR/etc/slurm.conf"
if text=$(accounting_up AccountingStorageEnforce=limits,qos AccountingStorageTRES=gres/npu 2>&1); then
	pass "accounting is up"
elif reason=$(grep -h fatal: "$CL_DIR/log/slurmdbd.log"); then
	# As Debian 13's slurmdbd with its client library of MariaDB 11.8.9.
	pass "the rest is left out: slurmdbd does not work with this MariaDB: ${reason##*fatal: }"
	finish
else
	bail "accounting is up" "$text"
fi

qos() # NAME WORD…
{
	local text name=$1
	shift

	text=$(sacctmgr -i add qos "$name" "$@" 2>&1) || fail "QOS $name" "$text"
}
qos low priority=1 preemptmode=requeue
qos low2 priority=2 preemptmode=requeue
qos cancel priority=1 preemptmode=cancel
qos susp priority=1 preemptmode=suspend
qos hard priority=1
qos quota priority=1 grptres=gres/npu=64
qos small priority=1 maxtresperjob=gres/npu=16
qos deny priority=1 maxtresperjob=gres/npu=16 flags=denyonlimit
qos high priority=100 preempt=low,low2,cancel,susp preemptmode=cancel
ok "root may use every QOS" sacctmgr -i modify account root set qos=normal,low,low2,cancel,susp,hard,quota,small,deny,high
# slurmctld is told by slurmdbd, in its time.
ok "slurmctld knows them" until_true 30 eval 'sbatch --test-only --qos=high --wrap=true >/dev/null 2>&1'

# ---- preemption ------------------------------------------------------------------

# One job in each supernode, each all of it.
for nodes in $SN1 $SN2 $SN3; do hold low "$nodes" 8; done
all_run
like "--test-only: it could start at once" "$(sbatch --test-only $HIGH --parallel=$EP32 "$TESTS/held.sh" 2>&1)" 'to start at .* using 32 processors'
is "--test-only: and nobody has gone" "$(victims)" ""
id=$(submit_held $HIGH --parallel=$EP32)
ok "one of three: it runs" await_ranks "$id"
is "one of three: one victim" "$(victims | wc -w)" 1
ok "one of three: whole" check_ranks "$id" $EP32
like "one of three: the victim waits to run again" "$(for v in $JOBS; do state_of "$v"; done | sort | tr '\n' ' ')" '^PENDING RUNNING RUNNING $'
clear_all

# Two have to go, but three or four elsewhere.
for nodes in n001 n004 n007 n010 n002,n005 n008,n011 n003,n006 n009 n012; do hold low "$nodes" 8; done
wins "two victims" "5 6 " $SN2 --parallel=$EP32
clear_all

# As many in each supernode: those of the lower QOS.
for nodes in n001,n004 n007,n010; do hold low2 "$nodes" 8; done
hold low n002,n005 8
hold low2 n008,n011 8
for nodes in n003,n006 n009,n012; do hold low "$nodes" 8; done
wins "the cheapest" "5 6 " $SN3 --parallel=$EP32
clear_all

# A job whose QOS may not be preempted stands in one supernode.
hold hard n001 8
for nodes in n004,n007,n010 n002 n005 n008,n011 n003,n006 n009,n012; do hold low "$nodes" 8; done
wins "a job that stays" "6 7 " $SN3 --parallel=$EP32
clear_all

for nodes in n001 n004 n007 n010 n002,n005 n008,n011 n003,n006 n009 n012; do hold cancel "$nodes" 8; done
wins "cancelled" "5 6 " $SN2 --parallel=$EP32
set -- $JOBS
is "cancelled: they are over" "$(state_of "$5") $(state_of "$6")" "PREEMPTED PREEMPTED"
clear_all

# ---- suspension: cores are taken, cards and memory stay ----------------------------
# In one partition Slurm has both jobs take turns, so the better one comes by
# another of a higher tier.

# hold_cores NODES CORES [CARDS]: a job that can be suspended
hold_cores()
{
	local n=${1//[!,]/}

	# shellcheck disable=SC2086 # options
	JOBS="$JOBS $(SN_STEP=no submit --qos=susp -w "$1" -N $((${#n} + 1)) --ntasks-per-node="$2" ${3:+--gres=npu:$3} "$TESTS/held.sh")"
}

suspended()
{
	local i=0 id are

	are=$(squeue -h -t SUSPENDED -o %i)
	for id in $JOBS; do
		i=$((i + 1))
		! grep -qx "$id" <<<"$are" || printf '%s ' "$i"
	done
}

hold_cores n001,n004 64
hold_cores n007,n010 64
hold_cores $SN2 64
hold_cores n003,n006 64
hold_cores n009 64
hold_cores n012 64
all_run
id=$(submit_held -p better $HIGH --parallel=$EP32)
ok "suspension: a better job runs" await_ranks "$id"
ok "suspension: one makes room" until_true 30 eval '[ "$(suspended)" = "3 " ]'
ok "suspension: its groups are whole" check_ranks "$id" $EP32
release "$id"
ok "suspension: it ends" await "$id" COMPLETED
ok "suspension: and the other goes on" until_true 60 eval '[ -z "$(suspended)" ]'
clear_all

# Both kinds. Slurm looks at the first one's alone, and those that are suspended
# would keep their cards.
hold_cores $SN1 1 8
hold low $SN2 8
hold_cores $SN3 1 8
all_run
id=$(submit_held -p better $HIGH --parallel=$EP32)
ok "both kinds: a better job runs" await_ranks "$id"
is "both kinds: for one that is requeued" "$(victims)$(state_of "$(set -- $JOBS; echo "$2")")" "2 PENDING"
is "both kinds: nobody is suspended" "$(suspended)" ""
clear_all

# ---- limits --------------------------------------------------------------------------

priority_of()
{
	scontrol -o show job "$1" | sed -n 's/.* Priority=\([0-9]*\) .*/\1/p'
}

has_reason()
{
	[ "$(reason_of "$1")" = "$2" ]
}

# limited WHAT JOB REASON WORDS: it waits for a limit, is not held, and why says so
limited()
{
	ok "$1: that is its reason" until_true 60 has_reason "$2" "$3"
	like "$1: it waits and is not held" "$(state_of "$2") $(priority_of "$2")" '^PENDING [1-9]'
	like "$1: why says so" "$(snctl why "$2")" "^Slurm's reason $3: $4"
}

one=$(submit_held --qos=quota --parallel=$EP32)
two=$(submit_held --qos=quota --parallel=ep=25,dp=25)
ok "57 of 64 cards of a QOS" await_ranks "$two"
ok "in two jobs" await "$one" RUNNING
over=$(submit_held --qos=quota --parallel=ep=8,dp=8)
limited "one over GrpTRES" "$over" QOSGrpGRES "its QOS uses as many cards"
like "one over GrpTRES: why says where it would go" "$(snctl why "$over")" '^Now: it fits, on n003; only the reason above'
seven=$(submit_held --qos=quota --parallel=ep=7,dp=7)
ok "seven more are no more than allowed" await "$seven" RUNNING
large=$(submit_held --qos=small --parallel=$EP32)
limited "one over MaxTRESPerJob" "$large" QOSMaxGRESPerJob "it wants more cards than its QOS"
ok "16 are no more than that" await "$(submit_held --qos=small --parallel=ep=16,dp=16)" RUNNING
like "DenyOnLimit: refused at once" "$(sbatch --qos=deny --parallel=$EP32 "$TESTS/held.sh" 2>&1)" 'QOSMaxGRESPerJob'
release "$seven" "$two"
ok "when cards of the QOS come free, it runs" await_ranks "$over"
is "more could not have" "$(state_of "$large")" PENDING
release "$one" "$over"
await "$one" COMPLETED && await "$over" COMPLETED
ok "it was whole" check_ranks "$over" ep=8,dp=8

# ---- an elastic job: members count for themselves ----------------------------------------

echo "JobDir=$WORK/jobs/%j RestartWait=1 NodePoll=200 ElasticPoll=1 ElasticWait=5" >>"$CL_DIR/etc/supernode.conf"
printf '#!/bin/bash\nexec sleep 300\n' >rank.sh
printf '#!/bin/bash\nexec snrun ./rank.sh\n' >elastic.sh
chmod +x rank.sh
dp_is() { [ "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["layout"]["dp"])' "$WORK/jobs/$1/layout.json" 2>/dev/null)" = "$2" ]; }
members() { squeue -h -o '%A %T %r %k' | awk -v c="supernode:member=$1:" 'index($0, c) { print $1, $2, $3 }'; }
# The first looks of the scheduler may be behind other reasons.
members_are() { [ "$(members "$1" | cut -d' ' -f2,3 | sort | uniq -c | awk '{ printf "%s%d %s %s", (NR > 1 ? ", " : ""), $1, $2, $3 }')" = "$2" ]; }
hold=$(submit_held --qos=quota --parallel=$EP32)
ok "elastic: 32 of 64 cards of a QOS" await_ranks "$hold"
base=$(submit --qos=quota --parallel=tp=8,dp=6 --elastic=min_dp=2 elastic.sh)
ok "elastic: two members fit, two are over the limit" until_true 60 members_are "$base" "2 PENDING QOSGrpGRES, 2 RUNNING None"
ok "elastic: the job runs as it may" until_true 60 dp_is "$base" 4
all=$(members "$base" | cut -d' ' -f1 | paste -sd' ')
five=$(echo "$base $all" | tr ' ' ,)
release "$hold"
ok "elastic: when cards of the QOS come free, it grows" until_true 60 dp_is "$base" 6
scancel "$base"
ok "elastic: all end" until_true 30 eval '[ -z "$(squeue -h -j "$five" -o %T 2>/dev/null | grep -v COMPLETING)" ]'

# ---- sacct ---------------------------------------------------------------------------

cards_in() # JOB[.STEP] FIELD
{
	sacct -n -P -j "$1" -o "jobid,$2" | sed -n "s/^$1|.*gres\/npu=\([0-9]*\).*/\1/p"
}
ok "sacct has the jobs' ends" until_true 30 eval '[ "$(sacct -n -X -P -j "$one,$two" -o state | sort -u)" = COMPLETED ]'
is "sacct: cards asked for, had, and in the step" "$(cards_in "$one" reqtres) $(cards_in "$one" alloctres) $(cards_in "$one.0" alloctres)" "32 32 32"
is "sacct: and of 25 on uneven nodes" "$(cards_in "$two" reqtres) $(cards_in "$two" alloctres) $(cards_in "$two.0" alloctres)" "25 25 25"
states_of() { sacct -n -X -P -j "$1" -o state | cut -d' ' -f1 | sort | paste -sd' '; }
ok "sacct: base and members have ends of their own" until_true 30 eval 'states_of "$five" | grep -Exq "CANCELLED( CANCELLED){0,4}( COMPLETED){0,4}" && [ "$(states_of "$five" | wc -w)" = 5 ]'
diag "base and members: $(states_of "$five")"
is "sacct: and cards of their own" "$(for j in $base $all; do cards_in "$j" alloctres; done | paste -sd' ')" "16 8 8 8 8"
clear_all
finish
