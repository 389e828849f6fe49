# SPDX-License-Identifier: GPL-2.0-or-later
"""ops_model.py - who may hold which card, and how much pool, for 79-ops.t.

It shares no code with the suite: it knows the cluster that 79-ops.t makes, what each
job asked for, and what was done.
"""
import collections
import itertools
import json
import re

CARDS, CPUS, POOL = 8, 64, 64 << 30
NODES = ["n%03d" % i for i in range(1, 13)]
SUPERNODES = {"sn%d" % s: NODES[s - 1::3] for s in (1, 2, 3)}
SN_OF = {n: s for s, nodes in SUPERNODES.items() for n in nodes}


def expand(text):
    """n[001-003,7] and the like."""
    names = []
    for head, body in re.findall(r"([^,\[]+)(?:\[([^\]]*)\])?,?", text):
        if not body:
            names.append(head)
            continue
        for part in body.split(","):
            lo, _, hi = part.partition("-")
            names += ["%s%0*d" % (head, len(lo), i) for i in range(int(lo), int(hi or lo) + 1)]
    return names


def indices(text):
    cards = set()
    for body in re.findall(r"npu:[^,]*?\(IDX:([0-9,-]+)\)", text):
        for part in body.split(","):
            lo, _, hi = part.partition("-")
            cards |= set(range(int(lo), int(hi or lo) + 1))
    return cards


class Job:
    def __init__(self, line):
        def field(name):
            m = re.search(r"(?:^| )%s=(\S*)" % name, line)
            return m.group(1) if m else ""
        self.id = int(field("JobId"))
        self.state = field("JobState")
        if "COMPLETING" in self.state:
            self.state = "COMPLETING"
        self.reason = field("Reason")
        self.priority = int(field("Priority") or 0)
        self.start = field("StartTime") if self.state != "PENDING" else ""
        self.cards = {}         # node -> set
        self.nodes = set()
        if self.state in ("RUNNING", "COMPLETING"):
            for nodes, gres in re.findall(r" Nodes=(\S+) CPU_IDs=\S* Mem=\S* GRES=(\S*)", line):
                for node in expand(nodes):
                    self.nodes.add(node)
                    if indices(gres):
                        self.cards[node] = indices(gres)
        self.count = sum(len(c) for c in self.cards.values())


def parse_jobs(text):
    jobs = {}
    for line in text.splitlines():
        if line.startswith("JobId="):
            job = Job(line)
            if job.state in ("PENDING", "RUNNING", "COMPLETING"):
                jobs[job.id] = job
    return jobs


def parse_nodes(text):
    nodes = {}
    for line in text.splitlines():
        m = re.match(r"NodeName=(\S+)", line)
        if m:
            used = re.search(r" GresUsed=(\S*)", line)
            extra = re.search(r" Extra=(\{.*?\}) (?:\w+=|$)", line + " ")
            used = used.group(1) if used else ""
            nodes[m.group(1)] = (used, extra.group(1) if extra else "")
    return nodes


def lost_nodes(text):
    """The nodes that are down, so that their parts of the pools are lost; drained ones have theirs."""
    return set(re.findall(r"NodeName=(\S+) .* State=\S*(?:DOWN|UNKNOWN)", text))


def marks_of(extra):
    """The cards of a node's record that are drained, and the sick ones' states."""
    # Slurm may follow the text with words of its own.
    cards = json.loads(extra[:extra.rindex("}") + 1]).get("cards", {}) if "}" in extra else {}
    sick = {int(c): m["health"]["state"] for c, m in cards.items() if "health" in m}
    return ({int(c) for c, m in cards.items() if "drain" in m},
            {c: "suspect" if s == "probing" else s for c, s in sick.items()})


class Wish:
    """What a job asked for."""
    def __init__(self, kind, **kw):
        self.kind = kind
        self.nodes, self.per_node, self.world, self.block, self.atom = 0, 0, 0, 0, 0
        self.whole, self.only, self.pool, self.high = False, None, None, False
        self.stays = False      # its partition has PreemptMode=OFF
        self.__dict__.update(kw)

    def __repr__(self):
        return str(self.__dict__)


