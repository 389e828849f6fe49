#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# snrun: the plan, its files and the environment are those of plain srun; signals,
# exit codes, labels; what cannot work is said in a sentence.
. "$(dirname "$0")/lib.sh"
CL_NODES=8 CL_PER=4 CL_PODS=1 CL_UNIT=0
start_cluster
DIR=$WORK/jobs
echo "StopWait=1 JobDir=$DIR/%j" >>"$CL_DIR/etc/supernode.conf"
layout=tp=4,ep=8,etp=1,pp=2,dp=8

# One job for all that needs no other: each part leaves its files in $WORK.
cat >parts.sh <<'END'
#!/bin/bash
cd "$WORK"
srun bash -c 'env | sort >plain.$SLURM_PROCID'
snrun --dry-run echo x >dry.out 2>&1; echo $? >>dry.out
snrun --dry-run --json echo x >dry.json 2>&1
ls "$DIR" >dry.files 2>&1
snrun bash -c 'env | sort >with.$SLURM_PROCID; echo "rank $SLURM_PROCID node $SLURMD_NODENAME card $ASCEND_RT_VISIBLE_DEVICES supernode $SUPERNODE_NAME"' >ranks.out 2>ranks.err
echo $? >ranks.rc
cp -r "$DIR/$SLURM_JOB_ID" files
snrun bash -c '[ $SLURM_PROCID != 5 ] || exit 7'; echo $? >exit.rc
snrun bash -c '[ $SLURM_PROCID != 5 ] || kill -SEGV $$'; echo $? >segv.rc
snrun --label bash -c 'echo out $SLURM_PROCID; echo err $SLURM_PROCID >&2' >label.out 2>label.err
echo "a line" | snrun bash -c 'read -r x; echo "$SLURM_PROCID got $x"' >stdin.out 2>&1

# as soon as every rank has its handler
ready() { for ((i = 0; i < 300; i++)); do [ "$(ls "$1".up.* 2>/dev/null | wc -l)" = 64 ] && return; sleep 0.1; done; }
snrun bash -c 'trap "echo >usr1.got.\$SLURM_PROCID; exit 0" USR1; : >usr1.up.$SLURM_PROCID; while :; do sleep 0.1; done' >usr1.out 2>&1 &
ready usr1
# a second one in the meantime
snrun echo second >second.out 2>&1; echo $? >second.rc
SUPERNODE_JOB_DIR=$WORK/other snrun --dry-run true >/dev/null 2>&1; echo $? >other.rc
kill -USR1 %1; wait %1; echo $? >usr1.rc
snrun bash -c ': >term.up.$SLURM_PROCID; exec sleep 100' >term.out 2>&1 &
ready term; kill -TERM $!; wait $!; echo $? >term.rc
snrun bash -c 'trap "" TERM; : >deaf.up.$SLURM_PROCID; while :; do sleep 1; done' >deaf.out 2>&1 &
ready deaf; kill -TERM $!; wait $!; echo $? >deaf.rc
left() { for ((i = 0; i < 100; i++)); do squeue -h -s -j "$SLURM_JOB_ID" -o %i | grep -v batch >"$1" || break; sleep 0.1; done; }
left steps.left

# The directory of an earlier job of the same number, and one of a job long ended.
own=$DIR/$SLURM_JOB_ID
sed -i 's/"submitted":[0-9]*/"submitted":1/' "$own/snrun.json"
echo 5 >"$own/progress"; echo mine >"$own/mine"
cp -r "$own" "$DIR/4000001"
sed -i 's/"job":[0-9]*/"job":4000001/' "$DIR/4000001/snrun.json"; rm "$DIR/4000001/mine"
cp -r "$DIR/4000001" "$DIR/4000002"
touch -d "31 days ago" "$DIR/4000001/snrun.json"
snrun bash -c 'cat "$SUPERNODE_JOB_DIR/generation"' >again.out 2>&1
ls "$DIR" "$own" | tr '\n' ' ' >again.files

