#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Work of over a second shows on a terminal how far it is, and leaves nothing there.
. "$SN_SRCDIR/tests/cli/lib.sh"

if ! python3 -c 'import pty' 2>/dev/null; then
	skip "progress on a terminal" "no python3"
	finish
	exit
fi

# An InventoryProgram that takes until somebody has seen that it does.
small_cluster
cat >inventory <<EOF
#!/bin/sh
i=0
while [ ! -e $dir/go ] && [ \$i -lt 600 ]; do
	sleep 0.1
	i=\$((i + 1))
done
echo "{\"cards\":[{\"card\":0,\"device_id\":0,\"device_ip\":\"10.0.0.\${1#n}\"}]}"
EOF
chmod 700 inventory
printf 'RankTable=1.0\nInventoryProgram=%s/inventory\nInventoryTimeout=60\n' "$dir" >supernode.conf

# on_terminal WANTED ARGS…: as run, with standard error on a terminal
on_terminal() {
	wanted=$1
	shift
	rm -f go terminal out
	python3 "$SN_SRCDIR/tests/cli/progress.py" "$wanted" go "$SNCTL" "$@"
	status=$?
	cp terminal err
}

on_terminal "waiting for the InventoryProgram: 1 s" check --config topology.conf --json
[ -e go ]
ok "after a second the terminal shows what takes so long" || show
grep -q '^{' out
ok "the result comes all the same" || show
# All lines end with a return in column 0, the last one is blank, and nothing else is there.
tr '\r' '\n' <terminal | tail -n 1 | grep -q '^ *$' && [ "$(tail -c 1 terminal)" = "$(printf '\r')" ] &&
	! tr '\r' '\n' <terminal | grep -qv -e '^waiting for the InventoryProgram: [0-9]* s *$' -e '^ *$'
ok "and is clean again at the end" || show

# Without a terminal there is no line, however long it takes.
rm -f go
{ sleep 2; : >go; } &
run check --config topology.conf --json
wait
[ ! -s err ] && grep -q '^{' out
ok "no line without a terminal" || show

: >go # quick now
on_terminal "inventory" groups --parallel tp=2,dp=2
[ "$status" -eq 0 ] && [ ! -s terminal ]
ok "work of less than a second shows none" || show
finish
