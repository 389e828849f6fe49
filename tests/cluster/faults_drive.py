#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""faults_drive.py - random faults on elastic jobs that train, held to a model.

  faults_drive.py --seed N --faults K

What the K-th fault is and whom it strikes follows from the seed and K, and from the
moment only where it must. Environment: 78-faults.t. Exit status 1: a rule is broken.
"""
import argparse
import collections
import os
import random
import re
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults_do as do  # noqa: E402
import faults_kinds  # noqa: E402
import faults_model as model  # noqa: E402
from faults_job import Job, KINDS  # noqa: E402

JOBS = int(os.environ.get("SN_JOBS", "3"))      # at a time
PATIENCE = float(os.environ.get("SN_PATIENCE", "300"))  # s, from a fault to the next step
OUT_MAX = 8                                     # nodes, before another is struck
# What the daemon is to do, and the driver does in its place: none, or "requeue".
HELP = os.environ.get("SN_HELP", "").split()


def spread(seconds):
    return "%.1f/%.1f" % (statistics.median(seconds), max(seconds)) if seconds else ""


class Driver:
    def __init__(self, seed):
        self.seed, self.rng = seed, random.Random(seed)
        self.began = time.time()
        self.wrong, self.notes = [], collections.Counter()
        self.jobs, self.ended = [], []  # of the campaign
        self.slurm, self.nodes = {}, {}  # as last seen
        self.repairs = {}       # node -> [when, what is to be done]
        self.started = {}       # node -> when
        self.resumed = {}       # node -> when it was back
        self.releases = {}      # (node, card) -> when
        self.faults = []        # done so far
        self.suspicion = {}     # what was odd at the last look, and since when
        self.looked = self.peered = 0.0
        self.blind_until = 0.0  # slurmctld has just been killed

    def say(self, text):
        print("%6.1f  %s" % (time.time() - self.began, text), flush=True)

    def fail(self, text):
        self.wrong.append(text)
        self.say("WRONG: " + text)

    def odd(self, key, text, seconds):
        """Wrong only if it lasts. Slurm, and what snrun knows of it, move on one by one."""
        now = time.time()
        since = self.suspicion.setdefault(key, [now, now, False])
        since[1] = now
        if now - since[0] <= seconds or since[2]:
            return False
        since[2] = True
        self.fail("%s, for %d s" % (text, seconds))
        return True

    # ---- looking -------------------------------------------------------------------------

    def look(self):
        if time.time() < self.blind_until:
            return False
        rc, text = do.run("scontrol", "-o", "-d", "show", "job")
        if rc and "No jobs" not in text:
            self.notes["looks without an answer"] += 1
            return False
        nodes = do.look_at_nodes()
        if nodes is None:
            return False
        self.slurm, self.nodes = model.parse_jobs(text), nodes
        self.looked = time.time()
        for job in self.jobs:
            job.see(self.slurm)
            for f in job.open:
                if f.kind == "grow":
                    f.see_room(job, self.room(job))
        self.check_cards()
        for j in self.slurm.values():
            if "launch_failed" in j.reason:
                # slurmctld had not saved that it ran, starts it once more on nodes
                # that have it, and holds it then. The daemon releases it, the second
                # time after a minute.
                self.notes["jobs that a killed slurmctld held"] += ("launch", j.id) not in self.suspicion
                if self.odd(("launch", j.id), "job %d is held as its launch failed, and nobody releases it" % j.id, 80):
                    do.run("scontrol", "release", str(j.id))
            elif j.state == "PENDING" and (j.priority == 0 or "Held" in j.reason):
                self.odd(("held", j.id), "job %d is held: priority %d, %s" % (j.id, j.priority, j.reason), 3)
        self.suspicion = {k: v for k, v in self.suspicion.items() if self.looked - v[1] < 8}
        return True

    def room(self, job):
        """Are nodes for a member of the job that waits free, two an atom, beside the spare ones?"""
        need = min((m.wants for m in job.members.values() if m.state == "PENDING"), default=0)
        used = {n for j in self.slurm.values() if j.state == "RUNNING" or "COMPLETING" in j.states for n in j.nodes}
        free = [n for n, v in self.nodes.items()
                if v.well and not v.marks and n not in used and n not in job.left_nodes]
        return sum((n - 1) // 2 * 2 for n in collections.Counter(map(do.supernode_of, free)).values()) >= need

    def check_cards(self):
        pairs = [(c, j.id) for j in self.slurm.values() for c in j.cards]
        for card, who in model.doubled(pairs).items():
            self.odd(("slurm", card), "card %s:%d is held by jobs %s" % (*card, who), 4)
        holders = collections.defaultdict(set)  # base -> cards
        for j in self.slurm.values():
            if j.state == "RUNNING":
                holders[j.base or j.id] |= j.cards
        pairs = []
        for job in self.jobs:
            plan = job.settled_plan()
            if not plan:
                continue
            cards = [tuple(r) for r in plan["ranks"]]
            pairs += [(c, job.name) for c in set(cards)]
            if len(set(cards)) != len(cards):
                self.fail("%s: a card has two ranks in layout.json" % job)
            alien = set(cards) - holders[job.id]
            if alien and not job.open:
                self.odd(("plan", job.name), "%s has ranks on %s, which its jobs do not hold" %
                         (job, sorted(alien)[:4]), 15)
        for card, who in model.doubled(pairs).items():
            self.odd(("plans", card), "card %s:%d is in the layouts of %s" % (*card, who), 15)
        if time.time() - self.peered > 5:
            self.peered = time.time()
            pairs = [(place, "%s's %d" % (j.name, pid)) for j in self.jobs if j.id
                     for pid, place in do.ranks(j.dir).items()]
            for place, who in model.doubled(pairs).items():
                self.odd(("processes", place), "on card %s:%s live %s" % (*place, who), 20)

    # ---- jobs -----------------------------------------------------------------------------

    def submit(self):
        n = len(self.jobs) + len(self.ended) + 1
        kind = KINDS[random.Random("%d job %d" % (self.seed, n)).randrange(len(KINDS))]
        job = Job("j%03d-%s" % (n, kind.name), kind)
        wrong = job.submit()
        if wrong:
            self.fail(wrong)
        else:
            self.say("%s: job %d, %s" % (job.name, job.id, " ".join(kind.argv)))
            self.jobs.append(job)

    def tend_jobs(self):
        now = time.time()
        for job in self.jobs[:]:
            for f in job.close_faults():
                f.report(self, job)
            if HELP and job.zombie_since and now - job.zombie_since > 20:
                self.notes["zombies that the driver requeued"] += 1
                do.run("scontrol", "requeue", str(job.id))
                job.zombie_since = 0
            if HELP and job.pending == "BeginTime" and now - job.waits_since > 5:
                self.notes["requeued jobs that the driver started"] += 1
                do.run("scontrol", "update", "jobid=%d" % job.id, "starttime=now")
            if job.over():
                self.jobs.remove(job)
                self.ended.append(job)
                self.judge(job)
                continue
            for f in job.open:
                if f.must == "next" and now - f.since > PATIENCE and not f.late and not job.may_wait(now):
                    f.late = True
                    self.fail("fault %d (%s): expected that %s takes another step within %d s; it is %s" %
                              (f.number, f.text, job.name, PATIENCE, job.describe()))
                elif f.must == "next" and f.label != "unmarked" and job.may_wait(now):
                    f.waited = True
        if len(self.jobs) < JOBS and now - self.looked < 5:
            self.submit()

    def judge(self, job):
        for f in job.open:
            f.close(job, "ended before", None)
        job.open.clear()
        if job.state != "COMPLETED":
            self.fail("%s was to end COMPLETED and is %s; its last words: %s" % (job, job.state, job.last_words()))
            return
        sizes, wrong = model.sequence(do.begins_of(job.dir))
        for text in wrong:
            self.fail("%s: %s" % (job, text))
        final = do.final_of(job.dir)
        k = job.kind
        right = model.end_state(k.tp, k.ep, k.pp, sizes, job.steps) if sizes else None
        self.say("%s is done: %s" % (job.name, ", ".join("dp=%d from step %d" % (w // (k.tp * k.pp), s + 1)
                                                         for s, w in sizes)))
        if not final or final[0] != right:
            self.fail("%s: expected the end state %s of an uninterrupted run over the sizes %s; it has %s" %
                      (job, right, sizes, final))
        elif final[1] != "0":
            self.fail("%s: %s messages were odd" % (job, final[1]))
        for s, w in sizes:
            if w // (k.tp * k.pp) not in k.legal:
                self.fail("%s: dp=%d is no legal size" % (job, w // (k.tp * k.pp)))

    def check_gone(self):
        """Of jobs that have ended nothing is left, in due time."""
        now = time.time()
        for job in self.ended:
            if job.clean or now - job.ended_at < 5:
                continue
            left = ["job %d (%s)" % (j.id, j.state) for j in self.slurm.values()
                    if j.base == job.id and j.state in ("PENDING", "RUNNING")]
            pids = list(do.processes(job.dir)) if now - job.ended_at > 30 else []
            if left or pids:
                # What slurmctld has lost of an end it finds out after two minutes.
                self.odd(("left", job.name), "%s has ended %d s ago and there are still %s" %
                         (job, now - job.ended_at, left + pids), 60 if now - self.blind_until > 240 else 200)
            elif now - job.ended_at > 30:
                job.clean = True

    # ---- nodes and cards that were hurt ----------------------------------------------------

    def out(self):
        return set(self.repairs) | {n for n, v in self.nodes.items() if not v.well}

    def hurt(self, nodes, killed, seconds):
        for node in nodes:
            self.repairs[node] = [time.time() + seconds, "start" if killed else "resume"]

    def forget(self):
        """slurmctld is killed: what it has not written yet, such as that a node was resumed, is lost."""
        for node, when in self.resumed.items():
            if time.time() - when < 30:
                self.repairs.setdefault(node, [time.time() + 10, "resume"])

    def repair(self):
        now = time.time()
        for node, (when, what) in sorted(self.repairs.items()):
            if now < when:
                continue
            if what == "start":
                rc, text = do.node_up(node)
                if rc:
                    self.fail("%s does not start: %s" % (node, text[-200:]))
                self.repairs[node] = [now + 1, "resume"]
                self.started[node] = now
            elif now - when > 120:
                self.fail("%s does not come back: %s" % (node, self.nodes[node].state if node in self.nodes else "?"))
                del self.repairs[node]
            elif node in self.nodes and self.nodes[node].well and self.looked > when + 1:
                del self.repairs[node]
                self.resumed[node] = now
            else:
                # On a busy host a node's network may not have gone yet when it starts.
                if now - self.started.get(node, now) > 20:
                    do.node_up(node)
                    self.started[node] = now
                do.mark([node], "resume", "")
        for (node, card), when in list(self.releases.items()):
            if now > when:
                rc, text = do.run("snctl", "health", "release", "%s:%d" % (node, card), "--reason=repaired")
                if rc == 0 or now - when > 60:
                    if rc:
                        self.fail("card %s:%d is not released: %s" % (node, card, text))
                    del self.releases[node, card]

    def resume_drained(self):
        """As an operator does whom the daemon's event has told to: if no step of a job that
        does not run is left there."""
        for name, node in self.nodes.items():
            if not node.unkilled or name in self.repairs:
                continue
            rc, text = do.run("snctl", "events", "--kind=slurm", "--node=" + name)
            if "drained by slurmd" not in text:
                self.odd(("drained", name), "slurmd has drained %s, and no event says so" % name, 20)
                continue
            left = {s for s in do.stepds(name) if int(s.split(".")[0]) not in self.slurm or
                    self.slurm[int(s.split(".")[0])].state != "RUNNING"}
            if left:
                self.odd(("drained", name), "slurmd has drained %s, and left there are %s" % (name, sorted(left)), 60)
                continue
            self.notes["nodes that slurmd drained with nothing left there"] += 1
            self.say("%s was drained by slurmd, has nothing left, and is resumed" % name)
            do.mark([name], "resume", "")

    # ---- the campaign ------------------------------------------------------------------------

    def turn(self):
        seen = self.look()
        self.tend_jobs()
        self.repair()
        if seen:
            self.check_gone()
            self.resume_drained()
        time.sleep(0.3)

    def strike(self, number):
        """The fault of this number, as soon as it can be done."""
        rng = random.Random("%d fault %d" % (self.seed, number))
        order = faults_kinds.draw(rng)
        until = time.time() + 240
        while time.time() < until:
            for kind in order[:3 if time.time() < until - 200 else None]:
                f = faults_kinds.strike(kind, self, random.Random(rng.random()), number)
                if f:
                    return f
            self.turn()
        self.notes["faults that found no victim"] += 1
        return None

    def settle(self, rng, fault):
        """Mostly until all go on; sometimes the next comes in the midst of it."""
        early = rng.random() < 0.25
        until = time.time() + (rng.uniform(0.2, 4) if early else 30)
        while time.time() < until:
            self.turn()
            if not early and (fault.must != "next" or not any(fault in j.open for j in self.jobs)):
                break
        until = time.time() + (0 if early else rng.uniform(0.3, 2.5))
        while time.time() < until:
            self.turn()

    def drive(self, count):
        for number in range(1, count + 1):
            f = self.strike(number)
            if f:
                self.faults.append(f)
                self.settle(random.Random("%d settle %d" % (self.seed, number)), f)
            if len(self.wrong) >= 12:
                print("too much is wrong; no further faults")
                break
        self.say("%d faults; until the jobs end" % len(self.faults))
        self.run_dry()

    def run_dry(self):
        global JOBS
        JOBS = 0
        for node in self.repairs.values():
            node[0] = time.time()
        self.releases = {c: time.time() for c in self.releases}
        until = time.time() + 600
        while time.time() < until and (self.jobs or self.repairs or self.releases or
                                       not all(j.clean for j in self.ended)):
            self.turn()
        for job in self.jobs:
            self.fail("%s does not end: %s" % (job, job.describe()))
            do.run("scancel", str(job.id))
        until = time.time() + 90
        while time.time() < until and (not self.look() or self.left()):
            self.resume_drained()
            time.sleep(1)
        for text in self.left():
            self.fail("left at the end: " + text)
        for text in do.mounts_left():
            self.fail("left at the end: the mount " + text)

    def left(self):
        left = ["job %d %s %s" % (j.id, j.name, j.state) for j in self.slurm.values()
                if j.state in ("PENDING", "RUNNING", "SUSPENDED") or "COMPLETING" in j.states]
        rc, text = do.run("squeue", "-s", "-h")
        left += ["step " + l for l in text.splitlines() if l.strip()]
        left += ["process %d of %s" % (p, j.name) for j in self.ended for p in do.processes(j.dir)]
        for name, node in sorted(self.nodes.items()):
            if not node.well:
                left.append("node %s is %s" % (name, node.state))
            if node.marks:
                left.append("marks on %s: %s" % (name, node.marks))
        return left

    def table(self):
        rows = collections.defaultdict(lambda: collections.defaultdict(list))
        for f in self.faults:
            for means, *times in f.ends or [("none was hit", None, None, None)]:
                rows[f.kind][means].append(times)
        print("%d faults, %d jobs in %d s; driver: %s" % (len(self.faults), len(self.ended), time.time() - self.began,
                                                       dict(self.notes)))
        print("Seconds, median/worst: to the next step; of these, till the ranks were asked to save, "
              "and till they had saved.\n"
              "| fault | means chosen | count | next step | asked | saved |\n| --- | --- | --- | --- | --- | --- |")
        for kind in faults_kinds.NAMES:
            for means, got in sorted(rows.get(kind, {}).items()):
                print("| %s | %s | %d | %s |" % (faults_kinds.NAMES[kind], means, len(got), " | ".join(
                    spread([t[i] for t in got if t[i] is not None]) for i in range(3))))
        rc, text = do.run("snctl", "events", "--kind=elastic", "--limit=5000", "--json")
        words = collections.Counter(re.findall(r'"(?:text|what|why)":\s*"([a-z-]+): ', text))
        print("the daemon's decisions: %s" % dict(words))
        sys.stdout.flush()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, required=True)
    p.add_argument("--faults", type=int, required=True)
    args = p.parse_args()
    d = Driver(args.seed)
    try:
        d.drive(args.faults)
    finally:
        d.table()
        for text in d.wrong:
            print("WRONG: " + text)
    sys.exit(1 if d.wrong else 0)


if __name__ == "__main__":
    main()