SUPERNODE_JOB_DIR=/proc/nothing snrun true >proc.out 2>&1; echo $? >>proc.out
ln -s /tmp link; SUPERNODE_JOB_DIR=$WORK/link snrun true >link.out 2>&1; echo $? >>link.out
mkdir open; chmod 777 open; SUPERNODE_JOB_DIR=$WORK/open snrun true >open.out 2>&1; echo $? >>open.out
snrun --parallel=tp=8,dp=99 true >large.out 2>&1; echo $? >>large.out
snrun --parallel=tp=8,dp=4 bash -c 'echo "$RANK of $WORLD_SIZE tp $TP_RANK/$TP_SIZE"' >other.out 2>&1; echo $? >>other.out
snrun /no/such/command >nocmd.out 2>&1; echo $? >nocmd.rc
if [ "$CL_MODE" = netns ]; then
	mkdir full
	mount -t tmpfs -o size=8k,mode=700 full full
	SUPERNODE_JOB_DIR=$WORK/full snrun true >full.out 2>&1; echo $? >>full.out
	mount -o remount,ro full
	SUPERNODE_JOB_DIR=$WORK/full snrun true >ro.out 2>&1; echo $? >>ro.out
	umount full
	# /dev/shm is each node's own
	SUPERNODE_JOB_DIR=/dev/shm/sn snrun bash -c 'echo "$SLURMD_NODENAME $(cksum <$SUPERNODE_JOB_DIR/layout.json) $(cat $SUPERNODE_JOB_DIR/generation)"' >local.out 2>&1
	srun rm -rf /dev/shm/sn
	# A node that does not come to its end with the files: the ranks of that step
	# are deaf sleepers, as the real ones were stopped.
	mkdir -p slow
	cat >slow/srun <<'SRUN'
