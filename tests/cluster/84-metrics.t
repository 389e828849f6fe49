#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a job's time and cards became, in its account and in what snelasticd tells
# monitoring: the numbers agree with each other, with Slurm's and with what the job
# itself has written down; the text is OpenMetrics.
. "$(dirname "$0")/lib.sh"
. "$TESTS/elastic.sh"
CL_NODES=8 CL_PER=8 CL_UNIT=0 CL_PODS=0
CL_POLICY=ElasticMembers=no
LOG_ALLOW='slurm_bufs_sendto.*failed|Step complete from .* was already processed|Removing failed node|step_signal'
start_cluster
command -v snelasticd >/dev/null || skip_all "snelasticd is not built"
grep -qs '^#define HAVE_MICROHTTPD 1' "$SN_BUILDDIR/config.h" || skip_all "built without libmicrohttpd"
CONF=$CL_DIR/etc/supernode.conf PORT=$((CL_PORT + 2))
echo "JobDir=$WORK/jobs/%j RestartWait=1 NodePoll=200" >>"$CONF"
JUDGE=$SN_SRCDIR/tests/metrics/openmetrics.py
cat >rank.sh <<'END2'
#!/bin/bash
# Rank 0 shows a step each fifth of a second and saves when it is told to; all end well
# when they are told.
trap 'exit 1' TERM
while [ ! -e "$TOLD/stop" ]; do
	if [ "$RANK" = 0 ]; then
		echo "$SUPERNODE_GENERATION $(date +%s.%N)" >>"$TOLD/steps"
		touch "$SUPERNODE_JOB_DIR/progress"
		if [ -e "$TOLD/save" ]; then
			date +%s.%N >"$SUPERNODE_JOB_DIR/checkpoint.new"
			mv "$SUPERNODE_JOB_DIR/checkpoint.new" "$SUPERNODE_JOB_DIR/checkpoint"
			rm "$TOLD/save"
		fi
	fi
	sleep 0.2
done
END2
printf '#!/bin/bash\nexec snrun ./rank.sh\n' >job.sh
chmod +x rank.sh job.sh
export TOLD=$WORK/told
mkdir "$TOLD"
# get PATH: into `text`, its head into `head`; fails where nobody answers so
get()
{
	python3 - "$PORT" "$1" >text 2>head <<-'PY'
		import sys, urllib.request
		r = urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}{sys.argv[2]}", timeout=20)
		print(r.status, r.headers["Content-Type"], file=sys.stderr)
		sys.stdout.write(r.read().decode())
	PY
}
value() { "$JUDGE" --value "$1" text; } # of the last text
metric() { get /metrics && value "$1"; }
metric_is() { [ "$(metric "$1" 2>/dev/null)" = "$2" ]; }
over() { metric "$1" 2>/dev/null | awk '{ exit !($1 > 0) }'; } # above 0
stepped() { grep -q "^$1 " "$TOLD/steps" 2>/dev/null; }
# account JOB PYTHON: of its status, where a is the account and c, s its card-seconds
# and seconds
account()
{
	snctl elastic status "$1" --json | python3 -c '
import json, sys
a = json.load(sys.stdin)["account"]
c, s = a["card_seconds"], a["seconds"]
print(eval(sys.argv[1]))' "$2"
}

gone_from_port() { ! get /metrics; }

# ---- off by default, on at a reload
ok "a daemon" start_elasticd -v || bail "and so the rest"
ok "without MetricsPort nobody answers" gone_from_port
echo "MetricsPort=$PORT" >>"$CONF"
kill -HUP "$(pid_of "$CL_DIR/run/elasticd")"
ok "with it, after a reload, one does" until_true 20 get /metrics
is "with OpenMetrics' type" "$(cat head)" "200 application/openmetrics-text; version=1.0.0; charset=utf-8"
ok "which it is" "$JUDGE" text
like "elsewhere is nothing" "$(get / 2>&1; cat head)" '404'
get /metrics
is "it is in charge" "$(value snelasticd_in_charge)" 1
ok "and has seen slurmctld" until_true 20 metric_is snelasticd_slurmctld_up 1
is "with all its cards" "$(value 'snelasticd_cards{state=healthy}')" 64

