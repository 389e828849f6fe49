# SPDX-License-Identifier: GPL-2.0-or-later
# pool.sh - a cluster with pools, and what is mounted on its nodes; for 66-pool.t
# and 69-pool.t. Two supernodes of two nodes; two users come by $WORK/pub.

pool_cluster()
{
	local topology

	CL_NODES=4 CL_PER=2 CL_PODS=0 CL_UNIT=0
	topology=$(mktemp)
	printf 'SupernodeName=a Nodes=n[001-002] PoolMemory=1G\nSupernodeName=b Nodes=n[003-004] PoolMemory=1G\n' >"$topology"
	CL_TOPOLOGY=$topology
	LOG_ALLOW='Orphan|revoked|Batch completion for job|slurmd.*(error|drain)|no region'
	start_cluster
	rm -f "$topology"
	USER2=daemon # Slurm 26.05 takes no jobs of nobody
	chmod 711 "$WORK" && mkdir -m 1777 "$WORK/pub"
	POOL=$(sed -n 's/^PoolDir=//p' "$CL_DIR/etc/supernode.conf")
}

inside() # NODE COMMAND…
{
	local pid name=$1

	shift
	[ "$CL_MODE" = netns ] || { "$@"; return; }
	pid=$(node_first "$name" | tr -d ' ')
	nsenter -t "$pid" -m -p -- "$@"
}

# Mounts, directories and records of regions on a node, one a line.
regions() # NODE
{
	inside "$1" sh -c '
		grep -o " $1/$2/[^ ]*" /proc/self/mountinfo
		find "$1/$2" -mindepth 1 ! -name named ! -name .look ! -path "*/job-*/*" ! -path "*/named/*/*" 2>/dev/null' - "$POOL" "$1"
}

none_left()
{
	local name

	[ -z "$(for name in "${CL_NAME[@]}"; do regions "$name"; done)" ]
}

gone_from() # NODE
{
	[ -z "$(regions "$1")" ]
}

# free_of SUPERNODE: what snctl says its pool has left
free_of()
{
	snctl show supernodes --json | grep -o "\"supernode\":\"$1\"[^}]*" | sed 's/.*"pool_free":"\([^"]*\)".*/\1/'
}

pool_full()
{
	[ "$(free_of a) $(free_of b)" = "1G 1G" ]
}

as_user() # ARGUMENT…
{
	timeout 60 sbatch --parsable --uid="$USER2" --gid="$(id -g "$USER2")" -D / --output="$WORK/pub/%j.out" "$@" 2>&1 ||
		echo refused
}

out() # JOB
{
	cat "$WORK/pub/$1.out" "$WORK/$1.out" 2>/dev/null
}
