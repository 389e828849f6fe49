# SPDX-License-Identifier: GPL-2.0-or-later
# cluster-conf.sh - the configuration files of a private cluster; see cluster.sh.
#
# Nodes are dealt to the supernodes like cards to players (n001 to sn1, n002 to
# sn2, …): Slurm sorts its node table by name, so the table is *not* in
# supernode order, and a placement that only takes neighbours shows at once.

# Fills CL_NAME[], CL_SUPERNODES and the words that the files need.
conf_names()
{
	local i width=3

	[ "$CL_NODES" -lt 1000 ] || width=${#CL_NODES}
	CL_NAME=()
	for ((i = 0; i < CL_NODES; i++)); do
		CL_NAME[i]=$(printf 'n%0*d' "$width" $((i + 1)))
	done
	CL_SUPERNODES=$((CL_NODES / CL_PER))
}

conf_topology()
{
	local s i k list units=0 per_pod

	if [ -n "$CL_TOPOLOGY" ]; then
		cat "$CL_TOPOLOGY"
		return
	fi
	for ((s = 0; s < CL_SUPERNODES; s++)); do
		list=
		for ((i = s; i < CL_NODES; i += CL_SUPERNODES)); do
			list=$list,${CL_NAME[i]#n}
		done
		echo "SupernodeName=sn$((s + 1)) Nodes=n[${list#,}] CardBandwidth=392G CardLatency=1u${CL_POOL:+ PoolMemory=$CL_POOL}"
		if [ "$CL_UNIT" -gt 0 ] && [ $((CL_PER % CL_UNIT)) = 0 ]; then
			k=$((CL_PER / CL_UNIT))
			echo "UnitName=u[$((units + 1))-$((units + k))] Nodes=n[${list#,}] NodesPerUnit=$CL_UNIT"
			units=$((units + k))
		fi
	done
	if [ "$CL_PODS" -gt 0 ] && [ $((CL_SUPERNODES % CL_PODS)) = 0 ]; then
		per_pod=$((CL_SUPERNODES / CL_PODS))
		for ((i = 0; i < CL_PODS; i++)); do
			echo "FabricName=pod$((i + 1)) Supernodes=sn[$((i * per_pod + 1))-$(((i + 1) * per_pod))] CardBandwidth=50G CardLatency=20u"
		done
		list=1
		[ "$CL_PODS" -eq 1 ] || list="[1-$CL_PODS]"
		echo "FabricName=core Fabrics=pod$list CardBandwidth=25G CardLatency=30u"
	fi
}

# One line a card.
conf_gres()
{
	local name card

	if [ "$CL_MODE" = netns ]; then
		for ((card = 0; card < CL_CARDS; card++)); do
			echo "Name=$CL_GRES File=/dev/$CL_CARD_FILE$card${CL_GRES_MORE:+ $CL_GRES_MORE}"
		done
		return
	fi
	for name in "${CL_NAME[@]}"; do
		for ((card = 0; card < CL_CARDS; card++)); do
			echo "NodeName=$name Name=$CL_GRES File=$CL_DIR/nodes/$name/dev/$CL_CARD_FILE$card${CL_GRES_MORE:+ $CL_GRES_MORE}"
		done
	done
}

conf_slurm()
{
	local host=127.0.0.1 i plugins=$CL_SLURM_PLUGINS

	[ "$CL_MODE" = loopback ] || host=$(ip_text $((CL_BASE + 1)))
	[ -z "$CL_PLUGINS" ] || plugins=$CL_PLUGINS:$plugins
	cat <<-END
		# A private cluster, made by contrib/lib/cluster.sh; changes are lost.
		ClusterName=supernode
		SlurmctldHost=localhost($host)
		SlurmctldPort=$CL_PORT
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/munge
		AuthInfo=socket=$CL_DIR/munge/socket
		CredType=cred/munge
		PluginDir=$plugins
		StateSaveLocation=$CL_DIR/state
		SlurmctldPidFile=$CL_DIR/run/slurmctld.pid
		SlurmctldLogFile=$CL_DIR/log/slurmctld.log
		SlurmctldDebug=verbose
		SlurmdSpoolDir=$CL_DIR/nodes/%n/spool
		SlurmdPidFile=$CL_DIR/nodes/%n/slurmd.pid
		SlurmdLogFile=$CL_DIR/log/%n.log
		SlurmdDebug=info
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		JobAcctGatherType=jobacct_gather/none
		MpiDefault=none
		MailProg=/bin/true
		ReturnToService=2
		SlurmdTimeout=${CL_SLURMD_TIMEOUT:-300}
		MessageTimeout=30
		KillWait=5
		PropagateResourceLimits=NONE
		SlurmdParameters=config_overrides
		SchedulerParameters=bf_interval=2,bf_max_time=30,bf_continue,sched_min_interval=50000,batch_sched_delay=0
		SelectTypeParameters=CR_Core_Memory
		GresTypes=$CL_GRES
		PlugStackConfig=$CL_DIR/etc/plugstack.conf
	END
	if [ -n "$CL_PLUGINS" ]; then
		cat <<-END
			TopologyPlugin=topology/supernode
			SelectType=${CL_SELECT:-select/supernode}
			JobSubmitPlugins=supernode
		END
		[ ! -e "$CL_PLUGINS/cli_filter_supernode.so" ] || echo CliFilterPlugins=supernode
	else
		echo SelectType=select/cons_tres
	fi
	# The default, multifactor, gives all jobs the same priority till it has weights, and
	# then --nice puts none behind others.
	[[ $CL_EXTRA == *PriorityType=* ]] || echo PriorityType=priority/basic
	for ((i = 0; i < CL_NODES; i++)); do
		if [ "$CL_MODE" = netns ]; then
			echo "NodeName=${CL_NAME[i]} NodeAddr=$(node_address "$i") Port=$CL_NODE_PORT $(conf_node)"
		else
			echo "NodeName=${CL_NAME[i]} NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((CL_NODE_PORT + i)) $(conf_node)"
		fi
	done
	echo "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP DefMemPerCPU=10"
	[ -z "$CL_EXTRA" ] || printf '%s\n' "$CL_EXTRA"
}

conf_node()
{
	echo "${CL_HARDWARE:-Sockets=2 CoresPerSocket=32 ThreadsPerCore=1} RealMemory=4000 Gres=$CL_GRES:$CL_CARDS State=UNKNOWN"
}

conf_hosts()
{
	local i

	echo "127.0.0.1 localhost"
	echo "$(ip_text $((CL_BASE + 1))) controller"
	for ((i = 0; i < CL_NODES; i++)); do
		echo "$(node_address "$i") ${CL_NAME[i]}"
	done
}

# Pool regions are mounted where only root may change something, and where every
# user comes by: in a node's own /dev, which goes with it.
conf_policy()
{
	echo "CardGres=$CL_GRES"
	if [ "$CL_MODE" = netns ]; then
		echo "PoolDir=/dev/supernode"
	else
		echo "PoolDir=$CL_DIR/pool"
		echo "PreflightDevices=$CL_DIR/nodes/%n/dev/davinci%c"
	fi
	echo "ElasticdPort=$((CL_PORT + 1))"
	echo "ElasticdSocket=$CL_DIR/run/elasticd.socket"
	echo "ElasticdPidFile=$CL_DIR/run/elasticd.own"
	[ -z "$CL_POLICY" ] || printf '%s\n' "$CL_POLICY"
}

# conf_write DIR: all files, into an empty directory
conf_write()
{
	mkdir -p "$1" && conf_slurm >"$1/slurm.conf" && conf_gres >"$1/gres.conf" &&
		printf '%s\n' "${CL_CGROUP:-CgroupPlugin=disabled}" >"$1/cgroup.conf" || return 1
	: >"$1/plugstack.conf"
	if [ -n "$CL_PLUGINS" ]; then
		conf_topology >"$1/topology.conf" &&
			conf_policy >"$1/supernode.conf" &&
			echo "required $CL_PLUGINS/spank_supernode.so" >"$1/plugstack.conf" || return 1
	fi
	[ "$CL_MODE" = loopback ] || conf_hosts >"$1/hosts"
}
