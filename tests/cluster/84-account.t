#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The account of a job's time is the job's: it goes on with the next program of the
# script, after an snrun that was killed, and after a requeue; without a daemon.
. "$(dirname "$0")/lib.sh"
CL_NODES=3 CL_PER=3 CL_UNIT=0 CL_PODS=0
LOG_ALLOW='slurm_bufs_sendto.*failed|Step complete from .* was already processed|step_signal|Kill task failed'
start_cluster
echo "JobDir=$WORK/jobs/%j RestartWait=1" >>"$CL_DIR/etc/supernode.conf"
export TOLD=$WORK/told
mkdir "$TOLD"
# Shows some steps and saves; with an argument it goes on until somebody kills it.
cat >rank.sh <<'END2'
#!/bin/bash
[ "$RANK" = 0 ] || { [ -n "$1" ] || exit 0; exec sleep 300; }
for i in 1 2 3 4 5 6 7 8; do
	touch "$SUPERNODE_JOB_DIR/progress"
	sleep 0.2
done
date +%s >"$SUPERNODE_JOB_DIR/checkpoint.new"
mv "$SUPERNODE_JOB_DIR/checkpoint.new" "$SUPERNODE_JOB_DIR/checkpoint"
[ -n "$1" ] || exit 0
touch "$TOLD/works"
exec sleep 300
END2
cat >job.sh <<'END2'
#!/bin/bash
said() { cp "$SUPERNODE_JOB_DIR/account.json" "$TOLD/$1"; }
export SUPERNODE_JOB_DIR
SUPERNODE_JOB_DIR=$JOBS/$SLURM_JOB_ID
if [ "${SLURM_RESTART_COUNT:-0}" = 0 ]; then
	snrun ./rank.sh
	said one
	snrun ./rank.sh on &
	until [ -e "$TOLD/works" ]; do sleep 0.1; done
	# So that it is known that the checkpoint is there.
	until grep -q '"safe_points":2' "$SUPERNODE_JOB_DIR/account.json"; do sleep 0.1; done
	kill -9 $!
	wait
	said killed
	snrun ./rank.sh
	said two
	rm "$TOLD/works"
	snrun ./rank.sh on
	exit 1
fi
snrun ./rank.sh
said requeued
END2
chmod +x rank.sh job.sh
export JOBS=$WORK/jobs
id=$(submit --open-mode=append --parallel=tp=2,dp=4 --requeue job.sh)
# account FILE PYTHON: a is its account, c and s card-seconds and seconds
account()
{
	python3 - "$TOLD/$1" "$2" <<-'PY'
		import json, sys
		f = json.load(open(sys.argv[1]))
		a = f["account"]
		c, s = a["card_seconds"], a["seconds"]
		assert abs(c["held"] - c["useful"] - c["provisional"] - c["opening"] - c["idle"] - sum(c["lost"].values())) < 0.1, c
		assert abs(a["at"] - a["began"] - s["useful"] - s["provisional"] - s["opening"] - sum(s["lost"].values())) < 0.1, s
		print(eval(sys.argv[2]))
	PY
}
ok "a first program ends" until_true 60 test -e "$TOLD/one"
is "its account is closed" "$(account one 'a["phase"], a["generations"], c["provisional"], a["held_cards"]')" "('script', 1, 0.0, 8)"
is "with useful time, and some of the script's" "$(account one 's["useful"] > 0.5, s["lost"]["script"] > 0, s["lost"]["redone"]')" "(True, True, 0.0)"
ok "the snrun of the second is killed" until_true 60 test -e "$TOLD/killed"
is "its account stands open" "$(account killed 'a["phase"], a["generations"]')" "('work', 2)"
ok "the third goes on" until_true 60 test -e "$TOLD/two"
is "and knows of both" "$(account two 'a["generations"], a["failures"]["snrun"]')" "(3, 1)"
is "nothing of what they did is gone" "$(account two 's["useful"]' | python3 -c "print(float(input()) >= $(account killed 's["useful"]'))")" True
is "it began when the first did" "$(account two 'a["began"]')" "$(account one 'a["began"]')"
is "what was safe stays so, and the time until it went on is a restart's" "$(account two 's["lost"]["restart"] > 0, s["lost"]["wait"] < 5')" "(True, True)"
ok "the fourth works" until_true 60 test -e "$TOLD/works"
scontrol requeue "$id"
pends() { [ "$(squeue -h -j "$id" -o %T)" = PENDING ] && ! scontrol -o show job "$id" | grep -q COMPLETING; }
ok "the job is requeued" until_true 60 pends
# In the second of the requeue slurmd takes its credential for one that was revoked.
scontrol update "JobId=$id" StartTime=now+2
ok "and runs again" until_true 60 test -e "$TOLD/requeued"
ok "to its end" await "$id" COMPLETED
is "the account is the same job's" "$(account requeued 'f["requeues"], a["began"], a["phase"]')" "(1, $(account one 'a["began"]'), 'script')"
is "with all its generations" "$(account requeued 'a["generations"]')" 5
is "it has waited for what was not there, and held nothing then" \
	"$(account requeued 's["lost"]["wait"] >= 0, c["lost"]["wait"] <= 8 * s["wall"], c["held"] <= 8 * (s["wall"] - s["lost"]["wait"]) + 1')" "(True, True, True)"
like "the third snrun, which went on with another's job, says how it went" "$(cat "$id.out")" '^snrun: ETTR 0'
diag "$(grep ETTR "$id.out" | tail -n 1)"
finish
