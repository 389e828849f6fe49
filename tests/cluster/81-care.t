#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What snelasticd decides for running jobs: a suspected card moves nothing; a sick one
# is left at the next safe point, for a spare or by being smaller, unless the account's
# rules forbid it; a node that dies is taken out without SlurmdTimeout. Events and snctl
# elastic status say why; in dry-run, and by a bad policy, nothing changes.
. "$(dirname "$0")/lib.sh"
. "$TESTS/elastic.sh"
TOPO=$(mktemp)
cat >"$TOPO" <<-'END'
	SupernodeName=a Nodes=n[001-003]
	SupernodeName=b Nodes=n[004-005]
	SupernodeName=c Nodes=n[006-007]
END
CL_NODES=7 CL_PER=7 CL_TOPOLOGY=$TOPO CL_UNIT=0 CL_PODS=0
CL_POLICY='ElasticMembers=no
ElasticPolicy="account=fixed:no-shrink"'
LOG_ALLOW='slurm_bufs_sendto.*failed|Step complete from .* was already processed|Removing failed node|step_signal'
start_cluster
rm -f "$TOPO"
command -v snelasticd >/dev/null || skip_all "snelasticd is not built"
echo "JobDir=$WORK/jobs/%j RestartWait=1 NodePoll=200 CheckpointHard=20" >>"$CL_DIR/etc/supernode.conf"
cat >rank.sh <<'END2'
#!/bin/bash
# Says where it is; asked to end it saves, as all together would.
save() { [ "$RANK" != 0 ] || { echo "$SUPERNODE_GENERATION" >"$SUPERNODE_JOB_DIR/checkpoint.new"; mv "$SUPERNODE_JOB_DIR/checkpoint.new" "$SUPERNODE_JOB_DIR/checkpoint"; }; exit 0; }
trap save TERM
echo "$SLURMD_NODENAME $SUPERNODE_CARDS" >"$SUPERNODE_JOB_DIR/said.$SUPERNODE_GENERATION.$RANK"
# A peer of one that is gone fails, too.
until [ "$RANK.$SUPERNODE_GENERATION" = "$(cat "$SUPERNODE_JOB_DIR/fails" 2>/dev/null)" ]; do sleep 0.3; done
exit 1
END2
printf '#!/bin/bash\nexec snrun --max-restarts 9 ./rank.sh\n' >job.sh
chmod +x rank.sh job.sh
field() { snctl elastic status "$1" --json 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin).get(sys.argv[1]))' "$2" 2>/dev/null; }
generation() { cat "$WORK/jobs/$1/generation" 2>/dev/null; }
# said JOB GENERATION RANKS: so many have begun
said() { [ "$(cat "$WORK/jobs/$1/said.$2".* 2>/dev/null | wc -l)" = "$3" ]; }
uses() { cat "$WORK/jobs/$1/said.$2".* | grep -q "^$3 $4\$"; } # JOB GENERATION NODE CARD
node_of() { sort -u "$WORK/jobs/$1/hostfile" | sed -n "$2p"; } # JOB NUMBER
batch_of() { scontrol -o show job "$1" | sed -nE 's/.* BatchHost=([^ ]*).*/\1/p'; }
event() # REGEX JOB
{
	snctl events --kind=elastic --limit 100 2>/dev/null | grep -Eq "$1.*\(job $2\)"
}
events_of() { snctl events --kind=elastic --limit 100 2>/dev/null | grep -c "(job $1)"; }
row() # JOB WORD: of snctl elastic status without a job
{
	snctl elastic status --json | python3 -c '
import json, sys
for j in json.load(sys.stdin)["jobs"]:
    if j["job"] == int(sys.argv[1]):
        last = j["decisions"][0] if j["decisions"] else {}
        print(j.get(sys.argv[2], last.get(sys.argv[2])))' "$1" "$2" 2>/dev/null
}
attached() { [ "$(status attached)" = "$1" ]; }

ok "a daemon" start_elasticd -v || bail "and so the rest" "$(tail -n 3 "$CL_DIR/log/snelasticd.log")"
one=$(submit --parallel=tp=8,dp=2 --elastic=min_dp=1 --spares=1 -x 'n[004-007]' job.sh)
two=$(submit --parallel=tp=8,dp=2 --elastic=min_dp=1 -w 'n[004-005]' job.sh)
three=$(submit --parallel=tp=8,dp=2 --elastic=min_dp=1 -A fixed -w 'n[006-007]' job.sh)
ok "three jobs run" until_true 60 eval 'said $one 0 16 && said $two 0 16 && said $three 0 16'
ok "and are attached" until_true 20 attached 3
like "the list has them" "$(snctl elastic status)" "^ *$one +[^ ]+ +running +2 +1/2/2 +0 "
is "nothing was decided yet" "$(row "$one" decided)" 0

