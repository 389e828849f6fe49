#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# snrun starts a step again: after the loss of a node on a spare of its supernode,
# after a failed rank in place, after its own death; and knows when not to.
. "$(dirname "$0")/lib.sh"
LOG_ALLOW="Removing failed node"
CL_NODES=10 CL_PER=5 CL_PODS=1 CL_UNIT=0
start_cluster
DIR=$WORK/jobs
echo "RestartWait=1 StopWait=1 JobDir=$DIR/%j NodePoll=200" >>"$CL_DIR/etc/supernode.conf"
# Two atoms of 32 ranks, one in each supernode of 40 cards: a spare node in each.
layout=tp=8,ep=32,etp=1,dp=8
export WORK DIR

# rank.sh TAG LAST: says where it is, and waits in all generations before LAST.
cat >rank.sh <<'END'
#!/bin/bash
g=$TORCHELASTIC_RESTART_COUNT
echo "$SLURM_PROCID $SLURMD_NODENAME $ASCEND_RT_VISIBLE_DEVICES $MASTER_ADDR $MASTER_PORT $GROUP_RANK $(cat "$SUPERNODE_JOB_DIR/generation")" >"$WORK/$1.$g.$SLURM_PROCID"
[ "$SLURM_PROCID" != 0 ] || date +%s%N >"$WORK/$1.time.$g"
[ "$g" -lt "$2" ] || exit 0
exec sleep 301
END
# A job that runs what it is told, one script after the other.
cat >job.sh <<'END'
#!/bin/bash
cd "$WORK"
while [ ! -e end ]; do
	for cmd in *.cmd; do
		[ ! -e "$cmd" ] || { bash "./$cmd" >"${cmd%.cmd}.out" 2>&1; echo $? >"${cmd%.cmd}.rc"; rm "$cmd"; }
	done
	sleep 0.05
done
END
chmod +x rank.sh job.sh
id=$(submit --parallel=$layout --spares=1 job.sh)
ok "the job runs" await "$id" RUNNING

