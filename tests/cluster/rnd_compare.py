#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""rnd_compare.py STOCK OURS - of two files that rnd_drive.py outcomes wrote with
one seed: which jobs ran in the first and not in the second? Exit status 1 if
any did.
"""
import collections
import json
import sys
import time


def outcomes(driver, count, path):
    """The same jobs, one seed, wherever this runs: what came of each."""
    ids, result = [], []
    for k in range(count):
        job = driver.gen.plain()
        job["seconds"] = min(job["seconds"], 1)
        ids.append((job, driver.submit(job)))
        while True:
            driver.look()
            if len(driver.live("PENDING", "RUNNING")) < 20:
                break
            time.sleep(0.3)
    end = time.time() + 240
    while time.time() < end:
        driver.look()
        if not driver.live("PENDING", "RUNNING"):
            break
        time.sleep(0.5)
    driver.look()
    for job, i in ids:
        now = driver.read_job(i) if i else None
        result.append({"args": job["args"], "state": now["state"] if now else "REFUSED",
                       "reason": now["reason"] if now else ""})
    json.dump(result, open(path, "w"))


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
