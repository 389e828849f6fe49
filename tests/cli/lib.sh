# SPDX-License-Identifier: GPL-2.0-or-later
# lib.sh - what the tests of snctl's command line share. TAP on standard output.
SNCTL=${SNCTL:-$SN_BUILDDIR/snctl/snctl}
# Nothing of the caller's own cluster may take part.
unset SLURM_CONF COLUMNS NO_COLOR
LC_ALL=C
export LC_ALL
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM
cd "$dir" || exit 99
n=0

ok() { # ok NAME: the last command's status decides
	if [ $? -eq 0 ]; then r=ok; else r='not ok'; fi
	n=$((n + 1))
	echo "$r $n - $1"
	[ "$r" = ok ]
}

skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

finish() {
	echo "1..$n"
}

# run ARGS…: sets status; the output is in out and err.
run() {
	"$SNCTL" "$@" >out 2>err
	status=$?
}

show() { # why a test failed
	echo "# status $status"
	head -c 400 out | sed 's/^/# out: /'; echo
	head -c 1500 err | sed 's/^/# err: /'; echo
}

# says NAME TEXT ARGS…: done, and TEXT is a whole line of the output.
says() {
	name=$1 text=$2
	shift 2
	run "$@"
	[ "$status" -eq 0 ] && [ ! -s err ] && grep -qxF -- "$text" out
	ok "$name" || show
}

# refuse NAME PATTERN ARGS…: status 2, nothing on standard output, and one line
# on standard error that begins with the program's name and has PATTERN in it.
refuse() {
	name=$1 pattern=$2
	shift 2
	run "$@"
	[ "$status" -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] &&
		grep -q '^snctl' err && grep -q -- "$pattern" err &&
		! LC_ALL=C grep -q "$(printf '[\001-\010\013-\037]')" err
	ok "$name" || show
}

# no NAME PATTERN ARGS…: status 1, and PATTERN on standard output.
no() {
	name=$1 pattern=$2
	shift 2
	run "$@"
	[ "$status" -eq 1 ] && [ ! -s err ] && grep -q -- "$pattern" out
	ok "$name" || show
}

# The cluster of the interface contract: 16 supernodes of 49 nodes in 4 pods.
contract_cluster() {
	cat >topology.conf <<-'EOF'
	SupernodeName=sn[01-16] Nodes=n[001-784] NodesPerSupernode=49 SpareNodes=1 PoolMemory=48T PoolBandwidth=20T PowerLimit=400kW Shape=full CardBandwidth=784G CardLatency=1u
	UnitName=u[001-112] Nodes=n[001-784] NodesPerUnit=7
	FabricName=pod[1-4] Supernodes=sn[01-16] MembersPerFabric=4 CardBandwidth=50G CardLatency=20u
	FabricName=core Fabrics=pod[1-4] CardBandwidth=25G CardLatency=30u
	EOF
}

# Two supernodes of four nodes of eight cards.
small_cluster() {
	echo 'SupernodeName=sn[1-2] Nodes=n[1-8] NodesPerSupernode=4 PoolMemory=1T' >topology.conf
}
