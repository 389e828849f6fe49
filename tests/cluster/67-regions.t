#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Regions of the pool with names that users make through snelasticd: whose they may
# be, what the site lets them hold, who deletes them, and that a daemon which is killed
# leaves none on some of its nodes only.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/elastic.sh"
. "$(dirname "$0")/pool.sh"
LOG_ALLOW='Security violation, UPDATE_NODE'
pool_cluster
LOG_ALLOW="$LOG_ALLOW|Security violation, UPDATE_NODE" # by users without a daemon
command -v snelasticd >/dev/null || skip_all "snelasticd is not built"
chmod 711 "$CL_DIR" "$CL_DIR/etc"
UID_A=$(id -u daemon) UID_B=$(id -u bin)

a() { setpriv --reuid="$UID_A" --regid="$UID_A" --clear-groups --inh-caps=+dac_read_search --ambient-caps=+dac_read_search "$@" 2>&1; }
b() { setpriv --reuid="$UID_B" --regid="$UID_B" --clear-groups --inh-caps=+dac_read_search --ambient-caps=+dac_read_search "$@" 2>&1; }

refused() # WHAT REGEX COMMAND…: it says so, and exits with 1
{
	local what=$1 regex=$2 text
	shift 2

	text=$("$@" 2>&1; echo "exit $?")
	like "$what" "$text" "$regex"
	like "exit 1: $what" "$text" '^exit 1$'
}

# on NODE…: the regions in their records, "NAME UID BYTES" a line
records()
{
	local node

	for node; do
		extra "$node"
	done | python3 -c '
import json, sys
for line in sys.stdin:
    if line.strip():
        for name, r in sorted(json.loads(line).get("pool", {}).items()):
            print(name, r["uid"], r["bytes"])'
}

ids() # NAME: its incarnation on each node that has it
{
	local node

	for node in "${CL_NAME[@]}"; do
		extra "$node"
	done | grep -o "\"$1\":{[^}]*}" | grep -o '"id":[0-9]*' | sort | uniq -c | tr -s ' '
}

# ---- without a daemon

refused "without a daemon a user is told what he needs" \
	'only root and SlurmUser can write node records, others have snelasticd do it; no snelasticd answers' \
	a snctl pool create w --size=8M --supernode=b
ok "root needs none" snctl pool create w --size=8M --supernode=b
refused "nor may a user delete" 'others have snelasticd do it' a snctl pool delete w
is "it is there" "$(records n003 n004)" $'w 0 4194304\nw 0 4194304'
ok "root does" snctl pool delete w

# ---- what users may hold

ok "snelasticd starts" start_elasticd -v || bail "and so the rest" "$(tail -n 5 "$CL_DIR/log/snelasticd.log")"
refused "users make none unless the site says so" 'PoolNamed is 0 in supernode.conf, so only root and SlurmUser' \
	a snctl pool create w --size=8M --supernode=b
echo "PoolNamed=50 PoolNamedUser=25" >>"$CL_DIR/etc/supernode.conf"
kill -HUP "$(pid_of "$CL_DIR/run/elasticd")"
ok "which it does now" until_true 20 log_says 'configuration was read again'
like "a user makes a region" "$(a snctl pool create w --size=128M --supernode=b)" \
	"^w: 64M on each of 2 nodes of b, for user $UID_A; jobs reach it by --pool=name:w\$"
is "it is in its nodes' records" "$(records n003 n004)" "w $UID_A 67108864"$'\n'"w $UID_A 67108864"
is "and counts" "$(free_of b)" "896M"
before=$(ids w)
is "asked for once more it is there" "$(a snctl pool create w --size=64M/node --supernode=b --json)" \
	"{\"created\": \"w\", \"uid\": $UID_A, \"supernode\": \"b\", \"nodes\": 2, \"bytes_per_node\": 67108864}"
is "and is the same one" "$(ids w)" "$before"
refused "another of its name is not made" 'is a pool region w already' a snctl pool create w --size=1M --supernode=a
refused "nor one that is too much for him" \
	"129M are wanted, and regions with names of user $UID_A hold 128M of supernode b's pool; PoolNamedUser=25 in supernode.conf lets them hold 256M of its 1G" \
	a snctl pool create more --size=129M --supernode=b
ok "another user makes his" b snctl pool create b1 --size=256M --supernode=b
ok "root is not limited, whoever it is for" snctl pool create r --size=100M --supernode=b --user=bin
refused "nor one that is too much for all users" \
	"64M are wanted, and regions with names of users hold 484M of supernode b's pool; PoolNamed=50 in supernode.conf lets them hold 512M of its 1G" \
	a snctl pool create more --size=64M --supernode=b
