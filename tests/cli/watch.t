#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# snrun-watch on the memory of cards: by the site's program and by the vendors' tools,
# at the documented 85 and 70 percent; the advice as file, variable and signal.
. "$SN_SRCDIR/tests/cli/lib.sh"
WATCH=$SN_BUILDDIR/launcher/snrun-watch
SLURM_CONF=$dir/slurm.conf SLURMD_NODENAME=n001
export SLURM_CONF SLURMD_NODENAME
unset SUPERNODE_POOL_DIR SUPERNODE_JOB_DIR SLURM_LOCALID
mkdir -m 700 job
# run_watch ARGS…: as lib.sh's run
run_watch() {
	"$WATCH" "$@" >out 2>err
	status=$?
}
tool() { # NAME: standard input is what it prints
	{ echo '#!/bin/sh'; echo "cat <<'END'"; cat; echo END; } >"$1"
	chmod 755 "$1"
}
advice_of() { # FILE CARD
	sed -n 's/.*"card":'"$2"',[^}]*"advice":"\([a-z-]*\)".*/\1/p' "$1"
}

echo "CardMemoryProgram=$dir/site" >supernode.conf
printf '%s\n' '#!/bin/sh' "cat $dir/memory" >site
chmod 755 site
printf '0 8499 10000\n1 8500 10000\n2 0 10000\n' >memory
run_watch --once --hold=1
[ "$status" = 0 ] && [ ! -s err ] && grep -q '^{"node":"n001",.*"advice":"swap-out","cards":\[' out &&
	[ "$(advice_of out 0) $(advice_of out 1) $(advice_of out 2)" = "none swap-out none" ]
ok "the site's program: 85 % of a card's memory" || show

cat >task <<'END'
#!/bin/sh
trap 'told="$told $(sed "s/.*\"time\":[0-9]*,\"advice\":\"\([a-z-]*\)\".*/\1/" "$SUPERNODE_MEMORY_ADVICE")"' USR1
await() { # N: until so many have come
	i=0
	while [ "$(echo "$told" | wc -w)" -lt "$1" ] && [ $i -lt 300 ]; do
		i=$((i + 1))
		sleep 0.1
	done
}
# Written whole, as it is read at any time.
holds() {
	echo "0 $1 100" >memory.new
	mv memory.new memory
}
looks() { # two more of them
	i=0
	for look in 1 2; do
		before=$(cat "$SUPERNODE_MEMORY_ADVICE")
		while [ "$(cat "$SUPERNODE_MEMORY_ADVICE")" = "$before" ] && [ $i -lt 300 ]; do
			i=$((i + 1))
			sleep 0.1
		done
	done
}
echo "file $SUPERNODE_MEMORY_ADVICE"
holds 90
await 1
holds 75
looks
told="$told |"
holds 70
await 3
echo "told$told"
exit 7
END
chmod 755 task
echo '0 10 100' >memory
run_watch --interval=1 --hold=1 --rest=0 --signal=10 --dir="$dir/job" ./task
[ "$status" = 7 ] && [ ! -s err ] && grep -qxF "file $dir/job/memory.n001.json" out
ok "the command's own exit status, and the file in its variable" || show
grep -qxF "told swap-out | swap-in" out
ok "told at 90 %, not at 75, and again at 70" || show

printf '%s\n' '#!/bin/sh' 'echo no driver >&2; exit 3' >site
run_watch --interval=1 --dir="$dir/job" true
[ "$status" = 0 ]
ok "a program that fails keeps no task from running" || show
run_watch --once
[ "$status" = 0 ] && [ "$(wc -l <err)" = 1 ] && grep -q "^snrun-watch: CardMemoryProgram: .*$dir/site.*no driver" err
ok "and is named once" || show
printf '%s\n' '#!/bin/sh' 'echo 0 much 100' >site
run_watch --once
grep -q "^snrun-watch: CardMemoryProgram: .*$dir/site: line 1: .*much" err
ok "so is what is no number" || show

# The vendors' tools, as they print.
tool npu-smi <"$SN_SRCDIR/tests/fuzz/corpus/probe/npu-a3-25.0"
printf 'CardGres=npu\nProbeTool=%s\nCardMemoryHigh=76 CardMemoryLow=50\n' "$dir/npu-smi" >supernode.conf
run_watch --once --hold=1
[ "$status" = 0 ] && [ ! -s err ] && [ "$(advice_of out 0) $(advice_of out 2)" = "none swap-out" ] &&
	grep -qF '{"card":2,"used":52428800000,"total":68719476736,' out
ok "npu-smi, and the site's own marks" || show
printf '0, 100, 81920\n1, 72000, 81920\n' | tool nvidia-smi
printf 'CardGres=gpu\nProbeTool=%s\n' "$dir/nvidia-smi" >supernode.conf
run_watch --once --hold=1
[ "$status" = 0 ] && [ ! -s err ] && [ "$(advice_of out 0) $(advice_of out 1)" = "none swap-out" ] &&
	grep -qF '{"card":1,"used":75497472000,"total":85899345920,' out
ok "nvidia-smi where ProbeTool says it is" || show
echo ProbeTool=none >supernode.conf
run_watch --once
[ "$status" = 0 ] && [ ! -s err ] && grep -qF '"advice":"none","cards":[]' out
ok "without a tool no card is watched" || show

echo 'CardMemoryHigh=60' >supernode.conf
run_watch --once
[ "$status" = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q '^snrun-watch: .*CardMemory.*60.*70' err
ok "marks that cross are refused" || show
finish
