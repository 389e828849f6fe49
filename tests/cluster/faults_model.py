# SPDX-License-Identifier: GPL-2.0-or-later
"""faults_model.py - what the jobs of 78-faults.t must end with, and who may hold what.

It shares no code with the suite or the trainer: the trainer's arithmetic is written
down a second time here, with all ranks of a step one after the other.
"""
import collections
import re

from ops_model import expand, indices

MASK = (1 << 64) - 1
TP, CP, EP, PP, DP = range(5)
RING_MAX = 8
FORWARD, BACKWARD = 0, 0x10000
PAYLOAD = 16


def mix(x):
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9 & MASK
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb & MASK
    return x ^ (x >> 31)


class Layout:
    """tp, ep, pp with etp=1 and cp=1, in Megatron's order tp-cp-ep-dp-pp."""
    def __init__(self, tp, ep, pp, dp):
        self.tp, self.ep, self.pp, self.dp = tp, ep, pp, dp
        self.world = tp * pp * dp
        stage = tp * dp
        self.of = {}    # axis -> rank -> (members, own index)
        self.add(TP, [[tp * d + t + stage * p for t in range(tp)]
                      for p in range(pp) for d in range(dp)])
        self.add(DP, [[tp * d + t + stage * p for d in range(dp)]
                      for p in range(pp) for t in range(tp)])
        self.add(EP, [[e + ep * x + stage * p for e in range(ep)]
                      for p in range(pp) for x in range(stage // ep)])
        self.add(PP, [[i + stage * p for p in range(pp)] for i in range(stage)])

    def add(self, axis, groups):
        self.of[axis] = {r: (g, i) for g in groups for i, r in enumerate(g)}

    def spec(self, dp=None):
        return "tp=%d,ep=%d,etp=1,pp=%d,dp=%d" % (self.tp, self.ep, self.pp, dp or self.dp)


class Run:
    """The integers of all ranks."""
    def __init__(self, seed=1):
        self.seed, self.layout, self.state, self.step = seed, None, [], 0

    def resize(self, layout):
        if self.layout is None:
            self.state = [mix(self.seed ^ mix(r + 1)) for r in range(layout.world)]
        elif self.layout.world != layout.world:
            total = 0
            for i, s in enumerate(self.state):
                total = mix(total ^ mix((s + i) & MASK))
            self.state = [mix(total ^ mix(r + 1)) for r in range(layout.world)]
        self.layout = layout

    def message(self, state, src, dst, axis, turn):
        """What dst mixes into its integer, of a message that src made from state."""
        label = mix((src << 32 | dst) + 1)
        label = mix(label ^ (self.step << 32 | axis))
        label = mix(label ^ (turn << 32 | PAYLOAD))
        word, total = mix(state ^ label) | 1, label
        for _ in range(PAYLOAD // 8):
            word ^= word << 13 & MASK
            word ^= word >> 7
            word ^= word << 17 & MASK
            total ^= word
            total = ((total << 29 | total >> 35) & MASK) * 0x9e3779b97f4a7c15 & MASK
        return mix(total)

    def exchange(self, axis, ranks, turn):
        group = self.layout.of[axis]
        n = len(group[ranks[0]][0])
        if n < 2:
            return
        if axis != EP and n <= RING_MAX:
            hops, rounds = 1, n - 1
        else:
            hops, rounds = (n - 1).bit_length(), 1
        for hop in range(hops):
            for i in range(rounds):
                old = self.state[:]
                for r in ranks:
                    members, me = group[r]
                    src = members[(me - (1 << hop)) % n]
                    self.state[r] = mix(old[r] ^ self.message(old[src], src, r, axis, turn + i))

    def run_pass(self, turn, stages):
        lay = self.layout
        for k, p in enumerate(stages):
            ranks = range(p * lay.tp * lay.dp, (p + 1) * lay.tp * lay.dp)
            if k:
                step = (stages[k] - stages[k - 1]) * lay.tp * lay.dp
                for r in ranks:
                    src = r - step
                    self.state[r] = mix(self.state[r] ^ self.message(self.state[src], src, r, PP, turn))
            for axis in (TP, EP):
                self.exchange(axis, ranks, turn)

    def train(self, to):
        stages = list(range(self.layout.pp))
        while self.step < to:
            self.step += 1
            self.run_pass(FORWARD, stages)
            self.run_pass(BACKWARD, stages[::-1])
            self.exchange(DP, range(self.layout.world), FORWARD)

    def final(self):
        total = 0
        for i, s in enumerate(self.state):
            total = mix(total ^ mix((s + i) & MASK))
        return "%016x" % total


def sequence(begins):
    """From which step on it had which world, of what rank 0 of each generation noted:
    (generation, world, step, world of the checkpoint, time). What was trained and not
    kept does not count. Also what is wrong with it."""
    sizes, wrong = [], []
    for generation, world, step, of, _ in begins:
        while sizes and sizes[-1][0] >= step:
            sizes.pop()
        if step and (not sizes or sizes[-1][1] != of):
            wrong.append("generation %d goes on from a checkpoint of %d ranks after step %d, where the run had %s" %
                         (generation, of, step, sizes[-1][1] if sizes else "none"))
        if not sizes or sizes[-1][1] != world:
            sizes.append((step, world))
    return sizes, wrong


def end_state(tp, ep, pp, sizes, steps):
    """Of an uninterrupted run that has these sizes, (step, world), one after the other."""
    run = Run()
    for k, (step, world) in enumerate(sizes):
        run.resize(Layout(tp, ep, pp, world // (tp * pp)))
        run.train(sizes[k + 1][0] if k + 1 < len(sizes) else steps)
    return run.final()


# ---- what Slurm says -------------------------------------------------------------------

class Slurmjob:
    def __init__(self, line):
        def field(name):
            m = re.search(r"(?:^| )%s=(\S*)" % name, line)
            return m.group(1) if m else ""
        self.id = int(field("JobId"))
        self.name = field("JobName")
        self.states = field("JobState").split(",") if "," in field("JobState") else field("JobState").split("+")
        self.state = self.states[0]
        self.reason = field("Reason")
        self.priority = int(field("Priority") or 0)
        self.restarts = int(field("Restarts") or 0)
        self.batch = field("BatchHost")
        self.wants = int(re.match(r"\d*", field("NumNodes")).group() or 0)
        self.nodes = [n for n in expand(field("NodeList")) if n != "(null)"]
        m = re.search(r"supernode:member=(\d+):(\d+)", field("Comment"))
        self.base = int(m.group(1)) if m else 0
        self.cards = set()
        if self.state in ("RUNNING", "COMPLETING") or "COMPLETING" in self.states:
            for nodes, gres in re.findall(r" Nodes=(\S+) CPU_IDs=\S* Mem=\S* GRES=(\S*)", line):
                self.cards |= {(n, c) for n in expand(nodes) for c in indices(gres)}

    def zombie(self):
        """The batch host is lost, and with it the script."""
        return self.state == "RUNNING" and self.batch and self.batch not in self.nodes


def parse_jobs(text):
    return {j.id: j for j in (Slurmjob(l) for l in text.splitlines() if l.startswith("JobId="))}


def doubled(pairs):
    """pairs of (card, holder): cards with two holders."""
    holder = collections.defaultdict(set)
    for card, who in pairs:
        holder[card].add(who)
    return {c: sorted(w) for c, w in holder.items() if len(w) > 1}
