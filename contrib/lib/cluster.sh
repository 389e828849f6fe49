# SPDX-License-Identifier: GPL-2.0-or-later
# cluster.sh - a private Slurm cluster on one host, for the quickstart and for
# the tests: own munged, slurmctld and slurmds, free ports, nothing outside its
# directory but network interfaces that vanish with it.
#
# Two ways to make nodes:
#   netns     each node is a small container: own network namespace with an own
#             address on a private bridge, own mounts (/dev with only its cards,
#             /dev/shm, /tmp), host name and process table, own munged. Killing
#             its first process takes the whole node away.
#   loopback  where the machine forbids that: slurmds of this host on ports of
#             their own.
# The bridge stands in a namespace of its own, so that the host's firewall rules
# and bridge settings do not come between nodes.
#
# Input, as variables (before cluster_init):
#   CL_DIR            where everything lives (required)
#   CL_SLURM CL_SLURM_PLUGINS   Slurm's prefix and its own plugin directory
#   CL_PLUGINS        directory of the suite's plugins; empty: stock Slurm
#   CL_NODES CL_PER CL_PODS CL_CARDS CL_UNIT   nodes, nodes a supernode,
#                     pods, cards a node, nodes a unit (0: no units)
#   CL_GRES           npu or gpu: what a card is
#   CL_GRES_MORE      further words of each line of gres.conf, such as Cores=0-63
#   CL_TOPOLOGY       a topology.conf to use instead of the made one
#   CL_SELECT         SelectType, if not select/supernode
#   CL_EXTRA          further lines for slurm.conf
#   CL_SLURMD_TIMEOUT slurm.conf's SlurmdTimeout (300)
#   CL_POLICY         further lines for supernode.conf
#   CL_POOL           PoolMemory of each supernode, such as 16G
#   CL_HARDWARE       what NodeName lines say of CPUs; by default more than there are
#   CL_CGROUP         cgroup.conf; by default cgroups are not used
#   CL_CGROUP2        a mounted cgroup2 hierarchy in which each node gets a part of
#                     its own, which it sees as the whole at the same place
#   CL_CARD_MAJOR     a card's device number is this and its own, so that a cgroup
#                     can tell them apart; by default all are /dev/null
#   CL_NET            auto, netns or loopback
#   CL_ELASTICD       the snelasticd to start beside slurmctld; empty: none
CL_LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$CL_LIB/cluster-conf.sh"
. "$CL_LIB/cluster-net.sh"

