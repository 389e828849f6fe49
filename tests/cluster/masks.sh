# SPDX-License-Identifier: GPL-2.0-or-later
# masks.sh - what holds of masked cards, however slurmctld knows cards. Sourced
# by 46-masks.t and 46-masks-cores.t after lib.sh, with the cluster's CL_GRES_MORE.
CL_NODES=8 CL_PER=4 CL_PODS=0 CL_UNIT=0
CL_EXTRA="PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=low Nodes=ALL PriorityTier=1 DefMemPerCPU=10
PartitionName=whole Nodes=ALL OverSubscribe=EXCLUSIVE PriorityTier=1 DefMemPerCPU=10
PartitionName=high Nodes=ALL PriorityTier=9 PreemptMode=OFF DefMemPerCPU=10"
# sn1 has n001 n003 n005 n007, sn2 the others.

# hold OPTION…: a job that only keeps its cards; its number
hold()
{
	SN_STEP=no submit "$@" "$TESTS/held.sh"
}

# The cards of a job on its one node: "0-2,4".
cards_on()
{
	cards_of "$1" | awk -v node="$2" '$1 == node { print $2 }' | sort -n | paste -sd,
}

priority_of()
{
	scontrol -o show job "$1" | sed -n 's/.* Priority=\([0-9]*\) .*/\1/p'
}

# A job that waits for what may pass: for resources, and never held.
waits()
{
	until_true 20 is_looked_at "$1" && state_is "$1" PENDING &&
		[[ " Resources Priority ReqNodeNotAvail, " == *" $(reason_of "$1" | sed 's/,.*/,/') "* ]] &&
		[ "$(priority_of "$1")" -gt 0 ] && return 0
	scontrol show job "$1" | grep -E 'JobState|Priority'
	return 1
}

is_looked_at()
{
	[[ $(reason_of "$1") != None ]]
}

runs()
{
	await "$1" RUNNING 30
}

drop()
{
	scancel "$@" 2>/dev/null
	until_true 30 nothing_of "$@"
}

nothing_of()
{
	local id

	for id; do
		[ -z "$(squeue -h -j "$id" 2>/dev/null)" ] || return 1
	done
}

extra_of()
{
	scontrol show node "$1" | sed -n 's/^ *Extra=//p'
}

json() # EXPRESSION: of the JSON on standard input
{
	python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"
}

why_fits()
{
	snctl why "$1" --json | json "d['fits_now']"
}

# ---- a card in use ------------------------------------------------------------------
in_use()
{
	local a b c wide

	scontrol update nodename=n001 'extra={"note":"rack 5"}'
	a=$(hold --gres=npu:4 -w n001)
	ok "a job has cards 0-3" runs "$a"
	is "of n001" "$(cards_on "$a" n001)" 0,1,2,3
	like "card 3 is drained" "$(snctl card drain n001:3 "--reason=ECC errors" 2>&1)" \
		"^n001: card 3 drained: ECC errors"
	wide=$(hold --gres=npu:8 -w n001)
	b=$(hold --gres=npu:8 --exclude="n[004-008]")
	c=$(hold --gres=npu:4 -w n001)
	ok "a job of 8 cards goes elsewhere" runs "$b"
	is "not to n001" "$(scontrol -o show job "$b" | grep -c ' NodeList=n001 ')" 0
	ok "one of 4 cards runs on n001" runs "$c"
	is "on the other four" "$(cards_on "$c" n001)" 4,5,6,7
	ok "one of 8 cards of n001 waits" waits "$wide"
	is "the job that has the card runs on" "$(state_of "$a") $(cards_on "$a" n001)" "RUNNING 0,1,2,3"

	state_saved "$a"
	ctld_kill KILL
	ok "slurmctld starts after kill -9" ctld_up
	ok "and has its nodes" cluster_ready
	ok "scontrol reconfigure" timeout 60 scontrol reconfigure
	ok "and has its nodes" cluster_ready
	is "the mark is there" "$(snctl show cards --json | json "[(m['node'], m['card'], m['state'], m['by'], m['reason'], m['job']) for m in d['masked']]")" \
		"[('n001', 3, 'drained', 'root', 'ECC errors', $a)]"
	is "the jobs have their cards" "$(cards_on "$a" n001) $(cards_on "$c" n001)" "0,1,2,3 4,5,6,7"
	drop "$a" "$c"
	c=$(hold --gres=npu:4 -w n001)
	ok "again one of 4 cards" runs "$c"
	is "without card 3" "$(cards_on "$c" n001)" 0,1,2,4
	drop "$c"
	ok "the one of 8 still waits, with n001 idle" waits "$wide"
	like "and why says so" "$(snctl why "$wide")" "does not fit.*|1 card masked"
	is "in JSON, too" "$(why_fits "$wide") $(snctl why "$wide" --json | json "d['supernodes'][0]['masked']")" "False 1"
	like "resume brings the card back" "$(snctl card resume n001:3 2>&1)" '^n001: card 3 resumed$'
	ok "and the job that waited starts" runs "$wide"
	is "with all cards" "$(cards_on "$wide" n001)" 0,1,2,3,4,5,6,7
	is "the administrator's note is left" "$(extra_of n001)" '{"note":"rack 5"}'
	drop "$wide" "$b"
}

