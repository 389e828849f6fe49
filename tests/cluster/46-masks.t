#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Masked cards: no job that starts gets one, whatever its options, now, in the
# future and by preemption; running jobs keep theirs; nothing is held; and snctl
# says so. Here slurmctld only counts cards (no Cores= or Type= in gres.conf).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/masks.sh"
LOG_ALLOW="Security violation, UPDATE_NODE|node n00[12]: the node's extra" # by nobody, and the last part
start_cluster

# ---- what is refused, and changes nothing
refuses() # WHAT REGEX ARGUMENT…
{
	local what=$1 regex=$2 text rc
	shift 2

	text=$("$@" 2>&1)
	rc=$?
	like "$what" "$rc $text" "^1 .*$regex"
}
refuses "no such node" "knows no node n099" snctl card drain n001:1 n099:1 --reason=x
refuses "no such card" "node n001 has no card 8-9; it has 8, from 0 to 7" snctl card drain n001:7-9 --reason=x
refuses "not masked" "card 1 is not masked" snctl card resume n001:1
like "no reason" "$(snctl card drain n001:1 2>&1)" "give --reason=TEXT"
like "no list" "$(snctl card drain n001:x --reason=x 2>&1)" "no list of cards"
like "two lines" "$(snctl card drain n001:1 --reason=$'a\nb' 2>&1)" "one line of 1 to 100 bytes"
# Nobody, who may read what is below root's home.
chmod 711 "$WORK" "$CL_DIR" "$CL_DIR/etc"
refuses "not root" "only root and SlurmUser" setpriv --reuid=65534 --regid=65534 --clear-groups \
	--inh-caps=+dac_read_search --ambient-caps=+dac_read_search snctl card drain n001:1 --reason=x
is "nothing was written" "$(extra_of n001)$(extra_of n099)" ""
ok "several nodes at once" snctl card drain "n[001-003]:2,4-5" n004:0 --reason=batch
is "all of them" "$(snctl show cards --json | json "' '.join('%s:%d' % (m['node'], m['card']) for m in d['masked'])")" \
	"n001:2 n001:4 n001:5 n003:2 n003:4 n003:5 n002:2 n002:4 n002:5 n004:0"
refuses "drained already" "card 4-5 is drained already, by root since .*: batch" snctl card drain n005:0 n002:3-6 --reason=again
is "and nothing of it was done" "$(extra_of n005)" ""
is "resume as JSON" "$(snctl card resume "n[001-003]:2,4-5" n004:0 --json | json "len(d['resumed'])")" 10
is "nothing is left" "$(for n in 1 2 3 4; do extra_of n00$n; done)" ""

in_use
kinds
future
preemption

# ---- a reservation of the node
ok "a mark" snctl card drain n001:6 --reason=test
ok "n001 is reserved" scontrol create reservation ReservationName=r StartTime=now Duration=60 Users=root Nodes=n001
a=$(hold --reservation=r --gres=npu:7)
ok "inside: 7 cards" runs "$a"
is "inside: not the masked one" "$(cards_on "$a" n001)" 0,1,2,3,4,5,7
drop "$a"
b=$(hold --reservation=r --gres=npu:8)
ok "inside: 8 cards wait" waits "$b"
ok "it comes back" snctl card resume n001:6
ok "inside: 8 cards run" runs "$b"
drop "$b"
scontrol delete reservation r

# ---- a record that does not tell which cards are bad
ok "somebody writes a list" scontrol update NodeName=n001 Extra='{"cards":[3,4]}'
c=$(hold -w n001 --gres=npu:1)
ok "no card is given out" waits "$c"
is "they are shown" "$(snctl show cards --json 2>/dev/null | json "len([m for m in d['masked'] if m['state'] == 'unreadable'])")" 8
like "and why" "$(snctl show cards 2>&1 >/dev/null)" 'warning: node n001: .*"cards" is an array; .*all cards of the node are masked'
like "snctl check tells of it" "$(snctl check --records 2>&1)" 'warning: node n001: .*"cards" is an array'
scontrol update NodeName=n002 Extra='{"degraded":{"unit":"yes"}}'
like "and of a domain's mark that is none" "$(snctl check --records 2>&1)" 'warning: node n002: .*the mark of a degraded unit is a string, and counts all the same'
scontrol update NodeName=n002 Extra=
like "none is drained" "$(snctl card drain n001:1 --reason=x 2>&1)" '"cards" is an array'
like "nor resumed" "$(snctl card resume n001:1 2>&1)" '"cards" is an array'
is "nothing was written" "$(extra_of n001)" '{"cards":[3,4]}'
like "card 64 is none that can be marked" "$(snctl card drain n001:64 --reason=x 2>&1)" '"64" is no list of cards; want numbers from 0 to 63'
ok "it is put right" scontrol update NodeName=n001 Extra=
ok "and the job runs" runs "$c"
drop "$c"
finish
