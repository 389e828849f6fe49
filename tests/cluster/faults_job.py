# SPDX-License-Identifier: GPL-2.0-or-later
"""faults_job.py - the elastic jobs of 78-faults.t, as their files and Slurm tell of them."""
import os
import re
import time

import faults_do as do
import faults_model as model


class Kind:
    def __init__(self, name, tp, ep, pp, dp, legal, *argv):
        self.name, self.tp, self.ep, self.pp, self.dp, self.legal = name, tp, ep, pp, dp, legal
        self.argv = ["--parallel=" + model.Layout(tp, ep, pp, dp).spec()] + list(argv)


# Atoms of 8 ranks, which are two nodes and a step of two replicas.
KINDS = (
    Kind("members", 4, 8, 1, 4, (2, 4, 6), "--elastic=min_dp=2,max_dp=6"),
    Kind("members", 4, 8, 1, 6, (2, 4, 6), "--elastic=min_dp=2"),
    Kind("spares", 4, 8, 1, 4, (4,), "--elastic=min_dp=4,max_dp=4", "--spares=1"),
    Kind("both", 4, 8, 1, 4, (2, 4), "--elastic=min_dp=2", "--spares=1"),
    Kind("fixed", 4, 8, 1, 4, (4,), "--elastic=min_dp=4,max_dp=4"),
    Kind("batches", 4, 8, 1, 4, (2, 4, 8), "--elastic=min_dp=2,max_dp=8,gbs=16,mbs=1"),
    Kind("pipeline", 4, 8, 2, 4, (2, 4), "--elastic=min_dp=2"),
    Kind("pool", 4, 8, 1, 4, (2, 4), "--elastic=min_dp=2", "--pool=2M/node"),
)


