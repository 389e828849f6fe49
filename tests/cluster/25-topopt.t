#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Backfill with bf_topopt_enable asks how broken up the cluster would be: the
# nodes that are missing, and the sizes of supernodes and fabrics not whole.
. "$(dirname "$0")/lib.sh"
CL_NODES=12 CL_PER=4 CL_PODS=0 CL_UNIT=0
CL_EXTRA='DebugFlags=Backfill,BackfillMap'
CL_TOPOLOGY=$(mktemp)
cat >"$CL_TOPOLOGY" <<-END
	SupernodeName=sn[1-2] Nodes=n[001-008] NodesPerSupernode=4
	SupernodeName=sn3 Nodes=n[009-011]
	FabricName=pod Supernodes=sn[1-2]
END
start_cluster
rm -f "$CL_TOPOLOGY"
sed -i 's/^SchedulerParameters=.*/SchedulerParameters=bf_interval=1,bf_topopt_enable,bf_topopt_iterations=4/' "$CL_DIR/etc/slurm.conf"
ok "backfill minds the topology" timeout 60 scontrol reconfigure
until_true 30 ctld_answers
export SN_STEP=no

# What backfill says of the time from now on: the first line of its latest look. It
# does nothing where nothing changed, so something does.
now_is() # VALUE
{
	scontrol update "JobId=$waiting" "Comment=$RANDOM"
	FRAGMENTS=$(tail -n +"$LINE" "$CL_DIR/log/slurmctld.log" |
		awk '/: beginning$/ { new = 1 }
			new && /Begin:.*Fragmentation:/ { sub(/.*Fragmentation:/, ""); last = $0; new = 0 }
			END { print last }')
	[ "$FRAGMENTS" = "$1" ]
}

fragments() # WHAT VALUE
{
	LINE=$(($(wc -l <"$CL_DIR/log/slurmctld.log") + 1))
	until_true 20 now_is "$2"
	is "$1" "$FRAGMENTS" "$2"
}

none_drained()
{
	scontrol update nodename=ALL state=resume 2>/dev/null
	[ -z "$(sinfo -h -t drain -o %N)" ]
}

without() # NODES
{
	until_true 20 none_drained
	[ -z "$1" ] || scontrol update "nodename=$1" state=drain reason=test
}

busy=$(submit -w n012 -N1 --gres=npu:8 --time=10 "$TESTS/held.sh")
await "$busy" RUNNING
waiting=$(submit -w n012 -N1 --gres=npu:8 --time=10 "$TESTS/held.sh")
fragments "all is there" 0
without n012
fragments "a loose node is missing" 0
without n010
fragments "one of a supernode of 3" 4
without n001
fragments "one of 4, in a fabric of 8" 13
without n[001-002,005]
fragments "three of two supernodes" 19
without n[001-011]
fragments "all but the loose one" 30
without ""

# It starts jobs, where they should be.
id=$(submit -N4 --segment=4 --gres=npu:8 --time=5 "$TESTS/held.sh")
ok "a job starts" await "$id" RUNNING
id2=$(submit_held --parallel=tp=8,ep=24,etp=1,dp=3 --time=5)
ok "one with a layout, too" await "$id2" RUNNING
like "each in one supernode" "$(for i in $id $id2; do scontrol -o show job "$i" | sed -n 's/.* NodeList=\([^ ]*\).*/\1/p'; done | sort | tr '\n' ' ')" '^n\[00[15]-00[48]\] n\[009-011\] $'
finish
