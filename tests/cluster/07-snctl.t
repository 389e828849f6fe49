#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# snctl on a live cluster: what it shows is what slurmctld has, and a pending
# job's reason has the right numbers.
. "$(dirname "$0")/lib.sh"
CL_NODES=16 CL_PER=8 CL_PODS=2
start_cluster
command -v snctl >/dev/null || skip_all "snctl is not built"

cell() # TABLE ROW-KEY COLUMN: one cell of snctl show
{
	snctl show "$1" | awk -v key="$2" -v col="$3" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$1 == key { print $at[col] }'
}

is "every card is free at first" "$(cell supernodes sn1 free) $(cell supernodes sn2 free)" "64 64"
layout=tp=8,ep=32,etp=1,dp=8
a=$(submit_held --time=60 "--parallel=$layout")
ok "a job of 64 ranks runs" await "$a" RUNNING
b=$(submit_held --time=10 --parallel=tp=2,dp=3)
ok "and one of 6" await "$b" RUNNING
is "64 and 6 cards are busy" "$(cell supernodes sn1 busy) $(cell supernodes sn2 busy)" "64 6"
is "the top fabric has the rest" "$(cell fabrics core free)" "58"
is "jobs have their cards" "$(cell jobs "$a" cards) $(cell jobs "$b" cards)" "64 6"
is "and supernodes" "$(cell jobs "$a" supernodes) $(cell jobs "$b" supernodes)" "1 1"
node=$(cards_of "$b" | sed -n '1s/ .*//p')
is "the cards of a node are those that Slurm allocated" \
	"$(cell cards "$node" busy)" "$(scontrol show job -d "$b" | grep -oE 'IDX:[0-9,-]+' | head -n 1 | cut -c5-)"

map=$(snctl map)
like "the map shows a row of 64 cards of the first job" "$map" '^sn1 +(A{8} ?){8}$'
like "and six of the second" "$map" '^sn2.*BBBBBB\.\.'
is "in 40 columns no line is longer" "$(COLUMNS=40 snctl map | awk 'length > 40 && !/^A row/' | wc -l)" 0
is "no colours in a pipe" "$(printf %s "$map" | grep -c $'\033')" 0
for table in supernodes units fabrics cards jobs; do
	more=
	[ $table != cards ] || more=', "masked": \[\]'
	like "show $table --json" "$(snctl show $table --json)" "^\{\"$table\": \[\{.*\}\]$more\}$"
done
like "map --json" "$(snctl map --json)" '^\{"supernodes": \[.*\], "jobs": \[.*\]\}$'

c=$(submit_held --time=60 --parallel=tp=8,ep=32,etp=1,dp=16)
until_true 20 test "$(reason_of "$c")" = Resources
why=$(snctl why "$c")
like "why: it does not fit now" "$why" 'does not fit'
like "it wants 128 cards" "$why" '128 card'
# 58 of the 64 cards of the second supernode are free.
like "the second supernode's free cards" "$why" '^sn2 +58 '
like "the first has none" "$why" '^sn1 +0 '
# The first job's limit is the later one: 60 minutes.
end=$(date -d "$(scontrol -o show job "$a" | sed -n 's/.* EndTime=\([^ ]*\).*/\1/p')" +%s)
like "it fits when the first job reaches its limit" "$(snctl why "$c" --json)" "\"fits_at\": $end,"
like "and Slurm's reason is in plain words" "$why" 'Resources: what it asks for is not free'

like "show jobs has the layout" "$(snctl show jobs --json)" '"tp=8,[^"]*ep=32,etp=1,[^"]*dp=16,'
like "it is told in atoms" "$why" '4 atoms of 32'
# 56 cards of sn2 are in whole nodes: one atom, and 8 cards short of the second.
like "sn2 has room for one and is 8 cards short of the next" "$why" '^sn2 +58 +56 +0 +1 +8 +1 short of cards$'

d=$(submit_held --hold --parallel=tp=8)
like "a held job" "$(snctl why "$d")" 'JobHeldUser.*holds it'
e=$(submit_held "--dependency=afterok:$a" --parallel=tp=8)
like "a dependency" "$(snctl why "$e")" "Dependency.*afterok:$a"
like "a running job does not pend" "$(snctl why "$a")" 'does not pend.*64 cards'
snctl why 99999 >/dev/null 2>&1
is "an unknown job: exit status 1" $? 1
snctl why abc >/dev/null 2>&1
is "no job id: exit status 2" $? 2

scontrol update nodename=n016 state=drain reason=test
like "a drained node is shown" "$(snctl show cards)" '^n016 .*drain +8 +- '
like "and is down on the map" "$(snctl map)" 'xxxxxxxx'
scontrol update nodename=n016 state=resume

SLURM_CONF=/nonexistent/slurm.conf snctl show >"$WORK/no.out" 2>&1
is "without slurm.conf: exit status 2" $? 2
is "in one sentence" "$(wc -l <"$WORK/no.out")" 1

scancel "$c" "$d" "$e"
release "$a" "$b"
ok "the jobs end" await "$a" COMPLETED
finish