class Job:
    def __init__(self, name, kind):
        self.name, self.kind = name, kind
        self.id, self.state, self.restarts, self.pending = 0, "NEW", 0, ""
        self.dir = "%s/%s" % (do.WORK, name)
        self.out = "%s/%s.out" % (do.WORK, name)
        self.steps = int(os.environ["STEPS"])
        self.open = []          # faults that it has not got over
        self.slurm = None
        self.base, self.members = [], {}        # nodes; id -> Slurmjob
        self.left_nodes = set() # that it was told to leave, and goes to no more
        self.zombie_since = self.ended_at = self.started = 0.0
        self.waits_since = 0.0
        self.last_plan = None
        self.clean = False

    def __str__(self):
        return "%s (job %d)" % (self.name, self.id)

    def submit(self):
        os.makedirs(self.dir, exist_ok=True)
        rc, text = do.run("sbatch", "--parsable", "--requeue", "--open-mode=append", "--output=" + self.out,
                          "--job-name=" + self.name, *self.kind.argv, os.environ["TESTS"] + "/faults-job.sh",
                          env={"TRAIN_DIR": self.dir})
        last = text.split("\n")[-1]
        if rc or not last.isdigit():
            return "sbatch %s: %s" % (" ".join(self.kind.argv), text[:300])
        self.id, self.submitted = int(last), time.time()
        return None

    def see(self, slurm):
        now = time.time()
        me = slurm.get(self.id)
        if not me:
            if now - self.submitted > 30 and self.state != "NEW":
                self.state = "UNKNOWN"
            return
        if me.state == "RUNNING" and self.state != "RUNNING":
            self.started = now
        self.slurm, self.state, self.restarts = me, me.state, me.restarts
        self.base = me.nodes if me.state == "RUNNING" else []
        self.members = {j.id: j for j in slurm.values() if j.base == self.id and j.state in ("RUNNING", "PENDING")}
        self.zombie_since = (self.zombie_since or now) if me.zombie() else 0
        self.waits_since = (self.waits_since or now) if me.state == "PENDING" else 0
        self.pending = me.reason if me.state == "PENDING" else ""

    def over(self):
        if self.state in ("NEW", "PENDING", "RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING", "REQUEUED"):
            return False
        if not self.ended_at:
            self.ended_at = time.time()
        # Slurm says UNKNOWN of none that it has not forgotten.
        return time.time() - self.ended_at > 2

    def may_wait(self, now):
        """It pends, and not for anything that the suite could do something about."""
        return self.state == "PENDING" and self.pending in ("Resources", "Priority", "ReqNodeNotAvail", "None") \
            and now - self.waits_since < 900

    # ---- what it holds ----------------------------------------------------------------------

    def batch(self):
        return self.slurm.batch if self.slurm and self.state == "RUNNING" else ""

    def member_nodes(self):
        return [n for m in self.members.values() if m.state == "RUNNING" for n in m.nodes]

    def rank_nodes(self):
        """With ranks, but for the batch host."""
        held = set(self.base) | set(self.member_nodes())
        names = set(do.text_of("%s/jobs/%d/hostfile" % (do.WORK, self.id)).split())
        return sorted(names & held - {self.batch()})

    def settled_plan(self):
        """layout.json, if a step has ended under it and it is the one of the last look."""
        plan = do.plan_of(self.id) if self.state == "RUNNING" else None
        was, self.last_plan = self.last_plan, plan
        steps = do.steps_of(self.dir)[-1:]
        if not plan or not was or was["generation"] != plan["generation"] or not steps:
            return None
        return plan if steps[0][0] == plan["generation"] and time.time() - steps[0][2] < 3 else None

    def trains(self):
        """It has settled: a step has just ended."""
        steps = do.steps_of(self.dir)[-1:]
        return self.state == "RUNNING" and bool(steps) and time.time() - steps[0][2] < 5 and not self.open

    def left(self):
        steps = do.steps_of(self.dir)[-1:]
        return self.steps - (steps[0][1] if steps else 0)

    def dp(self):
        begins = do.begins_of(self.dir)
        return begins[-1][1] // (self.kind.tp * self.kind.pp) if begins else 0

    # ---- faults ------------------------------------------------------------------------------

    def close_faults(self):
        """Those that it has got over."""
        done = []
        if not self.open:
            return done
        begins, steps = do.begins_of(self.dir), do.steps_of(self.dir)
        for f in self.open[:]:
            # Who was struck last tells when it was over; who runs on must do so for a while.
            later = [b for b in begins if b[4] > f.since]
            first = next((s for s in steps if later and s[2] > later[0][4] and s[0] >= later[0][0]), None)
            if first:
                asked, saved = do.asked_of(self.id, f.since)
                f.close(self, self.means(f, first[0]), first[2] - f.since,
                        asked - f.since if first[2] > asked > 0 else None,
                        saved - asked if first[2] > saved > 0 else None)
            elif f.must == "on" and steps and steps[-1][2] > f.since + 4:
                f.close(self, "runs on", None)
            elif f.must == "maybe" and steps and steps[-1][2] > f.since + 30:
                f.close(self, "runs on", None)
            else:
                continue
            self.open.remove(f)
            done.append(f)
        return done

    def means(self, f, generation):
        """By what snrun says until that generation, and Slurm's count of requeues."""
        text = do.text_of(self.out)[f.at[self.name][0]:]
        m = re.search(r"(generation %d starts|going on with generation %d\b)" % (generation, generation), text)
        text = text[:m.end()] if m else text
        # "replace" and the like, in the daemon's words, where snrun was told what to do.
        if self.restarts > f.at[self.name][1]:
            return "requeue"
        sizes = re.findall(r"dp=(\d+) after dp=(\d+)", text)
        if "takes the place of" in text and not sizes:
            return "spare"
        if "stand in for" in text:
            return "replace"
        if sizes and sizes[-1][0] != sizes[0][1]:
            return "shrink" if int(sizes[-1][0]) < int(sizes[0][1]) else "grow"
        if self.hosts() != f.at[self.name][2]:
            return "other nodes, same size"
        return "restart in place"

    def hosts(self):
        return sorted(do.text_of("%s/jobs/%d/hostfile" % (do.WORK, self.id)).split())

    def describe(self):
        steps = do.steps_of(self.dir)[-1:]
        return "%s %s, batch host %s of %s, members %s, last step %s; its last words: %s" % (
            self.state, self.pending, self.batch(), ",".join(self.base),
            {m.id: m.state for m in self.members.values()},
            "%d of generation %d, %d s ago" % (steps[0][1], steps[0][0], time.time() - steps[0][2]) if steps else "none",
            self.last_words())

    def last_words(self):
        return " / ".join(do.text_of(self.out).strip().splitlines()[-4:])[-600:]
