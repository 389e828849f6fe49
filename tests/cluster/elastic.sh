# SPDX-License-Identifier: GPL-2.0-or-later
# elastic.sh - helpers of the tests of snelasticd; after lib.sh.

USER1=65534

# as_user COMMAND…: as nobody, who may read what is below root's home
as_user()
{
	setpriv --reuid="$USER1" --regid="$USER1" --clear-groups \
		--inh-caps=+dac_read_search --ambient-caps=+dac_read_search "$@"
}

# on NODE COMMAND…: as root of the node, with its own munged (netns alone)
on()
{
	local pid name=$1

	shift
	pid=$(node_first "$name" | tr -d ' ')
	nsenter -t "$pid" -n -m -p -- "$@"
}

extra()
{
	scontrol -o show node "$1" | sed -n 's/.* Extra=\(.*\)/\1/p'
}

# marks NODE: its cards with a health mark, "3 suspect" a line
marks()
{
	extra "$1" | python3 -c '
import json, sys
t = sys.stdin.readline().strip()
end = t.rfind("}")
cards = json.loads(t[:end + 1]).get("cards", {}) if end >= 0 else {}
for c in sorted(cards, key=int):
    if "health" in cards[c]:
        print(c, cards[c]["health"]["state"])'
}

marks_are() # NODE TEXT
{
	[ "$(marks "$1" | paste -sd,)" = "$2" ]
}

# become NODE TEXT: until its marks are so; says what they are if they do not
become()
{
	until_true "${3:-20}" marks_are "$1" "$2" && return 0
	echo "$1 has: $(marks "$1" | paste -sd,); wanted: $2"
	snctl events --limit 10 2>&1
	return 1
}

state_of_card() # NODE CARD, as the daemon has it
{
	snctl health show "$1" --json | python3 -c '
import json, sys
print(*[c["state"] for c in json.load(sys.stdin)["cards"] if c["card"] == int(sys.argv[1])])' "$2"
}

# status WORD: a member of the daemon's status
status()
{
	snctl health status --json 2>/dev/null | python3 -c '
import json, sys
print(json.load(sys.stdin).get(sys.argv[1]))' "$1"
}

log_says()
{
	grep -Eq "$1" "$CL_DIR/log/snelasticd.log"
}

# request JSON: a request by hand, as root of this host; fails without an answer
request()
{
	local cred

	cred=$(printf %s "$1" | munge -S "$CL_DIR/munge/socket" -i /dev/stdin) &&
		[ "$("$TESTS/wire.py" send "$CL_DIR/run/elasticd.socket" "$cred")" -gt 0 ]
}

# Nothing in the journal that is begun and not ended, and no line that is damaged
journal_quiet()
{
	python3 - "$CL_DIR/state/snelasticd/journal" <<'PY'
import json, sys
lines = open(sys.argv[1]).read().split("\n")
assert lines.pop() == "", "a torn line"
begun = {}
for o in map(json.loads, lines):
    if "begin" in o: begun[o["begin"]["id"]] = o
    if "end" in o: begun.pop(o["end"]["id"], None)
sys.exit(bool(begun))
PY
}