cluster_init()
{
	: "${CL_DIR:?}" "${CL_SLURM:?}" "${CL_SLURM_PLUGINS:?}"
	: "${CL_NODES:=32}" "${CL_PER:=8}" "${CL_PODS:=2}" "${CL_CARDS:=8}" "${CL_UNIT:=4}"
	: "${CL_GRES:=npu}"
	CL_CARD_FILE=davinci
	[ "$CL_GRES" != gpu ] || CL_CARD_FILE=nvidia
	: "${CL_NET:=auto}" "${CL_PLUGINS:=}" "${CL_TOPOLOGY:=}" "${CL_EXTRA:=}" "${CL_POLICY:=}" "${CL_POOL:=}" "${CL_ELASTICD:=}"
	CL_ID=sn$(printf %s "$CL_DIR" | cksum | awk '{ printf "%08x", $1 }')
	CL_WHY='' CL_NOTE='' CL_AGAIN=no CL_FATAL=no
	export SLURM_CONF=$CL_DIR/etc/slurm.conf
	export PATH=$CL_SLURM/bin:$CL_SLURM/sbin:$PATH
	# A /tmp per node, unless something that nodes must share lies below /tmp.
	CL_TMP=private
	case "$CL_DIR/ $CL_SLURM/ $CL_PLUGINS/ $CL_LIB/ $PWD/" in
	/tmp/* | *" /tmp/"*) CL_TMP=shared ;;
	esac
	conf_names
}

# ---- daemons --------------------------------------------------------------------

munged_up()
{
	pid_of "$CL_DIR/run/munged" >/dev/null && return 0
	mkdir -p "$CL_DIR/munge"
	chmod 711 "$CL_DIR/munge"
	if [ ! -s "$CL_DIR/munge.key" ]; then
		(umask 077 && head -c 128 /dev/urandom >"$CL_DIR/munge.key") || return 1
	fi
	rm -f "$CL_DIR"/munge/socket*
	munged_run host "$CL_DIR/run/munged" ||
		{ CL_WHY="munged did not start; see $CL_DIR/log/munged-host.log"; return 1; }
}

# In the foreground, so that its number is known; --force, because the cluster's
# directory may lie below one that others may write to, as /tmp.
munged_run() # WHO PIDFILE
{
	setsid munged --foreground --force --key-file="$CL_DIR/munge.key" \
		--socket="$CL_DIR/munge/socket" --pid-file="$2.own" --seed-file="$2.seed" \
		--num-threads=2 --origin=127.0.0.1 >>"$CL_DIR/log/munged-$1.log" 2>&1 </dev/null 7>&- 8>&- 9>&- &
	note_pid "$2" $! || return 1
	disown
	until_true 10 test -S "$CL_DIR/munge/socket"
}

# slurmctld goes to the background by itself: only so does a reconfiguration
# that fails leave the old process running.
ctld_pid()
{
	local pid

	{ read -r pid <"$CL_DIR/run/slurmctld.pid"; } 2>/dev/null || return 1
	[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = slurmctld ] &&
		{ tr "\0" "\n" <"/proc/$pid/environ"; } 2>/dev/null | grep -qxF "SLURM_CONF=$SLURM_CONF" && echo "$pid"
}

# slurmctld looks up the name of every address that talks to it, and a name
# server that does not answer holds each call up for seconds. (Words of a command,
# for paths without spaces; unshare's mounts are its own.)
with_hosts()
{
	[ "$CL_MODE" = netns ] && [[ "$CL_LIB$CL_DIR" != *[[:space:]]* ]] &&
		echo "unshare --mount bash $CL_LIB/with-hosts $CL_DIR/etc/hosts $CL_DIR/run/hosts"
}

ctld_up()
{
	ctld_pid >/dev/null && return 0
	rm -f "$CL_DIR/run/slurmctld.pid"
	if ! setsid $(with_hosts) slurmctld -f "$SLURM_CONF" "$@" >"$CL_DIR/log/slurmctld.out" 2>&1 </dev/null 7>&- 8>&- 9>&-; then
		CL_WHY="slurmctld did not start: $(grep -hE 'fatal:|error:' "$CL_DIR/log/slurmctld.out" | head -n 2 | tr '\n' ' ')"
		return 1
	fi
	if ! until_true 20 ctld_answers; then
		CL_WHY="slurmctld started and does not answer: $(grep -hE 'fatal|error' "$CL_DIR/log/slurmctld.log" | tail -n 1)"
		return 1
	fi
}

ctld_answers()
{
	ctld_pid >/dev/null && scontrol ping 2>/dev/null | grep -q 'is UP'
}

ctld_kill() # [SIGNAL]
{
	local pid

	pid=$(ctld_pid) || return 0
	kill "-${1:-KILL}" "$pid"
	until_true 30 no_process "$pid"
}

# elasticd_up [OPTION…]: snelasticd beside slurmctld
elasticd_up()
{
	pid_of "$CL_DIR/run/elasticd" >/dev/null && return 0
	rm -f "$CL_DIR/run/elasticd.socket" # it is there again when the daemon is in charge
	setsid "$CL_ELASTICD" -D "$@" >>"$CL_DIR/log/snelasticd.log" 2>&1 </dev/null 7>&- 8>&- 9>&- &
	note_pid "$CL_DIR/run/elasticd" $!
	set -- $?
	disown
	[ "$1" = 0 ] && until_true 20 elasticd_answers && return 0
	# shellcheck disable=SC2034 # for the caller
	CL_WHY="snelasticd does not answer; see $CL_DIR/log/snelasticd.log: $(tail -n 1 "$CL_DIR/log/snelasticd.log")"
	return 1
}

# In a directory with a long name it has no socket, and TCP must do.
elasticd_answers()
{
	pid_of "$CL_DIR/run/elasticd" >/dev/null || return 1
	[ ! -S "$CL_DIR/run/elasticd.socket" ] || return 0
	[ "${#CL_DIR}" -gt 80 ] && (exec 3<>"/dev/tcp/127.0.0.1/$((CL_PORT + 1))") 2>/dev/null
}

elasticd_down()
{
	end_pid "$CL_DIR/run/elasticd" 10
}

no_process()
{
	! proc_start "$1" >/dev/null
}

# ---- nodes ----------------------------------------------------------------------

node_up() # INDEX
{
	local name=${CL_NAME[$1]} dir=$CL_DIR/nodes/${CL_NAME[$1]} card

	if pid_of "$CL_DIR/run/node-$name" >/dev/null; then
		# It may be there with a dead slurmd.
		[ "$CL_MODE" = netns ] && ! node_daemon "$name" >/dev/null &&
			node_word "$name" slurmd
		return 0
	fi
	mkdir -p "$dir"/{spool,tmp,dev,munge} && chmod 1777 "$dir/tmp" &&
		chmod 711 "$dir/munge" || return 1
	if [ "$CL_MODE" = netns ]; then
		[ -z "${CL_CGROUP2:-}" ] || cgroups_up || return 1
		SN_NODE=$name SN_DIR=$CL_DIR SN_CARDS=$CL_CARDS SN_CARD_FILE=$CL_CARD_FILE SN_CARD_MAJOR=${CL_CARD_MAJOR:-} SN_CGROUP2=${CL_CGROUP2:+$CL_CGROUP2/$CL_ID/$name} SN_CGROUP2_AT=${CL_CGROUP2:-} SN_NETNS=$CL_ID SN_VETH=v$1 \
			SN_ADDRESS=$(node_address "$1")/$CL_BITS SN_TMP=$CL_TMP \
			setsid unshare --net --mount --uts --pid --fork --kill-child --mount-proc \
			bash "$CL_LIB/node-init" >>"$CL_DIR/log/$name.out" 2>&1 </dev/null 7>&- 8>&- 9>&- &
	else
		for ((card = 0; card < CL_CARDS; card++)); do
			# A plain file will do where devices are forbidden.
			[ -e "$dir/dev/$CL_CARD_FILE$card" ] || mknod -m 666 "$dir/dev/$CL_CARD_FILE$card" c 1 3 2>/dev/null ||
				: >"$dir/dev/$CL_CARD_FILE$card" || return 1
		done
		SN_CLUSTER=$CL_ID setsid slurmd -D -N "$name" -f "$SLURM_CONF" \
			>>"$CL_DIR/log/$name.out" 2>&1 </dev/null 7>&- 8>&- 9>&- &
	fi
	note_pid "$CL_DIR/run/node-$name" $!
	set -- $?
	disown
	return "$1"
}

node_word() # NAME WORD
{
	[ -p "$CL_DIR/nodes/$1/ctl" ] && timeout 5 bash -c 'echo "$1" >"$2"' - "$2" "$CL_DIR/nodes/$1/ctl"
}

# The node's first process, as this host numbers it.
node_first()
{
	local pid

	pid=$(pid_of "$CL_DIR/run/node-$1") || return 1
	cat /proc/"$pid"/task/*/children 2>/dev/null
}

