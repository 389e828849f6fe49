#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Configless: slurmds that have no file of their own get them from slurmctld,
# and so do srun and sbatch beside them. Slurm sends topology.conf, plugstack.conf
# and what they include; supernode.conf only if topology.conf includes it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/where.sh"
CL_NODES=32 CL_EXTRA="SlurmctldParameters=enable_configless"
start_cluster
if [ "$CL_MODE" != netns ]; then
	pass "the rest is left out: nodes of this host see its files"
	finish
fi

etc=$CL_DIR/etc
export TOPOLOGY=$WORK/whole
cp "$etc/topology.conf" "$TOPOLOGY"
# What the files include is sent, too.
{ echo "Include supernode.conf"; head -n 1 "$TOPOLOGY"; echo "Include rest.conf"; } >"$etc/topology.conf"
sed 1d "$TOPOLOGY" >"$etc/rest.conf"
echo "SmallJobCards=4" >>"$etc/supernode.conf"
mv "$etc/plugstack.conf" "$etc/ours.conf"
echo "include ours.conf" >"$etc/plugstack.conf"
ctld_kill TERM
sed -i '/^PlugStackConfig=/d' "$etc/slurm.conf"
ok "slurmctld starts with a topology.conf that includes supernode.conf" ctld_up

# The nodes lose the directory, and get what Slurm sends.
inside() # NODE COMMAND…
{
	local pid

	pid=$(node_first "$1" | tr -d ' ')
	shift
	nsenter -t "$pid" -m -u -i -n -p "$@"
}
server=$(ip_text $((CL_BASE + 1))):$CL_PORT
for name in "${CL_NAME[@]}"; do
	node_word "$name" kill
done
lost=0
for name in "${CL_NAME[@]}"; do
	until_true 10 eval '! node_daemon "$name" >/dev/null'
	inside "$name" sh -c 'mount -t tmpfs none "$1" && mount -t tmpfs none /run &&
		unset SLURM_CONF && exec setsid slurmd -N "$2" --conf-server "$3" --authinfo "socket=$4"' - \
		"$etc" "$name" "$server" "$CL_DIR/munge/socket" >>"$WORK/slurmd.out" 2>&1 </dev/null 7>&- 8>&- 9>&- ||
		lost=$((lost + 1))
done
is "all slurmds start without a file" "$lost" 0
ok "all nodes are up" until_true 60 nodes_idle
cache=$CL_DIR/nodes/n001/spool/conf-cache
is "sent: $(ls "$cache" 2>/dev/null | paste -sd' ')" \
	"$(cd "$cache" && cat topology.conf rest.conf supernode.conf plugstack.conf ours.conf)" \
	"$(cd "$etc" && cat topology.conf rest.conf supernode.conf plugstack.conf ours.conf)"

right() # WHAT
{
	local id

	id=$(submit_held "--parallel=$HEADLINE")
	ok "$1: the headline job runs" await_ranks "$id"
	ok "$1: it is right" check_ranks "$id" "$HEADLINE"
	is "$1: each rank knows its supernode" "$(grep -c '^rank .* supernode sn' "$WORK/$id.out")" 128
	release "$id"
	ok "$1: it ends" await "$id" COMPLETED
}
right configless
inside n003 env "SLURM_CONF=$CL_DIR/nodes/n003/spool/conf-cache/slurm.conf" \
	timeout 60 srun --parallel=tp=2,dp=3 "$TESTS/task.sh" >direct.out 2>&1
ok "srun on a node: six ranks, whole" "$TESTS/check-ranks" --topology "$TOPOLOGY" --parallel tp=2,dp=3 direct.out

# Without the line supernode.conf is not sent: all there live by defaults.
sed -i 1d "$etc/topology.conf"
rm "$CL_DIR"/nodes/*/spool/conf-cache/supernode.conf
ok "reconfigure" timeout 60 scontrol reconfigure
ok "slurmctld answers" until_true 30 ctld_answers
ok "the nodes have the new file" until_true 60 cmp -s "$etc/topology.conf" "$cache/topology.conf"
ok "all nodes are back" until_true 60 nodes_idle
is "which has none" "$(cat "$CL_DIR"/nodes/*/spool/conf-cache/supernode.conf 2>/dev/null)" ""
right "no supernode.conf"
finish
