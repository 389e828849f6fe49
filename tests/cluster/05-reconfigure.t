#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# scontrol reconfigure with good and bad files in turn ($SN_RECONFIGURES times,
# default 8): slurmctld lives, jobs stay, the old topology stays while the file
# is bad.
. "$(dirname "$0")/lib.sh"
CL_NODES=32
start_cluster
N=${SN_RECONFIGURES:-8}

run=$(submit_held --parallel=tp=8,ep=16,etp=1,dp=4)
ok "a job runs" await_ranks "$run"
cards=$(cards_of "$run")
conf=$CL_DIR/etc/topology.conf
cp "$conf" good
export TOPOLOGY=$WORK/good

bad_file() # INDEX
{
	case $(($1 % 8)) in
	0) echo "SupernodeName=sn1 Nodes=n[001-008]"; echo "SupernodeName=sn2 Nodes=n[008-016]" ;;
	1) : ;; # empty
	2) head -c 4096 /dev/urandom ;;
	3) cat good; echo "SupernodeNaem=sn9 Nodes=n[001-002]" ;;
	4) cat good; echo "FabricName=a Fabrics=b"; echo "FabricName=b Fabrics=a" ;;
	5) cat good; head -c 10000000 /dev/zero | tr '\0' x ;;
	6) echo "SupernodeName=sn[1-4] Nodes=n[001-032] NodesPerSupernode=0" ;;
	7) echo "SwitchName=s1 Nodes=n[001-032]" ;;
	esac
}

alive=0 kept=0 placed=0
layout=tp=8,ep=32,etp=1,dp=4
for ((i = 0; i < N; i++)); do
	if [ $((i % 2)) = 0 ]; then
		bad_file $((i / 2)) >"$conf"
	else
		{ cat good; echo "# $i"; } >"$conf"
	fi
	timeout 60 scontrol reconfigure >reconfigure.out 2>&1
	if until_true 30 ctld_answers; then
		alive=$((alive + 1))
	else
		diag "after reconfigure $i slurmctld does not answer: $(tail -n 3 "$CL_DIR/log/slurmctld.log")"
		cp good "$conf"
		ctld_up
	fi
	[ "$(cards_of "$run")" = "$cards" ] && kept=$((kept + 1))
	id=$(submit_held "--parallel=$layout")
	if await_ranks "$id" && check_ranks "$id" "$layout"; then
		placed=$((placed + 1))
	else
		diag "job $id after reconfigure $i: $(head -n 2 "$WORK/$id.out" 2>/dev/null)"
	fi >check.out
	release "$id"
	await "$id" COMPLETED >/dev/null
done
is "slurmctld answers after each of $N" "$alive" "$N"
is "the running job keeps its cards" "$kept" "$N"
is "a new job is whole after each" "$placed" "$N"
cp good "$conf"

# A good file that says something else counts from then on.
sed 's/^SupernodeName=sn1 /SupernodeName=snX /; s/^SupernodeName=sn2 /SupernodeName=sn1 /; s/^SupernodeName=snX /SupernodeName=sn2 /' good >"$conf"
cp "$conf" changed
ok "a changed file is taken" timeout 60 scontrol reconfigure
until_true 30 ctld_answers
id=$(submit_held "--parallel=$layout")
ok "a job runs by it" await_ranks "$id"
TOPOLOGY=$WORK/changed
ok "and is whole by it" check_ranks "$id" "$layout"
release "$id" "$run"
ok "the first job ends well" await "$run" COMPLETED
LOG_ALLOW='topology|Supernode|reconfig|kept|old'
finish
