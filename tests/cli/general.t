#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Help, versions, unknown words, and output that cannot be written.
. "$SN_SRCDIR/tests/cli/lib.sh"

for c in place groups check show map why card pool health elastic events; do
	run "$c" --help
	[ "$status" -eq 0 ] && [ ! -s err ] && grep -q "^Usage: snctl $c" out
	ok "$c --help" || show
	run --help
	grep -q "^  $c " out
	ok "--help lists $c" || show
done
run --help
[ "$status" -eq 0 ] && [ ! -s err ]
ok "--help"
! grep -q '^  \(import\|plan\|service\) ' out
ok "--help lists nothing that is not there"
run --version
[ "$status" -eq 0 ] && grep -q '^snctl .*[0-9]\.[0-9]' out
ok "--version"

# in_man PAGE PROGRAM ARGUMENT…: what its --help names, its man page does too
in_man() {
	page=$1
	shift
	"$@" --help >out 2>err
	sed 's/\\-/-/g' "$SN_SRCDIR/docs/$page" >page
	grep -oE '^  --[a-z-]+' out | while read -r o; do
		grep -qE -- "(^|[^a-z-])$o([^a-z-]|\$)" page || echo "$o"
	done >lacks
	status=$?
	[ -s out ] && [ ! -s lacks ]
	ok "$page has all options of ${*##*/} --help" || sed 's/^/# lacks: /' lacks
}
for c in place groups "groups verify" check show map why card pool health "health probe" "health records" elastic events; do
	in_man snctl.1 "$SNCTL" $c
done
for c in snrun.1=launcher/snrun snrun-watch.1=launcher/snrun-watch snelasticd.8=elastic/snelasticd; do
	[ -x "$SN_BUILDDIR/${c#*=}" ] || continue
	in_man "${c%%=*}" "$SN_BUILDDIR/${c#*=}"
done

# The other way round, and which command it is: what the synopsis says of a command is
# what its help says, but for the options that nearly all have.
sed -n '/^\.SH SYNOPSIS/,/^\.SH DESC/p' "$SN_SRCDIR/docs/snctl.1" |
	sed 's/\\-/-/g; s/\\f.//g' | grep '^snctl ' >synopsis
options_of() {
	grep -oE -- '--[a-z][a-z-]*' "$1" | grep -vxE -- '--(config|help)' | sort -u
}
: >named
for c in place "groups verify" groups check show map why card pool "health probe" "health records" health elastic events; do
	"$SNCTL" $c --help >out 2>err
	grep -q '^Not here' out && grep "^snctl $c\( \|\$\)" synopsis >>named && continue
	sed -n 's/^  \(--[a-z-]*\).*/\1/p' out >helped
	# Lines of "groups verify" are not of "groups".
	grep "^snctl $c\( \|\$\)" synopsis | grep -vxFf named >said
	cat said >>named
	options_of helped >a
	options_of said >b
	if grep -q 'OPTIONS' said && [ "$c" = place ]; then
		comm -13 a b >differ
	else
		comm -3 a b >differ
	fi
	[ -s helped ] && [ -s said ] && [ ! -s differ ]
	ok "snctl.1's synopsis of $c has the options of its --help" || sed 's/^/# differs: /' differ
done
[ "$(sort -u named)" = "$(sort -u synopsis)" ]
ok "and is of no other command"
for c in $("$SNCTL" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	grep -qx "\.SS $c" "$SN_SRCDIR/docs/snctl.1"
	ok "snctl.1 has a section for $c"
done
# verbs COMMAND VERB…: in its usage and in the synopsis
verbs() {
	c=$1
	shift
	"$SNCTL" "$c" --help >out 2>err
	for v in "$@"; do
		head -n 1 out | grep -qE "(^|[^a-z-])$v([^a-z-]|\$)" &&
			grep "^snctl $c" synopsis | grep -qE "(^|[^a-z-])$v([^a-z-]|\$)" || echo "$v"
	done >lacks
	[ $# -gt 0 ] && [ ! -s lacks ]
	ok "help and manual know the verbs of $c" || sed 's/^/# lacks: /' lacks
}
verbs card drain resume
verbs pool list create delete
run elastic frobnicate 1
grep -q 'none of' err && verbs elastic $(sed 's/.*none of//; s/,//g' err)
verbs show supernodes units fabrics cards pool jobs health
[ ! -s err ] && verbs health report show status release probe-request probe records

refuse "no command" "command is needed"
refuse "an unknown command, with the right one" "place?" plaec
refuse "an unknown command that is near none" "snctl --help" frobnicate
refuse "an unknown option, with the right one" "parallel?" groups --paralel tp=2
refuse "an option without its value" "needs a value" groups --parallel
refuse "an option twice" "twice" groups --parallel tp=2 --parallel tp=4
refuse "an option that is missing" "parallel" groups
refuse "an argument too many" "extra" groups --parallel tp=2 extra
run show --help
if grep -q 'Not here' out; then
	refuse "without Slurm a live command says what is missing" "with-slurm" show
	refuse "whatever else is on the line" "with-slurm" why 3
else
	refuse "an unknown table" "units?" show unit
	n_kinds=0
	for c in health elastic refused operator pool slurm job daemon; do
		run events --kind=$c --config=/nowhere/topology.conf
		grep -q "none of" err || n_kinds=$((n_kinds + 1))
	done
	refuse "an unknown kind of event" "none of health" events --kind=heath
	[ "$n_kinds" = 8 ]
	ok "all kinds of events can be asked for"
	refuse "no job id" "job id" why
	refuse "an unknown verb of pool" "list, create NAME or delete NAME" pool drop w
	refuse "a pool region without a name" "give its name" pool delete
	refuse "a list of one name" "takes no name" pool list w
fi

small_cluster
if [ -w /dev/full ]; then
	"$SNCTL" groups --parallel tp=2,dp=2 >/dev/full 2>err
	[ $? -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'output' err
	ok "a full disk is noticed"
else
	skip "a full disk is noticed" "no /dev/full"
fi
{ "$SNCTL" groups --parallel tp=8,dp=4096 --json 2>err; echo $? >code; } | head -c 10 >/dev/null
[ "$(cat code)" -eq 2 ] && [ "$(wc -l <err)" -eq 1 ]
ok "a closed pipe is noticed"
finish
