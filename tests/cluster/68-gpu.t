#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Cards that are Slurm's own gres/gpu: the layout, the variables and the binding of
# ranks go by them as by npu.
. "$(dirname "$0")/lib.sh"
CL_NODES=4 CL_PER=2 CL_PODS=1 CL_UNIT=0 CL_CARDS=4 CL_GRES=gpu
start_cluster
echo 'SupernodeName=sn[1-2] Nodes=n[001-004] NodesPerSupernode=2 Shape=torus' >"$CL_DIR/etc/topology.conf"
ok "with a topology that has a Shape" scontrol reconfigure
until_true 20 ctld_answers
ok "and all nodes" cluster_ready
printf 'CardGres=gpu\nCollectiveHints=yes SocketIfName=eth0 NcclTopoFile=/etc/nccl.xml\nCardPci="0000:81:00.0"\n' >"$CL_DIR/etc/supernode.conf"

cat >env.sh <<'END2'
#!/bin/sh
text=$(env | sed -n "s/^[A-Z_]*=/var $SLURM_PROCID &/p"
	sed -n "s/^Cpus_allowed_list:[[:space:]]*/var $SLURM_PROCID CPUS_ALLOWED=/p" /proc/self/status)
printf '%s\n' "$text"
END2
chmod +x env.sh
all() # FILE NAME: every rank's value, in the order of ranks
{
	sed -n "s/^var \([0-9]*\) $2=/\1 /p" "$1" | sort -n | cut -d' ' -f2- | tr '\n' ' '
}

srun --parallel=tp=4,dp=2 "$WORK/env.sh" >two 2>two.err
is "eight ranks on two nodes" "$(all two RANK)|$(all two LOCAL_RANK)" "0 1 2 3 4 5 6 7 |0 1 2 3 0 1 2 3 "
is "in one supernode" "$(all two SUPERNODE_NAME)" "sn1 sn1 sn1 sn1 sn1 sn1 sn1 sn1 "
is "CUDA_VISIBLE_DEVICES is Slurm's, a card a rank" "$(all two CUDA_VISIBLE_DEVICES)" "0 1 2 3 0 1 2 3 "
is "SUPERNODE_CARDS says the same" "$(all two SUPERNODE_CARDS)" "0 1 2 3 0 1 2 3 "
is "SUPERNODE_NODE_CARDS" "$(all two SUPERNODE_NODE_CARDS | tr ' ' '\n' | sort -u | grep .)" 0,1,2,3
is "NCCL's: no IMEX channel, interface, topology, hint for a torus" \
	"$(all two NCCL_MNNVL_ENABLE | cut -c1-2)$(all two NCCL_SOCKET_IFNAME | cut -c1-5)$(all two NCCL_TOPO_FILE | cut -c1-14) $(all two NCCL_ALGO | cut -c1-4)" \
	"0 eth0 /etc/nccl.xml  Ring"
is "none of HCCL's" "$(grep -cE ' (HCCL_|ASCEND_|RANK_ID|DEVICE_ID|RANK_TABLE)' two)" 0
is "no word of ours on stderr" "$(grep supernode: two.err)" ""

# A node that is shared: the cards' numbers are the node's.
id=$(submit --parallel=tp=2 -w n001 --wrap 'srun sleep 600')
ok "another job has cards of n001" await "$id" RUNNING
until_true 30 test -n "$(squeue -h -s -j "$id" -o %i)"
SUPERNODE_BIND=locality srun --parallel=tp=2 -w n001 "$WORK/env.sh" >rest 2>rest.err
is "the rest of them" "$(all rest SUPERNODE_CARDS)" "2 3 "
is "by Slurm too" "$(all rest CUDA_VISIBLE_DEVICES)" "2 3 "
is "ranks are bound, without a sign of where the cards are" "$(all rest CPUS_ALLOWED)" "$(all rest SUPERNODE_CPUS)"
like "to CPUs" "$(all rest SUPERNODE_CPUS)" "^[0-9,-]+ [0-9,-]+ $"
scancel "$id"
finish