tell() # NAME SCRIPT
{
	printf '%s\n' "$2" >"$1.new" && mv "$1.new" "$1.cmd"
}
came() # TAG GENERATION: all its ranks
{
	until_true 40 all_ranks "$1.$2" || { ls; tail -n 5 ./*.out; return 1; }
}
all_ranks()
{
	[ "$(cat "$1".[0-9]* 2>/dev/null | grep -c '[0-9]$')" = 64 ]
}
ends()
{
	until_true 40 test -s "$1.rc"
}
where() # TAG GENERATION: rank node card
{
	cat "$1.$2".[0-9]* | awk '{ print $1, $2, $3 }' | sort -n
}
gone() # PATTERN: no process of it, or none soon
{
	until_true 10 no_process_like "$1"
}
no_process_like()
{
	! pgrep -f "$1" >/dev/null
}

# ---- a node is lost ------------------------------------------------------------
tell lost "snrun ./rank.sh lost 9"
ok "64 ranks run" came lost 0
is "eight on each of eight nodes" "$(where lost 0 | awk '{ n[$2]++ } END { for (i in n) print n[i] }' | sort | uniq -c | tr -s ' ')" " 8 8"
victim=$(where lost 0 | awk '$2 != "n001" { print $2; exit }')
nodes_down "$victim"
mark=$(date +%s%N)
scontrol update NodeName="$victim" State=DOWN Reason=test
ok "generation 1 runs" came lost 1
diag "seconds from the mark to rank 0 of the next generation: $(awk "BEGIN { printf \"%.2f\", ($(cat lost.time.1) - $mark) / 1e9 }")"
is "ranks on healthy nodes keep nodes and cards" \
	"$(diff <(where lost 0 | grep -v " $victim ") <(where lost 1 | grep -v " $(where lost 1 | awk '{ print $2 }' | sort -u | comm -23 - <(where lost 0 | awk '{ print $2 }' | sort -u)) "))" ""
spare=$(where lost 1 | awk '{ print $2 }' | sort -u | comm -23 - <(where lost 0 | awk '{ print $2 }' | sort -u))
supernode() { python3 -c 'import json, sys; print(*{s for (n, c), s in zip(*[json.load(open(sys.argv[1]))[k] for k in ("ranks", "supernodes")]) if n == sys.argv[2]})' "$1" "$2"; }
cp "$DIR/$id/layout.json" layout.1
even() { [ $((10#${1#n} % 2)) = $((10#${2#n} % 2)) ]; } # nodes are dealt to two supernodes
ok "the spare, $spare, is of the same supernode" even "$victim" "$spare"
is "it has the lost node's ranks" "$(where lost 1 | grep " $spare " | awk '{ print $1, $3 }')" "$(where lost 0 | grep " $victim " | awk '{ print $1, $3 }')"
is "all ranks found generation 1" "$(cat lost.1.[0-9]* | awk '{ print $NF }' | sort -u)" 1
is "one MASTER_PORT, another than before" \
	"$(cat lost.1.[0-9]* | awk '{ print $5 }' | sort -u | wc -l) $(cat lost.[01].0 | awk '{ print $5 }' | sort -u | wc -l)" "1 2"
is "GROUP_RANK is the lost node's" "$(cat lost.1.[0-9]* | awk -v n="$spare" '$2 == n { print $6 }' | sort -u)" \
	"$(cat lost.0.[0-9]* | awk -v n="$victim" '$2 == n { print $6 }' | sort -u)"
ok "all files are of generation 1" python3 - "$DIR/$id" <<'END'
import json, sys, os
d = sys.argv[1]
plan = json.load(open(d + "/layout.json"))
assert plan["generation"] == 1 and open(d + "/generation").read() == "1\n"
assert open(d + "/hostfile").read().split() == [n for n, c in plan["ranks"]]
assert not [f for f in os.listdir(d) if f.startswith(".")], "temporary files are left"
END
again=$spare
nodes_down "$again"
scontrol update NodeName="$again" State=DOWN Reason=test
ok "when its spare is lost, too, snrun ends" ends lost
like "says that none is left" "$(cat lost.out)" "no spare for node $again is left in its supernode sn[12]"
like "and fails" "$(cat lost.rc)" '^[1-9]'
like "the job lives on" "$(state_of "$id")" RUNNING
# Slurm closes the books a minute later, see launcher/setup.c; no rank is left.
ok "no rank is left" gone "^sleep 301\$"

# ---- ranks fail ----------------------------------------------------------------
small=tp=8,dp=2
count() { grep -c "^gen" "$1.gens"; }
tell fails "snrun --parallel=$small --max-restarts 9 bash -c 'echo gen \$TORCHELASTIC_RESTART_COUNT >>fails.gens.\$SLURM_PROCID; [ \$SLURM_PROCID != 5 ] || exit 7; trap \"\" TERM; while :; do sleep 0.2; done'"
ok "a rank fails again and again" ends fails
is "without progress it runs three times" "$(cat fails.gens.5 | tr '\n' ' ')" "gen 0 gen 1 gen 2 "
like "and snrun says so" "$(cat fails.out)" 'rank 5 failed with exit code 7; there was no progress'
is "its exit code is snrun's, not that of the killed" "$(cat fails.rc)" 7
ok "ranks that ignore SIGTERM are gone" gone "fails.gens"
tell moves "snrun --parallel=$small --max-restarts 4 bash -c 'echo gen >>moves.gens.\$SLURM_PROCID; [ \$SLURM_PROCID = 0 ] || sleep 60; date +%N >\$SUPERNODE_JOB_DIR/progress; exit 3'"
ok "with progress" ends moves
is "it is started as often as allowed" "$(wc -l <moves.gens.0) $(cat moves.rc)" "5 3"
tell final "snrun --parallel=$small --max-restarts 4 bash -c 'echo gen >>final.gens.\$SLURM_PROCID; [ \$SLURM_PROCID != 3 ] || exit 93; sleep 60'"
ok "a rank that ends with 93" ends final
is "is not started again" "$(wc -l <final.gens.3) $(cat final.rc)" "1 93"
tell plain "snrun --parallel=$small --max-restarts 0 bash -c 'echo gen >>plain.gens.\$SLURM_PROCID; [ \$SLURM_PROCID != 3 ] || exit 4; sleep 0.5; echo >plain.end.\$SLURM_PROCID'"
ok "with --max-restarts 0" ends plain
is "nothing is started again, and the other ranks come to their end" "$(wc -l <plain.gens.3) $(ls plain.end.* | wc -l) $(cat plain.rc)" "1 15 4"

# ---- snrun is killed -----------------------------------------------------------
tell killed "snrun --parallel=$small ./rank.sh killed 9 & echo \$! >killed.pid; wait"
sixteen() { [ "$(cat killed.0.[0-9]* 2>/dev/null | grep -c '0$')" = 16 ]; }
ok "16 ranks run" until_true 40 sixteen
pid=$(cat killed.pid)
# The process is of the node's own numbers.
tell kill "kill -9 $pid" 2>/dev/null
srun --jobid="$id" --overlap -N1 -n1 -w n001 --gres=none --mem=0 kill -9 "$pid" 2>/dev/null
ok "a killed snrun" ends killed
rm -f kill.cmd
tell after "snrun --parallel=$small ./rank.sh after 1"
ok "is followed by another" ends after
like "which says so" "$(cat after.out)" 'did not come to its end; going on with generation 1'
is "and goes on with generation 1" "$(cat after.1.* | awk '{ print $NF }' | sort | uniq -c | tr -s ' ') $(cat after.rc)" " 16 1 0"
is "the ranks where they were" "$(where after 1)" "$(where killed 0)"
ok "of the first nothing is left" gone "^sleep 301\$"

# A table that is half written, as by a disk that was full.
sed -i 's/"ended":true/"ended":false/' "$DIR/$id/snrun.json"
truncate -s 300 "$DIR/$id/layout.json"
tell half "snrun --parallel=$small true"
ok "with half a layout.json" ends half
like "the ranks are placed anew" "$(cat half.out)" 'placed anew: .*layout.json: not a whole JSON object'
is "and run" "$(cat half.rc)" 0

: >end
ok "the job ends well" await "$id" COMPLETED
finish
