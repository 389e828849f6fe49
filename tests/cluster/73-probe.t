#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# snctl health probe as Slurm's HealthCheckProgram on real slurmds, with stand-ins for
# npu-smi: well, sick, hanging, garbage. And a rank that computes for longer is found by
# the arrival times of the collectives that it keeps waiting.
. "$(dirname "$0")/lib.sh"
. "$TESTS/train.sh"
CL_NODES=8 CL_PER=4 CL_CARDS=4 CL_PODS=0 CL_UNIT=0
P=$(mktemp -d "${TMPDIR:-/tmp}/snp-XXXXXX") || exit 1
chmod 711 "$P"
CL_EXTRA="HealthCheckProgram=$P/check
HealthCheckInterval=2"
CL_POLICY="ProbeTool=$P/npu-smi ProbeLinkTool=none ProbeTimeout=2 HealthProbeRetry=1"
LOG_ALLOW='health_check|HealthCheck'

# A table as npu-smi prints it, of four cards; the mode is the node's.
cat >"$P/npu-smi" <<END
#!/bin/bash
mode=\$(cat "$P/mode-\$(hostname)" 2>/dev/null || cat "$P/mode")
case \$mode,\$1,\$3 in
hang,*) sleep 600 ;;
garbage,info,) head -c 3000 /dev/urandom; exit 0 ;;
failed,*) echo "dcmi model initialized failed, because the device is used. ret is -8020"; exit 1 ;;
*,info,ecc) exit 0 ;;
esac
echo '| npu-smi 23.0.rc3                 Version: 23.0.rc3                                             |'
echo '| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|'
echo '| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |'
echo '+===========================+===============+====================================================+'
for card in 0 1 2 3; do
	health=OK
	[ \$mode,\$card = sick,2 ] && health=Critical
	echo "| \$card     910B3               | \$health        | 92.5        4\$card                0    / 0             |"
	echo "| 0                         | 0000:C\$card:00.0  | 0           0    / 0          3162 / 65536         |"
done
END
cat >"$P/check" <<END
#!/bin/bash
[ ! -e "$P/quiet" ] || exit 0
. "$P/env" || exit 0 # the cluster is starting
# slurmd may start another before this one has ended.
snctl health probe --report --json >"$P/new-\$SLURMD_NODENAME-\$\$" 2>"$P/err-\$SLURMD_NODENAME"
rc=\$?
echo "ended \$rc" >>"$P/new-\$SLURMD_NODENAME-\$\$"
mv "$P/new-\$SLURMD_NODENAME-\$\$" "$P/json-\$SLURMD_NODENAME"
exit \$rc
END
chmod 755 "$P/npu-smi" "$P/check"
echo good >"$P/mode"
start_cluster
trap 'clean_up $?; rm -rf "$P"' EXIT
command -v snelasticd >/dev/null || skip_all "snelasticd is not built"
ok "snelasticd starts" start_elasticd || bail "and so the rest" "$(tail -n 5 "$CL_DIR/log/snelasticd.log")"
printf 'export SLURM_CONF=%q PATH=%q\n' "$SLURM_CONF" "$PATH" >"$P/env.new"
mv "$P/env.new" "$P/env"
export SN_STEP=no

extra_of() # NODE
{
	scontrol -o show node "$1" | sed -nE 's/.* Extra=(.*)$/\1/p'
}

# masked NODE: its cards with a health mark, "2 quarantined"
masked()
{
	extra_of "$1" | grep -oE '"[0-9]+": ?\{ ?"health": ?\{ ?"state": ?"[a-z]*"' |
		sed -E 's/"([0-9]+)".*"([a-z]*)"$/\1 \2/' | paste -sd,
}

is_masked() # NODE WHAT
{
	[[ $(masked "$1") =~ ^$2$ ]]
}

checked() # NODE RC: the next look of it ended so
{
	rm -f "$P/json-$1"
	until_true 60 test -e "$P/json-$1" && grep -qx "ended $2" "$P/json-$1"
}

# ---- well ---------------------------------------------------------------------------

ok "slurmd runs the probe, and all is well" checked n001 0 || diag "$(cat "$P"/*n001)"
like "four cards, each with what npu-smi says of it" "$(cat "$P/json-n001")" \
	'"healthy":true,"reported":true,"tool":\{[^}]*"state":"ok","version":"23.0.rc3"\}.*"card":3,"device":"[^"]*3","present":true,"health":"ok",[^}]*"temperature":43,"power":92.5,"memory_used":3315597312,"memory_total":68719476736'
like "and nothing is sick" "$(snctl health show)" 'every card .* is healthy'
if [ "$CL_MODE" != netns ]; then
	skip "the sick" "the nodes have one name on loopback"
	finish
fi

# ---- sick, hanging, garbage -----------------------------------------------------------

echo sick >"$P/mode-n002"
echo hang >"$P/mode-n003"
echo garbage >"$P/mode-n004"
ok "a critical card is masked" until_true 60 is_masked n002 '2 quarantined' || diag "$(masked n002) $(cat "$P"/*n002)"
ok "and the probe says 1" checked n002 1
like "with the tool's word" "$(cat "$P/json-n002")" '"card":2,"code":"probe-failed","text":"npu-smi: Critical"'
like "and to slurmd" "$(grep -a health_check "$CL_DIR/log/n002.log" | tail -n 1)" 'health_check failed: rc:1'
is "the node is not drained" "$(sinfo -h -n n002 -o %T)" idle
id=$(submit -w n002 --gres=npu:3 "$TESTS/held.sh")
ok "its three other cards serve" await "$id" RUNNING
is "which are they" "$(cards_of "$id" | awk '{ print $2 }' | paste -sd,)" 0,1,3
scancel "$id"
all='0 quarantined,1 quarantined,2 quarantined,3 quarantined'
ok "a driver that hangs is a fault of all its cards" until_true 60 is_masked n003 "$all" || diag "$(masked n003)"
ok "the probe ends all the same" checked n003 1
like "and says so" "$(cat "$P/json-n003")" '"state":"hangs".*"code":"driver-hang","text":"driver hangs: [^ ]*npu-smi: had not ended after 2 s'
ok "what is not understood is told" checked n004 1
like "of the node" "$(cat "$P/json-n004")" '"state":"not understood".*"findings":\[\{"code":"node-tool"'
is "and masks nothing" "$(masked n004)" ""

