# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the records of a job's ranks, some of them wrong, for verify.t.

usage: records.py GROUPS.json DIR [swap=A,B] [bytes=RANK] [cycle=R,S,T] [absent=RANK]

GROUPS.json is what `snctl groups --json` prints. Each rank does two operations in
each of its groups.
"""
import json
import os
import sys

groups = json.load(open(sys.argv[1]))
directory = sys.argv[2]
wrong = {k: [int(x) for x in v.split(",")] for k, v in (a.split("=") for a in sys.argv[3:])}
world = groups["world"]
kinds = ["tp", "dp", "pp", "ep", "ep_dp", "dp_cp", "mp"]
T0 = 1700000000 * 10 ** 9


def text(m):
    if len(m) < 3:
        return ",".join(map(str, m))
    step = m[1] - m[0]
    if step > 0 and m == list(range(m[0], m[-1] + 1, step)):
        return "%d-%d" % (m[0], m[-1]) + (":%d" % step if step > 1 else "")
    return ",".join(map(str, m))


a, b = wrong.get("swap", [None, None])
lines = []
for rank in range(world):
    lines.append(['{"v":1,"rank":%d,"gen":1,"world":%d,"host":"n%04d","pid":%d,"time":%d}'
                  % (rank, world, rank // 8, rank + 1, T0)])
lists = dict(groups["groups"], world=[list(range(world))])
for kind in kinds + ["world"]:
    for number, members in enumerate(lists[kind]):
        name, of = "%s_%d" % (kind, number), text(members)
        for index, rank in enumerate(members):
            if kind == "tp" and rank in (a, b):
                rank = a + b - rank
            out = lines[rank]
            out.append('{"rank":%d,"gen":1,"comm":"%s","kind":"%s","members":"%s","index":%d}'
                       % (rank, name, kind if kind != "world" else "all", of, index))
            for seq in 1, 2:
                if seq == 2 and kind == "world" and rank in wrong.get("absent", []):
                    continue
                size = 4096 * seq
                if seq == 2 and kind == "dp" and rank in wrong.get("bytes", []):
                    size += 512
                at = T0 + seq * 1000000 + rank
                out.append('{"rank":%d,"gen":1,"comm":"%s","seq":%d,"op":"all_reduce","bytes":%d,"arrive":%d}'
                           % (rank, name, seq, size, at))
                if seq == 1 or kind != "world" or "absent" not in wrong:
                    out.append('{"rank":%d,"gen":1,"comm":"%s","seq":%d,"end":%d}'
                               % (rank, name, seq, at + 50000))
if "cycle" in wrong:
    ring = wrong["cycle"]
    for i, rank in enumerate(ring):
        follower = ring[(i + 1) % len(ring)]
        for index, member in enumerate((rank, follower)):
            lines[member].append('{"rank":%d,"gen":1,"comm":"ring_%d","members":[%d,%d],"index":%d}'
                                 % (member, i, rank, follower, index))
    for i, rank in enumerate(ring):
        lines[rank].append('{"rank":%d,"gen":1,"comm":"ring_%d","seq":1,"op":"broadcast","bytes":8,"arrive":%d}'
                           % (rank, i, T0 + 5000000))
os.makedirs(directory)
for rank in range(world):
    with open("%s/rank-%d.jsonl" % (directory, rank), "w") as f:
        f.write("\n".join(lines[rank]) + "\n")
