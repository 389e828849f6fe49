# SPDX-License-Identifier: GPL-2.0-or-later
# preempt.sh - jobs that hold cards and may have to go for a better one. Sourced
# after lib.sh, for three supernodes of four nodes.
#
# $LOW and $HIGH are the options that make a job one or the other: LOW="-p %s"
# with the word that hold() gets in place of %s, HIGH="-p high".
EP32=ep=32,dp=32
SN1=n001,n004,n007,n010 SN2=n002,n005,n008,n011 SN3=n003,n006,n009,n012
JOBS=

# hold KIND NODES CARDS: a job that holds so many cards of each node
hold()
{
	local n=${2//[!,]/} id

	# shellcheck disable=SC2046,SC2059 # options
	id=$(SN_STEP=no submit $(printf -- "$LOW" "$1") -w "$2" -N $((${#n} + 1)) "--gres=npu:$3" "$TESTS/held.sh")
	JOBS="$JOBS $id"
}

none_waits()
{
	[ -z "$(squeue -h -t PENDING)" ]
}

all_run()
{
	until_true 60 none_waits || fail "all jobs run" "$(squeue)"
}

# The numbers (1, 2, …, in the order of hold) of the jobs that run no more.
victims()
{
	local i=0 id running

	running=$(squeue -h -t RUNNING -o %i)
	for id in $JOBS; do
		i=$((i + 1))
		grep -qx "$id" <<<"$running" || printf '%s ' "$i"
	done
}

nodes_of()
{
	cards_said "$1" | cut -d' ' -f1 | sort -u | tr '\n' ',' | sed 's/,$//'
}

no_jobs()
{
	[ -z "$(squeue -h)" ]
}

clear_all()
{
	scancel -u root
	until_true 60 no_jobs || fail "the cluster is empty again" "$(squeue)"
	JOBS=
}

# wins WHAT VICTIMS NODES ARGUMENT…
wins()
{
	local what=$1 victims=$2 nodes=$3 id
	shift 3

	all_run
	# shellcheck disable=SC2086 # options
	id=$(submit_held $HIGH "$@")
	ok "$what: it runs" await_ranks "$id" || return
	like "$what: the victims" "$(victims)" "^$victims\$"
	[ -z "$nodes" ] || is "$what: in their supernode" "$(nodes_of "$id")" "$nodes"
	case $1 in --parallel=*) ok "$what: every group whole" check_ranks "$id" "${1#--parallel=}" ;; esac
}
