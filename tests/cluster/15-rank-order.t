#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ranks are in the layout's order however the step is started, on each Slurm by
# its own means: 24.11 as the step starts, later ones by srun itself or by the
# topology's own order. Where that cannot be, the tasks do not run.
. "$(dirname "$0")/lib.sh"
CL_NODES=32 CL_CARDS=2
start_cluster
VERSION=$(slurm_version_of "$SN_SLURM_PREFIX/sbin/slurmctld")

is_at_least() # 26.05
{
	[ "$(printf '%s\n' "$1" "$VERSION" | sort -V | head -n 1)" = "$1" ]
}

ranks() # WHAT FILE LAYOUT
{
	ok "$1" "$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --cards "$CL_CARDS" \
		--parallel "$3" "$2"
}

cat >job.sh <<-'END'
	#!/bin/bash
	srun "$@" "$SN_TASK"
END
run() # WHAT LAYOUT SRUN-ARGUMENT…
{
	local what=$1 layout=$2 id
	shift 2

	id=$(submit -W "--parallel=$layout" job.sh "$@")
	id=${id##*$'\n'}
	LAST=$WORK/$id.out
	ranks "$what" "$LAST" "$layout"
}

# One card of each of these nodes is somebody else's.
hold() # COUNT NODES
{
	HOLDER=$(SN_STEP=no submit -N "$1" -w "$2" --ntasks-per-node=1 --gres=npu:1 "$TESTS/held.sh")
	ok "others hold cards of $1 nodes" await "$HOLDER" RUNNING
}

drop()
{
	release "$HOLDER"
	ok "they let go" await "$HOLDER" COMPLETED
}

each_way() # SUFFIX
{
	local layout=tp=8,dp=4

	run "plain srun$1" "$layout"
	run "srun with -N and -n$1" "$layout" -N16 -n32
	run "srun -m block$1" "$layout" -m block
	timeout 60 salloc -Q "--parallel=$layout" srun "$SN_TASK" >salloc.out 2>&1
	ranks "srun in salloc's shell$1" salloc.out "$layout"
	run "atoms that are not neighbours$1" tp=2,pp=4,dp=4,preset=vllm
	run "map=auto$1" tp=4,pp=4,dp=4,map=auto
	hold 6 "n[001,005,010,015,020,025]"
	run "uneven cards$1" tp=1,ep=13,dp=26
	drop
	# As torchrun is started; srun's default distribution is another one then.
	hold 32 "n[001-032]"
	run "one task a node$1" tp=8,dp=3
	drop
}

each_way ""
timeout 60 srun "--parallel=tp=8,dp=4" "$SN_TASK" >srun.out 2>&1
if is_at_least 26.05 || ! is_at_least 25.05; then
	ranks "a direct srun" srun.out tp=8,dp=4
else
	like "a direct srun does not run split" "$(cat srun.out)" 'would split the groups.*sbatch or salloc'
fi

# Whoever wants another order gets it.
id=$(submit -W --parallel=tp=8,dp=4 job.sh -m cyclic)
is "srun -m cyclic is what it says" "$(sed -n 's/^rank [01] node \([^ ]*\) .*/\1/p' "$WORK/$id.out" | sort -u | wc -l)" 2

if is_at_least 25.05; then
	# 25.x has no order but the node table's; 26.05 does so when told.
	if is_at_least 26.05; then
		sed -i 's/^\(SelectTypeParameters=.*\)/\1,CR_NO_DIST_TOPO_BLOCK/' "$CL_DIR/etc/slurm.conf"
		ok "a Slurm that goes by the node table" scontrol reconfigure
		until_true 30 nodes_idle
		each_way ", by the node table"
	fi
	mkdir bare && cp "$CL_DIR"/etc/* bare/ && sed -i /CliFilter/d bare/slurm.conf
	cat >bare.sh <<-'END'
		#!/bin/bash
		SLURM_CONF=bare/slurm.conf srun "$SN_TASK" && echo it ran
	END
	id=$(submit --parallel=tp=8,dp=4 bare.sh)
	ok "a job whose srun knows no cli_filter ends" await "$id" FAILED
	like "without cli_filter/supernode no task runs" "$(cat "$WORK/$id.out")" 'would split the groups.*CliFilterPlugins=supernode'
	is "not one" "$(grep -cE '^rank|it ran' "$WORK/$id.out")" 0
fi
finish
