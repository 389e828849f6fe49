#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Soak: SN_POOL_JOBS jobs with regions, of two users, some with a region that has a
# name, end by themselves, are cancelled, killed hard, or lose the slurmd of a node
# that they run on, all at random (SN_SEED). At the end there is no mount, no
# region, no record, and the whole pool is free.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
pool_cluster
JOBS=${SN_POOL_JOBS:-100}
RANDOM=${SN_SEED:-$$}
diag "seed ${SN_SEED:-$$}, $JOBS jobs"

cat >"$WORK/pub/soak" <<'END'
#!/bin/bash
echo "at $SLURMD_NODENAME ${SUPERNODE_POOL_BYTES-none}"
[ -d "$SUPERNODE_POOL_DIR" ] || { echo "LOST $SLURM_JOB_ID"; exit 1; }
stale=$(find "$SUPERNODE_POOL_DIR" -name 'job-*' ! -name "job-$SLURM_JOB_ID")
[ "$1" = named ] || [ -z "$stale" ] || echo "STALE $SLURM_JOB_ID $stale"
head -c "$2" /dev/zero >"$SUPERNODE_POOL_DIR/job-$SLURM_JOB_ID" || echo "SHORT $SLURM_JOB_ID"
rm -f $stale
sleep "$3"
END
chmod 755 "$WORK/pub/soak"
KINDS=(8M 16M/node 1M/card 24M/supernode 64M)
LAYOUTS=(tp=8 tp=8,dp=2 tp=4 tp=2,dp=3 tp=8,dp=2)
snctl pool create shared --size=64M/node --supernode=b --user=root >/dev/null || bail "a region with a name"
declare -A ends
ids=()

# In the foreground, so that the seed says all.
new_job()
{
	local kind=${KINDS[RANDOM % 5]} layout=${LAYOUTS[RANDOM % 5]} seconds=$((1 + RANDOM % 4)) bytes=$((1 + RANDOM % 1000000)) who=submit mode=own id

	case $((RANDOM % 4)) in
	0) kind=name:shared layout=tp=4 mode=named ;;
	1) who=as_user ;;
	esac
	id=$($who --no-requeue --mem-per-cpu=10 "--parallel=$layout" "--pool=$kind" "$WORK/pub/soak" "$mode" "$bytes" "$seconds")
	[[ $id =~ ^[0-9]+$ ]] || { fail "sbatch --parallel=$layout --pool=$kind" "$id"; return; }
	ids+=("$id")
}

lose_slurmd()
{
	local name=${CL_NAME[RANDOM % CL_NODES]}

	[ "$CL_MODE" = netns ] || return 0
	node_word "$name" kill
	until_true 10 eval '! node_daemon "$name" >/dev/null'
	[ $((RANDOM % 2)) = 0 ] || inside "$name" sh -c '
		for d in /proc/[0-9]*; do
			[ "$(cat $d/comm)" != slurmstepd ] || kill -KILL "${d#/proc/}"
		done' 2>/dev/null
	node_word "$name" slurmd
	lost=$((lost + 1))
}

lost=0 killed=0 cancelled=0 most=0
while [ "${#ids[@]}" -lt "$JOBS" ] && [ "$TAP_FAILED" -lt 5 ]; do
	mapfile -t running < <(squeue -h -t running -o %i)
	now=$(for name in "${CL_NAME[@]}"; do regions "$name"; done | grep -c '^ ')
	[ "$now" -le "$most" ] || most=$now
	if [ "$(squeue -h -o %i | wc -l)" -lt 12 ]; then new_job; fi
	[ "${#running[@]}" -gt 0 ] || continue
	victim=${running[RANDOM % ${#running[@]}]}
	case $((RANDOM % 12)) in
	0) scancel "$victim" && cancelled=$((cancelled + 1)) ;;
	1 | 2) scancel -s KILL -f "$victim" && killed=$((killed + 1)) ;;
	3) [ $((RANDOM % 2)) = 0 ] || lose_slurmd ;;
	esac
done
queue_empty()
{
	[ -z "$(squeue -h -o %i)" ]
}
ok "the queue runs dry" until_true 240 queue_empty || diag "$(squeue | head)"
ok "all nodes are up" until_true 60 nodes_idle
diag "${#ids[@]} jobs, $cancelled cancelled, $killed killed, $lost slurmds lost, at most $most mounts at once"
if [ "$most" -gt 0 ]; then pass "regions were there"; else fail "regions were there"; fi
is "no job missed its region, or found another's" "$(cat "$WORK"/*.out "$WORK"/pub/*.out | grep -E 'LOST|STALE|SHORT|no region' | head -n 5)" ""
ok "the region with a name is deleted" snctl pool delete shared
for name in n003 n004; do
	last=$(submit -w "$name" --mem=10 --wrap=true)
	await "$last" COMPLETED >/dev/null
done
ok "no mount, region or record is left" until_true 60 none_left || diag "$(for name in "${CL_NAME[@]}"; do regions "$name"; done)"
ok "the whole pool is free" until_true 10 pool_full || diag "$(snctl show supernodes)"
is "no node is drained" "$(sinfo -h -t drain,drng,down -o %N)" ""
finish
