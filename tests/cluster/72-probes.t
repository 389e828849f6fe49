#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# snelasticd has the node of a suspected card probe it at once (HealthProbeProgram), also
# where the node is full or drained; no health check runs here.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/elastic.sh"
CL_NODES=4 CL_PER=4 CL_CARDS=4 CL_PODS=0 CL_UNIT=0
P=$(mktemp -d "${TMPDIR:-/tmp}/snp-XXXXXX") || exit 1
chmod 755 "$P"
CL_POLICY="ProbeTool=$P/npu-smi ProbeLinkTool=none
HealthProbeProgram=$P/probe HealthEscalate=0"
cat >"$P/npu-smi" <<END
#!/bin/bash
case \$1,\$3 in info,ecc) exit 0 ;; esac
echo '| npu-smi 23.0.rc3                 Version: 23.0.rc3                                             |'
echo '| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|'
echo '| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |'
echo '+===========================+===============+====================================================+'
for card in 0 1 2 3; do
	health=OK
	[ ! -e "$P/sick-\$(hostname)-\$card" ] || health=Critical
	echo "| \$card     910B3               | \$health        | 92.5        4\$card                0    / 0             |"
	echo "| 0                         | 0000:C\$card:00.0  | 0           0    / 0          3162 / 65536         |"
done
END
chmod 755 "$P/npu-smi"
start_cluster
trap 'clean_up $?; rm -rf "$P"' EXIT
command -v snelasticd >/dev/null || skip_all "snelasticd is not built"
[ "$CL_MODE" = netns ] || skip_all "the nodes have one name on loopback"
# The example, with this build's snctl.
sed "s|^PATH=.*|PATH='$PATH'; echo \"\$SLURMD_NODENAME \$(id -u)\" >>$P/ran|" "$SN_SRCDIR/contrib/examples/health-probe" >"$P/probe"
chmod 755 "$P/probe"
export SN_STEP=no
ok "snelasticd starts" start_elasticd || bail "and so the rest" "$(tail -n 5 "$CL_DIR/log/snelasticd.log")"
is_healthy() { [ "$(state_of_card "$1" "$2")" = healthy ]; }
ran() { grep -c "^$1 " "$P/ran" 2>/dev/null; }

# ---- a card that is well
before=${EPOCHREALTIME/[.,]/}
like "a card is reported sick" "$(snctl health report n001:1)" '^n001: 1 suspect'
ok "its node finds it well, and it is back" until_true 30 is_healthy n001 1 || diag "$(snctl events)"
diag "from the report to healthy: $(((${EPOCHREALTIME/[.,]/} - before) / 1000)) ms"
ok "also in its record" become n001 ""
is "the program ran there once" "$(cat "$P/ran")" "n001 0"
is "and is in nobody's queue" "$(squeue -h)$(sacct -n 2>/dev/null)" ""
like "which is in the history" "$(snctl events --node=n001)" 'n001:1 +unmask: the probe passed'

# ---- one that is not, where there is no room, and where nothing may start
id=$(submit -w n002 --exclusive --gres=npu:4 "$TESTS/held.sh")
ok "a node is full" await "$id" RUNNING
touch "$P/sick-n002-2"
snctl health report n002:2,3 >/dev/null
ok "of two cards the sick one is quarantined" become n002 "2 quarantined"
is "the job runs on" "$(state_of "$id")" RUNNING
scancel "$id"
scontrol update nodename=n003 state=drain reason=test
snctl health report n003:0 >/dev/null
ok "a drained node is probed" until_true 30 is_healthy n003 0

# ---- by hand; away; a program that does nothing
n=$(ran n004)
snctl health probe-request n004:3 >/dev/null
once_more() { [ "$(ran n004)" -gt "${n:-0}" ]; }
ok "an operator's word does it, too" until_true 30 once_more
nodes_down n004
scontrol update nodename=n004 state=down reason=test
is_down() { [[ $(sinfo -h -n n004 -o %t) == down* ]]; }
ok "a node is down" until_true 30 is_down
until_true 10 eval '[ "$(status slurmctld)" = up ]'
snctl health report n004:1 >/dev/null
ok "its card is masked" become n004 "1 suspect"
printf "#!/bin/sh\nexit 3\n" >"$P/probe"
snctl health report n001:2 >/dev/null
ok "a program that does not ask is told of" until_true 30 log_says 'the probe of n001 did not ask what is wanted: .*exit status 3'
is "and judges nothing" "$(state_of_card n001 2)" suspect
is "nor is one started on the node that is down" "$(grep -c 'probe of n004' "$CL_DIR/log/snelasticd.log")" 0
finish
