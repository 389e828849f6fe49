#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Regions of the pool: their size, whose they are, that they end with their jobs
# however those end, and regions with names, which do not.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
pool_cluster

job() # NAME: a script of that name from standard input
{
	{ echo '#!/bin/bash'; cat; } >"$WORK/pub/$1"
	chmod 755 "$WORK/pub/$1"
}

# ---- size, and whose it is -------------------------------------------------------

job size <<'END'
echo "bytes $SUPERNODE_POOL_BYTES var ${ASCEND_MEMORY_POOL-unset}"
stat -c 'root %U %a' "$SUPERNODE_POOL_DIR"
head -c 16777216 /dev/zero >"$SUPERNODE_POOL_DIR/full" && echo fits
{ echo more >>"$SUPERNODE_POOL_DIR/full"; } 2>&1
{ echo x >"$SUPERNODE_POOL_DIR/../intruder"; } 2>&1
until [ -e "$1" ]; do sleep 0.1; done
END
job peep <<'END'
ls "$1" && echo seen
echo "mine ${SUPERNODE_POOL_DIR-none}"
END
id=$(as_user --parallel=tp=8,dp=2 --pool=32M "$WORK/pub/size" "$WORK/pub/go1")
ok "a job of a user's runs" await "$id" RUNNING || bail "and so the rest" "$id"
ok "and has its region" until_true 30 grep -q ermission "$WORK/pub/$id.out"
text=$(out "$id")
like "each of two nodes gets half of 32M, and the variables" "$text" '^bytes 16777216 var 1$'
like "it is the user's alone" "$text" "^root $USER2 700\$"
like "it holds 16M" "$text" '^fits$'
like "and not a byte more" "$text" 'No space left'
like "no user writes beside it" "$text" 'ermission denied'
is "the pool has so much less" "$(free_of a)" "992M"
like "jobs hold it" "$(snctl show pool --json)" '"supernode":"a","size":"1G","jobs_hold":"32M","names_hold":0,"free":"992M","jobs":1,"names":0'
like "the memory of a rank has its share: 10 MB and 2 MB" "$(scontrol show job "$id")" 'MinMemoryCPU=12M'
other=$(as_user --uid=bin -w n001 --mem=10 "$WORK/pub/peep" "$POOL/n001/job-$id")
ok "another user looks" await "$other" "COMPLETED FAILED"
like "and is not let in" "$(out "$other")" 'ermission denied'
like "and has none without --pool" "$(out "$other")" '^mine none$'
: >"$WORK/pub/go1"
ok "it ends" await "$id" COMPLETED
ok "and so do its regions" until_true 20 none_left
ok "the pool is whole again" until_true 10 pool_full

# ---- steps -----------------------------------------------------------------------

job steps <<'END'
srun bash -c '[ "$SLURM_LOCALID" != 0 ] || echo "$SLURMD_NODENAME" >"$SUPERNODE_POOL_DIR/who"'
srun bash -c '[ "$SLURM_LOCALID" != 0 ] || echo "at $SLURMD_NODENAME $(cat "$SUPERNODE_POOL_DIR/who") $SUPERNODE_POOL_DIR"'
echo "asked ${SLURM_MEM_PER_CPU-} ${SLURM_MEM_PER_NODE-}"
until [ -e "$1" ]; do sleep 0.1; done
END
id=$(submit --parallel=tp=8,dp=2 --pool=16M/node --mem=100 "$WORK/pub/steps" "$WORK/go2")
ok "two steps share a region" until_true 30 grep -q '^asked' "$WORK/$id.out"
is "of their own node" "$(out "$id" | grep '^at' | sort | paste -sd';')" \
	"at n001 n001 $POOL/n001/job-$id;at n002 n002 $POOL/n002/job-$id"
like "--mem has the share of a node: 100 MB and 16 MB" "$(scontrol show job "$id")" 'MinMemoryNode=116M'
like "and steps may take all of it" "$(out "$id")" '^asked  116$'
scancel -s KILL -f "$id"
ok "killed hard, it leaves" await "$id" "CANCELLED FAILED"
ok "no region" until_true 20 none_left

# ---- watermarks -------------------------------------------------------------------

