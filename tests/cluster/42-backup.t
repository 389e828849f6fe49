#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A backup slurmctld takes over with jobs running and waiting, and the first one
# takes back: nothing is lost, nothing moves, ranks are right; and where
# topology.conf is bad by then, the last good one holds there too.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/where.sh"
. "$(dirname "$0")/live.sh"
CL_NODES=12 CL_PER=4 CL_PODS=0 CL_UNIT=0
start_cluster
if [ "$CL_MODE" != netns ]; then
	pass "the rest is left out: two slurmctlds need a network each"
	finish
fi

# Slurm has one port for all slurmctlds, so the second one lives in the bridge's
# namespace, with a name, a process table, logs and a PID file of its own. Each
# knows by its host's name which one it is.
first=$(ip_text $((CL_BASE + 1))) second=$(ip_text $((CL_BASE + CL_NODES + 2)))
conf=$CL_DIR/etc/topology.conf
ctld_kill TERM
sed -i "s/^SlurmctldHost=.*/SlurmctldHost=$(hostname -s)($first)\nSlurmctldHost=backup($second)\nSlurmctldTimeout=5/" "$CL_DIR/etc/slurm.conf"
ok "slurmctld starts with a backup named" ctld_up
ok "the nodes know both" timeout 60 scontrol reconfigure
ok "slurmctld is back" until_true 30 ctld_answers
mkdir -p "$WORK/backup/run" "$WORK/backup/log"

backup_up()
{
	ip netns exec "$CL_ID" setsid unshare --mount --uts --pid --fork --kill-child --mount-proc sh -c '
		echo backup >/proc/sys/kernel/hostname &&
		mount --bind "$1/run" "$2/run" && mount --bind "$1/log" "$2/log" &&
		exec slurmctld -D -f "$SLURM_CONF"' - "$WORK/backup" "$CL_DIR" \
		>>"$WORK/backup.out" 2>&1 </dev/null 7>&- 8>&- 9>&- &
	echo $! >"$WORK/backup.pid" # a file, for ok() runs what it checks in a subshell
	disown
}

backup_stop() # in good order
{
	local outer inner

	outer=$(<"$WORK/backup.pid")
	inner=$(cat /proc/"$outer"/task/*/children 2>/dev/null)
	kill -TERM ${inner:-"$outer"}
	until_true 30 no_process "$outer"
}

backup_down()
{
	local outer

	outer=$(cat "$WORK/backup.pid" 2>/dev/null) || return 0
	kill -KILL "$outer" 2>/dev/null
	until_true 10 no_process "$outer"
}
trap 'rc=$?; backup_down; cp "$WORK/backup/log/slurmctld.log" "$CL_DIR/log/backup.log" 2>/dev/null; clean_up $rc' EXIT

waits_behind() # standby, and says so
{
	scontrol ping | grep -q '(backup).* is UP'
}

in_charge() # its log's last word on it
{
	grep -E 'Running as primary|running in background mode' "$WORK/backup/log/slurmctld.log" | tail -n 1 | grep -q primary &&
		timeout 10 squeue >/dev/null 2>&1
}

# Asked for it, Slurm's slurmctld waits for itself for 29 s (REQUEST_CONTROL), so that
# is done once, at the end. The other time the backup is stopped and started again.
first_back() # [stop]
{
	rm -f "$CL_DIR/run/slurmctld.pid"
	if [ "${1:-}" = stop ]; then
		backup_stop || return 1
	fi
	ctld_up || return 1
	[ "${1:-}" != stop ] || backup_up
	until_true 30 waits_behind && until_true 30 eval 'timeout 10 squeue >/dev/null 2>&1'
}

backup_up
ok "the backup waits" until_true 30 waits_behind

layout=tp=8,ep=16,etp=1,dp=4
stepped "--parallel=$layout"
run=$STEPPED cards=$(cards_of "$STEPPED")
is "a job runs" "$(spots "$run")" "sn1:4"
wait=$(submit_held --parallel=tp=8,ep=32,etp=1,pp=3,dp=4)
until_true 20 eval '[ "$(reason_of "$wait")" != None ]'
like "one for the whole cluster waits" "$(state_of "$wait") $(reason_of "$wait")" '^PENDING (Resources|Priority)$'
step=0
all_is_well() # WHEN
{
	step=$((step + 1))
	# Until a node has registered anew, Slurm starts no step there and may then
	# let srun wait for minutes.
	ok "$1: the nodes are there" cluster_ready
	is "$1: the job runs, on its cards" "$(state_of "$run") $(cards_of "$run")" "RUNNING $cards"
	is "$1: the other waits" "$(state_of "$wait")" PENDING
	next_step "$run" "$step" >/dev/null
	ok "$1: the next step is right" check_step "$run" "$step" "$layout"
	is "$1: a new job is in one supernode" "$(try -N4 --exclusive)" "sn2:4"
}

state_saved "$run"
ok "the backup takes over when told" timeout 60 scontrol takeover
ok "it is in charge" until_true 60 in_charge
all_is_well told
ok "the first one takes back" first_back stop
all_is_well back

# By now the backup has had a topology in its memory that is out of date.
sed -e 's/^SupernodeName=sn1 /SupernodeName=snX /; s/^SupernodeName=sn2 /SupernodeName=sn1 /; s/^SupernodeName=snX /SupernodeName=sn2 /' "$conf" >"$WORK/good"
ok "a changed file" reconfigure <"$WORK/good"
is "it counts" "$(spots "$run")" "sn2:4"
echo 'SupernodeName=broken' >"$conf"
state_saved "$run"
ctld_kill KILL
ok "after kill -9 the backup takes over by itself" until_true 90 in_charge
like "with the last good file" "$(show_topology sn2)" '^SupernodeName=sn2 Nodes=n\[001,004,007,010\]'
like "it says so" "$(cat "$WORK/backup/log/slurmctld.log")" 'error: topology/supernode: .*topology.conf.*the last good topology stays'
cp "$WORK/good" "$conf" # for the tests' own reading
is "killed: the job runs, on its cards" "$(state_of "$run") $(cards_of "$run")" "RUNNING $cards"
is "killed: a new job is in one supernode" "$(try -N4 --exclusive)" "sn1:4"
big=$(submit_held --parallel=tp=8,ep=32,etp=1,dp=8)
ok "a job starts on the backup" await_ranks "$big"
ok "it is right" check_ranks "$big" tp=8,ep=32,etp=1,dp=8
release "$big" "$run"
ok "jobs end there" await "$big" COMPLETED
ok "also the first" await "$run" COMPLETED
ok "what waited runs there" await_ranks "$wait"
ok "and is right" check_ranks "$wait" tp=8,ep=32,etp=1,pp=3,dp=4
ok "the first one takes back again" first_back
is "what the backup started runs" "$(state_of "$wait")" RUNNING
release "$wait"
ok "and ends well" await "$wait" COMPLETED
is "nobody shared a card" "$(cat "$WORK"/*.out "$WORK"/*.step | grep -c DOUBLE)" 0
LOG_ALLOW='backup|REQUEST_CONTROL|Backup|control|state save|topology/supernode: topology.conf'
finish
