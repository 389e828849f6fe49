#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The judge of OpenMetrics text tells bad texts from good ones; and what snelasticd's
# writer makes of the worst labels is a good one.
here=$SN_SRCDIR/tests/metrics
text=$(python3 "$here/openmetrics.py" --self) || true
printf '%s\n' "$text" | grep -v '^1\.\.'
n=$(printf '%s\n' "$text" | grep -c '^\(not \)\{0,1\}ok')
[ "$n" -gt 40 ] || { echo "not ok $((n + 1)) - all are judged"; echo "1..$((n + 1))"; exit 1; }
writer=$SN_BUILDDIR/tests/unit/test_openmetrics
if [ -x "$writer" ]; then
	n=$((n + 1))
	if said=$("$writer" --print | python3 "$here/openmetrics.py"); then
		echo "ok $n - what the writer makes is OpenMetrics"
	else
		echo "# $said"
		echo "not ok $n - what the writer makes is OpenMetrics"
	fi
fi
echo "1..$n"
