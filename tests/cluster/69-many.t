#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 4,096 ranks on 32 slurmds: snrun starts each where the layout wants it, all of them
# again when the last has failed, and leaves nothing. It takes a minute or two. As no
# node of a --parallel job has more than 64 cards, the layout is given to snrun.
. "$(dirname "$0")/lib.sh"
CL_NODES=32 CL_CARDS=128 CL_HARDWARE="Sockets=2 CoresPerSocket=64 ThreadsPerCore=1"
start_cluster
echo "JobDir=$WORK/jobs/%j" >>"$CL_DIR/etc/supernode.conf"
layout=tp=8,ep=64,etp=1,pp=8,dp=64
export WORK layout

cat >rank.sh <<'END'
#!/bin/sh
echo "$SUPERNODE_GENERATION rank $SLURM_PROCID node $SLURMD_NODENAME card $ASCEND_RT_VISIBLE_DEVICES supernode $SUPERNODE_NAME"
[ "$SUPERNODE_GENERATION" = 0 ] || exit 0
[ "$SLURM_PROCID" = 4095 ] || exec sleep 603
until [ -e "$WORK/all" ]; do sleep 0.2; done
exit 9
END
cat >job.sh <<'END'
#!/bin/bash
cd "$WORK"
snrun "--parallel=$layout" --max-restarts 1 ./rank.sh >ranks 2>said
echo $? >rc
for ((i = 0; i < 300; i++)); do squeue -h -s -j "$SLURM_JOB_ID" -o %i | grep -v batch >steps.left || break; sleep 0.1; done
: >ended
END
chmod +x rank.sh

said_by() # GENERATION: what its ranks say
{
	sed -n "s/^$1 rank/rank/p" ranks 2>/dev/null
}
all_said()
{
	[ "$(said_by "$1" | wc -l)" = 4096 ]
}
ms()
{
	echo $((${EPOCHREALTIME/[.,]/} / 1000))
}
no_sleepers()
{
	! pgrep -f '^sleep 603$' >/dev/null
}

begin=$(ms)
id=$(submit -N32 --ntasks-per-node=128 --gres=npu:128 job.sh)
ok "a job of 32 nodes runs" await "$id" RUNNING || bail "and so the rest" "$id"
ok "4,096 ranks start" until_true 300 all_said 0 || bail "and so the rest" "$(state_of "$id") $(tail -n 5 said "$id.out" 2>&1)"
diag "the last rank ran $(($(ms) - begin)) ms after sbatch"
said_by 0 >first
ok "every group is whole" "$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --cards $CL_CARDS --parallel $layout first
begin=$(ms)
: >all
ok "one fails: snrun comes to its end" until_true 300 test -s rc
diag "all ranks were ended, started again and done in $(($(ms) - begin)) ms"
is "which is the ranks'" "$(cat rc)" 0
is "it says which failed, and that it starts again" "$(grep -c -e '^snrun: generation 0: rank 4095 failed with exit code 9$' -e '^snrun: generation 1 starts, restart 1 of at most 1; 0 spares left$' said)" 2
said_by 1 >second
ok "every group is whole again" "$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --cards $CL_CARDS --parallel $layout second
is "each rank is where it was" "$(sort second | cksum)" "$(sort first | cksum)"
ok "snrun's job is at its end" until_true 60 test -e ended
is "no step is left" "$(cat steps.left)" ""
ok "nor a rank" until_true 30 no_sleepers
ok "the job ends" await "$id" COMPLETED
finish
