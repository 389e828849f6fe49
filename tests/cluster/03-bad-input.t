#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever users type, the submission is refused with a sentence, and slurmctld
# is the same process afterwards.
. "$(dirname "$0")/lib.sh"
CL_NODES=16
start_cluster
before=$(ctld_pid)

refused() # WHAT REGEX ARGUMENT…
{
	local what=$1 regex=$2 text
	shift 2

	if text=$(timeout 60 sbatch --parsable "$@" "$TESTS/held.sh" 2>&1); then
		fail "$what is refused" "it was accepted: $text"
		scancel "${text##*$'\n'}" 2>/dev/null
		return
	fi
	like "$what is refused, with the reason" "$text" "$regex"
}

refused "an empty layout" 'parallel' --parallel=
refused "an unknown axis" 'xp' --parallel=tp=8,xp=2
refused "an axis twice" 'tp' --parallel=tp=8,tp=8
refused "size 0" 'tp.*0' --parallel=tp=0
refused "a negative size" 'dp.*-4' --parallel=tp=2,dp=-4
refused "a huge size" '2147483648' --parallel=tp=2147483648
refused "an overflow" 'parallel' --parallel=tp=65536,dp=65536,pp=65536
refused "no number" 'eight' --parallel=tp=eight
refused "spaces" 'parallel' '--parallel=tp=8, dp = 2'
refused "tp and ep without etp" 'etp=1' --parallel=tp=8,ep=32,pp=2,dp=8
refused "tp and ep without etp (Megatron's default is named)" 'etp=8|etp=tp' --parallel=tp=8,ep=32,pp=2,dp=8
refused "an expert grid larger than the world" 'etp=(1|2)' --parallel=tp=4,pp=2,dp=4,ep=8,etp=4
refused "a world that ep does not divide" 'ep' --parallel=tp=1,ep=3,etp=1,dp=8
refused "a bad order" 'order' --parallel=tp=2,dp=2,order=dp-tp
refused "binary" 'parallel' $'--parallel=tp=\001\377'
refused "100 kB" 'parallel' "--parallel=$(printf 'tp=8,%.0s' {1..20000})"
refused "an atom larger than a supernode" '128.*64|64.*128' --parallel=tp=8,ep=128,etp=1,dp=16
refused "more cards than there are" '.' --parallel=tp=8,dp=1000
refused "-N against the layout" '16' -N 3 "--parallel=$HEADLINE"
refused "-n against the layout" '128' -n 7 "--parallel=$HEADLINE"
refused "counted features" 'parallel|feature' -C '[a*1&b*1]' "--parallel=$HEADLINE"
refused "a bad pool" 'pool' --pool=5X "--parallel=$HEADLINE"
refused "bad spares" 'spares' --spares=-1 "--parallel=$HEADLINE"
refused "elastic without a layout" 'elastic' --elastic=min_dp=1
like "srun refuses too" "$(timeout 60 srun --parallel=tp=0 true 2>&1)" 'tp.*0'
like "salloc refuses too" "$(timeout 60 salloc --parallel=tp=0 true 2>&1)" 'tp.*0'
printf '#!/bin/bash\n#SBATCH --parallel=tp=0\ntrue\n' >bad.sh
like "so does #SBATCH" "$(timeout 60 sbatch bad.sh 2>&1)" 'tp.*0'

is "slurmctld is the same process" "$(ctld_pid)" "$before"
is "nothing was left in the queue" "$(squeue -h | wc -l)" 0
id=$(submit_held --parallel=tp=8,dp=2)
ok "and a good job runs" await_ranks "$id"
ok "as it should" check_ranks "$id" tp=8,dp=2
release "$id"
finish
