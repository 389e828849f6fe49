# SPDX-License-Identifier: GPL-2.0-or-later
"""rnd_check.py - holds what Slurm says about its jobs to what they asked for.

Works on the texts of `scontrol -o -d show job` and `show node`, and shares no
code with the suite. Layouts and topology.conf are read by check-ranks.
"""
import importlib.machinery
import importlib.util
import os
import re

CARDS = 8
RUNS = ("RUNNING", "SUSPENDED")


def load_ranks(where):
    path = os.path.join(where, "check-ranks")
    loader = importlib.machinery.SourceFileLoader("check_ranks", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_ranks", loader))
    loader.exec_module(module)
    return module


def indices(text):
    """npu:3(IDX:0-1,5) -> {0, 1, 5}"""
    found = set()
    for part in re.findall(r"IDX:([0-9,-]+)", text):
        for word in part.split(","):
            lo, _, hi = word.partition("-")
            found |= set(range(int(lo), int(hi or lo) + 1))
    return found


def field(line, name):
    m = re.search(r"(?:^| )%s=(\S*)" % re.escape(name), line)
    return m.group(1) if m else ""


class Snapshot:
    def __init__(self, ranks, jobs_text, nodes_text):
        self.jobs, self.nodes = {}, {}
        for line in jobs_text.split("\n"):
            if not line.startswith("JobId="):
                continue
            job = {"id": int(field(line, "JobId")), "state": field(line, "JobState"),
                   "reason": field(line, "Reason"), "priority": field(line, "Priority"),
                   "array": field(line, "ArrayJobId"), "het": field(line, "HetJobId"),
                   "tasks": field(line, "NumTasks"), "cpus": 0, "cards": {}, "mem": {},
                   "cpus_on": {}, "restarts": field(line, "Restarts"),
                   "partition": field(line, "Partition"), "resv": field(line, "Reservation"),
                   "end": field(line, "EndTime"), "line": line}
            for nodes, cpus, mem, gres in re.findall(r" Nodes=(\S+) CPU_IDs=(\S+) Mem=(\d+) GRES=(\S*)", line):
                for node in ranks.expand(nodes):
                    job["cards"][node] = indices(gres)
                    job["mem"][node] = int(mem)
                    job["cpus_on"][node] = len(indices("IDX:" + cpus))
            self.jobs[job["id"]] = job
        for line in nodes_text.split("\n"):
            if line.startswith("NodeName="):
                self.nodes[field(line, "NodeName")] = {
                    "used": indices(field(line, "GresUsed")),
                    "used_text": field(line, "GresUsed"),
                    "cpus": int(field(line, "CPUAlloc") or 0),
                    "mem": int(field(line, "AllocMem") or 0), "state": field(line, "State")}

    def key(self):
        return {i: (j["state"], sorted(j["cards"])) for i, j in self.jobs.items() if j["cards"]}


class Checker:
    def __init__(self, where, topology, cluster):
        self.ranks = load_ranks(where)
        self.supernode, self.unit, _ = self.ranks.read_topology(topology)
        self.cluster = cluster
        self.atoms = {}

    def atom(self, spec):
        """The sizes of the connected parts of all groups that are bound to a
        supernode or less; and of those that are bound to a node."""
        if spec in self.atoms:
            return self.atoms[spec]
        lay = self.ranks.Layout(spec, CARDS)
        answer = []
        for width in (2, 0):
            top = list(range(lay.world))

            def find(r):
                while top[r] != r:
                    r = top[r]
                return r
            for axis in ("tp", "cp", "etp", "ep"):
                if self.ranks.WIDTH[lay.within[axis]] > width:
                    continue
                for group in lay.groups(axis):
                    for r in group[1:]:
                        top[find(r)] = find(group[0])
            size = {}
            for r in range(lay.world):
                size[find(r)] = size.get(find(r), 0) + 1
            answer.append(max(size.values()))
        self.atoms[spec] = (lay.world, answer[0], answer[1])
        return self.atoms[spec]

    def accounting(self, snap, steady):
        """Slurm's books: no card twice; the nodes' sums are the jobs'."""
        wrong, owner = [], {}
        sums = {n: [set(), 0, 0] for n in snap.nodes}
        leaving = set()
        for job in snap.jobs.values():
            if not job["cards"]:
                continue
            if "COMPLETING" in job["state"] or job["state"] not in RUNS:
                leaving |= set(job["cards"])
                continue
            for node, cards in job["cards"].items():
                for card in cards:
                    if (node, card) in owner:
                        wrong.append("card %d of %s is job %d's and job %d's"
                                     % (card, node, owner[node, card], job["id"]))
                    owner[node, card] = job["id"]
                sums[node][0] |= cards
                sums[node][1] += job["cpus_on"][node]
                sums[node][2] += job["mem"][node]
        if steady:
            for node, (cards, cpus, mem) in sums.items():
                if node in leaving:
                    continue
                have = snap.nodes[node]
                # Slurm tells no indices until the node has told of its files.
                bare = re.match(r"^npu:(\d+)$", have["used_text"])
                if cards != have["used"] and not (bare and int(bare.group(1)) == len(cards)):
                    wrong.append("%s: its jobs have cards %s, the node says %s"
                                 % (node, sorted(cards), have["used_text"]))
                if cpus != have["cpus"]:
                    wrong.append("%s: its jobs have %d CPUs, the node says %d" % (node, cpus, have["cpus"]))
                if mem != have["mem"]:
                    wrong.append("%s: its jobs have %d MB, the node says %d" % (node, mem, have["mem"]))
        licences = sum(self.licences(j) for j in snap.jobs.values() if j["state"] in RUNS)
        if licences > self.cluster["licence"][1]:
            wrong.append("%d licences of %d are in use" % (licences, self.cluster["licence"][1]))
        return wrong

    def licences(self, job):
        m = re.search(r" Licenses=%s:(\d+)" % self.cluster["licence"][0], job["line"])
        return int(m.group(1)) if m else 0

    def nodes(self, job, want):
        """Which nodes a running job has."""
        wrong, have = [], set(job["cards"])
        low, high = want.get("nodes", (1, len(self.cluster["nodes"])))
        if not low <= len(have) <= high:
            wrong.append("%d nodes, it asked for %d-%d" % (len(have), low, high))
        if "partition" in want and not any(have <= set(self.cluster["partitions"][p]) for p in want["partition"]):
            wrong.append("%s is not in partition %s" % (sorted(have), want["partition"]))
        if "feature" in want and not have <= set(self.cluster["features"][want["feature"]]):
            wrong.append("%s does not all have feature %s" % (sorted(have), want["feature"]))
        if have & set(want.get("without", [])):
            wrong.append("%s are excluded" % sorted(have & set(want["without"])))
        if set(want.get("with", [])) - have:
            wrong.append("%s are required" % sorted(set(want["with"]) - have))
        if want.get("segment"):
            count = {}
            for node in have:
                sn = self.supernode.get(node, node)
                count[sn] = count.get(sn, 0) + 1
            for sn, n in sorted(count.items()):
                if n % want["segment"]:
                    wrong.append("%d nodes in %s are not whole segments of %d" % (n, sn, want["segment"]))
        for node in have if "per_node" in want else ():
            if len(job["cards"][node]) != want["per_node"] and not want.get("exclusive"):
                wrong.append("%d cards on %s, it asked for %d" % (len(job["cards"][node]), node, want["per_node"]))
        if "cards" in want and not want.get("exclusive"):
            total = sum(map(len, job["cards"].values()))
            if total != want["cards"]:
                wrong.append("%d cards, it asked for %d" % (total, want["cards"]))
        return wrong

    def parallel(self, job, spec):
        """Do whole atoms fit on the cards that it has?"""
        world, atom, block = self.atom(spec)
        wrong, count = [], {}
        for node, cards in job["cards"].items():
            sn = self.supernode.get(node, node)
            count[sn] = count.get(sn, 0) + len(cards)
            if not cards:
                wrong.append("no card on %s" % node)
            if len(cards) % block:
                wrong.append("%d cards on %s are not whole TP groups of %d" % (len(cards), node, block))
        total = sum(count.values())
        if total != world:
            wrong.append("%d cards for %d ranks" % (total, world))
        for sn, n in sorted(count.items()):
            if n % atom:
                wrong.append("%d cards in %s are not whole atoms of %d" % (n, sn, atom))
        return wrong

    def run(self, spec, text):
        """One whole run's output: the groups as they really came out."""
        lay = self.ranks.Layout(spec, CARDS)
        lines = [r for r in (re.match(r"^rank (\d+) node (\S+) card (\S*) supernode (\S*)", l)
                             for l in text.split("\n")) if r]
        ranks = [(int(m.group(1)), m.group(2), m.group(3), m.group(4)) for m in lines]
        wrong, _, _ = self.ranks.check(lay, ranks, self.supernode, self.unit)
        wrong += re.findall(r"^DOUBLE.*", text, re.M)
        return wrong
