#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Masked cards and reservations of cards: jobs inside get what is reserved and not
# masked, jobs outside what is neither. Cards can only be reserved with accounting,
# so this needs a slurmdbd and MariaDB, and starts its own.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/masks.sh"
. "$(dirname "$0")/dbd.sh"
# What Slurm says of nodes in its first moments with accounting.
LOG_ALLOW="slurmdbd|DBD_|assoc|cluster not registered|Could not open"
CL_NODES=4 CL_PER=2
CL_GRES_MORE=Cores=0-63 # else Slurm reserves a number, not cards
need_dbd
start_cluster
ok "accounting is up" accounting_up AccountingStorageTRES=gres/npu

ok "card 1 is drained" snctl card drain n001:1 --reason=test
ok "4 cards are reserved" scontrol create reservation ReservationName=r StartTime=now Duration=60 Users=root Nodes=n001 TRES=cpu=4,gres/npu=4
a=$(hold --reservation=r --gres=npu:4)
ok "inside: 4 cards" runs "$a"
mine=$(cards_on "$a" n001)
diag "reserved: $mine"
is "inside: not the masked one" "$(tr , '\n' <<<"$mine" | grep -cx 1)" 0
one=${mine%%,*}
ok "one of them is drained" snctl card drain "n001:$one" --reason=test
is "its job keeps it" "$(state_of "$a") $(cards_on "$a" n001)" "RUNNING $mine"
drop "$a"
a=$(hold --reservation=r --gres=npu:4)
b=$(hold --reservation=r --gres=npu:3)
ok "inside: 4 cards wait" waits "$a"
ok "inside: 3 cards run" runs "$b"
is "inside: those that are left" "$(cards_on "$b" n001)" "${mine#*,}"
c=$(hold -w n001 --gres=npu:3)
ok "outside: 3 cards run" runs "$c"
is "outside: what is neither reserved nor masked" "$(cards_on "$c" n001)" \
	"$(for i in 0 1 2 3 4 5 6 7; do [ "$i" = 1 ] || [[ ",$mine," == *",$i,"* ]] || echo "$i"; done | paste -sd,)"
d=$(hold -w n001 --gres=npu:4)
ok "outside: 4 wait" waits "$d"
drop "$b"
ok "inside: all come back" snctl card resume "n001:$one"
ok "inside: 4 cards run" runs "$a"
is "inside: the four" "$(cards_on "$a" n001)" "$mine"
ok "outside: 4 wait still" waits "$d"
drop "$c"
ok "outside: card 1 comes back" snctl card resume n001:1
ok "outside: 4 run" runs "$d"
drop "$a" "$d"

# ---- layouts, inside and outside at once
a=$(submit_held --reservation=r --parallel=tp=4)
ok "inside: four ranks" await_ranks "$a"
ok "inside: whole" check_ranks "$a" tp=4
is "inside: on the four cards, as they say" "$(cards_on "$a" n001) $(cards_said "$a")" "$mine $(cards_of "$a")"
d=$(submit_held -w n001 --parallel=tp=4)
ok "outside: four ranks" await_ranks "$d"
ok "outside: whole" check_ranks "$d" tp=4
is "outside: on the other four" "$( (cards_of "$a"; cards_of "$d") | sort -u | wc -l)" 8
b=$(submit_held --reservation=r --parallel=tp=2,dp=2)
ok "inside: more ranks wait" waits "$b"
drop "$a"
ok "inside: and run" await_ranks "$b"
is "inside: there" "$(cards_on "$b" n001)" "$mine"
drop "$b" "$d"
scontrol delete reservation r
finish
