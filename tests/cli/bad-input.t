#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Bad input ends in one sentence, exit status 2 and nothing on standard output.
. "$SN_SRCDIR/tests/cli/lib.sh"
small_cluster
cp topology.conf good.conf

# layouts
layout() { # NAME PATTERN SPEC
	refuse "groups: $1" "$2" groups --parallel "$3" --json
	refuse "place: $1" "$2" place --config good.conf --cards 8 --parallel "$3" --json
}
layout "unknown axis" "tpp" tpp=8
layout "unknown word with the right one" "order" tp=2,ordr=tp-cp-ep-dp-pp
layout "size 0" "tp" tp=0
layout "negative size" "dp" tp=2,dp=-1
layout "2^31" "2147483648" tp=2147483648
layout "2^64 + 1" "18446744073709551617" dp=18446744073709551617
layout "product over every limit" "" tp=65536,dp=65536,pp=65536
layout "no number" "eight" tp=eight
layout "a fraction" "1.5" tp=1.5
layout "an axis twice" "tp" tp=2,tp=4
layout "a bad order" "order" tp=2,order=pp-tp
layout "empty" "" ""
layout "spaces" "" "tp=8, dp =2"
layout "only commas" "" ,,,
layout "no value" "tp" tp=
layout "control characters" "" "$(printf 'tp=\033[31m8')"
layout "expert and dense pp groups differ: 64 > 32, etp=1 or 2" \
	'64 > 32.*etp=1 or 2' tp=4,pp=2,dp=4,ep=8,etp=4
layout "etp left out where it must be given" 'etp' tp=8,pp=6,dp=128,ep=64
grep -q 'etp=1' err && grep -q 'etp=8\|etp=tp' err && grep -q 64 err && grep -q 512 err
ok "it shows the atoms of etp=1 and of etp=tp" || show
layout "the world is not divisible" '' tp=2,dp=3,ep=4,etp=1
long=$(awk 'BEGIN { for (i = 0; i < 20000; i++) printf "tp=8," }')
layout "a hundred kilobytes" '' "$long"

# other options of place
opt() { # NAME PATTERN OPTION VALUE
	refuse "$1" "$2" place --config good.conf --cards 8 --parallel tp=8 "$3" "$4"
}
refuse "no cards" "cards" place --config good.conf --cards 0 --parallel tp=8
refuse "65 cards" "64" place --config good.conf --cards 65 --parallel tp=8
refuse "negative cards" "cards" place --config good.conf --cards -8 --parallel tp=8
opt "a pool of nothing" "pool" --pool 0X
opt "a pool per what?" "pool" --pool 1G/rack
opt "negative spares" "spares" --spares -1
opt "elastic without a number" "elastic" --elastic min_dp=
opt "elastic with an unknown word" "elastic" --elastic mindp=3