# ---- all kinds of jobs --------------------------------------------------------------
kinds()
{
	local a b c d e f

	ok "two marks" snctl card drain n001:3 n002:0-1 --reason=test
	a=$(submit_held --parallel=dp=13 -w n001,n002)
	ok "--parallel of the 13 good cards of two nodes" await_ranks "$a"
	is "without the masked ones" "$(cards_on "$a" n001) $(cards_on "$a" n002)" "0,1,2,4,5,6,7 2,3,4,5,6,7"
	is "as its ranks see it" "$(cards_said "$a")" "$(cards_of "$a")"
	drop "$a"
	ok "n002 is whole again" snctl card resume n002:0,1
	a=$(submit_held --parallel=dp=15 -w n001,n002)
	ok "15 ranks on n001 and n002" await_ranks "$a"
	is "on 7 and 8 cards" "$(cards_on "$a" n001) $(cards_on "$a" n002)" "0,1,2,4,5,6,7 0,1,2,3,4,5,6,7"
	drop "$a"
	a=$(hold -N1 -w n001 --ntasks=7 --tres-per-task=gres/npu:1)
	b=$(hold -N1 -w n003 --ntasks=8 --tres-per-task=gres/npu:1)
	c=$(hold --parallel=tp=8 -w n001)
	d=$(hold -w n001 --exclusive --gres=npu:1)
	e=$(hold -w n001 --exclusive)
	f=$(hold -w n001 -p whole --gres=npu:4)
	ok "7 tasks with a card each" runs "$a"
	is "not with card 3" "$(cards_on "$a" n001)" 0,1,2,4,5,6,7
	ok "8 tasks elsewhere" runs "$b"
	drop "$a" "$b"
	ok "--parallel of a whole node waits" waits "$c"
	ok "--exclusive waits" waits "$d"
	ok "--exclusive without cards waits" waits "$e"
	ok "OverSubscribe=EXCLUSIVE waits" waits "$f"
	is "why: none of them fits" "$(for j in $c $d $e; do why_fits "$j"; done | sort -u)" False
	like "why: a whole node is told of the card" "$(snctl why "$e")" "node n001 is required, and it is with a masked card"
	like "--test-only of a whole node says no" "$(sbatch --test-only -w n001 --exclusive "$TESTS/held.sh" 2>&1)" "allocation failure|not available|busy"
	drop "$d" "$e" "$f"
	ok "a whole node runs elsewhere" runs "$(hold --exclusive --exclude="n[003-008]" | tee job)"
	is "on n002" "$(scontrol -o show job "$(cat job)" | sed -n 's/.* NodeList=\([^ ]*\) .*/\1/p')" n002
	drop "$(cat job)"
	ok "a mark of the health engine masks, too" scontrol update nodename=n001 \
		'extra={"cards":{"3":{"health":{"state":"suspect","at":1732900000,"why":"slow"}}}}'
	is "show cards has it" "$(snctl show cards --json | json "[(m['card'], m['state'], m['by'], m['reason']) for m in d['masked']]")" \
		"[(3, 'suspect', 'health', 'slow')]"
	ok "--parallel of a whole node still waits" waits "$c"
	ok "an administrator's beside it" snctl card drain n001:3 --reason=me
	is "two lines" "$(snctl show cards --json | json "[m['state'] for m in d['masked']]")" "['drained', 'suspect']"
	ok "resume takes both away" snctl card resume n001:3
	ok "and the job starts" runs "$c"
	is "nothing is left of it" "$(extra_of n001)" ""
	drop "$c"
	# all cards
	ok "all cards of n001" snctl card drain n001:0-7 --reason=all
	a=$(hold -w n001 --gres=npu:1)
	b=$(hold -w n001 -n 2)
	ok "one card of it cannot be had" waits "$a"
	ok "its CPUs can" runs "$b"
	is "show supernodes counts them" "$(snctl show supernodes --json | json "[s['masked'] for s in d['supernodes']]")" "[8, 0]"
	is "map marks them" "$(snctl map --json | json "d['supernodes'][0]['nodes'][0]['masked']")" "[0, 1, 2, 3, 4, 5, 6, 7]"
	ok "one comes back" snctl card resume n001:5
	ok "and is given out" runs "$a"
	is "no other" "$(cards_on "$a" n001)" 5
	drop "$a" "$b"
	ok "the rest comes back" snctl card resume n001:0-4,6-7
}

