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

# Where two NUMA nodes have devices on the PCI bus, these say where cards are: cards 0
# and 1 near the second node, 2 and 3 near the first, which is not the order of slices.
# With 4 CPUs in all a job of 4 ranks has CPUs of both.
near() # NUMA-NODE: two PCI devices, no bridges
{
	local dir
	for dir in /sys/bus/pci/devices/*; do
		[ "$(cat "$dir/numa_node")" != "$1" ] || grep -q ^0x06 "$dir/class" || echo "${dir##*/}"
	done 2>/dev/null | head -n 2
}
pci=$(echo $(near 1) $(near 0))
numa=no
[ "$(wc -w <<<"$pci")" != 4 ] || [ "$cpus" != 4 ] || numa=yes
[ $numa = no ] || CL_POLICY="CardPci=\"$pci\""
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
text+=" memory $(sed -n '1{s/ (many)//;s/^[^ ]* \([^ ]*\).*/\1/p}' /proc/self/numa_maps)"
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
# The other way round than the suite would have it.
read -r one other <<<"$(of slices bound)"
one=${one%%[-,]*} other=${other%%[-,]*}
SUPERNODE_BIND=none look masked --parallel=tp=2 --cpu-bind="map_cpu:$other,$one"
SUPERNODE_BIND=slices look crossed --parallel=tp=2 --cpu-bind="map_cpu:$other,$one"
is "Slurm binds each to the other's CPU" "$(of masked allowed)" "$other $one "
is "and its own binding is never widened" "$(of crossed allowed)" "$other $one "
if [ "$(of slices bound)" = "$one $other " ]; then
	like "nor is a rank left without a CPU: it says so" "$(cat crossed.err)" "Slurm has bound them to other CPUs than those near their cards \((to $other, not $one|to $one, not $other)\)"
	is "once" "$(grep -c 'not bound' crossed.err)" 1
fi

# The CPUs of FILE's rank that are not in a list such as 0-1,4.
cpus_of()
{
	tr , '\n' | while IFS=- read -r lo hi; do
		seq "$lo" "${hi:-$lo}"
	done
}
outside() # FILE RANK LIST
{
	local own
	own=$(sed -n "s/^rank $2 .* allowed \([^ ]*\) .*/\1/p" "$1")
	[ -n "$own" ] || echo unknown
	cpus_of <<<"$own" | grep -vxFf <(cpus_of <<<"$3") | tr '\n' ' '
}
if [ $numa = yes ]; then
	mapfile -t list < <(cat /sys/devices/system/node/node[01]/cpulist)
	SUPERNODE_BIND=locality look local --parallel=tp=4
	diag "$(cat local)"
	for rank in 0 1 2 3; do
		node=$((1 - rank / 2))
		is "rank $rank is bound to CPUs near its card" "$(outside local "$rank" "${list[node]}")" ""
		like "and prefers the memory there" "$(grep "^rank $rank" local)" "memory prefer[^ ]*:$node "
	done
	is "each to CPUs of its own" "$(of local allowed | tr ' ' '\n' | sort | uniq -d | grep .)" ""
fi
finish
