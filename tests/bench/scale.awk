# SPDX-License-Identifier: GPL-2.0-or-later
# scale.awk - the measurements of tests/bench/scale as a table of ratios.
#
# A row is: engine, what, case, µs (kB for memory), µs of CPU and of wall time
# in select, note. Layouts have no counterpart in stock: they stand beside its
# whole nodes.
function take(key, v) { if (v != "-" && (!(key in best) || v + 0 < best[key])) best[key] = v + 0 }
{
	take($1 SUBSEP $2 SUBSEP $3 SUBSEP "us", $4)
	take($1 SUBSEP $2 SUBSEP $3 SUBSEP "cpu", $5)
	if ($7 != "") note[$1, $3] = $7
}
function ms(key) { return key in best ? sprintf("%.1f", best[key] / 1000) : "-" }
function ratio(a, b) { return (a in best) && (b in best) && best[b] > 0 ? sprintf("%.3f", best[a] / best[b]) : "-" }
function three(what, name, other, field,   s, o) {
	s = "suite" SUBSEP what SUBSEP name SUBSEP field
	o = "stock" SUBSEP what SUBSEP other SUBSEP field
	return sprintf("%9s %9s %6s", ms(o), ms(s), ratio(s, o))
}
END {
	printf "\n%-22s %-26s %-26s %-26s %-26s\n", "milliseconds", "select (CPU), --test-only", "round trip, --test-only", "select (CPU), run now", "main scheduler cycle"
	printf "%-22s", "case"
	for (i = 0; i < 4; i++) printf " %9s %9s %6s", "block", "suite", "ratio"
	print "  limit"
	n = split(cases, line, "\n")
	for (i = 1; i <= n; i++) {
		split(line[i], c, " ")
		split("nodes cards parallel", kind, " ")
		for (k = 1; k <= 3; k++) {
			name = c[1] ":" kind[k]; other = k == 3 ? c[1] ":cards" : name
			if (!(("stock", "test", other, "us") in best) && !(("suite", "test", name, "us") in best) && !(("suite", name) in note)) continue
			r = ratio("suite" SUBSEP "test" SUBSEP name SUBSEP "cpu", "stock" SUBSEP "test" SUBSEP other SUBSEP "cpu")
			printf "%-22s %s %s %s %s  %s %s\n", name, three("test", name, other, "cpu"), three("test", name, other, "us"),
				three("cycle", name, other, "cpu"), three("cycle", name, other, "us"), c[4], r == "-" ? "" : (("suite", name) in note) && note["suite", name] != "whole" ? "no answer" : r + 0 <= c[4] + 0 ? "met" : "MISSED"
		}
	}
	print "\nlayouts (parallel) stand beside whole nodes (cards) of block; no answer: what came out was not what was asked for"
	printf "%-24s %s\n", "-N1, round trip", three("test", "floor:one", "floor:one", "us")
	printf "%-24s %s\n", "start of slurmctld", three("start", "-", "-", "us")
	m = split("start test_only submit", when, " ")
	split("started;after --test-only;after jobs", words, ";")
	for (i = 1; i <= m; i++) {
		w = "memory-" when[i]
		printf "%-24s %s   MB\n", "memory, " words[i], three(w, "-", "-", "us")
	}
	split("stock suite", e, " ")
	for (j = 1; j <= 2; j++) for (i = 1; i <= n; i++) for (k = 1; k <= 3; k++) {
		split(line[i], c, " ")
		name = c[1] ":" kind[k]
		if ((e[j], name) in note && note[e[j], name] != "whole")
			printf "%s %s: %s\n", e[j], name, note[e[j], name]
	}
}