# ---- the future ---------------------------------------------------------------------
time_of() # JOB StartTime|EndTime
{
	scontrol -o show job "$1" | sed -n "s/.* $2=\([0-9][^ ]*\) .*/\1/p"
}

is_foretold()
{
	[ -n "$(time_of "$1" StartTime)" ]
}

future()
{
	local a b c

	ok "a mark" snctl card drain n001:0 --reason=test
	a=$(hold -w n001 --gres=npu:7 --time=30)
	ok "a job has the other cards" runs "$a"
	b=$(hold -w n001 --gres=npu:8 --time=30)
	c=$(hold -w n001 --gres=npu:7 --time=30)
	ok "backfill foretells when 7 cards are free" until_true 40 is_foretold "$c"
	is "when the job ends" "$(time_of "$c" StartTime)" "$(time_of "$a" EndTime)"
	is "and nothing for 8 cards" "$(time_of "$b" StartTime)" ""
	like "nor does why" "$(snctl why "$b")" "not even if every running job ended"
	like "which does for 7" "$(snctl why "$c")" "Later: at "
	ok "neither is held" waits "$b"
	drop "$b" "$c"
	# A masked card in use: what is free beside it can be had at once.
	drop "$a"
	a=$(hold -w n001 --gres=npu:3 --time=30)
	ok "three cards in use" runs "$a"
	ok "two of them are taken out" snctl card drain n001:1,2 --reason=test
	c=$(hold -w n001 --gres=npu:4 --time=30)
	ok "four are free beside them" runs "$c"
	is "which are not masked" "$(cards_on "$a" n001) $(cards_on "$c" n001)" "1,2,3 4,5,6,7"
	drop "$c"
	b=$(hold -w n001 --gres=npu:5 --time=30)
	ok "five are foretold" until_true 40 is_foretold "$b"
	is "when the job with the masked ones ends" "$(time_of "$b" StartTime)" "$(time_of "$a" EndTime)"
	drop "$a"
	ok "and then are there" runs "$b"
	is "all that are not masked" "$(cards_on "$b" n001)" 3,4,5,6,7
	drop "$b"
	ok "all back" snctl card resume n001:0-2
}

# ---- preemption ---------------------------------------------------------------------
preemption()
{
	local a b c rest="n[003-008]"

	a=$(hold -p low -w n001 --gres=npu:8)
	b=$(hold -p low -w n002 --gres=npu:8)
	ok "two nodes are full" runs "$a"
	ok "both of them" runs "$b"
	ok "a card of the first is taken out" snctl card drain n001:7 --reason=test
	c=$(hold -p high --gres=npu:8 --exclude="$rest")
	ok "a job of 8 cards preempts" runs "$c"
	is "where they are whole" "$(cards_on "$c" n002)" 0,1,2,3,4,5,6,7
	is "and nobody else" "$(state_of "$a")" RUNNING
	drop "$b"
	b=$(hold -p high --gres=npu:8 -w n001)
	ok "where they are not, it waits" waits "$b"
	is "and nobody goes in vain" "$(state_of "$a")" RUNNING
	drop "$b"
	b=$(hold -p high --gres=npu:7 -w n001)
	ok "7 cards preempt there" runs "$b"
	is "and leave the masked one" "$(cards_on "$b" n001)" 0,1,2,3,4,5,6
	drop "$a" "$b" "$c"
	ok "it comes back" snctl card resume n001:7
}