# ---- suspected, then sick, with a spare
sick=$(sort -u "$WORK/jobs/$one/hostfile" | grep -vx "$(batch_of "$one")" | head -n 1)
ok "a card of the first is suspected" snctl health report "$sick:5" --code=sick
ok "it is masked and probed first" until_true 20 event "mask: $sick:5 in a is suspected; it is masked and probed first" "$one"
ok "its probe fails" snctl health report "$sick:5" --code=link-down
before=${EPOCHREALTIME/[.,]/}
ok "now the ranks leave it for the spare" until_true 30 said "$one" 1 16
diag "from the report to the ranks on the spare: $(((${EPOCHREALTIME/[.,]/} - before) / 1000)) ms"
ok "and are not on it" eval '! uses $one 1 $sick 5'
is "at their safe point" "$(cat "$WORK/jobs/$one/checkpoint")" 0
ok "why is an event" event "swap: $sick:5 in a is sick; 1 spare takes over; [0-9]+ card-seconds" "$one"
ok "and that it is done" until_true 20 event "the job runs without what was wrong at $sick, .*: dp=2, generation 1" "$one"
like "status says so, too" "$(snctl elastic status "$one")" "swap: $sick:5 in a is sick; .* \(told\)"
is "it is told once" "$(snctl events --kind=elastic --limit 100 | grep -c 'swap: ')" 1

# ---- sick, without a spare
ok "a card of the second is sick" snctl health report n005:2 --code=link-down
ok "it is a little smaller then" until_true 30 said "$two" 1 8
ok "without the card's node" eval '! uses $two 1 n005 2'
is "dp" "$(field "$two" dp)" 1
ok "why" event "shrink: n005:2 in b is sick; dp goes from 2 to 1" "$two"

# ---- sick, and forbidden
ok "a card of the third is sick" snctl health report n007:2 --code=link-down
ok "its account may not be shrunk: it runs on" until_true 20 event "mask: n007:2 in c is sick; nothing takes over and the job cannot be smaller, so it runs on" "$three"
is "as it was" "$(field "$three" generation) $(field "$three" dp)" "0 2"
like "the list says why" "$(snctl elastic status)" "^ *$three .* mask: n007:2 in c is sick"

# ---- a bad policy, and a better one
cp "$CL_DIR/etc/supernode.conf" good.conf
reload() { kill -HUP "$(pid_of "$CL_DIR/run/elasticd")"; }
sed -i 's/no-shrink/no-shring/' "$CL_DIR/etc/supernode.conf"
ok "a bad policy is read" reload
bad() { snctl events --kind=daemon | grep -q 'the old one stays: .*ElasticPolicy: "no-shring": want off'; }
ok "is told, and the old one stays" until_true 20 bad
like "snctl check says the same" "$(snctl check 2>&1; echo "exit $?")" 'supernode.conf: ElasticPolicy: "no-shring": want off'
is "the third runs on" "$(field "$three" generation)" 0
sed 's/account=fixed:no-shrink/account=fixed:off/' good.conf >"$CL_DIR/etc/supernode.conf"
ok "a rule that has jobs left alone" reload
off() { [ "$(row "$three" off)" = True ]; }
ok "is in force" until_true 20 off

# ---- a node dies
node=$(sort -u "$WORK/jobs/$one/hostfile" | grep -vx "$(batch_of "$one")" | head -n 1)
g=$(generation "$one")
before=${EPOCHREALTIME/[.,]/}
nodes_down "$node"
echo "0.$g" >"$WORK/jobs/$one/fails"
is_out() { [[ $(scontrol -o show node "$node") == *State=DOWN*DRAIN*snelasticd* ]]; }
ok "a node dies: Slurm is told, long before SlurmdTimeout" until_true 25 is_out
diag "from its death to State=DOWN: $(((${EPOCHREALTIME/[.,]/} - before) / 1000)) ms"
# It may have been started once more on what it had before Slurm was told.
goes_on() { local n; n=$(generation "$one"); [ "$(field "$one" dp)" = 1 ] && [ "$n" -gt "$g" ] && said "$one" "$n" 8; }
ok "the job goes on with what is left" until_true 40 goes_on
ok "and has left the node" eval '! uses $one "$(generation "$one")" "$node" ".*"'

# ---- dry-run
ok "the daemon ends" stop_elasticd
cp good.conf "$CL_DIR/etc/supernode.conf"
sed -i 's/no-shrink/all/' "$CL_DIR/etc/supernode.conf"
ok "and is there in dry-run" start_elasticd -v --dry-run
would() { event "dry-run, not done: shrink: n007:2 in c is sick; dp goes from 2 to 1" "$three"; }
ok "it says what it would do" until_true 30 would
is "and does not" "$(field "$three" generation)" 0
ok "the daemon ends" stop_elasticd
ok "and another decides it" start_elasticd -v
ok "as it sees what stands" until_true 30 said "$three" 1 8
scancel "$one" "$two" "$three"
gone_jobs() { [ -z "$(squeue -h -o %T | grep -v COMPLETING)" ]; }
ok "all end" until_true 30 gone_jobs
ok "and are out of the list" until_true 20 eval '[[ "$(snctl elastic status)" == "no elastic job runs" ]]'
finish
