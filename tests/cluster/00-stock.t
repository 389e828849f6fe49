#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The private cluster itself, with stock Slurm: what the other tests rely on.
. "$(dirname "$0")/lib.sh"
CL_NODES=4 CL_PER=4 CL_PODS=0
start_cluster stock

is "each node is a host of its own" \
	"$(srun -N4 hostname | sort | tr '\n' ' ')" \
	"$([ "$CL_MODE" = netns ] && echo 'n001 n002 n003 n004 ' || printf "$(hostname) %.0s" 1 2 3 4)"
is "a job gets the cards it asks for" \
	"$(srun -n1 --gres=npu:3 scontrol show job -d 1>/dev/null; scontrol show node n001 -o | grep -o 'Gres=npu:8')" "Gres=npu:8"
id=$(SN_STEP=no submit -N2 --gres=npu:5 "$TESTS/held.sh")
ok "a job starts" await "$id" RUNNING
is "its cards can be read" "$(cards_of "$id" | tr '\n' ' ')" \
	"n001 0 n001 1 n001 2 n001 3 n001 4 n002 0 n002 1 n002 2 n002 3 n002 4 "

ok "slurmctld saves its state" state_saved "$id"
ctld_kill KILL
ok "slurmctld comes back after kill -9" ctld_up
ok "with the job" state_is "$id" RUNNING
release "$id"
ok "which then ends" await "$id" COMPLETED

nodes_down n002
ok "a node is started again" node_up 1
ok "and serves" srun -w n002 -n1 true
log_is_clean
cluster_stop
left()
{
	cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep -cxF "SN_DIR=$CL_DIR"
}
is "after stopping no process is left" "$(left)" 0
ok "no slurmctld" eval '! ctld_pid'
is "no network" "$(ls "/run/netns/$CL_ID" "/sys/class/net/$CL_ID" 2>/dev/null)" ""
echo "1..$TAP_N"
exit 0
