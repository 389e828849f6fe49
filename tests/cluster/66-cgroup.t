#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Under real cgroup v2 with ConstrainDevices: a rank opens its own card and no
# other's, and is bound within what its job may use.
#
# Slurm's cgroup/v2 has to be there (it is built where libdbus's headers are), and
# no controller mounted under v1 beside it. SN_CGROUP_V2=FILE names another build of
# it that takes such a machine; v2 has no cpuset there, so that it confines devices
# only, and task/affinity the CPUs.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip_all "a private cluster needs root"
at=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
[ -n "$at" ] || skip_all "no cgroup2 is mounted"
probe=$at/sn-probe-$$
mkdir "$probe" 2>/dev/null && rmdir "$probe" || skip_all "$at is not writable"
[ -n "${SN_CGROUP_V2:-}" ] || [ "$(wc -l </proc/self/cgroup)" = 1 ] ||
	skip_all "this machine has controllers under cgroup v1 too, with which Slurm's cgroup/v2 refuses to run"
: "${SN_CGROUP_V2:=$(slurm_plugins_of "${SN_SLURM_PREFIX:-/}")/cgroup_v2.so}"
[ -f "$SN_CGROUP_V2" ] || skip_all "this Slurm has no cgroup/v2 (it was built without libdbus)"

cpuset=no
grep -qw cpuset "$at/cgroup.controllers" && cpuset=yes
cpus=$(nproc)
[ "$cpus" -ge 2 ] || skip_all "one CPU is not enough to divide"
CL_NODES=2 CL_PER=2 CL_PODS=0 CL_UNIT=0 CL_CARDS=4 CL_NET=netns SN_NET=netns
CL_HARDWARE="CPUs=$cpus" CL_CGROUP2=$at CL_CARD_MAJOR=240
CL_CGROUP="CgroupPlugin=cgroup/v2
CgroupMountpoint=$at
IgnoreSystemd=yes
EnableControllers=yes
ConstrainDevices=yes
ConstrainCores=$cpuset"
CL_EXTRA="ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup,task/affinity
TaskPluginParam=None"
eval "$(declare -f collect_plugins | sed 's/^collect_plugins/collect_ours/')"
collect_plugins() # DIR
{
	collect_ours "$1" && ln -sf "$SN_CGROUP_V2" "$1/cgroup_v2.so"
}
LOG_ALLOW='specified more than once'
start_cluster

cat >look.sh <<'END2'
#!/bin/bash
# A card that is no real one is "No such device" to those who may open it.
text="rank $SLURM_PROCID cards $SUPERNODE_CARDS bound ${SUPERNODE_CPUS:--}"
text+=" allowed $(sed -n 's/^Cpus_allowed_list:\s*//p' /proc/self/status) open"
for card in 0 1 2 3; do
	why=$( { : <"/dev/davinci$card"; } 2>&1)
	case $why in *"not permitted"*) ;; *) text+=" $card" ;; esac
done
: <>/dev/null && text+=" and null"
echo "$text cgroup $(cut -d: -f3 /proc/self/cgroup | tail -n 1)"
END2
chmod +x look.sh
look() # FILE SRUN-ARGUMENT…
{
	local file=$1
	shift
	srun "$@" "$WORK/look.sh" 2>"$file.err" | sort >"$file"
}
# of FILE WORD: what each rank says behind WORD
of()
{
	sed -n "s/.* $2 \(.*\)/\1/p" "$1" | cut -d' ' -f1 | tr '\n' ' '
}

look two --parallel=tp=2
like "the ranks are in cgroups of their step" "$(cat two)" "^rank 1 .* cgroup /.*step_0"
is "each has a card" "$(of two cards)" "0 1 "
like "and opens its own" "$(grep '^rank 1' two)" "open.* 1"
is "the cards that the job has not are denied to both" "$(grep -cE 'open.* (2|3) .*and null' two)" 0
is "/dev/null is not" "$(grep -c 'and null' two)" 2
diag "$(cat two)"

look shared --parallel=tp=2 --gres-flags=allow-task-sharing
is "with allow-task-sharing each opens both" "$(sed 's/.*open \(.*\) and null.*/\1/' shared | tr '\n' ,)" "0 1,0 1,"
is "and knows its own" "$(of shared cards)" "0 1 "

# Another job's card.
id=$(submit --parallel=tp=1 -w n001 --wrap "srun sleep 600")
ok "another job has card 0" await "$id" RUNNING
until_true 30 test -n "$(squeue -h -s -j "$id" -o %i)"
look rest --parallel=tp=1 -w n001
is "a rank opens card 1 only" "$(sed 's/.*open \(.*\) and null.*/\1/' rest)" 1
is "and knows it" "$(of rest cards)" "1 "
SUPERNODE_BIND=slices look part --parallel=tp=1 -w n001
is "it is bound within what its job may use" "$(of part allowed)" "$(of part bound)"
is "which are the CPUs that Slurm gave it" "$(of part bound)" "$(of rest allowed)"
scancel "$id"
until_true 30 state_is "$id" CANCELLED

SUPERNODE_BIND=slices look slices --parallel=tp=2
is "bound: each where SUPERNODE_CPUS says" "$(of slices allowed)" "$(of slices bound)"
is "on CPUs of its own" "$(of slices bound | tr ' ' '\n' | sort | uniq -d | grep .)" ""
SUPERNODE_BIND=none look masked --parallel=tp=2 --cpu-bind=map_cpu:1,0
SUPERNODE_BIND=slices look crossed --parallel=tp=2 --cpu-bind=map_cpu:1,0
is "Slurm's own binding is never widened" "$(of crossed allowed)" "$(of masked allowed)"
if [ "$cpus" -le 3 ]; then
	like "nor is a rank left without a CPU: it says so" "$(cat crossed.err)" "Slurm has bound them to other CPUs than those near their cards \((to 1, not 0|to 0, not 1)\)"
	is "once" "$(grep -c 'not bound' crossed.err)" 1
fi
finish
