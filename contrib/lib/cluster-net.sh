# SPDX-License-Identifier: GPL-2.0-or-later
# cluster-net.sh - the network of a private cluster, and whether there can be one; see
# cluster.sh.

# ---- what the machine allows ---------------------------------------------------

can_isolate()
{
	CL_WHY="unshare and ip are needed for nodes in namespaces"
	command -v unshare >/dev/null && command -v ip >/dev/null || return 1
	CL_WHY="this machine does not allow network and mount namespaces"
	timeout 10 unshare --net --mount --uts --pid --fork --mount-proc sh -c '
		mount -t tmpfs none /mnt && mknod /mnt/card c 1 3 && : >/mnt/card &&
		ip link add sna type veth peer name snb && ip link add snc type bridge
		' >/dev/null 2>&1
}

# A network of 198.18.0.0/15, which is set aside for tests and routed nowhere:
# the first part large enough that this host knows no route into.
choose_network()
{
	local size=$((CL_NODES + 3)) bits=24 k base route

	while [ $((1 << (32 - bits))) -lt $((size + 2)) ]; do
		bits=$((bits - 1))
	done
	[ "$bits" -ge 16 ] || { CL_WHY="$CL_NODES nodes need a network larger than /16"; return 1; }
	for ((k = 0; k < (1 << (bits - 15)) && k < 400; k++)); do
		base=$(((198 << 24) + (18 << 16) + (k << (32 - bits))))
		route=$(ip -4 -o route show to match "$(ip_text $((base + 1)))" 2>/dev/null | grep -v '^default')
		[ -z "$route" ] || continue
		CL_BASE=$base CL_BITS=$bits
		return 0
	done
	# shellcheck disable=SC2034 # for the caller
	CL_WHY="no free part of the test network 198.18.0.0/15 was found"
	return 1
}

ip_text()
{
	echo "$(($1 >> 24 & 255)).$(($1 >> 16 & 255)).$(($1 >> 8 & 255)).$(($1 & 255))"
}

node_address() # INDEX
{
	ip_text $((CL_BASE + 2 + $1))
}

# count consecutive TCP ports that nobody listens on, below the range from which
# the kernel picks for clients.
free_ports() # COUNT
{
	local taken port try i

	taken=$(ss -Hltn 2>/dev/null | awk '{ sub(/.*:/, "", $4); print $4 }' | sort -un | tr '\n' ' ')
	for ((try = 0; try < 200; try++)); do
		port=$((12000 + RANDOM % (20000 - $1)))
		for ((i = 0; i < $1; i++)); do
			case " $taken " in *" $((port + i)) "*) continue 2 ;; esac
		done
		echo "$port"
		return 0
	done
	return 1
}

# ---- the network ---------------------------------------------------------------

# Names of interfaces have 15 characters at most: sn + 8 hex digits fit.
network_up()
{
	network_down
	choose_network || return 1
	CL_WHY="the network of the private cluster could not be set up"
	ip netns add "$CL_ID" &&
		ip -n "$CL_ID" link set lo up &&
		ip -n "$CL_ID" link add br0 type bridge &&
		ip -n "$CL_ID" link set br0 up &&
		ip link add "$CL_ID" type veth peer name host netns "$CL_ID" &&
		ip -n "$CL_ID" link set host master br0 up &&
		ip addr add "$(ip_text $((CL_BASE + 1)))/$CL_BITS" dev "$CL_ID" &&
		ip link set "$CL_ID" up &&
		ip -n "$CL_ID" addr add "$(ip_text $((CL_BASE + CL_NODES + 2)))/$CL_BITS" dev br0
}

network_down()
{
	ip link del "$CL_ID" 2>/dev/null
	ip netns del "$CL_ID" 2>/dev/null
	return 0
}

# Does a packet from a node reach slurmctld, past the host's firewall?
network_works()
{
	ip netns exec "$CL_ID" timeout 3 bash -c "</dev/tcp/$(ip_text $((CL_BASE + 1)))/$CL_PORT" 2>/dev/null
}
