#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The ways into the cluster: sbatch in its forms, salloc, a direct srun, shells
# with a terminal, --test-only. The same layout comes out whole of each.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/where.sh"
CL_NODES=8 CL_PER=4 CL_PODS=0 CL_UNIT=0
start_cluster

checked() # WHAT LAYOUT FILE
{
	ok "$1" "$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --cards "$CL_CARDS" --parallel "$2" "$3"
}

ends() # WHAT JOB LAYOUT
{
	ok "$1 runs to its end" await "$2" "COMPLETED FAILED CANCELLED" && checked "$1 is whole" "$3" "$WORK/$2.out"
}

layout=tp=4,ep=8,etp=1,dp=4

# ---- sbatch
id=$(submit --parallel=$layout --wrap "srun $SN_TASK")
ends "--wrap" "$id" $layout
printf '#!/bin/bash\n#SBATCH --parallel=%s\n#SBATCH -J named\nsrun "$SN_TASK"\n' $layout >lines.sh
id=$(submit lines.sh)
ends "#SBATCH --parallel" "$id" $layout
id=$(submit --parallel=tp=2,dp=3 lines.sh)
ends "the command line wins over #SBATCH" "$id" tp=2,dp=3
printf '#!/bin/bash\nsrun "$SN_TASK"\n' >plain.sh
id=$(submit --parallel $layout plain.sh)
ends "the value as a word of its own" "$id" $layout
id=$(submit --parallel=$layout -n16 --gres=npu:8 plain.sh)
ends "-n and --gres that agree" "$id" $layout
id=$(submit --parallel=$layout -n16 -N2 plain.sh)
ends "-n and -N that agree" "$id" $layout
like "the script sees no node count of its own making" "$(scontrol show job "$id" | tr '\n' ' ')" 'NumNodes=2 .*NumTasks=16 '
id=$(submit --parallel=$layout <plain.sh)
ends "a script from standard input" "$id" $layout
# Two steps, and one that is a part.
printf '#!/bin/bash\nsrun "$SN_TASK" >"$1.first"\nsrun "$SN_TASK" >"$1.second"\nsrun -n1 -N1 "$SN_TASK" >"$1.part"\n' >steps.sh
id=$(submit --parallel=$layout steps.sh "$WORK/steps")
ok "three steps run" await "$id" COMPLETED
checked "the first is whole" $layout steps.first
checked "and the second" $layout steps.second
is "a step of one task has one" "$(grep -c '^rank 0 ' steps.part)" 1
is "no two ranks shared a card" "$(cat ./*.out steps.* | grep -c DOUBLE)" 0

# ---- --test-only
text=$(sbatch --test-only --parallel=$layout plain.sh 2>&1)
like "--test-only says when and where" "$text" 'to start at .* using 16 processors on nodes'
text=$(sbatch --test-only --parallel=tp=4,dp=64 plain.sh 2>&1)
is "--test-only of what can never fit fails" $? 1
like "with the arithmetic" "$text" 'can never fit'
is "and leaves nothing in the queue" "$(squeue -h -o %i)" ""

# ---- salloc and srun
salloc -Q --parallel=$layout srun "$SN_TASK" >salloc.txt 2>&1
checked "srun in salloc" $layout salloc.txt
salloc -Q --parallel=$layout bash -c 'srun -n2 hostname; srun "$SN_TASK"' >salloc2.txt 2>&1
checked "and after another step" $layout salloc2.txt
is "which was of two tasks" "$(grep -c '^n00' salloc2.txt)" 2
srun --parallel=$layout "$SN_TASK" >srun.txt 2>&1
checked "a direct srun" $layout srun.txt
srun -N4 --parallel=$layout "$SN_TASK" >srun4.txt 2>&1
checked "a direct srun -N4" $layout srun4.txt
is "on four nodes" "$(awk '/^rank/ { print $4 }' srun4.txt | sort -u | wc -l)" 4
text=$(srun --parallel=tp=4,dp=64 true 2>&1)
is "srun of what can never fit fails" $? 1
like "with the arithmetic" "$text" 'can never fit'
text=$(salloc --parallel=tp=4,dp=2 -n7 true 2>&1)
is "salloc -n that contradicts fails" $? 1
like "with the arithmetic" "$text" '-n 7 contradicts --parallel.*8 ranks'
text=$(srun --parallel=tp=4,dp=2,zp=3 true 2>&1)
like "an unknown axis is refused at the prompt" "$text" 'zp'
srun --parallel=$layout --immediate=60 "$SN_TASK" >now.txt 2>&1
checked "srun --immediate" $layout now.txt

# ---- shells
printf 'echo tty $(tty)\nsrun "$SN_TASK"\nexit\n' >shell.in
if command -v script >/dev/null; then
	# A shell on a node, as users get one: with a terminal, and steps within. The
	# terminal may echo the end of script's own input, as ^@ or ^D.
	shown() { tr -d '\r\0' <"$1" | sed 's/\^[@D]//g' | paste -sd' '; }
	timeout 60 script -qec "salloc -Q --parallel=$layout srun --pty -n1 -N1 --overlap --gres=none bash -c 'tty; echo on \$SLURMD_NODENAME'" /dev/null >pty.txt 2>&1 </dev/null
	like "srun --pty in salloc has a terminal on a node" "$(shown pty.txt)" '/dev/pts/[0-9]+ on n00'
	timeout 60 script -qec "srun --parallel=tp=1 --pty bash -c 'tty; \$SN_TASK'" /dev/null >pty1.txt 2>&1 </dev/null
	like "srun --pty of one rank has its card" "$(shown pty1.txt)" '/dev/pts/[0-9]+ rank 0 node n00. card [0-7] '
fi
salloc -Q --parallel=$layout bash <shell.in >shell.txt 2>&1
checked "a shell that salloc starts" $layout shell.txt
# With LaunchParameters=use_interactive_step the shell runs on the first node.
sed -i '$a LaunchParameters=use_interactive_step' "$CL_DIR/etc/slurm.conf"
ok "reconfigure" scontrol reconfigure
# Also the slurmds start anew, and not all at once.
ok "steps start again" until_true 60 srun -Q -N8 -n8 --immediate=20 true
# That step is "srun --pty $SHELL", and what runs tests may have no SHELL.
SHELL=$(command -v bash) salloc -Q --parallel=$layout <shell.in >inter.out 2>&1
checked "srun in an interactive step" $layout inter.out

# An srun in a job without --parallel asks for nothing of ours, nor does the
# option inside an allocation.
id=$(submit -N2 -n4 --gres=npu:2 plain.sh)
ok "a plain job runs" await "$id" COMPLETED
is "with its four tasks" "$(grep -c '^rank' "$WORK/$id.out")" 4
finish
