# SPDX-License-Identifier: GPL-2.0-or-later
"""rnd_gen.py - random jobs for the random test; see 39-random.t.

Everything comes from one random.Random, so that a seed gives the same jobs on
every machine. A job is a dict: "args" is what goes to sbatch, the rest is what
the checker holds the outcome to.
"""
CARDS = 8
CPUS = 64
MEMORY = 4000


def layout(rng, most=32):
    """A --parallel value that the largest supernode (5 nodes) can hold."""
    while True:
        tp = rng.choice([1, 1, 2, 2, 2, 3, 4, 4, 8, 8, 16])
        cp = rng.choice([1, 1, 1, 1, 2])
        pp = rng.choice([1, 1, 1, 2, 3])
        dp = rng.choice([1, 2, 2, 3, 4, 5, 6, 8])
        ep = rng.choice([1, 1, 1, 2, 4, 8, 16])
        etp = rng.choice([1, 1, tp])
        if tp * cp * pp * dp > most or (tp * cp * dp) % (ep * etp):
            continue
        spec = "tp=%d,pp=%d,dp=%d" % (tp, pp, dp)
        if cp > 1:
            spec += ",cp=%d" % cp
        if ep > 1:
            spec += ",ep=%d,etp=%d" % (ep, etp)
        elif etp != tp:
            spec += ",etp=%d" % etp
        inner = etp * ep if ep > 1 or etp != tp else tp
        if rng.random() < 0.2 and (pp == 1 or inner == tp * cp):
            spec += ",order=tp-cp-ep-pp-dp"
        if ep > 1 and rng.random() < 0.1:
            spec += ",ep_within=any"
        if tp in (2, 4) and rng.random() < 0.15:
            spec += ",tp_within=supernode"
        return spec


def world(spec):
    size = {"tp": 1, "cp": 1, "pp": 1, "dp": 1}
    for word in spec.split(","):
        key, _, value = word.partition("=")
        if key in size:
            size[key] = int(value)
    return size["tp"] * size["cp"] * size["pp"] * size["dp"]


def some_nodes(rng, names, count):
    return sorted(rng.sample(names, count))