# ---- a probe that is asked for -----------------------------------------------------------

like "a card is reported sick" "$(snctl health report n001:1 --code=sick --text=odd 2>&1)" '^n001: 1 suspect'
is_healthy() { snctl health show "$1" | grep -Eq "^$1 +$2 +[^ ]+ +healthy"; }
ok "the node's next probe finds it well, and it is back" until_true 60 is_healthy n001 1 || diag "$(snctl health show n001)"
ok "also in its record" until_true 30 is_masked n001 ''
like "which is in the history" "$(snctl events --node=n001)" 'prob(e|ing)'
echo good >"$P/mode-n003"
ok "the driver of n003 answers again" until_true 60 checked n003 0
snctl health release n003:0-3 --reason=rebooted >/dev/null
ok "an operator has released its cards" until_true 60 is_masked n003 ''
ok "they stay so" checked n003 0
is "all of them" "$(masked n003)" ""

# ---- a slow rank ----------------------------------------------------------------------------

echo 'HealthPeers=4' >>"$CL_DIR/etc/supernode.conf"
rm -f "$P"/mode-*
snctl health release n002:2 --reason=replaced >/dev/null
ok "all cards are well again" until_true 60 is_masked n002 ''
# This probe measures no speed: it would find a slow card well, and free it.
touch "$P/quiet"
cat >"$WORK/slow.sh" <<END
#!/bin/bash
export SUPERNODE_JOB_DIR=$WORK/slow
mkdir -p $WORK/slow/records
exec snrun --max-restarts 0 $SNTRAIN --state-dir $WORK/slow/state --steps 600 --checkpoint-every 600 --step-ms 100 \
	--meet 60 --slow 6:20 --records $WORK/slow/records
END
chmod 755 "$WORK/slow.sh"
mkdir -p "$WORK/slow/state"
id=$(submit --parallel=dp=8 -w n005,n007 "$WORK/slow.sh")
ok "a job trains, one rank of it 20 % slower" await "$id" RUNNING
has_ops() { [ "$(cat "$WORK"/slow/records/*.jsonl 2>/dev/null | wc -l)" -gt 500 ]; }
ok "it records its collectives" until_true 120 has_ops || diag "$(cat "$WORK/$id.out")"
text=$(snctl health records --json --all "$WORK/slow" 2>&1)
slow=$(tr '{' '\n' <<<"$text" | sed -nE 's/^"rank":6,"node":"([^"]*)","card":([0-9]+),.*"ratio":([0-9.]+),.*/\1 \2 \3/p')
diag "rank 6: $slow"
others=$(tr '{' '\n' <<<"$text" | sed -nE '/^"rank":6,/d; s/^"rank":[0-9]+,.*"ratio":([0-9.]+),.*/\1/p' | sort -g | tail -n 1)
diag "the slowest of the others: $others"
is "its own time stands out" "$(awk -v a="$slow" -v b="$others" 'BEGIN { split(a, x, " "); print (x[3] > 1.1 && x[3] > b) }')" 1
like "in words" "$(snctl health records "$WORK/slow")" '^ *6 +n00[57] +[0-9]+ '
snctl health records --report --every 2 "$WORK/slow" >"$WORK/records.out" 2>&1 &
records=$!
read -r node card _ <<<"$slow"
ok "its card is masked, while the job runs on" until_true 60 is_masked "$node" "$card (suspect|probing)" ||
	diag "$(masked n005) $(masked n007) $(tail -n 5 "$WORK/records.out")"
is "the job runs on" "$(state_of "$id")" RUNNING
kill "$records"
is "and no other card" "$(masked n005)$(masked n007)" "$(masked "$node")"
scancel "$id"
await "$id" CANCELLED >/dev/null

# ---- the preflight ----------------------------------------------------------------------------

# On the node that snrun is on, for which root may speak; of a user it would be a hint.
cat >"$P/cards" <<'END'
#!/bin/sh
[ "$(hostname)" != n006 ] || { echo "card 1 is broken"; exit 1; }
END
chmod 755 "$P/cards"
echo "PreflightCards=$P/cards" >>"$CL_DIR/etc/supernode.conf"
cat >"$WORK/pre.sh" <<END
#!/bin/bash
export SUPERNODE_JOB_DIR=$WORK/pre
snrun --preflight --max-restarts 0 true
END
chmod 755 "$WORK/pre.sh"
id=$(submit --parallel=dp=8 -w n006,n008 "$WORK/pre.sh")
ok "a preflight fails" await "$id" "FAILED COMPLETED" || diag "$(cat "$WORK/$id.out")"
like "and names the node" "$(cat "$WORK/$id.out")" '^snrun: preflight: n006: .*card 1 is broken'
ok "its cards are suspect" until_true 60 is_masked n006 '0 suspect,1 suspect,2 suspect,3 suspect' || diag "$(snctl health show n006)"
is "those of the other are not" "$(masked n008)" ""
rm "$P/quiet"
ok "the node's probe finds them well" until_true 60 is_masked n006 '' || diag "$(snctl health show n006)"
finish
