#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a task finds in its environment, against the formulas; and that salloc
# and a direct srun know the layout as sbatch does.
. "$(dirname "$0")/lib.sh"
CL_NODES=16
start_cluster

layout=tp=4,ep=8,etp=1,pp=2,dp=4
cat >env.sh <<'END'
#!/bin/sh
echo "env $SLURM_PROCID $RANK $WORLD_SIZE $LOCAL_RANK $SLURM_LOCALID $TP_RANK $DP_RANK $PP_RANK $EP_RANK $EDP_RANK $MASTER_ADDR $MASTER_PORT $SLURMD_NODENAME $LOCAL_WORLD_SIZE $SUPERNODE_NAME"
END
chmod +x env.sh
id=$(SN_TASK=$WORK/env.sh submit_held "--parallel=$layout")
ok "the job runs" await_ranks "$id"
release "$id"

# awk program over "env" lines: prints what is wrong
env_check()
{
	grep '^env ' "$WORK/$id.out" | awk "$1"
}
is "all 32 tasks report" "$(grep -c '^env ' "$WORK/$id.out")" 32
is "RANK is Slurm's rank, WORLD_SIZE is 32" "$(env_check '$3 != $2 || $4 != 32')" ""
is "LOCAL_RANK is Slurm's" "$(env_check '$5 != $6')" ""
is "TP_RANK, DP_RANK, PP_RANK: rank = tp + 4*(dp + 4*pp)" \
	"$(env_check '$2 != $7 + 4 * ($8 + 4 * $9)')" ""
is "EP_RANK, EDP_RANK: rank = ep + 8*(edp + 2*pp)" "$(env_check '$2 != $10 + 8 * ($11 + 2 * $9)')" ""
is "MASTER_ADDR is the node of rank 0, the same for all" \
	"$(env_check '$2 == 0 { print $14 }')" "$(env_check '{ print $12 }' | sort -u)"
like "MASTER_PORT is one port" "$(env_check '{ print $13 }' | sort -u | tr '\n' ' ')" '^[0-9]+ $'
is "LOCAL_WORLD_SIZE is what runs on the node" \
	"$(env_check '{ n[$14]++; s[$14] = $15 } END { for (i in n) if (n[i] != s[i]) print i, n[i], s[i] }')" ""
is "SUPERNODE_NAME is topology.conf's" \
	"$(env_check '{ printf "rank %d node %s card %d supernode %s\n", $2, $14, $6, $16 }' |
		"$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --parallel $layout | grep -c wrong)" 0

# rank 0's node can be reached under that name from the others
if [ "$CL_MODE" = netns ]; then
	ok "the name of a node means its address on another" \
		srun -N1 -w n002 getent hosts n001
fi

srun --parallel=tp=2,dp=3 "$TESTS/task.sh" >direct.out 2>&1
ok "a direct srun: six ranks, whole" "$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --parallel tp=2,dp=3 direct.out
salloc -Q --parallel=tp=8,ep=16,etp=1,dp=4 srun "$TESTS/task.sh" >salloc.out 2>&1
ok "srun in salloc: 32 ranks, whole" "$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --parallel tp=8,ep=16,etp=1,dp=4 salloc.out
printf '#!/bin/bash\n#SBATCH --parallel=tp=2,dp=5\nsrun --label "$SN_TASK"\n' >opt.sh
id=$(submit opt.sh)
ok "#SBATCH --parallel is taken" await "$id" COMPLETED
ok "ten ranks, whole" check_ranks "$id" tp=2,dp=5
finish