cat >"$WORK/pub/task" <<'END'
#!/bin/bash
trap 'echo "told $SLURM_PROCID $(grep -o "\"pool\":{\"advice\":\"[a-z-]*" "$SUPERNODE_MEMORY_ADVICE")"; told=yes' USR1
file=$SUPERNODE_POOL_DIR/data
[ "$SLURM_LOCALID" != 0 ] || head -c 7500000 /dev/zero >"$file"
for ((i = 0; i < 300 && ${#told} == 0; i++)); do sleep 0.1; done
told=
[ "$SLURM_LOCALID" != 0 ] || rm "$file"
for ((i = 0; i < 300 && ${#told} == 0; i++)); do sleep 0.1; done
END
chmod 755 "$WORK/pub/task"
job watched <<'END'
srun snrun-watch --interval=1 --hold=2 --rest=0 --signal=10 "--dir=$1" "$2"
END
mkdir -m 700 "$WORK/advice"
id=$(PATH=$SN_BUILDDIR/launcher:$PATH submit --parallel=tp=2 --pool=8M "$WORK/pub/watched" "$WORK/advice" "$WORK/pub/task")
ok "a job that is watched" await "$id" COMPLETED
is "all tasks are told of a full region, and once of room again" \
	"$(out "$id" | grep '^told' | cut -d' ' -f2- | sort | paste -sd' ')" \
	'0 "pool":{"advice":"swap-in 0 "pool":{"advice":"swap-out 1 "pool":{"advice":"swap-in 1 "pool":{"advice":"swap-out'

# ---- slurmd and slurmstepd are killed --------------------------------------------

if [ "$CL_MODE" = netns ]; then
	id=$(submit --no-requeue -w n001 --parallel=tp=8 --pool=16M "$WORK/pub/steps" "$WORK/go3")
	ok "a job on n001" until_true 30 grep -q '^asked' "$WORK/$id.out"
	inside n001 sh -c '
		for d in /proc/[0-9]*; do
			case $(cat $d/comm) in slurmd | slurmstepd) kill -KILL "${d#/proc/}" ;; esac
		done' 2>/dev/null
	ok "its region outlives slurmd and slurmstepd" inside n001 mountpoint -q "$POOL/n001/job-$id"
	until_true 10 eval '! node_daemon n001 >/dev/null'
	scancel "$id"
	node_word n001 slurmd
	ok "and is gone once slurmd is back" until_true 60 gone_from n001
	ok "and the node works" until_true 60 nodes_idle
	# a job that slurmctld has never heard of
	inside n002 sh -c 'mkdir -p "$1/job-99" && mount -t tmpfs none "$1/job-99" && echo "0 4096 " >"$1/job-99.info"' - "$POOL/n002"
	node_word n002 kill
	until_true 10 eval '! node_daemon n002 >/dev/null'
	node_word n002 slurmd
	ok "a region of a job unknown is swept" until_true 60 gone_from n002
	ok "all nodes are up" until_true 60 nodes_idle
fi

# ---- regions with names ----------------------------------------------------------

ok "a region with a name" snctl pool create weights --size=128M --supernode=b --user="$USER2"
is "counts at once" "$(free_of b)" "896M"
like "by its name" "$(snctl show pool --json)" '"supernode":"b","size":"1G","jobs_hold":0,"names_hold":"128M","free":"896M","jobs":0,"names":1'
like "is listed" "$(snctl pool list --json)" '"name":"weights","uid":'"$(id -u "$USER2")"',"supernode":"b","bytes":134217728.*"nodes":\["n003","n004"\]'
like "a second of its name is refused" "$(snctl pool create weights --size=1M --supernode=a 2>&1)" 'is a pool region weights already'
like "more than there is too" "$(snctl pool create big --size=1G --supernode=b 2>&1)" "1G are wanted, and of supernode b's pool 896M"
like "another user may not have it" "$(submit --parallel=tp=8 --pool=name:weights "$WORK/pub/peep" /)" 'not_yours'
like "one that is not there is refused" "$(submit --parallel=tp=8 --pool=name:wieghts "$WORK/pub/peep" /)" 'no_pool_region_wieghts'
job write <<'END'
echo "$SLURM_JOB_ID $SLURMD_NODENAME $SUPERNODE_POOL_BYTES"
{ echo "weights of $SLURM_JOB_ID" >>"$SUPERNODE_POOL_DIR/w"; } 2>&1
cat "$SUPERNODE_POOL_DIR/w" 2>&1
[ -z "${1-}" ] || until [ -e "$1" ]; do sleep 0.1; done
END
one=$(as_user --parallel=tp=8 -x n004 --pool=name:weights "$WORK/pub/write" "$WORK/pub/go4")
ok "a job with it runs" until_true 30 grep -qs '^weights' "$WORK/pub/$one.out"
late=$(as_user --parallel=tp=8,dp=2 --pool=name:weights "$WORK/pub/write")
until_true 10 test "$(state_of "$late")" = PENDING
like "one that finds no room there waits, and knows why" "$(snctl why "$late")" 'room for 1: b 1 .8 of 8 cards free., a 0 .0 of 0'
scancel "$late"
like "where the region is, with its part of it" "$(out "$one")" "^$one n003 67108864\$"
text=$(snctl pool delete weights 2>&1)
is "it is not deleted in use" "$?" 1
like "and it is told who has it" "$text" "in use by job $one"
: >"$WORK/pub/go4"
ok "it ends" await "$one" COMPLETED
two=$(as_user --parallel=tp=8 -w n003 --pool=name:weights:ro "$WORK/pub/write")
ok "the next one runs" await "$two" "COMPLETED FAILED"
like "and reads what the first wrote" "$(out "$two")" "^weights of $one\$"
like "and cannot write" "$(out "$two")" 'Read-only file system'
three=$(as_user --parallel=tp=8 -w n004 --pool=name:weights "$WORK/pub/write")
ok "a third on another node" await "$three" COMPLETED
is "finds that node's part, which is empty" "$(out "$three" | grep weights)" "weights of $three"
like "the region is there, unused" "$(regions n003)" 'named/weights\.[0-9]+$'
extra()
{
	scontrol show node "$1" | sed -n 's/^ *Extra=//p'
}
scontrol update nodename=n003 extra="$(extra n003 | sed 's/^{/{"site":"rack 7",/')"
ok "it is deleted" snctl pool delete weights
is "and what else the record had is kept" "$(extra n003)" '{"site":"rack 7"}'
like "then no job can have it" "$(submit --parallel=tp=8 --pool=name:weights "$WORK/pub/peep" /)" 'no_pool_region'
for name in n003 n004; do
	last=$(submit -w "$name" --mem=10 "$WORK/pub/peep" /)
	await "$last" COMPLETED >/dev/null
done
ok "its memory goes with the end of the next job on each node" until_true 30 none_left

# ---- what is hostile or ill ------------------------------------------------------

if [ "$CL_MODE" = netns ]; then
	inside n004 sh -c 'rm -f "$1/.look"; rmdir "$1/named" "$1" && ln -s /tmp "$1"' - "$POOL/n004"
	id=$(submit -w n004 --parallel=tp=8 --pool=16M "$WORK/pub/peep" /)
	ok "a job where PoolDir has a symbolic link" await "$id" FAILED
	like "is told why it does not run" "$(out "$id")" 'no region on n004.*symbolic link'
	inside n004 rm "$POOL/n004"
fi
# The lines that follow are for the nodes; slurmctld keeps what it has.
policy="$CL_DIR/etc/supernode.conf"
cp "$policy" "$WORK/policy"
# As a whole, for an epilog may read it meanwhile: with half of it, or nothing, it would
# look for regions where none are.
policy_back()
{
	cp "$WORK/policy" "$policy.new" && mv "$policy.new" "$policy"
}
echo PoolProvider=tmpf >>"$policy"
id=$(submit -w n001 --parallel=tp=8 --pool=16M "$WORK/pub/peep" /)
ok "a job where supernode.conf is damaged" await "$id" FAILED
like "is told why it has no region" "$(out "$id")" 'no region on n001.*supernode\.conf.*tmpf'
policy_back
job program <<'END'
case "$1" in
destroy) exit 0 ;;
*) [ ! -e /hang-here ] || exec sleep 100; echo '{"dir": "/tmp", "bytes": 12}' ;;
esac
END
chown root:root "$WORK/pub/program"
echo "PoolProvider=program PoolProgram=$WORK/program PoolTimeout=2" >>"$policy"
cp "$WORK/pub/program" "$WORK/program"
id=$(submit -w n001 --parallel=tp=8 --pool=16M "$WORK/pub/peep" /)
ok "a job whose pool program lies" await "$id" FAILED
like "is told" "$(out "$id")" "PoolProgram $WORK/program create job-$id: 16777216 bytes were asked for, and it says it made 12"
sed -i 's|/hang-here|/|' "$WORK/program"
id=$(submit -w n001 --parallel=tp=8 --pool=16M "$WORK/pub/peep" /)
ok "a job whose pool program hangs" await "$id" FAILED
like "is told" "$(out "$id")" "$WORK/program: had not ended after 2 s and was killed"
if [ "$(awk '/^HugePages_Total/ { print $2 }' /proc/meminfo)" = 0 ]; then
	policy_back
	echo PoolProvider=hugetlbfs >>"$policy"
	id=$(submit -w n001 --parallel=tp=8 --pool=16M "$WORK/pub/peep" /)
	ok "a job that wants huge pages" await "$id" FAILED
	like "is told that there are none" "$(out "$id")" 'no huge pages; reserve some'
fi
policy_back

# ---- members of an elastic job ---------------------------------------------------

job elastic <<'END'
exec snrun sleep 300
END
member_of() { squeue -h -o '%A %T %k' | awk -v c="supernode:member=$1:" '$2 == "RUNNING" && index($3, c) == 1 { print $1 }'; }
memory_of() { scontrol -o show job "$1" | grep -oE ' MinMemory(Node|CPU)=[^ ]*'; }
# same_memory WANTED OPTIONS: a base and its member have it
same_memory()
{
	local wanted=$1 id

	shift
	id=$(PATH=$SN_BUILDDIR/launcher:$PATH submit --parallel=tp=8,dp=2 --elastic=min_dp=1 "$@" "$WORK/pub/elastic")
	ok "a base and a member with $*" until_true 30 eval '[ -n "$(member_of "$id")" ]'
	is "each has $wanted" "$(memory_of "$id")$(memory_of "$(member_of "$id")")" " MinMemory$wanted MinMemory$wanted"
	scancel "$id"
	ok "they end" until_true 30 eval '[ -z "$(squeue -h -o %A)" ]'
}
same_memory Node=116M --pool=16M/node --mem=100
same_memory CPU=54M --pool=32M --mem-per-cpu=50
same_memory CPU=14M --pool=32M
same_memory Node=0 --pool=32M --mem=0

# ---- a node that preflight finds ill ---------------------------------------------

cat >"$WORK/sample" <<'END'
#!/bin/bash
[ "$SLURMD_NODENAME" != n001 ]
END
chmod 755 "$WORK/sample"
echo "PreflightProgram=$WORK/sample JobDir=$WORK/jobs/%j" >>"$policy"
salloc -Q -w n001 --parallel=tp=8 --spares=1 --pool=16M snrun --preflight bash -c '
	[ "$SLURM_LOCALID" != 0 ] || echo "on $SLURMD_NODENAME in ${SUPERNODE_POOL_DIR-none}"
	until [ -e "$0" ]; do sleep 0.1; done' "$WORK/pub/go-swap" >swap.out 2>&1 &
ok "a spare runs the ranks of a node that preflight finds ill" until_true 60 grep -q '^on n002 in /' swap.out
diag "$(cat swap.out)"
is "the pool has given what it is charged" "$(free_of a)" "1008M"
is "and that is the region of the spare alone" "$(regions n001)$(regions n002 | grep -c '^ ')" 1
: >"$WORK/pub/go-swap"
wait $!
# The batch script has one where it runs, before anything is known of the node.
job swap <<'END'
mount | grep -c "on $SUPERNODE_POOL_DIR "
snrun --preflight bash -c '
	[ "$SLURM_LOCALID" != 0 ] || echo "on $SLURMD_NODENAME in ${SUPERNODE_POOL_DIR-none}"
	until [ -e "$0" ]; do sleep 0.1; done' "$1"
END
id=$(PATH=$SN_BUILDDIR/launcher:$PATH submit -w n001 --parallel=tp=8 --spares=1 --pool=16M "$WORK/pub/swap" "$WORK/pub/go-batch")
ok "nor is it another where the ill node is the batch host" until_true 60 grep -qs '^on n002 in /' "$WORK/$id.out"
like "which had one" "$(out "$id")" '^1$'
is "and gives it back" "$(regions n001)$(regions n002 | grep -c '^ ')" 1
is "which is what is charged" "$(free_of a)" "1008M"
: >"$WORK/pub/go-batch"
ok "that job ends" await "$id" COMPLETED
# One that fails ranks is left after the second time, and had a region then.
salloc -Q -w n001 --parallel=tp=8 --spares=1 --pool=16M snrun bash -c '
	[ "$SLURMD_NODENAME" != n001 ] || { [ -d "$SUPERNODE_POOL_DIR" ] && echo "had one"; exit 1; }
	[ "$SLURM_LOCALID" != 0 ] || echo "on $SLURMD_NODENAME in ${SUPERNODE_POOL_DIR-none}"
	until [ -e "$0" ]; do sleep 0.1; done' "$WORK/pub/go-left" >left.out 2>&1 &
ok "a spare runs the ranks of a node on which they fail" until_true 60 grep -q '^on n002 in /' left.out
like "whose region" "$(cat left.out)" '^had one$'
is "is gone, too" "$(regions n001)$(regions n002 | grep -c '^ ')" 1
: >"$WORK/pub/go-left"
wait $!
policy_back

ok "no region is left" until_true 30 none_left || diag "$(for name in "${CL_NAME[@]}"; do regions "$name"; done)"
ok "the pool is whole" until_true 10 pool_full
is "and no node is drained" "$(sinfo -h -t drain,drng,down -o %N)" ""
finish