class Generator:
    """cluster: names of the nodes, features (name -> nodes), partitions
    (name -> nodes), licence (name, count)."""

    def __init__(self, rng, cluster):
        self.rng, self.cluster = rng, cluster

    def common(self, job):
        """Options that go with anything."""
        rng, args = self.rng, job["args"]
        if rng.random() < 0.15:
            job["partition"] = rng.choice([["main"]] if "with" in job else
                                          [["main"], ["left"], ["right"], ["left", "right"]])
            args += ["-p", ",".join(job["partition"])]
        if rng.random() < 0.1:
            job["feature"] = rng.choice(sorted(self.cluster["features"]))
            args += ["-C", job["feature"]]
        if rng.random() < 0.1:
            job["without"] = [n for n in some_nodes(rng, self.cluster["nodes"], rng.randint(1, 4))
                              if n not in job.get("with", [])] or ["n001"]
            args += ["-x", ",".join(job["without"])]
        if rng.random() < 0.1:
            job["licences"] = rng.randint(1, 2)
            args += ["-L", "%s:%d" % (self.cluster["licence"][0], job["licences"])]
        if rng.random() < 0.1:
            args += ["--nice=%d" % rng.randint(0, 50)]
        if rng.random() < 0.05:
            args += ["--switches=1@1"]
        args += ["-t", str(rng.randint(1, 8))]
        job["seconds"] = rng.choice([0, 0, 1, 1, 2, 3, 5])
        return job

    def parallel(self):
        rng = self.rng
        spec = layout(rng)
        ranks = world(spec)
        job = {"kind": "parallel", "spec": spec, "args": ["--parallel=" + spec]}
        dice = rng.random()
        if dice < 0.12:
            n = rng.randint((ranks + CARDS - 1) // CARDS, min(ranks, 6))  if ranks > 1 else 1
            job["nodes"] = (n, n)
            job["args"] += ["-N", str(n)]
        elif dice < 0.22:
            low = rng.randint(1, max(1, min(ranks, 4)))
            high = max(low, (ranks + CARDS - 1) // CARDS) + rng.randint(0, 3)
            job["nodes"] = (low, high)
            job["args"] += ["-N", "%d-%d" % (low, high)]
        elif dice < 0.28 and ranks % CARDS == 0:
            job["exclusive"] = True
            job["args"] += ["--exclusive"]
        dice = rng.random()
        if dice < 0.15:
            job["args"] += ["-c", str(rng.choice([2, 3, 4]))]
        elif dice < 0.25:
            # All CPUs of a whole node must find their memory there.
            job["args"] += ["--mem-per-cpu=%d" % rng.choice([5, 20] if "exclusive" in job else [5, 50, 200])]
        elif dice < 0.3:
            job["args"] += ["--mem=%d" % rng.choice([100, 1000])]
        if rng.random() < 0.06 and ranks > 1:
            job["with"] = some_nodes(rng, self.cluster["nodes"], 1)
            job["args"] += ["-w", ",".join(job["with"])]
        return self.common(job)

    def plain(self, segments=True):
        rng = self.rng
        job = {"kind": "plain", "args": []}
        dice = rng.random()
        if dice < 0.2 and segments:
            k = rng.randint(1, 4)
            n = k * rng.randint(1, max(1, 8 // k))
            job.update(segment=k, nodes=(n, n))
            job["args"] += ["-N", str(n), "--segment=%d" % k]
        elif dice < 0.5:
            n = rng.randint(1, 5)
            job["nodes"] = (n, n)
            job["args"] += ["-N", str(n)]
        elif dice < 0.6:
            low = rng.randint(1, 3)
            high = low + rng.randint(1, 4)
            job["nodes"] = (low, high)
            job["args"] += ["-N", "%d-%d" % (low, high)]
        if "nodes" not in job or rng.random() < 0.3:
            n = rng.randint(job.get("nodes", (1, 1))[1], 24)
            job["args"] += ["-n", str(n)]
            job["tasks"] = n
        dice = rng.random()
        if dice < 0.3:
            job["per_node"] = rng.randint(1, CARDS)
            job["args"] += ["--gres=npu:%d" % job["per_node"]]
        elif dice < 0.4 and "tasks" in job and "segment" not in job:
            job["cards"] = job["tasks"]
            job["args"] += ["--tres-per-task=gres/npu:1"]
        elif dice < 0.5 and "segment" not in job:
            job["exclusive"] = True
            job["args"] += ["--exclusive"]
        dice = rng.random()
        cpus, per = 1, CPUS
        if dice < 0.15:
            cpus = rng.choice([2, 4, 8])
            job["args"] += ["-c", str(cpus)]
        elif dice < 0.25:
            job["args"] += ["--mem=%d" % rng.choice([100, 1000, 2000])]
        elif dice < 0.3 and "tasks" in job and "nodes" not in job:
            per = rng.randint(2, 8)
            job["args"] += ["--ntasks-per-node=%d" % per]
        if rng.random() < 0.05:
            job["args"] += ["--contiguous"]
        self.common(job)
        # Slurm refuses what so many nodes, or those left to choose from, do not have.
        there = self.eligible(job)
        low, most = job.get("nodes", (1, there))
        job["too_big"] = (there < low or job.get("cards", 0) > most * CARDS or
                          job.get("tasks", 0) * cpus > most * CPUS or job.get("tasks", 0) > most * per)
        return job

    def eligible(self, job):
        """The nodes of the largest partition that may be used."""
        most = 0
        for part in job.get("partition", ["main"]):
            nodes = set(self.cluster["partitions"][part]) - set(job.get("without", []))
            if "feature" in job:
                nodes &= set(self.cluster["features"][job["feature"]])
            most = max(most, len(nodes))
        return most

    def array(self):
        job = self.parallel() if self.rng.random() < 0.7 else self.plain()
        job["kind"] = "array"
        job["args"] += ["--array=1-%d%s" % (self.rng.randint(2, 4), self.rng.choice(["", "%2"]))]
        return job

    def het(self):
        specs = [layout(self.rng, 16) for _ in range(2)]
        return {"kind": "het", "specs": specs, "seconds": self.rng.randint(0, 2),
                "args": ["--parallel=" + specs[0], "-t", "5", ":", "--parallel=" + specs[1], "-t", "5"]}

    def any(self):
        dice = self.rng.random()
        if dice < 0.55:
            return self.parallel()
        if dice < 0.83:
            return self.plain()
        if dice < 0.94:
            return self.array()
        return self.het()
