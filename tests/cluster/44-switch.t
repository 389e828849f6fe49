#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# From topology/block with select/cons_tres to the suite and back, with a job
# running and one waiting through both.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/where.sh"
. "$(dirname "$0")/live.sh"
CL_NODES=12 CL_PER=4 CL_PODS=0 CL_UNIT=0
CL_TOPOLOGY=$(mktemp)
cat >"$CL_TOPOLOGY" <<-END
	BlockName=sn1 Nodes=n[001,004,007,010]
	BlockName=sn2 Nodes=n[002,005,008,011]
	BlockName=sn3 Nodes=n[003,006,009,012]
END
start_cluster
rm -f "$CL_TOPOLOGY"
etc=$CL_DIR/etc
cp "$etc/slurm.conf" suite.conf
cp "$etc/topology.conf" suite.topology
sed 's/topology\/supernode/topology\/block/; s/select\/supernode/select\/cons_tres/; /^JobSubmitPlugins=/d; /^CliFilterPlugins=/d' suite.conf >block.conf
{ cat suite.topology; echo BlockSizes=4; } >block.topology

change() # block or suite: as an administrator would, slurmctld and then all slurmds
{
	ctld_kill TERM
	cp "$1.conf" "$etc/slurm.conf"
	cp "$1.topology" "$etc/topology.conf"
	ctld_up || { echo "$CL_WHY"; return 1; }
	timeout 60 scontrol reconfigure && until_true 30 ctld_answers && until_true 60 nodes_idle
}
ok "the cluster is stock first" change block
like "by its own word" "$(scontrol show topology 2>&1)" 'BlockName=sn1'
id=$(SN_STEP=no submit -N4 --segment=4 --exclusive "$TESTS/held.sh")
ok "a job runs" await "$id" RUNNING
step=$(submit -N2 --exclusive -n2 --wrap "srun sleep 600")
until_true 20 eval '[ "$(squeue -h -s -j "$step" -o %i | grep -c "\.0$")" = 1 ]'
wait=$(SN_STEP=no submit -N8 --segment=4 --exclusive "$TESTS/held.sh")
until_true 20 eval '[ "$(reason_of "$wait")" != None ]'
where="$(nodes_of "$id") $(nodes_of "$step")"
all_are_there() # WHEN
{
	is "$1: both run where they ran, one waits" "$(state_of "$id") $(state_of "$step") $(state_of "$wait") $(nodes_of "$id") $(nodes_of "$step")" \
		"RUNNING RUNNING PENDING $where"
	is "$1: the step is there" "$(squeue -h -s -j "$step" -o %i | grep -c '\.0$')" 1
}
all_are_there block
ok "to the suite" change suite
like "by its own word" "$(scontrol show topology 2>&1)" 'SupernodeName=sn1'
all_are_there suite
layout=tp=8,ep=32,etp=1,dp=4
stepped "--parallel=$layout"
run=$STEPPED
ok "a --parallel job starts beside them" check_step "$run" 0 "$layout"
cards=$(cards_of "$run")
ok "and back to stock" change block
like "by its own word" "$(scontrol show topology 2>&1)" 'BlockName=sn1'
all_are_there back
is "back: the --parallel job runs, on its cards" "$(state_of "$run") $(cards_of "$run")" "RUNNING $cards"
ok "to the suite again" change suite
all_are_there again
is "again: the --parallel job runs, on its cards" "$(state_of "$run") $(cards_of "$run")" "RUNNING $cards"
next_step "$run" 1 >/dev/null
ok "again: its next step is right" check_step "$run" 1 "$layout"
scancel "$step"
release "$id" "$run"
ok "the first job ends well" await "$id" COMPLETED
ok "so does the --parallel one" await "$run" COMPLETED
ok "what waited runs" await "$wait" RUNNING
# Which two depends on whose nodes came free first.
like "in two supernodes, whole" "$(nodes_of "$wait")" '^n\[00(1-002,004-005,007-008,010-011|2-003,005-006,008-009,011-012|1,003-004,006-007,009-010,012)\]$'
finish
