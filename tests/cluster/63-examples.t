#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# contrib/examples, each submitted as a user would. What an example needs and is
# not here is named where it is skipped.
. "$(dirname "$0")/lib.sh"
CL_NODES=4 CL_PER=2 CL_PODS=1 CL_UNIT=0
start_cluster
cp "$SN_SRCDIR"/contrib/examples/* . || bail "the examples are there"

# An inventory of the fake cards, as a site would have it.
inventory()
{
	local name i=0 card

	printf '{"nodes": {'
	for name in "${CL_NAME[@]}"; do
		[ $i = 0 ] || printf ', '
		printf '"%s": {"server_id": "10.0.0.%d", "cards": [' "$name" $((++i))
		for ((card = 0; card < CL_CARDS; card++)); do
			[ $card = 0 ] || printf ', '
			printf '{"device_id": %d, "device_ip": "10.1.%d.%d", "super_device_id": %d}' \
				$card $i $((card + 1)) $((i << 22 | card << 18))
		done
		printf ']}'
	done
	printf '}}\n'
}
inventory >inventory.json
printf '%s\n' CardGres=npu "JobDir=$WORK/jobs/%j" RankTable=1.2 "Inventory=$WORK/inventory.json" >"$CL_DIR/etc/supernode.conf"

has_module()
{
	/usr/bin/python3 -c 'import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)' "$1" 2>/dev/null
}

run_example() # NAME LIMIT SBATCH-ARGUMENT…: OUT is what it printed
{
	local name=$1 limit=$2 id

	id=$(submit "${@:3}" "$name.sbatch")
	OUT=
	ok "$name.sbatch runs" await "$id" COMPLETED "$limit" || diag "$(tail -n 20 "$id.out")"
	OUT=$(cat "$id.out")
}

what="hccl.sbatch"
if has_module json; then
	run_example hccl 60
	is "every rank finds itself in the rank table" "$(printf '%s\n' "$OUT" | grep -c '^hccl: rank [0-9]* of 16 is device [0-7] of 10.0.0.[0-9] at 10.1.[0-9.]*, in a table of version 1.2$')" 16
	# A table that is not this job's is noticed.
	sed 's/^snrun .*/export SUPERNODE_JOB_DIR=$PWD\/odd RANK_TABLE_FILE=$PWD\/odd.json\n&/' hccl.sbatch >odd.sbatch
	sed 's/"device_id": *"0"/"device_id":"7"/' jobs/*/ranktable.json >odd.json
	id=$(submit odd.sbatch)
	ok "a table with other devices fails the job" await "$id" FAILED
	like "with a sentence" "$(cat "$id.out")" 'rank [0-9]+: (the table gives it device|two ranks have the same)'
else
	skip "$what" "python3 (the whole of it, not python3-minimal) is not installed"
fi

what="torch.sbatch"
if has_module torch; then
	run_example torch 240 -N 2
	like "every sum over TP and DP is right" "$OUT" '^torch: 8 ranks, 3 steps over 4 TP groups of 2 and 4 DP groups of 2: every sum is right'
else
	skip "$what" "python3-torch is not installed"
fi

what="mpi.sbatch"
# MPI spins where it waits: with fewer CPUs than ranks its end may take minutes.
if [ "$(nproc)" -lt 4 ]; then
	layout=tp=1,dp=2 ranks='2 ranks, tp 1 cp 1 dp 2'
else
	layout=tp=2,dp=2 ranks='4 ranks, tp 2 cp 1 dp 2'
fi
if [ "$(nproc)" -lt 2 ]; then
	skip "$what" "two ranks want two CPUs, and this machine has $(nproc)"
elif command -v mpicc.mpich >/dev/null; then
	ok "mpicc.mpich compiles it" mpicc.mpich -o mpi_groups mpi_groups.c
	# Nodes of this cluster are one machine, which UCX must not notice.
	export UCX_TLS=tcp,self
	run_example mpi 120 "--parallel=$layout" -N 2
	like "MPI's ranks are ours, every sum is right" "$OUT" "^mpi: $ranks pp 1: every sum is right\$"
else
	skip "$what" "mpich and libmpich-dev are not installed"
fi
finish
