#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# snrun's link to snelasticd: it attaches, says how the job is, takes orders and
# answers; it comes back to a daemon that was restarted, and does without one; nobody
# speaks for another user's job; a lost node is known at once. And what only the
# orders can do: single cards, nodes that stand in for lost ones, a requeue.
. "$(dirname "$0")/lib.sh"
. "$TESTS/elastic.sh"
TOPO=$(mktemp)
cat >"$TOPO" <<-'END'
	SupernodeName=a Nodes=n[001-005] SpareNodes=1
	SupernodeName=b Nodes=n[006-008]
END
CL_NODES=8 CL_PER=5 CL_TOPOLOGY=$TOPO CL_UNIT=0 CL_PODS=0
# What is done here is done by hand.
CL_POLICY='Operators=bin
ElasticMembers=no
ElasticPolicy="default:off"'
LOG_ALLOW='slurm_bufs_sendto.*failed|Step complete from .* was already processed|Removing failed node|step_signal'
start_cluster
rm -f "$TOPO"
command -v snelasticd >/dev/null || skip_all "snelasticd is not built"
echo "JobDir=$WORK/jobs/%j RestartWait=1 NodePoll=200 CheckpointHard=20" >>"$CL_DIR/etc/supernode.conf"
chmod 711 "$WORK" "$CL_DIR" "$CL_DIR/etc"
cat >rank.sh <<'END2'
#!/bin/bash
# Says where it is; asked to end it saves, as all together would.
save() { [ "$RANK" != 0 ] || { echo "$SUPERNODE_GENERATION" >"$SUPERNODE_JOB_DIR/checkpoint.new"; mv "$SUPERNODE_JOB_DIR/checkpoint.new" "$SUPERNODE_JOB_DIR/checkpoint"; }; exit 0; }
trap save TERM
echo "$RANK $SLURMD_NODENAME $SUPERNODE_CARDS" >"$SAID/$SUPERNODE_GENERATION.$RANK"
while :; do sleep 0.2; done
END2
printf '#!/bin/bash\nexec snrun --max-restarts 9 ./rank.sh\n' >job.sh
chmod +x rank.sh job.sh
elastic() { snctl elastic "$@" 2>&1; }
field() { elastic status "$1" --json | python3 -c 'import json, sys; print(json.load(sys.stdin).get(sys.argv[1]))' "$2" 2>/dev/null; }
attached() { [ "$(status attached)" = "$1" ]; }
generation() { cat "$WORK/jobs/$1/generation" 2>/dev/null; }
all_said() { [ "$(cat "$SAID/$1".* 2>/dev/null | wc -l)" = "$2" ]; }
ranks_on() { grep -c "^$2\$" "$WORK/jobs/$1/hostfile"; }
batch_of() { scontrol -o show job "$1" | sed -nE 's/.* BatchHost=([^ ]*).*/\1/p'; }
event() { snctl events --kind="$1" --limit 50 2>/dev/null | grep -Eq "$2"; }

ok "a daemon" start_elasticd -v || bail "and so the rest"
export SAID=$WORK/said
mkdir "$SAID"
id=$(submit --open-mode=append --parallel=tp=4,dp=8 --elastic=min_dp=2 -x 'n[007-008]' job.sh)
ok "32 ranks run" until_true 60 all_said 0 32
ok "and their snrun is attached" until_true 20 attached 1

# ---- who may
OPERATOR=$(id -u bin)
USER1=$OPERATOR
like "an operator sees the job" "$(as_user snctl elastic status "$id" 2>&1)" "job $id: running, dp=8 with 32 ranks"
like "as its snrun has said" "$(as_user snctl elastic status "$id" 2>&1)" 'as its snrun told snelasticd [0-9]+ s ago$'
before=$(date +%s%N)
like "and steers it" "$(as_user snctl elastic shrink "$id" --reason='a test of it' 2>&1)" "job $id: "
diag "an order and its answer: $((($(date +%s%N) - before) / 1000000)) ms"
ok "28 ranks run" until_true 30 all_said 1 28
like "snrun says why" "$(cat "$id.out")" 'snrun: asked to shrink: done as soon as it can be .a test of it.'
ok "it is an event" event operator "job $id was told to shrink by user $OPERATOR: a test of it"
like "what it refuses is told" "$(as_user snctl elastic swap "$id" n099 2>&1; echo "exit $?")" 'node n099 is not in the job'
USER1=65534
like "another user may not" "$(as_user snctl elastic shrink "$id" 2>&1; echo "exit $?")" "job $id is another user's|only he and root"
foreign() # JSON: a request of nobody's
{
	local cred

	cred=$(printf %s "$1" | as_user munge -S "$CL_DIR/munge/socket" -i /dev/stdin) &&
		[ "$("$TESTS/wire.py" send "$CL_DIR/run/elasticd.socket" "$cred")" -gt 0 ]
}
ok "nor speak for it" foreign '{"op": "elastic.attach", "job": '"$id"', "state": {"state": "running"}}'
ok "nor hint" foreign '{"op": "elastic.hint", "job": '"$id"', "lost": ["n001"]}'
ok "all of which is logged" eval 'log_says "refused: elastic.attach by user 65534" && log_says "refused: elastic.hint by user 65534"'
ok "and an event" event refused "job $id is user 0's, and user 65534"
is "the job is as it was" "$(field "$id" generation) $(status attached)" "1 1"

