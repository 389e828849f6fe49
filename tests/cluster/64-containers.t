#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ranks in containers see the job's directory: what spank_supernode tells pyxis and
# apptainer, in a stand-in for both.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
pool_cluster

runtime=$SN_SRCDIR/tests/containers/runtime
mkdir -p sys/hooks.d job extra tmp
cp "$SN_SRCDIR/contrib/containers/50-supernode.sh" sys/hooks.d/
echo "made by snrun" >job/layout.json
echo "a table" >job/ranktable.json
echo "the user's own" >extra/file
export SUPERNODE_JOB_DIR=$WORK/job RANK_TABLE_FILE=$WORK/job/ranktable.json TMPDIR=$WORK/tmp
export ENROOT_SYSCONF_PATH=$WORK/sys

# COMMAND in the runtime, four ranks on two nodes.
contained()
{
	srun -N2 --parallel=tp=2,dp=2 "$runtime" "$@" 2>&1
}
look='cat $SUPERNODE_JOB_DIR/layout.json $RANK_TABLE_FILE; [ ! -e '"$WORK/extra"' ] || echo extra'
want=$(for i in 1 2 3 4; do echo "a table"; done; for i in 1 2 3 4; do echo "made by snrun"; done)

is "pyxis: each rank reads the directory and the table" "$(contained pyxis sh -c "$look" | sort)" "$want"
is "apptainer: the same" "$(contained apptainer sh -c "$look" | sort)" "$want"
is "apptainer: what the user binds stays" \
	"$(APPTAINER_BIND=$WORK/extra:/mine contained apptainer sh -c 'cat /mine/file $SUPERNODE_JOB_DIR/layout.json' | sort -u)" \
	"made by snrun
the user's own"
is "singularity is told the same" "$(srun -N1 --parallel=tp=1 sh -c '[ "$SINGULARITY_BIND" = "$APPTAINER_BIND" ] && echo "$SINGULARITY_BIND"' 2>&1)" \
	"$WORK/job,$WORK/job/ranktable.json"
is "apptainer's own variable is not doubled for singularity" \
	"$(APPTAINER_BIND=/mine srun -N1 --parallel=tp=1 sh -c 'echo "${SINGULARITY_BIND-none}"' 2>&1)" none
is "what an outer step has listed is not listed twice" \
	"$(APPTAINER_BIND=$WORK/job,/mine srun -N1 --parallel=tp=1 sh -c 'echo "$APPTAINER_BIND"' 2>&1)" \
	"$WORK/job,/mine,$WORK/job/ranktable.json"

# A directory that is not there must not end an apptainer run.
is "a directory that is not there is left out" \
	"$(SUPERNODE_JOB_DIR=$WORK/nowhere contained apptainer sh -c 'echo ran' | sort -u)" ran
mkdir "odd dir"
like "one that no list can hold is told of" \
	"$(SUPERNODE_JOB_DIR="$WORK/odd dir" contained apptainer sh -c 'echo ran')" "odd dir cannot be named to a container runtime"
unset SUPERNODE_JOB_DIR RANK_TABLE_FILE

# The pool's region, and the files of snrun.
for mode in pyxis apptainer; do
	is "$mode: the pool is inside, and is the same for both ranks of a node" \
		"$(srun -N2 --pool=8M/node --parallel=tp=2,dp=2 "$runtime" $mode sh -c '
			echo x >$SUPERNODE_POOL_DIR/$SLURM_PROCID; i=0
			while [ $(ls $SUPERNODE_POOL_DIR | wc -l) -lt 2 ] && [ $i -lt 100 ]; do i=$((i + 1)); sleep 0.1; done
			ls $SUPERNODE_POOL_DIR | wc -l' 2>&1 | sort | uniq -c | tr -s ' ')" " 4 2"
done
printf '%s\n' "JobDir=$WORK/dir/%j" >>"$CL_DIR/etc/supernode.conf"
for mode in pyxis apptainer; do
	is "snrun, $mode: its files are inside, where SUPERNODE_JOB_DIR says" \
		"$(salloc -Q -N2 --parallel=tp=2,dp=2 snrun "$runtime" $mode sh -c \
			'cat $SUPERNODE_JOB_DIR/hostfile | wc -l; grep -c dp_intra $SUPERNODE_JOB_DIR/groups.json' 2>&1 | sort | uniq -c | tr -s ' ')" " 4 1
 4 4"
done
is "a step that is none of ours is left alone" "$(srun -N1 sh -c 'echo "${APPTAINER_BIND-none} ${SLURM_JOB_SUPERNODE_MOUNTS-none}"')" "none none"
finish
