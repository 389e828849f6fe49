#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# snelasticd is killed, or a call of its fails, between the decision that a job is to be
# told something and what comes of it: in the end it is done, once. Such orders are in no
# journal; they follow from what stands, and what has been done already they find done.
# With SN_POINTS=all at every point, which takes some minutes (make check-soak).
. "$(dirname "$0")/lib.sh"
. "$TESTS/elastic.sh"
TOPO=$(mktemp)
cat >"$TOPO" <<-'END'
	SupernodeName=a Nodes=n[001-003]
	SupernodeName=b Nodes=n[004-006] SpareNodes=1
	SupernodeName=c Nodes=n[007-008]
	SupernodeName=d Nodes=n[009-010]
END
CL_NODES=10 CL_PER=4 CL_TOPOLOGY=$TOPO CL_UNIT=0 CL_PODS=0 CL_POLICY='ElasticdPoll=200'
LOG_ALLOW='slurm_bufs_sendto.*failed|Step complete from .* was already processed|Removing failed node|step_signal|_step_partial_comp'
start_cluster
rm -f "$TOPO"
cc -shared -fPIC -o "$WORK/fault.so" "$TESTS/fault-shim.c" 2>/dev/null || skip_all "there is no compiler"
command -v snelasticd >/dev/null || skip_all "snelasticd is not built"
[ -z "$(ldd "$(command -v snelasticd)" | grep -E 'lib(a|ub)san')" ] || skip_all "sanitizers are in the way of a preloaded library"
echo "JobDir=$WORK/jobs/%j RestartWait=1 NodePoll=200 CheckpointHard=20 ElasticHelp=60" >>"$CL_DIR/etc/supernode.conf"
cat >rank.sh <<'END2'
#!/bin/bash
save() { [ "$RANK" != 0 ] || { echo "$SUPERNODE_GENERATION" >"$SUPERNODE_JOB_DIR/checkpoint.new"; mv "$SUPERNODE_JOB_DIR/checkpoint.new" "$SUPERNODE_JOB_DIR/checkpoint"; }; exit 0; }
trap save TERM
echo "$SLURMD_NODENAME" >>"$SAID/${SLURM_RESTART_COUNT:-0}.$SUPERNODE_GENERATION"
while :; do sleep 0.2; done
END2
printf '#!/bin/bash\nexec snrun --max-restarts 9 ./rank.sh\n' >job.sh
chmod +x rank.sh job.sh
field() { scontrol -o show job "$1" 2>/dev/null | sed -nE "s/.* $2=([^ ]*).*/\1/p"; } # JOB NAME
said() { [ "$(cat "$SAID/$1" 2>/dev/null | wc -l)" = 16 ]; } # RUN.GENERATION
attached() { [ "$(status attached)" = "$1" ]; }
ended() { gone "$CL_DIR/run/elasticd"; }
report() { snctl health report "$1" --code=link-down >/dev/null 2>&1; }
times() { grep -c -- "$1" "$job.out"; }
shimmed() { LD_PRELOAD=$WORK/fault.so SN_FAULT=$1 SN_FAULT_FILE=$WORK/points start_elasticd -v; }
other_node() { scontrol show hostnames "$1" | grep -vx "$(field "$job" BatchHost)" | head -n 1; } # NODES

# one swap|replace|requeue NAME:K:HOW: a job is to be told that; one point fails
one()
{
	local means=$1 fault=$2 options=() away node end want done_once answered=0

	case $means in
	swap) options=(--parallel=tp=8,dp=2 --spares=1) away='n[004-010]' end=0.1 ;;
	replace) options=(--parallel=tp=8,dp=2 -k) away='n[001-003,007-010]' end=0.1 ;;
	# Its list of nodes is cleared when one of them is gone.
	requeue) options=(--parallel=tp=8,dp=2 -k --requeue -w 'n[007-008]') away='n[001-006]' end=1.1 ;;
	esac
	rm -f "$WORK/points"
	export SAID=$WORK/said-$means-$RANDOM
	mkdir "$SAID"
	shimmed "$fault" >/dev/null || { fail "$means, $fault: it starts"; return; }
	job=$(submit "${options[@]}" --open-mode=append -x "$away" job.sh)
	until_true 60 said 0.0 && until_true 20 attached 1 || { fail "$means, $fault: a job is attached"; return; }
	node=$(other_node "$(field "$job" NodeList)")
	: >"$WORK/points"
	if [ "$means" = requeue ]; then
		# Down alone does not last, as its slurmd lives.
		scontrol update "NodeName=$node" State=DOWN Reason=test
		scontrol update "NodeName=$node" State=DRAIN Reason=test
	else
		report "$node:5"
		answered=$?
	fi
	case $fault in
	*:kill-*)
		until_true 30 ended || { fail "$means, $fault: it is killed" "$(cat "$WORK/points")"; return; }
		start_elasticd -v >/dev/null
		# What was not answered may not be on disk.
		[ "$means" = requeue ] || [ $answered = 0 ] || until_true 20 report "$node:5"
		;;
	esac
	until_true 60 said "$end" && until_true 20 attached 1
	[ $? = 0 ] || { tail -n 20 "$CL_DIR/log/snelasticd.log"; tail -n 20 "$job.out"; } | sed 's/^/# /'
	scancel "$job"
	until_true 30 eval '[ -z "$(squeue -h -o %A)" ]'
	# These generations of these runs, and no other.
	case $means in
	swap) done_once=$(grep -cx "$node" "$SAID/0.1"; times 'asked to swap') want='0.0 0.1|0' ;;
	replace) done_once=$(times 'is submitted to stand in for 1 node') want='0.0 0.1|1' ;;
	requeue) done_once=$(times 'is requeued') want='0.0 1.1|1' ;;
	esac
	# An order may be heard twice.
	[ "$means" != swap ] || { diag "$means, $fault: told ${done_once#*$'\n'} times"; done_once=${done_once%%$'\n'*}; }
	is "$means, $fault: it is done, once" "$(ls "$SAID" | paste -sd' ')|$done_once" "$want"
	sort "$WORK/points" | uniq -c | sed "s/^/# $means, $fault: /"
	snctl health release "$node:5" >/dev/null 2>&1
	until_true 20 marks_are "$node" ''
	scontrol update "NodeName=$node" State=RESUME 2>/dev/null
	stop_elasticd
	until_true 20 eval '[ -z "$(sinfo -h -N -o "%T" | grep -v idle)" ]'
}

if [ "${SN_POINTS:-}" = all ]; then
	for means in swap replace requeue; do
		one $means none:0:none
		for name in munge_encode send; do
			for how in kill-before kill-after fail lost; do
				one $means "$name:1:$how"
			done
		done
	done
else
	one swap send:1:kill-after
	one replace send:1:lost
	one requeue munge_encode:1:kill-after
fi
finish
