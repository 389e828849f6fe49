#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# snrun and slurmctld die together, and slurmctld comes back without the step: the
# ranks of before, which nobody knows of, are ended before the next ones are on their
# cards. What the user runs beside them stays.
. "$(dirname "$0")/lib.sh"
LOG_ALLOW='JobId=[0-9]+ StepId|_slurm_rpc|[Ss]tep_partial_comp|[Ss]tep_complete|Kill task failed|not responding'
CL_NODES=2 CL_PER=2 CL_PODS=1 CL_UNIT=0
start_cluster
DIR=$WORK/jobs
echo "RestartWait=1 StopWait=1 JobDir=$DIR/%j" >>"$CL_DIR/etc/supernode.conf"
export WORK DIR

# A rank, deaf to SIGTERM, says who it is and which of the earlier ones still live.
cat >rank.sh <<'END'
#!/bin/bash
trap '' TERM
g=${1:-$SUPERNODE_GENERATION}
for f in "$WORK"/pid.*."$SLURMD_NODENAME".*; do
	[ ! -e "$f" ] || [ "${f##*.}" = "$g" ] || ! kill -0 "$(cat "$f")" 2>/dev/null || echo "${f##*/}" >>"$WORK/double"
done
echo $$ >"$WORK/pid.$SLURM_PROCID.$SLURMD_NODENAME.$g"
until [ -e "$WORK/end.$g" ]; do sleep 0.2; done
END
# And what else the user has on the nodes.
cat >beside.sh <<'END'
#!/bin/bash
: >"$WORK/beside.$SLURMD_NODENAME"
until [ -e "$WORK/end.1" ]; do sleep 0.2; done
echo "ended by itself" >"$WORK/beside.$SLURMD_NODENAME"
END
cat >job.sh <<'END'
#!/bin/bash
cd "$WORK"
until [ -e go ]; do sleep 0.1; done
while :; do
	snrun ./rank.sh >>snrun.out 2>&1
	rc=$?
	[ $rc = 137 ] || exit $rc
done
END
chmod +x rank.sh beside.sh
snrun_pid() # others may run this test, too
{
	local p

	for p in $(pgrep -f "^snrun ./rank.sh"); do
		grep -qsz "^WORK=$WORK\$" "/proc/$p/environ" && echo "$p"
	done
}
ranks_run() { [ "$(ls pid.*."$1" 2>/dev/null | wc -l)" = 16 ]; }

id=$(submit --parallel=tp=8,dp=2 job.sh)
ok "the job runs" await "$id" RUNNING
srun --jobid="$id" --overlap --ntasks-per-node=1 -N2 --gres=none --mem=1 ./beside.sh >beside.out 2>&1 7>&- 8>&- 9>&- &
step=$!
beside() { [ "$(ls beside.n* 2>/dev/null | wc -l)" = 2 ]; }
ok "and a step beside its ranks" until_true 30 beside
ok "slurmctld has saved that" state_saved "$id"
cp -r "$CL_DIR/state" saved
: >go
ok "16 ranks run" until_true 40 ranks_run 0

# All that slurmctld has learnt since is lost, as it is when it dies before it writes.
ctld_kill KILL
pid=$(snrun_pid)
like "snrun runs" "$pid" '^[0-9]+$'
kill -KILL "$pid"
rm -rf "$CL_DIR/state"; cp -r saved "$CL_DIR/state"
ok "slurmctld is back" ctld_up
ok "it does not know the ranks' step" test "$(squeue -h -s -j "$id" -o %i | grep -vc 'batch\|extern')" -le 1
ok "the ranks run again" until_true 90 ranks_run 1
like "snrun says that the one before was killed" "$(cat snrun.out)" 'did not come to its end; going on with generation 1'
is "none of before was there when they started" "$(cat double 2>/dev/null)" ""
is "those who were had to be killed, on both nodes" \
	"$(grep -c 'of an earlier generation, whose step slurmctld had lost, were ended' snrun.out)" 2
: >end.1
ok "the job ends well" await "$id" COMPLETED 60
is "what the user had beside them came to its own end" "$(cat beside.n* | sort | uniq -c | tr -s ' ')" " 2 ended by itself"
wait "$step"

# The same where snrun is not killed but told to end, and a second one follows.
cat >two.sh <<'END'
#!/bin/bash
cd "$WORK"
until [ -e go2 ]; do sleep 0.1; done
snrun ./rank.sh one >one.out 2>&1
snrun ./rank.sh two >two.out 2>&1
END
id=$(submit --parallel=tp=8,dp=2 two.sh)
ok "another job runs" await "$id" RUNNING
ok "slurmctld has saved that, too" state_saved "$id"
rm -rf saved; cp -r "$CL_DIR/state" saved
: >go2
ok "its 16 ranks run" until_true 40 ranks_run one
ctld_kill KILL
pid=$(snrun_pid)
rm -rf "$CL_DIR/state"; cp -r saved "$CL_DIR/state"
ok "slurmctld is back without their step" ctld_up
kill -TERM "$pid"
ok "those of the next snrun run" until_true 120 ranks_run two
is "and none of before" "$(cat double 2>/dev/null)" ""
is "who had to be ended, on both nodes" "$(grep -c 'whose step slurmctld had lost, were ended' two.out)" 2
: >end.two
ok "it ends well, too" await "$id" COMPLETED 60

# The directory's lock is held by what was before: a requeued job, whose slurmctld or file
# server does not know yet that that has ended, waits for it; another is refused at once.
cat >lock.sh <<'END'
#!/bin/bash
cd "$WORK"
mkdir -p -m 700 "$DIR/$SLURM_JOB_ID"
flock "$DIR/$SLURM_JOB_ID/lock" bash -c ': >held; until [ -e letgo ]; do sleep 0.1; done' &
until [ -e held ]; do sleep 0.1; done
snrun true >refused.out 2>&1; echo $? >>refused.out
SLURM_RESTART_COUNT=1 snrun true >waits.out 2>&1; echo $? >>waits.out
END
id=$(submit --parallel=tp=8,dp=2 lock.sh)
ok "a job's snrun waits for a lock" until_true 60 grep -qs "waiting for at most" waits.out
like "one that was not requeued did not" "$(tr '\n' ' ' <refused.out)" 'another snrun uses it; .* 1 $'
: >letgo
ok "it ends" await "$id" COMPLETED 60
is "well" "$(tail -n 1 waits.out)" 0
finish