# ---- a job that works, saves, loses a node and goes on
id=$(submit --parallel=tp=4,dp=8 --elastic=min_dp=2 -x 'n[006-008]' job.sh)
ok "a job works" until_true 60 stepped 0
ok "and is at work in the metrics" until_true 20 metric_is 'snelasticd_jobs{phase=work}' 1
is "with the cards that Slurm says" "$(value "snelasticd_job_cards{job=$id,are=held}")" "$(cards_of "$id" | wc -l)"
is "all of them with ranks" "$(value "snelasticd_job_cards{job=$id,are=ranks}") $(value "snelasticd_job_dp{job=$id}")" "32 8"
is "nothing of its work is safe" "$(value "snelasticd_job_useful_card_seconds_total{job=$id}")" 0
date +%s.%N >saved
touch "$TOLD/save"
ok "it saves" until_true 30 metric_is snelasticd_safe_points_total 1
ok "and has useful card-seconds" over "snelasticd_job_useful_card_seconds_total{job=$id}"
batch=$(scontrol -o show job "$id" | sed -nE 's/.* BatchHost=([^ ]*).*/\1/p')
victim=$(sort -u "$WORK/jobs/$id/hostfile" | grep -vx "$batch" | tail -n 1)
lost=$(date +%s.%N)
nodes_down "$victim" 2>/dev/null &
scontrol update "NodeName=$victim" State=DOWN Reason=test
wait $!
ok "a node is lost: it goes on" until_true 60 stepped 1
ok "its recovery is counted" until_true 30 metric_is snelasticd_recovery_seconds_count 1
now=$(date +%s.%N)
is "as one failure, of a node" "$(value 'snelasticd_failures_total{kind=node}')" 1
as_files_say() # the job may grow again by itself at any time
{
	local plan

	get /metrics || return 1
	plan=$(python3 -c 'import json, sys; p = json.load(open(sys.argv[1])); print(p["layout"]["world"], p["generation"] + 1)' "$WORK/jobs/$id/layout.json")
	[ "$(value "snelasticd_job_cards{job=$id,are=ranks}") $(value snelasticd_generations_total)" = "$plan" ]
}
ok "ranks and generations are those of the job's files" until_true 20 as_files_say
sum=$(value snelasticd_recovery_seconds_sum)
first=$(awk '$1 == 1 { print $2; exit }' "$TOLD/steps")
diag "seconds from the loss to the next step: $(python3 -c "print(round($first - $lost, 2))") by the job itself, $sum by the account"
ok "it took no longer than this test saw it take" python3 -c "import sys; sys.exit(not 0 < $sum <= $now - $lost)"
is "it would have all of them" "$(value "snelasticd_job_cards{job=$id,are=wanted}")" 32
ok "work that was not saved is lost" over 'snelasticd_lost_card_seconds_total{cause=redone}'
ok "no more than from the checkpoint to the loss" python3 -c "import sys; sys.exit(not $(value 'snelasticd_lost_card_seconds_total{cause=redone}') <= 32 * ($(date +%s.%N) - $(cat saved)))"
is "each card-second is in one place" "$(account "$id" 'abs(c["held"] - c["useful"] - c["provisional"] - c["opening"] - c["idle"] - sum(c["lost"].values())) < 0.01')" True
is "and each second" "$(account "$id" 'abs(a["at"] - a["began"] - s["useful"] - s["provisional"] - s["opening"] - sum(s["lost"].values())) < 0.01')" True
is "ETTR is of them" "$(account "$id" 'abs(a["ettr"] - s["useful"] / s["wall"]) < 0.002 and 0 < a["ettr"] < 1')" True
is "the time is that since Slurm could start it" "$(account "$id" "0 <= a['began'] - $(date -d "$(scontrol -o show job "$id" | sed -nE 's/.* EligibleTime=([^ ]*).*/\1/p')" +%s) <= 0")" True
is "and the card-seconds fit it" "$(account "$id" "24 * (s['wall'] - s['lost']['wait']) <= c['held'] <= 32 * s['wall']")" True
like "status says it in a line" "$(snctl elastic status "$id")" '^ETTR 0\.[0-9]+ over [0-9]+ s; .* useful, .* lost: .*redone'

# ---- health
ok "a card is reported" snctl health report n008:1 --code=sick
ok "and counted as what it is" until_true 20 metric_is 'snelasticd_cards{state=suspect}' 1
is "the others are well" "$(value 'snelasticd_cards{state=healthy}') $(value snelasticd_health_reports_total)" "63 1"

# ---- the end
touch "$TOLD/save"
ok "it saves once more" until_true 30 metric_is snelasticd_safe_points_total 2
touch "$TOLD/stop"
ok "the job ends well" await "$id" COMPLETED
like "and its snrun says how it went" "$(cat "$id.out")" '^snrun: ETTR 0\.[0-9]+ over [0-9]+ s; '
no_job() { get /metrics && ! grep -q "job=\"$id\"" text; }
ok "it has no metrics of its own any more" until_true 20 no_job
ok "the sums have what it did" over snelasticd_useful_card_seconds_total
is "in whole" "$(python3 - "$WORK/jobs/$id/account.json" "$(value snelasticd_useful_card_seconds_total)" <<'PY'
import json, sys
a = json.load(open(sys.argv[1]))["account"]
print(a["phase"], a["card_seconds"]["provisional"] == 0, abs(a["card_seconds"]["useful"] - float(sys.argv[2])) < 1)
PY
)" "script True True"
ok "all of it is OpenMetrics" "$JUDGE" text
get /metrics >/dev/null && diag "$(wc -c <text) bytes of text"

# ---- a bad address leaves the old one; off again
echo "MetricsAddress=localhost" >>"$CONF"
kill -HUP "$(pid_of "$CL_DIR/run/elasticd")"
ok "a name is no address" until_true 20 log_says 'MetricsAddress=localhost: want a number'
ok "and the old one still answers" get /metrics
sed -i "/^MetricsAddress/d; s/^MetricsPort=.*/MetricsPort=0/" "$CONF"
kill -HUP "$(pid_of "$CL_DIR/run/elasticd")"
ok "MetricsPort=0 ends it" until_true 20 gone_from_port
ok "and the daemon is well" snctl health status
finish