# What a report with this code does: nothing, suspect or quarantined.
CODES = {"sick": "suspect", "xid-94": "suspect", "xid-74": "quarantined", "xid-79": "quarantined",
         "xid-63": None}
ESCALATE = 3                    # HealthEscalate's default


class Model:
    def __init__(self):
        self.wish = {}
        self.drained, self.down = set(), set()
        self.lost = set()       # nodes, see lost_nodes()
        self.sick = {}          # (node, card) -> suspect, quarantined, manual
        self.times = collections.Counter()      # anomalies of a card that count
        self.probing = {}       # a suspect card that is being probed -> sick once more since
        # Cards about which the nodes' records may say the old or the new: snelasticd
        # writes after it has answered.
        self.late = set()
        self.region = {}
        self.started = 0
        self.begin()

    @property
    def masked(self):
        return self.drained | set(self.sick)

    def begin(self):
        """An operation: what it changes may have been so or so while a job started."""
        self.changing, self.node_changing = set(self.late), None
        self.masked_before, self.down_before = set(self.masked), set(self.down)
        self.region_before = dict(self.region)

    # ---- health ---------------------------------------------------------------------

    def touch(self, card):
        self.late.add(card)
        self.changing.add(card)

    def fault(self, card, becomes):
        """A believed report, or a probe that failed."""
        if card in self.probing:
            self.probing[card] = True
        if not becomes:
            return
        if card not in self.sick:
            self.times[card] += 1
            self.sick[card] = "manual" if self.times[card] >= ESCALATE else becomes
        elif self.sick[card] == "suspect" and becomes == "quarantined":
            self.sick[card] = becomes
        if self.sick[card] != "suspect":
            self.probing.pop(card, None)
        self.touch(card)

    def passed(self, card):
        """HealthHold is as long as any run: what is quarantined stays."""
        if self.sick.get(card) == "suspect" and not self.probing.pop(card, False):
            del self.sick[card]
            self.touch(card)

    def release(self, card):
        self.sick.pop(card, None)
        self.probing.pop(card, None)
        self.times.pop(card, None)
        self.touch(card)

    def settle(self, nodes):
        """What is late has come, if the records say so; returns what has not."""
        for node in {n for n, _ in self.late}:
            drained, sick = marks_of(nodes[node][1])
            self.late -= {(n, c) for n, c in self.late if n == node and
                          (c in drained) == ((n, c) in self.drained) and
                          sick.get(c) == self.sick.get((n, c))}
        return self.late

    def end(self):
        self.begin()

    # ---- jobs -----------------------------------------------------------------------

    def random_job(self, rng):
        kind = rng.choice(("gres", "gres", "task", "parallel", "parallel", "parallel", "atom",
                           "pool", "pool", "whole", "partition", "high"))
        argv, w = ["--no-requeue"] if rng.random() < 0.5 else [], Wish(kind)
        if kind in ("gres", "high"):
            w.nodes, w.per_node = rng.choice((1, 1, 1, 2, 3)), rng.choice((1, 2, 4, 7, 8))
            argv += ["-N%d" % w.nodes, "--gres=npu:%d" % w.per_node]
            if kind == "high":
                w.high = w.stays = True
                argv += ["-p", "high"]
            elif rng.random() < 0.3:
                argv += ["-p", "low"]
        elif kind == "task":
            w.nodes, w.per_node = 1, rng.randint(1, 8)
            argv += ["-N1", "-n%d" % w.per_node, "--tres-per-task=gres/npu:1"]
        elif kind in ("parallel", "pool"):
            w.block = rng.choice((1, 2, 4, 8))
            dp = rng.choice((1, 2, 3, 5))
            w.world, w.atom = w.block * dp, w.block
            argv += ["--parallel=tp=%d,dp=%d" % (w.block, dp)]
            if kind == "pool":
                per = rng.choice(("", "/supernode", "/card"))
                size = rng.choice((1, 2, 4) if per == "/card" else (16, 40, 56))
                w.pool = (per, size << 30)
                argv += ["--pool=%dG%s" % (size, per)]
        elif kind == "atom":
            atoms = rng.choice((1, 1, 2))
            w.block, w.atom, w.world = 1, 16, 16 * atoms
            argv += ["--parallel=ep=16,dp=%d" % w.world]
        else:
            w.nodes, w.whole, w.stays = rng.choice((1, 1, 2)), True, kind == "partition"
            argv += ["-N%d" % w.nodes] + (["--exclusive"] if kind == "whole" else ["-p", "whole"])
            if rng.random() < 0.7:
                argv += ["--gres=npu:%d" % rng.choice((1, 8))]
        if w.nodes == 1 and rng.random() < 0.3:
            w.only = rng.choice(NODES)
            argv += ["-w", w.only]
        return w, argv

    def pool_of(self, job):
        """supernode -> bytes that a running job holds."""
        w = self.wish.get(job.id)
        if not w or not w.pool:
            return {}
        ranks = collections.Counter()
        for node, cards in job.cards.items():
            ranks[SN_OF[node]] += len(cards)
        return {s: self.share(w, n) for s, n in ranks.items()}

    @staticmethod
    def share(w, ranks):
        """The bytes that so many of its ranks take of the pool of one supernode."""
        if not w.pool or not ranks:
            return 0
        per, size = w.pool
        return {"/supernode": size, "/card": size * ranks, "": -(-size * ranks // w.world)}[per]

    def pool_left(self, jobs):
        """supernode -> bytes: without the parts of lost nodes, regions and what jobs hold."""
        left = {s: POOL * sum(n not in self.lost for n in nodes) // len(nodes)
                for s, nodes in SUPERNODES.items()}
        for sn, size in self.region.values():
            left[sn] -= size
        for job in jobs.values():
            for sn, size in self.pool_of(job).items():
                left[sn] -= size
        return left

    def never_fits(self, w):
        """With all jobs gone, and the regions as they are. Of some kinds it is not judged."""
        if not w.pool or not self.region:
            return False
        per, size = w.pool
        named = collections.Counter()
        for sn, held in self.region.values():
            named[sn] += held
        cards = len(NODES) // len(SUPERNODES) * CARDS
        room = sum(POOL - named[s] >= size for s in SUPERNODES)
        return per != "/supernode" or room * cards < w.world

    # ---- rules ----------------------------------------------------------------------

    def check(self, before, jobs):
        wrong = []
        holder = {}
        for job in jobs.values():
            for node, cards in job.cards.items():
                for card in cards:
                    other = holder.setdefault((node, card), job.id)
                    if other != job.id:
                        wrong.append("card %s:%d is held by jobs %d and %d" % (node, card, other, job.id))
        for job in jobs.values():
            if job.state != "RUNNING":
                continue
            was = before.get(job.id)
            if was and was.state == "RUNNING" and was.start == job.start:
                if was.cards != job.cards:
                    wrong.append("job %d had %s and has %s" % (job.id, was.cards, job.cards))
                continue
            self.started += 1
            wrong += self.check_start(job)
        wrong += self.check_pool(before, jobs)
        return wrong

    def check_start(self, job):
        wrong, w = [], self.wish.get(job.id)
        sure = (self.masked & self.masked_before) - self.changing
        for node, cards in job.cards.items():
            for card in cards:
                if (node, card) in sure:
                    wrong.append("job %d started on the masked card %s:%d" % (job.id, node, card))
        for node in job.nodes:
            if node in self.down and node in self.down_before:
                wrong.append("job %d started on the drained node %s" % (job.id, node))
            if w and w.whole and any(n == node for n, _ in sure):
                wrong.append("job %d of whole nodes started on %s, which has a masked card" % (job.id, node))
        if not w:
            return wrong
        if w.only and job.nodes != {w.only}:
            wrong.append("job %d is on %s, not %s" % (job.id, job.nodes, w.only))
        if w.per_node and (len(job.nodes) != w.nodes or
                           any(len(c) != w.per_node for c in job.cards.values()) or
                           len(job.cards) != w.nodes):
            wrong.append("job %d: %s is not %s" % (job.id, job.cards, w))
        if w.whole and w.nodes != len(job.nodes):
            wrong.append("job %d: %s is not %s" % (job.id, job.nodes, w))
        if w.world:
            by_sn = collections.Counter()
            for node, cards in job.cards.items():
                by_sn[SN_OF[node]] += len(cards)
                if len(cards) % w.block:
                    wrong.append("job %d: a block of %d is split: %s" % (job.id, w.block, job.cards))
            if job.count != w.world or any(n % w.atom for n in by_sn.values()):
                wrong.append("job %d: %s is not %s" % (job.id, job.cards, w))
        return wrong

    def check_pool(self, before, jobs):
        held, named = collections.Counter(), collections.Counter()
        for sn, size in self.region.values():
            named[sn] += size
        for job in jobs.values():
            if job.state == "RUNNING":
                held.update(self.pool_of(job))
        return ["the pool of %s has %d G, jobs hold %d G and regions %d G" %
                (s, POOL >> 30, held[s] >> 30, named[s] >> 30)
                for s in SUPERNODES if held[s] + named[s] > POOL + (1 << 20)]

    def check_nodes(self, nodes, jobs):
        wrong = []
        held = collections.defaultdict(set)
        for job in jobs.values():
            for node, cards in job.cards.items():
                held[node] |= cards
        for node, (used, extra) in nodes.items():
            # Without Cores= in gres.conf slurmctld tells only how many.
            count = re.match(r"npu:(?:\(null\):)?(\d+)", used)
            if ("IDX" in used and indices(used) != held[node]) or \
               int(count.group(1) if count else 0) != len(held[node]):
                wrong.append("slurmctld counts %s of %s as used, and jobs have %s" %
                             (used, node, sorted(held[node])))
            drained, sick = marks_of(extra)
            mine = {c for n, c in self.drained if n == node}, {c: s for (n, c), s in self.sick.items() if n == node}
            if (drained, sick) != mine and not any(n == node for n, _ in self.late):
                wrong.append("node %s has %s drained and sick %s, not %s and %s: %s" %
                             (node, sorted(drained), sick, sorted(mine[0]), mine[1], extra))
        return wrong

    # ---- why ------------------------------------------------------------------------

    def can_judge(self, job):
        return job.id in self.wish

    def can_make_way(self, job, jobs):
        """The jobs that it may preempt: one of high those of partitions without PreemptMode=OFF."""
        if not self.wish[job.id].high:
            return set()
        return {i for i, j in jobs.items()
                if j.state == "RUNNING" and i in self.wish and not self.wish[i].stays}

    def free(self, jobs):
        """Cards by node, of nodes that nobody has to himself."""
        free = {n: {c for c in range(CARDS) if (n, c) not in self.masked}
                for n in NODES if n not in self.down}
        for other in jobs.values():
            o = self.wish.get(other.id)
            for node in other.nodes:
                if o and o.whole:
                    free.pop(node, None)
                elif node in free:
                    free[node] -= other.cards.get(node, set())
        return free

    def fits(self, job, jobs, gone=()):
        """Is there room for it now, with the jobs of `gone` gone, whoever is before it?"""
        jobs = {i: j for i, j in jobs.items() if i not in gone}
        w, free = self.wish[job.id], self.free(jobs)
        busy = set().union(*(j.nodes for j in jobs.values()))
        if w.only:
            free = {n: c for n, c in free.items() if n == w.only}
        if w.whole:
            return sum(n not in busy and not any(m == n for m, _ in self.masked) for n in free) >= w.nodes
        if w.per_node:
            return sum(len(c) >= w.per_node for c in free.values()) >= w.nodes
        by_sn = collections.Counter()
        for node, cards in free.items():
            by_sn[SN_OF[node]] += len(cards) // w.block * w.block
        left, atoms = self.pool_left(jobs), w.world // w.atom
        # However its atoms may be divided over the supernodes.
        return any(sum(split) == atoms and
                   all(n * w.atom <= by_sn[s] and
                       # A lost node's part may be what jobs hold; who asks for none does not mind.
                       self.share(w, n * w.atom) <= max(left[s], 0) for s, n in zip(SUPERNODES, split))
                   for split in itertools.product(range(atoms + 1), repeat=len(SUPERNODES)))
