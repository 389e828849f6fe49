#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ops_drive.py - random operations on a running cluster, held to a model.

  ops_drive.py --seed N --ops K

Jobs end only by a cancel, so that between two looks nothing changes but what was
done, what Slurm starts, and marks that snelasticd is yet to write (Model.late).
Environment: CL_DIR, CL_HOSTS, TESTS (79-ops.t sets them).
Exit status 1 if a rule was broken.
"""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ops_model  # noqa: E402
from ops_health import HealthOps  # noqa: E402
from ops_model import CARDS, NODES, SUPERNODES  # noqa: E402

FINE = ("None", "Resources", "Priority", "BeginTime", "ReqNodeNotAvail", "Cleaning", "Nodes_required",
        "(null)", "NodeDown", "SchedDefer")


SPENT = collections.Counter()


def run(*argv, seconds=90):
    began = time.time()
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       errors="replace", timeout=seconds, stdin=subprocess.DEVNULL)
    SPENT[argv[0]] += time.time() - began
    return p.returncode, p.stdout.strip()


class Driver(HealthOps):
    run = staticmethod(run)

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.model = ops_model.Model()
        self.count = collections.Counter()
        self.wrong = []
        self.regions = {}       # name -> supernode
        self.next_region = 0
        self.jobs, self.before = {}, {}
        self.held = None        # the job that submit_held() is about
        self.last = "the beginning"

    def fail(self, text):
        self.wrong.append(text)
        print("WRONG after %s: %s" % (self.last, text), flush=True)

    # ---- looking --------------------------------------------------------------------

    def look(self):
        rc, text = run("scontrol", "-o", "-d", "show", "job")
        if rc and "No jobs" not in text:
            self.fail("scontrol show job: " + text[:200])
            return
        self.before, self.jobs = self.jobs, ops_model.parse_jobs(text)
        for what in self.model.check(self.before, self.jobs):
            self.fail(what)
        for job in self.jobs.values():
            if job.state == "PENDING" and job.id != self.held and \
               (job.priority == 0 or not job.reason.startswith(FINE)):
                self.fail("job %d is held: priority %d, %s" % (job.id, job.priority, job.reason))

    def states(self):
        return {j.id: (j.state, j.start) for j in self.jobs.values()}

    def look_at_nodes(self):
        """Only where no job started or ended meanwhile."""
        for _ in range(10):
            then = self.states()
            rc, text = run("scontrol", "-o", "-d", "show", "node")
            self.look()
            if rc == 0 and then == self.states():
                break
        else:
            self.count["nodes not judged"] += 1
            return
        for what in self.model.check_nodes(ops_model.parse_nodes(text), self.jobs):
            self.fail(what)

    def nodes_are_there(self):
        """Do those that are not down take work? Not so where one is completing, nor while
        slurmd starts anew after a reconfiguration."""
        rc, text = run("sinfo", "-h", "-N", "-o", "%N %t")
        states = dict(w.split() for w in text.splitlines()) if rc == 0 else {}
        return all(states.get(n) in ("idle", "mix", "alloc", "plnd") for n in NODES if n not in self.model.down)

    def ask_why(self):
        waiting = [j for j in self.jobs.values() if j.state == "PENDING" and
                   j.reason != "BeginTime" and self.model.can_judge(j)]
        if waiting:
            # Those that preempt, say, wait more rarely than others.
            kind = self.rng.choice(sorted({self.model.wish[j.id].kind for j in waiting}))
            self.judge_why(self.rng.choice(sorted((j for j in waiting if self.model.wish[j.id].kind == kind),
                                                  key=lambda j: j.id)))

    def judge_why(self, job):
        answer = self.one_why(job)
        if answer is None:
            return
        # fits_now is slurmctld's word, which counts what preemption would free; where that
        # was not to be had, what is free.
        others = self.model.can_make_way(job, self.jobs) if answer["slurmctld_asked"] else set()
        fits = self.model.fits(job, self.jobs, others)
        if answer["fits_now"] == fits:
            self.count["why of %s%s" % (self.model.wish[job.id].kind, ", which fits" if fits else "")] += 1
            if fits:
                self.check_preempts(job, answer, others)
            return
        # For some moments after its start slurmctld has nodes that it knows nothing of yet,
        # also between two looks at them. A node that is said to be down is down.
        if any("not answering" in s["others"] for s in answer["supernodes"]):
            self.count["why not judged"] += 1
            return
        self.fail("snctl why %d says fits_now=%s, the model %s; it wants %s, and free are %s, "
                  "of pools %s, %s down, %s could make way: %s" %
                  (job.id, answer["fits_now"], fits, self.model.wish[job.id],
                   self.model.free(self.jobs), self.model.pool_left(self.jobs),
                   sorted(self.model.down), sorted(others), answer))

    def check_preempts(self, job, answer, others):
        """Are the jobs that would make way for it some that can, no fewer than it needs, and
        none if it fits beside them?"""
        some = {int(i) for i in answer["preempts"].split(",") if i}
        if some - others or not self.model.fits(job, self.jobs, some) or \
           some and self.model.fits(job, self.jobs):
            self.fail("snctl why %d says that %s make way, of %s that could; it wants %s, and free are %s" %
                      (job.id, sorted(some), sorted(others), self.model.wish[job.id],
                       self.model.free(self.jobs)))
        self.count["why said that jobs make way"] += bool(some)

    def find_lost(self):
        rc, text = run("scontrol", "-o", "show", "node")
        self.model.lost = ops_model.lost_nodes(text)
        return self.model.lost if rc == 0 else None

    def one_why(self, job):
        """What snctl why says of it; None where that cannot be judged."""
        if not self.settled(True) or not self.nodes_are_there():
            self.count["why not judged"] += 1
            return None
        self.look()
        then, lost = self.states(), self.find_lost()
        rc, text = run("snctl", "why", str(job.id), "--json")
        self.look()
        if then != self.states() or lost is None or lost != self.find_lost() or \
           not self.nodes_are_there() or \
           any(j.state == "COMPLETING" for j in self.jobs.values()) or job.id not in self.jobs:
            self.count["why not judged"] += 1
            return None
        try:
            answer = json.loads(text)
        except ValueError:
            self.fail("snctl why %d: %s" % (job.id, text[:300]))
            return None
        if answer.get("state") != "pending":
            return None
        self.count["why asked"] += 1
        return answer

    # ---- doing ----------------------------------------------------------------------

    def submit(self, *more):
        wish, argv = self.model.random_job(self.rng)
        rc, text = run("sbatch", "--parsable", "--output=/dev/null", *more, *argv,
                       "--wrap", "exec sleep 100000")
        if rc and "the memory pool is short" in text and self.model.never_fits(wish):
            self.count["refused, as regions have the pool"] += 1
            return
        if rc or not text.split("\n")[-1].isdigit():
            self.fail("sbatch %s: %s" % (" ".join(argv), text[:300]))
            return
        job = int(text.split("\n")[-1])
        self.model.wish[job] = wish
        return job

    def submit_held(self):
        """What fits starts; of what may not yet, why says that it fits."""
        self.held = self.submit("--hold")
        if self.held is None:
            return
        self.look()
        if self.held in self.jobs:
            self.judge_why(self.jobs[self.held])
        rc, text = run("scontrol", "release", str(self.held))
        if rc:
            self.fail("scontrol release %d: %s" % (self.held, text[:300]))
        self.held = None

    def cancel(self):
        some = [j for j in self.jobs.values() if j.state in ("PENDING", "RUNNING")]
        if some:
            run("scancel", str(self.rng.choice(sorted(some, key=lambda j: j.id)).id))

    def drain(self):
        node = self.rng.choice(NODES)
        free = [c for c in range(CARDS) if (node, c) not in self.model.drained]
        some = self.rng.sample(free, min(len(free), self.rng.choice((1, 1, 1, 2, 8))))
        if not some:
            return self.resume()
        self.model.changing |= {(node, c) for c in some}
        rc, text = run("snctl", "card", "drain", "%s:%s" % (node, ",".join(map(str, some))),
                       "--reason=op")
        if rc:
            self.fail("snctl card drain: " + text[:300])
        else:
            self.model.drained |= {(node, c) for c in some}

    def resume(self):
        # Where the record has no mark yet there is none to take away.
        known = self.model.drained | (set(self.model.sick) - self.model.late)
        if not self.daemon:
            known -= self.model.late
        if not known:
            return
        node = self.rng.choice(sorted(known))[0]
        some = [c for n, c in sorted(known) if n == node]
        some = self.rng.sample(some, self.rng.randint(1, len(some)))
        self.model.changing |= {(node, c) for c in some}
        rc, text = run("snctl", "card", "resume", "%s:%s" % (node, ",".join(map(str, some))))
        if rc:
            self.fail("snctl card resume: " + text[:300])
            return
        self.model.drained -= {(node, c) for c in some}
        for c in some:
            if (node, c) in self.model.sick:
                self.model.release((node, c))

    def node_down(self):
        node = self.rng.choice(NODES)
        if node in self.model.down or len(self.model.down) > 3:
            return self.node_up()
        self.model.node_changing = node
        if self.rng.random() < 0.4:
            run("scontrol", "update", "nodename=" + node, "state=down", "reason=op")
        rc, text = run("scontrol", "update", "nodename=" + node, "state=drain", "reason=op")
        if rc:
            self.fail("drain %s: %s" % (node, text))
        self.model.down.add(node)

    def node_up(self):
        if not self.model.down:
            return
        node = self.rng.choice(sorted(self.model.down))
        self.model.node_changing = node
        until = time.time() + 60
        while True:
            rc, text = run("scontrol", "update", "nodename=" + node, "state=resume")
            # slurmctld has just started, and the node has not told it that it is there; or
            # it has since, and the drain went with what was refused.
            if "Invalid node state" not in text or time.time() > until:
                break
            time.sleep(0.1)
            if run("sinfo", "-h", "-n", node, "-o", "%t")[1] in ("idle", "mix", "alloc", "plnd"):
                rc = 0
                break
        if rc and "already" not in text:
            self.fail("resume %s: %s" % (node, text))
        # One that was down is up when its slurmd has said so.
        self.wait_ready(node)
        self.model.down.discard(node)

    def region(self):
        if self.regions and self.rng.random() < 0.6:
            name = self.rng.choice(sorted(self.regions))
            rc, text = run("snctl", "pool", "delete", name)
            if rc:
                self.fail("snctl pool delete %s: %s" % (name, text))
            self.model.region.pop(name, None)
            del self.regions[name]
            return
        self.next_region += 1
        name, sn = "r%d" % self.next_region, self.rng.choice(sorted(SUPERNODES))
        size = self.rng.choice((4, 8, 16))
        rc, text = run("snctl", "pool", "create", name, "--size=%dG" % size, "--supernode=" + sn)
        if rc == 0:
            self.regions[name] = sn
            self.model.region[name] = (sn, size << 30)
        elif "are free" not in text:
            self.fail("snctl pool create: " + text[:300])

    def reconfigure(self):
        rc, text = run("scontrol", "reconfigure")
        if rc:
            self.fail("scontrol reconfigure: " + text[:300])
        self.wait_ready()

    def saved(self):
        """slurmctld writes its state late; what a hard kill loses is not ours."""
        mark = time.time()
        run("scontrol", "update", "nodename=" + NODES[0], "comment=%d" % self.rng.randrange(1 << 30))
        some = [j for j in self.jobs.values() if j.state in ("PENDING", "RUNNING")]
        if some:
            run("scontrol", "update", "jobid=%d" % some[0].id, "comment=%d" % self.rng.randrange(1 << 30))
        files = ["node_state"] + (["job_state"] if some else [])
        until = mark + 30
        while time.time() < until:
            try:
                if all(os.stat(os.path.join(os.environ["CL_DIR"], "state", f)).st_mtime > mark for f in files):
                    return True
            except OSError:
                pass
            time.sleep(0.1)
        return False

    def restart(self, signal, saved=False):
        if signal == "KILL" and not saved and not self.saved():
            signal = "TERM"
        conf = os.environ["SLURM_CONF"]
        with open(os.path.join(os.environ["CL_DIR"], "run/slurmctld.pid")) as f:
            pid = int(f.read().split()[0])  # Slurm does not cut off a longer one
        os.kill(pid, 9 if signal == "KILL" else 15)
        until = time.time() + 40
        while os.path.exists("/proc/%d" % pid) and time.time() < until:
            time.sleep(0.05)
        # As the cluster's scripts do: it must not ask a name server for every peer.
        rc, text = run("setsid", *os.environ["CL_HOSTS"].split(), "slurmctld", "-f", conf)
        if rc:
            self.fail("slurmctld did not start: " + text[:300])
        self.wait_ready()

    def wait_ready(self, node=None):
        bad = ("unk", "down") if node else ("unk",)
        until = time.time() + 90
        while time.time() < until:
            rc, text = run("sinfo", "-h", "-N", "-o", "%t", *(["-n", node] if node else []))
            if rc == 0 and not any(w.endswith("*") or w.startswith(bad) for w in text.split()):
                return
            time.sleep(0.1)
        self.fail("nodes do not come back: " + text[:300])

    def one(self):
        waiting = sum(j.state == "PENDING" for j in self.jobs.values())
        ops = [("submit", self.submit, 40 if waiting < 12 else 10),
               ("submit held", self.submit_held, 8),
               ("cancel", self.cancel, 25 if waiting < 12 else 45),
               ("drain", self.drain, 8), ("resume", self.resume, 11),
               ("node down", self.node_down, 2), ("node up", self.node_up, 3),
               ("region", self.region, 3), ("reconfigure", self.reconfigure, 0.4),
               ("restart", lambda: self.restart("TERM"), 0.3),
               ("kill -9", lambda: self.restart("KILL"), 0.3)]
        ops += [("report", self.report, 8), ("forged report", self.forged, 0.5),
                ("release", self.release, 5), ("probe", self.probe, 5),
                ("snelasticd stopped", self.daemon_down, 0.3),
                ("snelasticd restart", lambda: self.daemon_restart(15), 0.5),
                ("snelasticd kill -9", lambda: self.daemon_restart(9), 1),
                ("snelasticd killed amid a report", self.killed_amid, 1),
                ("takeover by the second snelasticd", self.take_over, 0.3),
                ("kill -9 of slurmctld after health", self.lost_writes, 0.3)] if self.daemon else \
               [("report without snelasticd", self.report, 4), ("release without snelasticd", self.release, 2),
                ("snelasticd started", self.daemon_up, 15)]
        name, act, _ = self.rng.choices(ops, [w for _, _, w in ops])[0]
        self.last = name
        self.count[name] += 1
        self.model.begin()
        act()
        # Before the look, so that what starts after it starts by what is settled now.
        self.settled(self.rng.random() < 0.3)
        self.look()
        self.model.end()

    def drive(self, ops):
        began = time.time()
        self.daemon_up()
        for i in range(1, ops + 1):
            self.one()
            if i % 10 == 0:
                self.look_at_nodes()
            if i % 5 == 0:
                self.ask_why()
            if len(self.wrong) >= 10:
                print("too much is wrong; no further operations")
                break
            if i % 200 == 0 and i < ops:
                print("%d operations in %.0f s: %s" % (i, time.time() - began, dict(self.count)), flush=True)
        print("%d operations in %.0f s: %s" % (i, time.time() - began, dict(self.count)), flush=True)
        began = time.time()
        self.run_dry()
        print("%d jobs started; run dry in %.0f s; seconds in commands: %s" %
              (self.model.started, time.time() - began, {k: round(v) for k, v in SPENT.items()}))

    def run_dry(self):
        """With all cards and nodes back and jobs cancelled as they run, every one runs."""
        self.last = "the end"
        for node in sorted(self.model.down):
            run("scontrol", "update", "nodename=" + node, "state=resume")
        self.model.down.clear()
        self.daemon_up()
        self.settled(True)
        for node in sorted({n for n, _ in self.model.masked}):
            some = [c for n, c in sorted(self.model.masked) if n == node]
            run("snctl", "card", "resume", "%s:%s" % (node, ",".join(map(str, some))))
            for c in some:
                self.model.release((node, c))
        self.model.drained.clear()
        self.settled(True)
        for name in sorted(self.regions):
            run("snctl", "pool", "delete", name)
        self.model.region.clear()
        until = time.time() + 400
        while time.time() < until:
            self.model.begin()
            self.look()
            self.model.end()
            live = [j for j in self.jobs.values() if j.state in ("PENDING", "RUNNING", "COMPLETING")]
            if not live:
                break
            running = [str(j.id) for j in live if j.state == "RUNNING"]
            if running:
                run("scancel", *running)
            for j in live:
                if j.reason == "BeginTime":
                    run("scontrol", "update", "jobid=%d" % j.id, "starttime=now")
            time.sleep(0.5)
        else:
            for j in live:
                self.fail("job %d never ran: %s %s, %s" % (j.id, j.state, j.reason, self.model.wish.get(j.id)))
        rc, text = run("scontrol", "-o", "show", "node")
        if "Extra=" in text:
            self.fail("marks are left: " + text[text.index("Extra="):][:200])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, required=True)
    p.add_argument("--ops", type=int, required=True)
    args = p.parse_args()
    d = Driver(args.seed)
    d.drive(args.ops)
    sys.exit(1 if d.wrong else 0)


if __name__ == "__main__":
    main()