# ---- one card
victim=$(sort -u "$WORK/jobs/$id/hostfile" | head -n 1)
g=$(generation "$id")
ok "the ranks leave a card" elastic swap "$id" "$victim:6"
ok "24 or 28 ranks run on" until_true 30 eval 'all_said $((g + 1)) 28 || all_said $((g + 1)) 24'
is "four of them on the other cards of its node" "$(awk -v n="$victim" '$2 == n { print $3 }' "$SAID/$((g + 1))".* | sort -n | paste -sd,)" "0,1,2,3"
is "as the plan says" "$(cat "$SAID/$((g + 1))".* | awk '{ print $1, $2, $3 }' | sort -n)" \
	"$(python3 -c 'import json, sys; [print(r, n, c) for r, (n, c) in enumerate(json.load(open(sys.argv[1]))["ranks"])]' "$WORK/jobs/$id/layout.json")"

# ---- without a daemon, and with it again
ok "the daemon ends" stop_elasticd
ok "and is there again" start_elasticd -v
ok "the job attaches again" until_true 20 attached 1
ok "killed" stop_elasticd KILL
g=$(generation "$id")
ok "the job goes on, and is steered by files" elastic shrink "$id" --reason='without it'
ok "24 or 20 ranks run" until_true 30 eval '[ -s "$SAID/$((g + 1)).0" ] && [ "$(field "$id" state)" = running ]'
ok "there again" start_elasticd -v
ok "the job attaches again" until_true 20 attached 1
USER1=$OPERATOR
is "and what it is now is known" "$(as_user snctl elastic status "$id" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["dp"])')" "$(field "$id" dp)"

# ---- a lost node, and one that stands in for it
batch=$(batch_of "$id")
lost=$(sort -u "$WORK/jobs/$id/hostfile" | grep -vx "$batch" | grep -vx "$victim" | head -n 1)
g=$(generation "$id")
nodes_down "$lost"
before=$(date +%s%N)
scontrol update "NodeName=$lost" State=DOWN Reason=test
knows() { event job "the snrun of job $id has lost node $lost"; }
ok "a node dies: snrun tells the daemon" until_true 20 knows
diag "from the word of it till it was asked: $((($(date +%s%N) - before) / 1000000)) ms"
ok "it goes on with a smaller size" until_true 30 eval '[ -s "$SAID/$((g + 1)).0" ] && [ "$(field "$id" state)" = running ]'
small=$(field "$id" dp)
ok "grow to what it may have" eval 'elastic grow "$id" --dp 8 || true'
ok "replace" elastic replace "$id" --reason='its node died'
g=$(generation "$id")
ok "it goes on with more" until_true 40 eval '[ "$(field "$id" dp)" -gt "$small" ] && [ "$(field "$id" state)" = running ]'
standin=$(squeue -h -o '%A %k' | awk -v c="supernode:member=$id:" 'index($2, c) == 1 { print $1 }')
is "by a job on the spare node" "$(scontrol -o show job "$standin" | sed -nE 's/.* NodeList=([^ ]*).*/\1/p')" n005
is "which has eight ranks" "$(ranks_on "$id" n005)" 8
like "a second one is refused" "$(elastic replace "$id")" 'as many stand in for them already'

# ---- a requeue
runs_as() { [ "$(scontrol -o show job "$id" | sed -nE 's/.* Restarts=([0-9]+).*/\1/p')" = "$1" ]; }
g=$(field "$id" generation)
ok "requeue" elastic requeue "$id" --reason='for good measure'
ok "it is" until_true 30 runs_as 1
ok "and pends" await "$id" PENDING
ok "no stand-in is left" until_true 20 eval '[ -z "$(squeue -h -j "$standin" -t R,PD -o %T 2>/dev/null)" ]'
like "after a checkpoint" "$(cat "$WORK/jobs/$id/checkpoint.request")" '"why":"requeue"'
is "that was made" "$(cat "$WORK/jobs/$id/checkpoint")" "$g"
ok "started" until_true 20 start_now "$id"
ok "it runs on" until_true 60 eval '[ "$(field "$id" state)" = running ]'
ok "as a later generation" test "$(field "$id" generation)" -gt "$g"
ok "attached" until_true 20 attached 1
scancel "$id"
ok "it ends" await "$id" "CANCELLED COMPLETING"
ok "and with it the attachment" until_true 20 attached 0
finish
