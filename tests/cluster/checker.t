#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The checker itself: it must find what is wrong, else the tests that trust it
# prove nothing. Needs no cluster.
set -u
shopt -s lastpipe # verdict counts
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || { echo "1..0 # SKIP python3 is not installed"; exit 0; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0

# Supernode of node i (from 0) is i % 4, as in contrib/lib/cluster-conf.sh.
cat >"$work/topology.conf" <<'END'
# interleaved, in every form the file allows
supernodename=sn1 Nodes=n[001,005,009,013,017,021,025,029] # eight
SupernodeName=sn2 \
  Nodes=n[002,006,010,014,018,022,026,030]
SupernodeName=sn[3-4] Nodes=n[003,007,011,015,019,023,027,031],n[004,008,012,016],n020,n024,n028,n032 NodesPerSupernode=8
UnitName=u[1-2] Nodes=n[001,005,009,013,017,021,025,029] NodesPerUnit=4
FabricName=pod1 Supernodes=sn[1-2]
END

# rank r on card r%8 of the (r/8)th node in topology order
good()
{
	awk -v world="${1:-128}" 'BEGIN { for (r = 0; r < world; r++) {
		k = int(r / 8); s = int(k / 8)
		printf "rank %d node n%03d card %d supernode sn%d\n", r, k % 8 * 4 + s + 1, r % 8, s + 1 } }'
}

verdict() # WHAT EXIT-CODE REGEX LAYOUT <OUTPUT
{
	local text rc

	text=$("$here/check-ranks" --topology "$work/topology.conf" --cards 8 --parallel "$4" 2>&1)
	rc=$?
	n=$((n + 1))
	if [ "$rc" = "$2" ] && printf '%s\n' "$text" | grep -Eq "$3"; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '%s\n' "exit code $rc, wanted $2; output should match $3:" "$text" | sed 's/^/# /'
	fi
}

L=tp=8,ep=32,etp=1,pp=2,dp=8
good | verdict "a right placement" 0 "128 ranks on 128 cards of 16 nodes in 2 supernodes; 20 groups, none split" $L
good | sed 's/^/3: /' | verdict "srun --label" 0 "none split" $L
good | tac | verdict "any order of lines" 0 "none split" $L
good | sed '5d' | verdict "a rank lost" 1 "1 of 128 ranks did not report, the first is 4" $L
good | sed '5p' | verdict "a rank twice" 1 "rank 4 reported twice" $L
good 136 | verdict "a rank too many" 1 "rank 128 reported" $L
good | sed 's/^rank 9 node n005 card 1/rank 9 node n005 card 0/' |
	verdict "a card twice" 1 "card 0 of n005 was given to rank 8 and to rank 9" $L
good | sed 's/^\(rank 9 .*\) card 1/\1 card 0,1/' | verdict "two cards" 1 "rank 9 on n005: its card variable is \"0,1\"" $L
good | sed 's/^\(rank 9 .*\) card 1/\1 card /' | verdict "no card" 1 "rank 9 on n005: its card variable is \"\"" $L
good | sed 's/^\(rank 9 .*\) sn1/\1 sn2/' | verdict "a wrong belief" 1 "believes to be in supernode sn2, topology.conf says sn1" $L
good | sed 's/^rank 0 /rank X /; s/^rank 64 /rank 0 /; s/^rank X /rank 64 /' |
	verdict "an EP group split" 1 "ep group .* is split over supernodes sn1, sn2" $L
good | sed 's/^rank 0 /rank X /; s/^rank 8 /rank 0 /; s/^rank X /rank 8 /' |
	verdict "a TP group split over nodes" 1 "tp group .* is split over nodes n001, n005" $L
good | sed 's/^rank 0 /rank X /; s/^rank 8 /rank 0 /; s/^rank X /rank 8 /' |
	verdict "which tp_within=supernode allows" 0 "none split" $L,tp_within=supernode
good | verdict "EP over all supernodes" 1 "ep group" tp=1,ep=128,etp=1,dp=128
good | verdict "which ep_within=any allows" 0 "none split" tp=1,ep=128,etp=1,dp=128,ep_within=any
good 64 | verdict "etp is tp where it is not given: strided EP" 0 "none split" tp=4,ep=2,dp=16
# pp inside dp: rank = tp + 8*(pp + 2*dp); etp*ep = tp, as that order demands.
P=tp=8,ep=4,etp=2,pp=2,dp=8,order=tp-cp-ep-pp-dp
good | verdict "the other order" 0 "none split" $P
good | sed 's/^rank 0 /rank X /; s/^rank 64 /rank 0 /; s/^rank X /rank 64 /' |
	verdict "the other order, split" 1 "ep group \[0, 2, 4, 6\] is split over supernodes sn1, sn2" $P
: | verdict "no output at all" 1 "128 of 128 ranks did not report" $L

# The formulas against dumps of the real rule, where those are at hand.
dumps=${SN_SHARED:-${SN_SRCDIR:-$here/../..}/../shared}/data/megatron-groups
for dump in "$dumps"/*.json; do
	[ -f "$dump" ] || continue
	n=$((n + 1))
	if text=$(python3 - "$here/check-ranks" "$dump" 2>&1 <<'END'
import importlib.machinery, importlib.util, json, sys
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("check_ranks", sys.argv[1])
check_ranks = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_ranks", loader))
loader.exec_module(check_ranks)
dump = json.load(open(sys.argv[2]))
size = dump.get("layout", dump)
spec = ",".join("%s=%s" % (k, size[k]) for k in ("tp", "cp", "ep", "etp", "pp", "dp", "order") if k in size)
layout = check_ranks.Layout(spec, 8)
for axis in ("tp", "cp", "ep", "pp"):
    got = sorted(layout.groups(axis))
    assert got == sorted(map(list, dump["groups"][axis])), "%s groups of %s differ" % (axis, spec)
END
	); then echo "ok $n - the formulas give ${dump##*/}"; else
		echo "not ok $n - the formulas give ${dump##*/}"
		printf '%s\n' "$text" | sed 's/^/# /'
	fi
done
echo "1..$n"
