#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The checkpoint protocol's presets: programs that save as Megatron, Lightning and
# MindIO do are asked in their way, none is killed before it was told, and
# preemption of a member with a GraceTime is heeded: all ranks save, and an exit with 0
# is not taken for the job's end.
. "$(dirname "$0")/lib.sh"
. "$TESTS/ckpt.sh"

# ---- Lightning: a signal of its own, and ranks that go on ----------------------------
id=$(begin lightning light 2)
ok "16 ranks as Lightning's" until_true 40 did light 0 start 16
advances() { [[ $(field "$id" progress) =~ ^[0-9]+$ ]]; }
ok "progress is known" until_true 20 advances
like "and what would be lost" "$(field "$id" since_safe)" '^[0-9.]+$'
is "no checkpoint yet" "$(field "$id" checkpoint_age)" None
ok "shrink" elastic shrink "$id"
ok "eight ranks start" until_true 40 did light 1 start 8
is "all were asked by SIGUSR1" "$(count light 0 usr1)" 16
is "saved" "$(count light 0 saved)" 16
is "and were told to end then" "$(count light 0 term)" 16
# In its first seconds a step is asked again each second.
is "in this order" "$(order light 0 | grep -vE '^start usr1( usr1)* saved( usr1| saved)* term( saved)?$')" ""
like "how long it takes is known" "$(field "$id" checkpoint_seconds)" '^([2-9]|1[0-9])\.'
is "the checkpoint counted" "$(grep -c 'no checkpoint was marked' "$id.out")" 0
ok "it ends" end "$id"

# ---- MindIO: no signal ---------------------------------------------------------------
id=$(begin mindio mind 3)
ok "16 ranks as MindIO's" until_true 40 did mind 0 start 16
ok "shrink" elastic shrink "$id"
ok "eight ranks start" until_true 40 did mind 1 start 8
is "all saved" "$(count mind 0 saved)" 16
is "and none had a signal" "$(count mind 0 term)" 0
is "the iteration is read" "$(field "$id" checkpoint_iteration)" "$(cat mind/latest_checkpointed_iteration.txt)"
# A rank fails: the others save by themselves, for longer than RestartWait.
: >mind/die.1
ok "a rank dies: ranks start again" until_true 40 did mind 2 start 8
is "those that were left saved" "$(count mind 1 saved)" 7
is "undisturbed" "$(count mind 1 term)" 0
ok "it ends" end "$id"

# ---- Megatron, preempted --------------------------------------------------------------
scontrol update PartitionName=main GraceTime=60
id=$(begin megatron mega 2)
ok "16 ranks as Megatron's" until_true 40 did mega 0 start 16
# No other member can start in its place.
rest=$(printf '%s\n' "${CL_NAME[@]}" | grep -vxF "$(squeue -h -t R -o %N)")
scontrol update NodeName="$(echo "$rest" | paste -sd,)" State=DRAIN Reason=test
node=$(squeue -h -o '%N %k' | awk '/supernode:member=/ { print $1; exit }')
high=$(submit -p high -w "$node" --exclusive --no-requeue --wrap='sleep 1')
ok "a member is preempted: it goes on with eight ranks" until_true 40 did mega 1 start 8
is "all were told" "$(count mega 0 term)" 16
is "and saved" "$(count mega 0 saved)" 16
is "the checkpoint counted" "$(grep -c 'no checkpoint was marked' "$id.out")" 0
is "the base was not taken" "$(state_of "$id")" RUNNING
ok "whoever preempts has the cards before the grace is over" await "$high" "RUNNING COMPLETED" 30
ok "and ends" await "$high" COMPLETED
ok "it ends" end "$id"

# ---- what is wrong is said --------------------------------------------------------------
refused() { id=$(submit --parallel=tp=8 --wrap="snrun --checkpoint=$1 true"); await "$id" FAILED >/dev/null; cat "$id.out"; }
like "a preset that is none" "$(refused megatrn:/x)" 'megatrn.* is no preset: want plain, megatron'
like "Megatron without a directory" "$(refused megatron)" 'want megatron:DIR, the directory of the program.s --save'
finish