# The slurmd of a node, as this host numbers it.
node_daemon() # NAME
{
	local pid child

	if [ "$CL_MODE" = loopback ]; then
		pid_of "$CL_DIR/run/node-$1"
		return
	fi
	for pid in $(node_first "$1"); do
		for child in $(cat /proc/"$pid"/task/*/children 2>/dev/null); do
			[ "$(cat "/proc/$child/comm" 2>/dev/null)" = slurmd ] && echo "$child" && return
		done
	done
	return 1
}

# Take nodes away with all that runs on them, as a power cut would.
nodes_down() # NAME…
{
	local name pid all=

	for name; do
		pid=$(pid_of "$CL_DIR/run/node-$name") || continue
		all="$all $pid $(node_first "$name" | tr '\n' ' ')"
		kill -KILL "$pid" 2>/dev/null
	done
	[ "$CL_MODE" = netns ] || kill_steps "$@"
	for pid in $all; do
		until_true 10 no_process "$pid"
	done
	for name; do
		rm -f "$CL_DIR/run/node-$name"
	done
}

# On loopback, slurmstepds and tasks outlive their slurmd. They carry this
# cluster's configuration and the node's name.
kill_steps() # NAME…
{
	local file names=" $* "

	for file in /proc/[0-9]*/environ; do
		cat "$file" 2>/dev/null | tr "\\0" "\\n" | awk -v conf="SLURM_CONF=$SLURM_CONF" -v names="$names" -v id="SN_CLUSTER=$CL_ID" '
			$0 == conf { c = 1 } $0 == id { n = 1 }
			/^SLURMD_NODENAME=/ { if (index(names, " " substr($0, 17) " ")) n = 1 }
			END { exit !(c && n) }' || continue
		file=${file#/proc/}
		kill -KILL "${file%/environ}" 2>/dev/null
	done
	return 0
}

# On loopback, regions of the pool are this host's mounts and outlive slurmd.
pools_down()
{
	local at

	[ "$CL_MODE" = loopback ] || return 0
	awk -v dir="$CL_DIR/pool/" 'index($5, dir) == 1 { print $5 }' /proc/self/mountinfo |
		tac | while read -r at; do
		umount -l "$at"
	done
}

nodes_idle()
{
	[ "$(sinfo -h -N -o '%N %t' 2>/dev/null | sort -u | grep -cE ' (idle|mix|alloc|plnd|comp)$')" = "$CL_NODES" ]
}

# ---- the whole --------------------------------------------------------------------

cluster_note()
{
	cat >"$CL_DIR/run/net" <<-END
		CL_MODE=$CL_MODE
		CL_BASE=${CL_BASE:-0}
		CL_BITS=${CL_BITS:-0}
		CL_PORT=$CL_PORT
		CL_NODE_PORT=$CL_NODE_PORT
	END
}

# What is loaded into the daemons: after a change they must start anew.
plugins_sum()
{
	[ -z "$CL_PLUGINS" ] || cksum "$CL_PLUGINS"/*.so 2>&1
	cksum "$CL_SLURM/sbin/slurmctld"
	[ -z "$CL_ELASTICD" ] || cksum "$CL_ELASTICD"
}

# Is a cluster of exactly this configuration here, in whatever health?
cluster_is_same()
{
	[ -f "$CL_DIR/run/net" ] || return 1
	. "$CL_DIR/run/net"
	[ "$CL_MODE" = "$CL_NET" ] || [ "$CL_NET" = auto ] || return 1
	[ "$CL_MODE" = loopback ] || [ -e "/run/netns/$CL_ID" ] || return 1
	plugins_sum | cmp -s - "$CL_DIR/run/plugins" || return 1
	rm -rf "$CL_DIR/etc.new"
	conf_write "$CL_DIR/etc.new" && diff -rq "$CL_DIR/etc" "$CL_DIR/etc.new" >/dev/null
	set -- $?
	rm -rf "$CL_DIR/etc.new"
	return "$1"
}

# Start what is not running of a configured cluster.
cluster_resume()
{
	local i

	CL_FATAL=yes # the other kind of nodes would not help
	munged_up && ctld_up || return 1
	[ -z "$CL_ELASTICD" ] || elasticd_up || return 1
	CL_FATAL=no
	if [ "$CL_MODE" = netns ] && ! network_works; then
		CL_WHY="the host's firewall keeps the nodes from slurmctld"
		return 1
	fi
	for ((i = 0; i < CL_NODES; i++)); do
		node_up "$i" || { CL_WHY="${CL_NAME[i]} could not be started"; return 1; }
	done
}

cluster_begin() # MODE
{
	CL_MODE=$1
	rm -rf "${CL_DIR:?}"/{etc,run,state,nodes}
	CL_WHY="cannot write to $CL_DIR"
	mkdir -p "$CL_DIR"/{run,log,state,nodes} || return 1
	if [ "$CL_MODE" = netns ]; then
		network_up || return 1
	fi
	CL_WHY="no free TCP ports were found"
	CL_PORT=$(free_ports 2) && CL_NODE_PORT=$(free_ports "$CL_NODES") || return 1
	[ "$CL_MODE" = loopback ] || CL_NODE_PORT=6818
	CL_WHY="cannot write to $CL_DIR"
	conf_write "$CL_DIR/etc" && cluster_note && plugins_sum >"$CL_DIR/run/plugins" || return 1
	cluster_resume
}

# Until every node is idle (or works); says what lacks at the deadline.
cluster_ready()
{
	local seconds=${CL_DEADLINE:-$((40 + CL_NODES / 4))}

	until_true "$seconds" nodes_idle && return 0
	CL_WHY="after $seconds s these nodes were not up: $(sinfo -h -N -o '%N %t' 2>&1 |
		grep -vE ' (idle|mix|alloc)$' | head -n 5 | tr '\n' ';')"
	return 1
}

# cluster_start: 0 when every node is up; 1 with CL_WHY. CL_NOTE says why nodes
# are on loopback where that was not asked for.
cluster_start()
{
	local lock=/run/lock mode modes rc

	CL_NOTE=
	CL_WHY="cannot write to $CL_DIR"
	mkdir -p "$CL_DIR/log" 2>/dev/null || return 1
	conf_names
	[ -w "$lock" ] || lock=/tmp
	# One at a time looks for free ports and networks on this host.
	exec 9>"$lock/slurm-supernode.lock"
	flock -w 300 9 || { CL_WHY="another cluster has been starting for five minutes"; return 1; }
	cluster_start_locked
	rc=$?
	exec 9>&-
	return $rc
}

cluster_start_locked()
{
	local mode modes=$CL_NET

	if cluster_is_same; then
		CL_AGAIN=yes
		cluster_resume && cluster_ready && return 0
	fi
	CL_AGAIN=no
	cluster_stop
	if [ "$CL_NET" = auto ]; then
		modes=loopback
		if can_isolate; then modes="netns loopback"; else CL_NOTE=$CL_WHY; fi
	fi
	for mode in $modes; do
		cluster_begin "$mode" && cluster_ready && return 0
		CL_NOTE=$CL_WHY
		[ "$CL_FATAL" = no ] || break
		# The logs stay, the processes and interfaces do not.
		cluster_stop
	done
	[ "$CL_FATAL" = no ] || cluster_stop
	return 1
}

# What the hierarchy controls, it has to pass on to the nodes' parts of it.
cgroups_up()
{
	local dir

	mkdir -p "$CL_CGROUP2/$CL_ID" && echo "$CL_CGROUP2/$CL_ID" >"$CL_DIR/run/cgroup2" || return 1
	for dir in "$CL_CGROUP2" "$CL_CGROUP2/$CL_ID"; do
		sed 's/[^ ]*/+&/g' "$dir/cgroup.controllers" >"$dir/cgroup.subtree_control" || return 1
	done
}

# Of nodes that are gone.
cgroups_down()
{
	local dir

	{ read -r dir <"$CL_DIR/run/cgroup2"; } 2>/dev/null || return 0
	case $dir in
	/*/"$CL_ID") find "$dir" -depth -type d -exec rmdir {} \; 2>/dev/null ;;
	esac
	rm -f "$CL_DIR/run/cgroup2"
}

cluster_stop()
{
	local file names=

	[ -d "$CL_DIR/run" ] || return 0
	[ ! -f "$CL_DIR/run/net" ] || . "$CL_DIR/run/net"
	: "${CL_MODE:=netns}"
	elasticd_down
	ctld_kill TERM
	ctld_kill KILL
	for file in "$CL_DIR"/run/node-*; do
		[ ! -e "$file" ] || names="$names ${file##*/node-}"
	done
	# shellcheck disable=SC2086 # a list of words
	nodes_down $names
	# What a test has started beside them, in the order of the names.
	for file in "$CL_DIR"/run/beside-*; do
		end_pid "$file"
	done
	end_pid "$CL_DIR/run/munged"
	pools_down
	network_down
	cgroups_down
	rm -f "$CL_DIR/run/net"
}

# One line on what runs; 0 if all of it does.
cluster_status()
{
	local file up=0 all=0

	[ -f "$CL_DIR/run/net" ] || { echo "not running (nothing in $CL_DIR)"; return 1; }
	. "$CL_DIR/run/net"
	for file in "$CL_DIR"/run/node-*; do
		[ -e "$file" ] || continue
		all=$((all + 1))
		node_daemon "${file##*/node-}" >/dev/null && up=$((up + 1))
	done
	printf 'munged %s, slurmctld %s, %d of %d slurmds up, nodes %s%s\n' \
		"$(pid_of "$CL_DIR/run/munged" >/dev/null && echo up || echo down)" \
		"$(ctld_answers && echo up || echo down)" "$up" "$all" \
		"$([ "$CL_MODE" = netns ] && echo 'in namespaces of their own' || echo 'on loopback')" \
		"$([ -z "$CL_ELASTICD" ] || echo ", snelasticd $(elasticd_answers && echo up || echo down)")"
	ctld_answers && [ "$up" = "$all" ] && [ "$all" -gt 0 ]
}