refused "nor is there more than there is" "2G are wanted, and of supernode b's pool 540M are free" \
	snctl pool create big --size=2G --supernode=b
refused "a user makes none for another" "user $UID_A creates regions for himself only; for user $UID_B root or SlurmUser does" \
	a snctl pool create theirs --size=1M --supernode=a --user=bin
like "bad words are bad input" "$(a snctl pool create ../x --size=1M --supernode=a; echo "exit $?")" '^exit 2$'
like "which is told" "$(a snctl pool create ../x --size=1M --supernode=a)" 'want letters, digits'
refused "so is a supernode that is not there" 'has no such supernode' a snctl pool create x --size=1M --supernode=c
is "nothing of all that is in the records" "$(records n001 n002 n003 | cut -d' ' -f1 | paste -sd' ')" "b1 r w"

# ---- who deletes

refused "another user does not" "the pool region w is user $UID_A's; he, root and SlurmUser can delete it" b snctl pool delete w
like "which is an event" "$(snctl events --kind=refused)" 'pool.delete: the pool region w'
cat >"$WORK/pub/hold" <<'END'
#!/bin/bash
echo of "$SLURM_JOB_ID" >"$SUPERNODE_POOL_DIR/w" && echo written
until [ -e "$1" ]; do sleep 0.1; done
END
chmod 755 "$WORK/pub/hold"
job=$(as_user --parallel=tp=8 --pool=name:w "$WORK/pub/hold" "$WORK/pub/go")
ok "a job of its owner's uses it" until_true 30 grep -qs '^written' "$WORK/pub/$job.out"
refused "then it is not deleted" "in use by job $job" a snctl pool delete w
refused "not by root either" "in use by job $job" snctl pool delete w
: >"$WORK/pub/go"
ok "the job ends" await "$job" COMPLETED
is "its owner deletes it" "$(a snctl pool delete w --json)" '{"deleted": "w", "waiting": 0}'
refused "once" 'there is no pool region w$' a snctl pool delete w
is "it is in no record" "$(records n003 n004 | grep -c '^w ')" 0
text=$(snctl events --kind=pool --limit=20)
like "who made it is an event" "$text" "the pool region w is made for user $UID_A: 64M on each of 2 nodes, by daemon"
like "and who deleted it" "$text" 'take the pool region w away: deleted by daemon; done: from 2 nodes'

# ---- two at a time, and a daemon that is killed

pids=()
for i in 1 2 3; do
	a snctl pool create "p$i" --size=80M --supernode=a >>"$WORK/race.out" &
	pids+=($!)
	b snctl pool create "q$i" --size=80M --supernode=a >>"$WORK/race.out" &
	pids+=($!)
done
wait "${pids[@]}"
held=$(records n001 | grep -c .)
if [ "$held" -ge 2 ] && [ "$held" -le 6 ] && [ "$(records n001)" = "$(records n002)" ]; then
	pass "of regions that are made at once each is whole ($held)"
else
	fail "of regions that are made at once each is whole" "$(records n001 n002; cat "$WORK/race.out")"
fi
whole() # on both nodes of it, or on none; and nothing is left to be done
{
	[ "$(status actions)" = 0 ] && [ "$(records n003)" = "$(records n004)" ]
}
for i in 1 2 3; do
	a snctl pool create "k$i" --size=8M --supernode=b >/dev/null &
	pid=$!
	until_true 5 eval '[ -n "$(records n003 n004 | grep "^k$i")" ] || ! kill -0 $pid 2>/dev/null'
	stop_elasticd KILL
	wait "$pid"
	ok "the next daemon starts" start_elasticd -v
	ok "a region whose daemon was killed is whole, or gone" until_true 20 whole
	like "and can be made" "$(a snctl pool create "k$i" --size=8M --supernode=b)" '^k.: 4M on each of 2 nodes'
	is "on all of its nodes" "$(records n003 n004 | grep -c "^k$i ")" 2
done
for name in $(snctl pool list --json | grep -o '"name":"[^"]*"' | cut -d'"' -f4); do
	snctl pool delete "$name" || fail "$name is deleted"
done
is "all are deleted, and nothing is left in the records" "$(for node in "${CL_NAME[@]}"; do extra "$node"; done | tr -d '\n')" ""
is "the pool is whole" "$(free_of a) $(free_of b)" "1G 1G"
ok "the daemon ends" stop_elasticd
finish
