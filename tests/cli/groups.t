#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# snctl groups: exact JSON for a small layout, and the dumps of the real rule.
. "$SN_SRCDIR/tests/cli/lib.sh"

# By hand, from rank = tp + 2·(pp + 2·dp).
says "tp 2, pp 2 inside dp 2" \
'{"world":8,"order":"tp-cp-ep-pp-dp","tp":2,"cp":1,"pp":2,"dp":2,"ep":1,"etp":2,"edp":2,"groups":{"tp":[[0,1],[2,3],[4,5],[6,7]],"cp":[[0],[1],[2],[3],[4],[5],[6],[7]],"dp":[[0,4],[1,5],[2,6],[3,7]],"dp_cp":[[0,4],[1,5],[2,6],[3,7]],"pp":[[0,2],[1,3],[4,6],[5,7]],"mp":[[0,1,2,3],[4,5,6,7]],"tp_cp":[[0,1],[2,3],[4,5],[6,7]],"tp_dp":[[0,1,4,5],[2,3,6,7]],"tp_dp_cp":[[0,1,4,5],[2,3,6,7]],"ep":[[0],[1],[2],[3],[4],[5],[6],[7]],"ep_tp":[[0,1],[2,3],[4,5],[6,7]],"tp_ep_mp":[[0,1],[2,3],[4,5],[6,7]],"tp_ep_pp":[[0,1,2,3],[4,5,6,7]],"ep_dp":[[0,4],[1,5],[2,6],[3,7]],"embd":[[0,2],[1,3],[4,6],[5,7]],"pos_embd":[[0],[1],[4],[5]]}}' \
	groups --parallel tp=2,pp=2,dp=2,order=tp-cp-ep-pp-dp --json

run groups --parallel tp=8,ep=64,etp=1,pp=6,dp=128
[ "$status" -eq 0 ] && grep -q '^6144 ranks; 96 atoms of 64 ranks; the dp step is 8$' out &&
	grep -q '^ep  *96  *64  *0-63 ' out
ok "the table" || show

dumps=${SN_SHARED:-$SN_SRCDIR/../shared}/data/megatron-groups
cat >compare.py <<'EOF'
import json, sys
dump, ours = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
keys = ["world", "order", "tp", "cp", "pp", "dp", "ep", "etp", "edp", "groups"]
sys.exit(sorted(keys) != sorted(ours) or any(dump[k] != ours[k] for k in keys))
EOF
if [ ! -d "$dumps" ]; then
	skip "every dump of the real rule" "no dumps here"
elif ! command -v python3 >/dev/null; then
	skip "every dump of the real rule" "no python3"
else
	for f in "$dumps"/*.json; do
		spec=$(python3 -c 'import json,sys
d = json.load(open(sys.argv[1]))
print(",".join("%s=%s" % (k, d[k]) for k in ("tp", "cp", "ep", "etp", "pp", "dp", "order")))' "$f")
		run groups --parallel "$spec" --json
		[ "$status" -eq 0 ] && python3 compare.py "$f" out
		ok "dump ${f##*/}" || show
	done
fi
finish
