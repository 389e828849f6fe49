#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""rnd_compare.py STOCK OURS - of two files that rnd_drive.py outcomes wrote with
one seed: which jobs ran in the first and not in the second? Exit status 1 if
any did.
"""
import collections
import json
import sys


def compare(stock, ours):
    a, b = json.load(open(stock)), json.load(open(ours))
    worse, better, count = [], 0, collections.Counter()
    for x, y in zip(a, b):
        assert x["args"] == y["args"], "not the same jobs"
        count["ran under both" if x["state"] == y["state"] == "COMPLETED" else
              "ran under neither" if "COMPLETED" not in (x["state"], y["state"]) else "differ"] += 1
        if x["state"] == "COMPLETED" != y["state"]:
            worse.append((x, y))
        elif y["state"] == "COMPLETED" != x["state"]:
            better += 1
    print("# %d jobs: %s; %d only ran with the suite" % (len(a), dict(count), better))
    for x, y in worse:
        print("# wrong: ran under stock, here %s %s: %s" % (y["state"], y["reason"], " ".join(y["args"])))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(compare(*sys.argv[1:]))