# topology.conf
conf() { # NAME PATTERN; the text comes on standard input
	cat >topology.conf
	refuse "check: $1" "$2" check --config topology.conf
	refuse "place: $1" "$2" place --config topology.conf --cards 8 --parallel tp=8 --json
}
conf "unknown key" 'topology.conf:1:.*Nodes' <<'EOF'
SupernodeName=sn1 Noodes=n[1-4]
EOF
conf "unknown line" 'topology.conf:2:' <<'EOF'
SupernodeName=sn1 Nodes=n[1-4]
RackName=r1 Nodes=n[1-4]
EOF
conf "a node in two supernodes" 'topology.conf:2:.*n4' <<'EOF'
SupernodeName=sn1 Nodes=n[1-4]
SupernodeName=sn2 Nodes=n[4-7]
EOF
conf "a node twice in one" 'n2' <<'EOF'
SupernodeName=sn1 Nodes=n[1-4],n2
EOF
conf "a supernode twice" 'sn1' <<'EOF'
SupernodeName=sn1 Nodes=n[1-4]
SupernodeName=sn1 Nodes=n[5-8]
EOF
conf "a unit over two supernodes" 'u1' <<'EOF'
SupernodeName=sn[1-2] Nodes=n[1-8] NodesPerSupernode=4
UnitName=u1 Nodes=n[3-6]
EOF
conf "a unit of unknown nodes" 'x9' <<'EOF'
SupernodeName=sn1 Nodes=n[1-4]
UnitName=u1 Nodes=n1,x9
EOF
conf "a fabric of unknown supernodes" 'sn9' <<'EOF'
SupernodeName=sn1 Nodes=n[1-4]
FabricName=f1 Supernodes=sn9
EOF
conf "a cycle of fabrics" 'f[12]' <<'EOF'
SupernodeName=sn1 Nodes=n[1-4]
FabricName=f1 Fabrics=f2
FabricName=f2 Fabrics=f1
EOF
conf "a fabric in itself" 'f1' <<'EOF'
SupernodeName=sn1 Nodes=n[1-4]
FabricName=f1 Fabrics=f1
EOF
conf "0 nodes a supernode" 'NodesPerSupernode' <<'EOF'
SupernodeName=sn[1-2] Nodes=n[1-8] NodesPerSupernode=0
EOF
conf "nodes that do not divide" 'NodesPerSupernode' <<'EOF'
SupernodeName=sn[1-2] Nodes=n[1-9] NodesPerSupernode=4
EOF
conf "negative spares" 'SpareNodes' <<'EOF'
SupernodeName=sn1 Nodes=n[1-4] SpareNodes=-1
EOF
conf "huge spares" 'SpareNodes' <<'EOF'
SupernodeName=sn1 Nodes=n[1-4] SpareNodes=2147483648
EOF
conf "a size without sense" 'PoolMemory' <<'EOF'
SupernodeName=sn1 Nodes=n[1-4] PoolMemory=lots
EOF
conf "an open bracket" 'n\[1-4' <<'EOF'
SupernodeName=sn1 Nodes=n[1-4
EOF
conf "four billion nodes" '' <<'EOF'
SupernodeName=sn1 Nodes=n[0-4294967295]
EOF
conf "an Include that is not there" 'gone.conf' <<'EOF'
Include gone.conf
EOF
conf "an Include of itself" '' <<'EOF'
Include topology.conf
EOF
conf "a line of SwitchName" 'SwitchName' <<'EOF'
SwitchName=s1 Nodes=n[1-4]
EOF
conf "an empty file" '' </dev/null
head -c 4096 "$SNCTL" >binary
conf "a binary file" 'topology.conf' <binary
head -c 10485760 /dev/zero | tr '\0' 'a' >long
conf "a line of 10 MB" 'topology.conf:1:' <long
{ printf 'SupernodeName=sn1 Nodes='; cat long; } >long2
conf "a value of 10 MB" 'topology.conf:1:' <long2
refuse "no such file" "gone" check --config gone
refuse "a directory" "directory" check --config .
refuse "a device" "regular" check --config /dev/zero
mkfifo fifo
refuse "a pipe is not waited for" "regular" check --config fifo

# state.json
state() { # NAME PATTERN TEXT, or the text on standard input
	if [ $# -eq 3 ]; then printf '%s\n' "$3" >state.json; else cat >state.json; fi
	refuse "state: $1" "$2" place --config good.conf --cards 8 --parallel tp=8 --state state.json --json
}
state "unknown key" 'nodes."n1".*free' '{"nodes": {"n1": {"fre": 3}}}'
state "unknown section" 'nodes' '{"nods": {}}'
state "more free than there are" '9' '{"nodes": {"n1": {"free": 9}}}'
state "less than none" '-1' '{"nodes": {"n1": {"free": -1}}}'
state "a card that is not there" '8' '{"nodes": {"n1": {"free_cards": [8]}}}'
state "another type" 'true or false' '{"nodes": {"n1": {"down": "yes"}}}'
state "a node twice" 'n2' '{"nodes": {"n[1-2]": {}, "n2": {}}}'
state "an unknown supernode" 'sn7' '{"pool_free": {"sn7": "1T"}}'
state "cut short" 'state.json:3' '{"nodes":
{"n1"'
state "not JSON" 'state.json:2' '{
"nodes" 3}'
state "an empty file" 'empty' </dev/null
state "a binary file" 'state.json' <binary
state "a line of 10 MB" 'state.json:1' <long
refuse "no such state" "gone" place --config good.conf --cards 8 --parallel tp=8 --state gone
finish
