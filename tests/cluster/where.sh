# SPDX-License-Identifier: GPL-2.0-or-later
# where.sh - which supernodes a job is in, and how to make some of their nodes
# busy. Sourced after lib.sh; needs a topology.conf with SupernodeName lines
# only, or one with FabricName lines besides.

# nodes_in SUPERNODE: its nodes in the file's order; a loose node is one itself
nodes_in()
{
	local list

	list=$(sed -nE "s/^SupernodeName=$1 (.* )?Nodes=([^ ]*).*/\2/p" "$CL_DIR/etc/topology.conf")
	scontrol show hostnames "${list:-$1}"
}

supernodes()
{
	sed -nE 's/^SupernodeName=([^ ]*) .*/\1/p' "$CL_DIR/etc/topology.conf"
}

# spots JOB: "sn1:4 sn2:4", in the file's order; loose nodes by name at the end
spots()
{
	local list sn node all

	list=$(scontrol -o show job "$1" | sed -nE 's/.* NodeList=([^ ]*).*/\1/p')
	list=$(scontrol show hostnames "$list")
	all=$(for sn in $(supernodes); do
		for node in $(nodes_in "$sn"); do echo "$node $sn"; done
	done)
	{
		awk 'NR == FNR { have[$1] = 1; next } $1 in have { n[$2]++; if (!($2 in at)) { at[$2] = ++k; name[k] = $2 } }
			END { for (i = 1; i <= k; i++) print name[i] ":" n[name[i]] }' <(echo "$list") <(echo "$all")
		awk 'NR == FNR { known[$1] = 1; next } !($1 in known) { print $1 }' <(echo "$all") <(echo "$list")
	} | tr '\n' ' ' | sed 's/ $//'
}

# occupy SUPERNODE=COUNT…: one job on the first COUNT nodes of each, alone there.
# Its number is in $BUSY.
occupy()
{
	local word list=

	for word; do
		[ "${word#*=}" -gt 0 ] || continue
		list=$list,$(nodes_in "${word%=*}" | head -n "${word#*=}" | paste -sd,)
	done
	list=${list#,}
	# shellcheck disable=SC2086 # options
	BUSY=$(SN_STEP=no submit --exclusive -N "$(echo "$list" | tr , '\n' | wc -l)" -w "$list" "$TESTS/held.sh")
	await "$BUSY" RUNNING
}

nothing_ends()
{
	[ -z "$(squeue -h -t CG -o %i)" ] && [ -z "$(sinfo -h -N -t comp -o %N)" ]
}

vacate() # JOB…: gone, with everything
{
	scancel "$@" && until_true 60 nothing_ends
}

# try ARGUMENT…: where a job runs; it is gone afterwards
try()
{
	local id

	id=$(SN_STEP=no submit "$@" "$TESTS/held.sh") || { echo "refused: $id"; return; }
	if until_true 30 state_is "$id" RUNNING; then
		spots "$id"
	else
		echo "$(state_of "$id") $(reason_of "$id")"
	fi
	vacate "$id" || echo "does not end"
}

# waits WHAT ARGUMENT…: the job pends for want of resources. $WAITING is it.
waits()
{
	local what=$1
	shift

	WAITING=$(SN_STEP=no submit "$@" "$TESTS/held.sh")
	until_true 20 eval '[ "$(reason_of "$WAITING")" != None ]'
	like "$what" "$(state_of "$WAITING") $(reason_of "$WAITING")" '^PENDING (Resources|Priority)$'
}

refused() # WHAT REGEX ARGUMENT…
{
	local what=$1 regex=$2 text
	shift 2

	if text=$(timeout 60 sbatch --parsable "$@" "$TESTS/held.sh" 2>&1); then
		fail "$what" "it was accepted: $text"
		scancel "${text##*$'\n'}" 2>/dev/null
		return
	fi
	like "$what" "$text" "$regex"
}
