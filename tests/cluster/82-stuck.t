#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job that cannot go on with what it holds, and is not elastic: without a daemon it
# ends; with one attached it waits, and a node that stands in for the lost one, or a
# requeue, has it go on. And an snrun that is killed, and comes back.
. "$(dirname "$0")/lib.sh"
. "$TESTS/elastic.sh"
TOPO=$(mktemp)
cat >"$TOPO" <<-'END'
	SupernodeName=a Nodes=n[001-004] SpareNodes=1
	SupernodeName=b Nodes=n[005-007]
END
CL_NODES=7 CL_PER=4 CL_TOPOLOGY=$TOPO CL_UNIT=0 CL_PODS=0
LOG_ALLOW='slurm_bufs_sendto.*failed|Step complete from .* was already processed|Removing failed node|step_signal'
start_cluster
rm -f "$TOPO"
command -v snelasticd >/dev/null || skip_all "snelasticd is not built"
# The daemon leaves them alone here: what is asked for is what is to be seen.
echo "JobDir=$WORK/jobs/%j RestartWait=1 NodePoll=200 ElasticHelp=60 ElasticPolicy=default:off" >>"$CL_DIR/etc/supernode.conf"
cat >rank.sh <<'END2'
#!/bin/bash
trap 'exit 0' TERM
echo "$RANK $SLURMD_NODENAME" >"$SAID/$SUPERNODE_GENERATION.$RANK"
while :; do sleep 0.2; done
END2
printf '#!/bin/bash\nexec snrun --max-restarts 9 ./rank.sh\n' >job.sh
chmod +x rank.sh job.sh
elastic() { snctl elastic "$@" 2>&1; }
field() { elastic status "$1" --json | python3 -c 'import json, sys; print(json.load(sys.stdin).get(sys.argv[1]))' "$2" 2>/dev/null; }
all_said() { [ "$(cat "$SAID/$1".* 2>/dev/null | wc -l)" = "$2" ]; }
says() { grep -q -- "$1" "$id.out"; }
attached() { [ "$(status attached)" = "$1" ]; }
start_job() # LAYOUT NODES
{
	export SAID=$WORK/said-$RANDOM
	mkdir "$SAID"
	id=$(submit -k --open-mode=append --parallel="$1" -x "$2" job.sh)
	ok "24 ranks run" until_true 60 all_said 0 24
}
lose_one() # NODES: not the batch host
{
	lost=$(scontrol show hostnames "$1" | grep -vx "$(scontrol -o show job "$id" | sed -nE 's/.* BatchHost=([^ ]*).*/\1/p')" | head -n 1)
	nodes_down "$lost"
	scontrol update "NodeName=$lost" State=DOWN Reason=test
}

start_job tp=8,dp=3 'n[001-004]'
lose_one 'n[005-007]'
ok "without a daemon a job that has lost a node ends" await "$id" "FAILED COMPLETING"
like "at once, and says why" "$(cat "$id.out")" 'no spare for node'
ok "a daemon" start_elasticd -v || bail "and so the rest"
start_job tp=8,dp=3 'n[005-007]'
ok "attached" until_true 20 attached 1
lose_one 'n[001-003]'
ok "with one it waits" until_true 30 says 'snelasticd has 60 s to say what is to be done'
ok "and is stuck" until_true 20 eval '[ "$(field "$id" state)" = stuck ]'
ok "replace" elastic replace "$id"
ok "it goes on" until_true 40 all_said 1 24
like "on the spare" "$(cat "$SAID"/1.*)" ' n004$'

# Killed, it is started again by whoever started it; here nobody does.
pid=$(pgrep -f "^snrun --max-restarts 9 ./rank.sh" | head -n 1)
standin=$(squeue -h -o '%A %k' | awk -v c="supernode:member=$id:" 'index($2, c) == 1 { print $1 }')
like "a stand-in is there" "$standin" '^[0-9]+$'
kill -KILL "$pid"
ok "snrun is killed: its stand-in ends" until_true 40 eval '[ -z "$(squeue -h -j "$standin" -t R,PD -o %T 2>/dev/null)" ]'
ok "and nothing is attached" until_true 20 attached 0
finish