#!/bin/bash
for ((i = 1; i <= $#; i++)); do
	[ "${!i}" != --receive ] || exec "$REAL" "${@:1:i-2}" bash -c '$DEAF; : >"$WORK/slow.up.$SLURM_PROCID"; sleep 300 & wait; wait'
done
exec "$REAL" "$@"
SRUN
	chmod +x slow/srun
	export REAL=$(command -v srun)
	slow() { for ((i = 0; i < 300; i++)); do [ "$(ls slow.up.* 2>/dev/null | wc -l)" = 8 ] && return; sleep 0.1; done; }
	for how in TERM:'trap "" TERM' INT: KILL:; do
		DEAF=${how#*:} PATH=$WORK/slow:$PATH SUPERNODE_JOB_DIR=/dev/shm/sn snrun true >slow.${how%%:*}.out 2>&1 &
		slow; began=$SECONDS
		kill -${how%%:*} $!; wait $!; echo $? >slow.${how%%:*}.rc
		echo "${how%%:*}: $((SECONDS - began)) s" >>slow.took
		left slow.${how%%:*}.left
		rm -f slow.up.*
		srun rm -rf /dev/shm/sn
	done
fi
END
export WORK DIR CL_MODE
id=$(submit --parallel=$layout parts.sh)
ok "the job runs and ends" await "$id" "COMPLETED FAILED" 120

is "all ranks run" "$(cat ranks.rc) $(grep -c '^rank' ranks.out) $(cat ranks.err)" "0 64 "
ok "every group is whole" "$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --parallel $layout ranks.out
# Of a step's own nature: its number, its ports, its processes. Who gave the ranks
# their order is told by SLURM_DISTRIBUTION; the directory is snrun's.
nature='^(SLURM_STEP_?ID|SLURM_STEP_LAUNCHER_PORT|SLURM_SRUN_COMM_PORT|SLURM_TASK_PID|SLURM_DISTRIBUTION|MASTER_PORT|SUPERNODE_(JOB_DIR|GENERATION|RANKS)|APPTAINER_BIND|SINGULARITY_BIND|SHLVL|_)='
for ((r = 0; r < 64; r++)); do
	diff <(grep -vE "$nature" plain.$r) <(grep -vE "$nature" with.$r) >>env.diff
done
is "each rank has the variables of plain srun, with their values" "$(head -n 20 env.diff)" ""
is "and the job directory" "$(cat with.* | grep -c "^SUPERNODE_JOB_DIR=$DIR/$id\$")" 64
is "one MASTER_PORT for all" "$(cat with.* | grep ^MASTER_PORT= | sort -u | wc -l)" 1
is "no generation yet but the first" "$(cat with.* | grep ^TORCHELASTIC_RESTART_COUNT= | sort -u)" TORCHELASTIC_RESTART_COUNT=0

like "--dry-run shows plan and srun line" "$(tr '\n' ' ' <dry.out)" '64 ranks.* n001 .*srun --ntasks=64 --distribution=arbitrary .* -- echo x 0 $'
is "and writes nothing" "$(cat dry.files | grep -c "^$id\$")" 0
ok "its JSON is the plan that runs" python3 - <<'END'
import json
dry, real = json.load(open("dry.json")), json.load(open("files/layout.json"))
assert dry == real, "dry.json is not files/layout.json"
END
is "the directory is the user's alone" "$(stat -c %a "$DIR/$id")" 700
is "hostfile names the node of each rank" "$(sort -k2n ranks.out | awk '{ print $4 }' | cksum)" "$(cksum <files/hostfile)"
ok "layout.json says where each rank ran" python3 - <<'END'
import json, re
plan = json.load(open("files/layout.json"))
seen = {}
for line in open("ranks.out"):
    rank, node, card, sn = re.match(r"rank (\d+) node (\S+) card (\d+) supernode (\S+)", line).groups()
    seen[int(rank)] = ([node, int(card)], sn)
assert len(plan["ranks"]) == 64 and plan["generation"] == 0
for rank in range(64):
    assert plan["ranks"][rank] == seen[rank][0], rank
    assert plan["supernodes"][rank] == seen[rank][1], rank
END
# Megatron-LM's rule once more, with nothing in common with the C code: ranks of a
# group differ in the axes of the group only.
ok "groups.json and parallel_group.json are right" python3 - <<'END'
import json
tp, ep, etp, pp, dp, world = 4, 8, 1, 2, 8, 64
edp = world // (etp * ep * pp)
plan, got = json.load(open("files/layout.json")), json.load(open("files/groups.json"))
comms = json.load(open("files/parallel_group.json"))
coords = {}
for r in range(world):
    stage, place = divmod(r, world // pp)
    coords[r] = dict(tp=place % tp, dp=place // tp, pp=stage, etp=place % etp,
                     ep=place // etp % ep, edp=place // etp // ep)
dense, expert = ("tp", "dp", "pp"), ("etp", "ep", "edp", "pp")
def groups(grid, axes):
    out = {}
    for r in range(world):
        out.setdefault(tuple(coords[r][a] for a in grid if a not in axes), []).append(r)
    return sorted(out.values())
want = dict(tp=groups(dense, ["tp"]), dp=groups(dense, ["dp"]), pp=groups(dense, ["pp"]),
            mp=groups(dense, ["tp", "pp"]), tp_dp=groups(dense, ["tp", "dp"]),
            ep=groups(expert, ["ep"]), ep_tp=groups(expert, ["etp"]), ep_dp=groups(expert, ["edp"]),
            tp_ep_mp=groups(expert, ["etp", "ep"]), tp_ep_pp=groups(expert, ["etp", "ep", "pp"]),
            cp=[[r] for r in range(world)])
for kind, value in want.items():
    assert sorted(got["groups"][kind]) == value, kind
intra, inter = [], []
for group in got["groups"]["dp"]:
    parts = {}
    for r in group:
        parts.setdefault(plan["supernodes"][r], []).append(r)
    intra += list(parts.values())
    inter.append([p[0] for p in parts.values()])
assert got["groups"]["dp_intra"] == intra and got["groups"]["dp_inter"] == inter
assert any(len(g) > 1 for g in inter) or len(set(plan["supernodes"])) == pp
for kind, value in got["groups"].items():
    for i, group in enumerate(value):
        comm = comms.pop("%s_%d" % (kind, i), None)
        assert (comm is None) == (len(group) == 1), (kind, i)
        assert comm is None or comm == dict(group_name=kind, group_rank=0, global_ranks=group)
assert not comms, list(comms)[:3]
END
is "groups.json begins as snctl groups --json" \
	"$(python3 -c 'import json; a = json.load(open("files/groups.json")); a["groups"].pop("dp_intra"); a["groups"].pop("dp_inter"); print(json.dumps(a, sort_keys=True))' | cksum)" \
	"$(snctl groups --parallel $layout --json | python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin), sort_keys=True))' | cksum)"

is "snrun exits as the step: a rank's exit code" "$(cat exit.rc)" 7
is "a signal" "$(cat segv.rc)" 139
is "--label: 64 lines each, numbered" "$(grep -cE '^ *[0-9]+: out [0-9]+$' label.out) $(grep -cE '^ *[0-9]+: err [0-9]+$' label.err)" "64 64"
is "standard input reaches the ranks" "$(grep -c 'got a line' stdin.out)" 64
is "SIGUSR1 reaches every rank" "$(ls usr1.got.* | wc -l) $(cat usr1.rc)" "64 0"
like "a second snrun in the job's directory is refused" "$(cat second.out) $(cat second.rc)" 'another snrun, process [0-9]+ on .* SUPERNODE_JOB_DIR 1$'
is "with a directory of its own it is not" "$(cat other.rc)" 0
is "SIGTERM ends the ranks" "$(cat term.rc)" 143
is "ranks that ignore it are killed" "$(cat deaf.rc)" 137
is "a directory of an earlier job of that number is begun anew" "$(sort again.out | uniq -c | awk '{ $1 = $1; print }' | tr '\n' ' ')" "64 0 1 snrun: $DIR/$id has the files of an earlier job of this number; they are removed "
like "what is not snrun's stays, what was does not" "$(cat again.files)" ' mine '
like "nor what it said of progress, and the files of a job that ended long ago" "$(grep -wE 'progress|4000001' again.files || echo gone) $(grep -wo 4000002 again.files)" '^gone 4000002$'
is "no step is left" "$(cat steps.left)" ""
like "a directory that cannot be made" "$(cat proc.out)" '^snrun: /proc/nothing: .*'
is "is one sentence, and 1" "$(wc -l <proc.out) $(tail -n 1 proc.out)" "2 1"
like "a symbolic link is not followed" "$(cat link.out)" 'symbolic link'
like "nor one that others may write to taken" "$(cat open.out)" 'mode 0777'
like "a layout that does not fit" "$(tr '\n' ' ' <large.out)" '64 cards on 8 nodes, but the layout has 792 ranks.* 1 $'
like "another layout in the same job" "$(grep '^17 ' other.out) $(tail -n 1 other.out)" '^17 of 32 tp 1/8 0$'
like "a command that does not exist" "$(cat nocmd.rc)" '^[1-9]'
if [ "$CL_MODE" = netns ]; then
	like "a full disk" "$(cat full.out)" '^snrun: .*/full/[a-z_.]+: the file system is full; .*SUPERNODE_JOB_DIR'
	like "a read-only one" "$(cat ro.out)" '^snrun: .*/full/[a-z_.]+: the file system is read-only'
	is "a directory that nodes do not share is written on each" \
		"$(sort -u local.out | wc -l) $(awk '{ print $2, $3, $4 }' local.out | sort -u | wc -l) $(wc -l <local.out)" "8 1 64"
fi

if [ "$CL_MODE" = netns ]; then
	is "a signal while nodes are given the files: snrun ends by it" "$(cat slow.TERM.rc slow.INT.rc slow.KILL.rc | tr '\n' ' ')" "143 130 137 "
	is "and its step with it" "$(cat slow.*.left)" ""
	like "and says so" "$(cat slow.TERM.out)" '^snrun: stopped by signal 15 \(Terminated\) before all nodes had the job.s files$'
	diag "$(tr '\n' ' ' <slow.took)"
fi

like "outside a job" "$(snrun true 2>&1; echo $?)" 'no allocation here'
printf '#!/bin/bash\nsnrun true\n' >het.sh
id=$(submit --parallel=tp=8 : --parallel=tp=8 het.sh)
until_true 60 grep -qs . "$id.out"
like "in a heterogeneous job" "$(cat "$id.out")" "^snrun: job $id has several components \(heterogeneous job\), and a layout lives in one; start the components with srun\$"
like "in a job without a layout" "$(salloc -Q -n1 snrun true 2>&1)" 'submitted without --parallel'
salloc -Q --parallel=tp=2,dp=3 snrun "$TESTS/task.sh" >salloc.out 2>&1
ok "in salloc: six ranks, whole" "$TESTS/check-ranks" --topology "$CL_DIR/etc/topology.conf" --parallel tp=2,dp=3 salloc.out
finish
