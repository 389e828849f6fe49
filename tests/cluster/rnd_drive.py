#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""rnd_drive.py - random submissions on a running cluster, watched.

  rnd_drive.py drive    --seed N --seconds S [--out FILE]
  rnd_drive.py outcomes --seed N --count K --out FILE

drive submits, holds, requeues, cancels, updates and reserves at random, and
after every step holds Slurm's books and every running job to what was asked
(rnd_check.py). outcomes submits K jobs without --parallel and writes what came
of each, for rnd_compare.py.
Environment: WORK, CL_DIR, TESTS (39-random.t sets them). Exit status 1 if
anything was wrong.
"""
import collections
import json
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rnd_check  # noqa: E402
import rnd_compare  # noqa: E402
import rnd_gen  # noqa: E402

WORK, TESTS = os.environ["WORK"], os.environ["TESTS"]
# Reasons that Slurm's scheduler gives to a job that is in order.
FINE = {"None", "Resources", "Priority", "BeginTime", "Dependency", "Licenses", "Reservation",
        "ReqNodeNotAvail,", "ReqNodeNotAvail", "JobArrayTaskLimit", "Cleaning", "SchedDefer",
        "(null)", "PartitionConfig", "ReservationDeleted", "Nodes", "Resources,"}
# "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher …"
FINE |= {"Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions"}


SPENT = collections.Counter()


def run(*argv, seconds=90):
    began = time.time()
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       errors="replace", timeout=seconds, stdin=subprocess.DEVNULL)
    SPENT[argv[0]] += time.time() - began
    return p.returncode, p.stdout


def fine(reason):
    # With what follows it: "_Reserved_for_maintenance", "(Nodes:_n001)" …
    return reason in FINE or reason.startswith("ReqNodeNotAvail")


def cluster():
    """What 39-random.t configures."""
    names = ["n%03d" % i for i in range(1, int(os.environ["CL_NODES"]) + 1)]
    return {"nodes": names, "licence": ("sim", 4),
            "partitions": {"main": names, "left": names[0::2], "right": names[1::2]},
            "features": {"old": names[:9], "new": names[9:], "fast": names[12:]}}


class Driver:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.cluster = cluster()
        self.gen = rnd_gen.Generator(self.rng, self.cluster)
        topology = os.path.join(os.environ["CL_DIR"], "etc/topology.conf")
        self.check = rnd_check.Checker(TESTS, topology, self.cluster)
        self.jobs = {}          # number (of the array, of the first het part) -> what was asked
        self.held, self.ever_held, self.gone = set(), set(), set()
        self.reservations, self.drained = [], None
        self.count = collections.Counter()
        self.refusals = collections.Counter()
        self.wrong = []
        self.whys = {}          # job -> (answer, running jobs then, epoch then)
        self.epoch = 0          # counts what may make room: ends, cancels, changes
        self.ran = set()
        self.waits_since = {}
        self.last_running = {}
        self.started = time.time()

    def say(self, text):
        if text not in self.wrong:
            self.wrong.append(text)
            print("# wrong (%d s): %s" % (time.time() - self.started, text), flush=True)

    # ---- actions -------------------------------------------------------------

    def submit(self, job=None, extra=()):
        job = job or self.gen.any()
        env = ["--export=ALL,SN_RANDOM_SECONDS_HELD=%d,SN_RANDOM_STEP=%s"
               % (job["seconds"], "yes" if "spec" in job else "no")]
        script = "random-het.sh" if job["kind"] == "het" else "random-job.sh"
        args = list(job["args"])
        if job["kind"] == "het":
            at = args.index(":")
            args = args[:at] + env + ["-o", WORK + "/%j.out"] + args[at:]
        else:
            args += env + list(extra) + ["-o", WORK + "/%j.out", "--open-mode=append", "--requeue"]
        rc, text = run("sbatch", "--parsable", *args, os.path.join(TESTS, script))
        self.count["submitted " + job["kind"]] += 1
        last = text.strip().split("\n")[-1].split(";")[0]
        if rc or not last.isdigit():
            self.count["refused"] += 1
            words = re.sub(r"[0-9]+", "N", text.strip().replace("\n", " "))
            self.refusals[words[:150]] += 1
            # What a reservation's nodes cannot hold is Slurm's to refuse.
            ours = r"never fit|contradicts|does not go|go with"
            if job.get("too_big"):
                ours += "|Requested node configuration is not available"
            if not extra and not re.search(ours, text):
                self.say("refused without a reason of ours: sbatch %s: %s" % (" ".join(job["args"]), text.strip()))
            return None
        self.jobs[int(last)] = job
        return int(last)

    def dependent(self):
        live = [i for i in self.live("PENDING", "RUNNING")]
        if live:
            kind = self.rng.choice(["afterany", "after", "afterok", "singleton"])
            word = kind if kind == "singleton" else "%s:%d" % (kind, self.rng.choice(live))
            self.submit(self.gen.parallel(), ["-d", word, "--kill-on-invalid-dep=yes"])

    def live(self, *states):
        return sorted(i for i, j in self.snap.jobs.items() if j["state"] in states)

    def mine(self, job):
        """What was asked for the job of a snapshot."""
        for key in (job["id"], job["array"], job["het"]):
            if key and int(key) in self.jobs:
                return self.jobs[int(key)]
        return None

    def hold(self):
        for i in self.pick("PENDING"):
            # Arrays and heterogeneous jobs as a whole: a part of them that is
            # requeued is held with the rest.
            i = int(self.snap.jobs[i]["het"] or self.snap.jobs[i]["array"] or i)
            self.held.add(i)
            self.ever_held.add(i)
            if not run("scontrol", self.rng.choice(["hold", "uhold"]), str(i))[0]:
                self.count["held"] += 1

    def unhold(self):
        if self.held:
            i = self.rng.choice(sorted(self.held))
            run("scontrol", "release", str(i))
            self.held.discard(i)
            self.epoch += 1

    def pick(self, *states):
        live = self.live(*states)
        return [self.rng.choice(live)] if live else []

    def requeue(self):
        for i in self.pick("RUNNING"):
            het = self.snap.jobs[i]["het"]
            if het:
                self.leave(i)
            if not run("scontrol", "requeue", het or str(i))[0]:
                self.count["requeued"] += 1
                self.epoch += 1

    def cancel(self):
        for i in self.pick("PENDING", "RUNNING"):
            run("scancel", str(i))
            self.leave(i)
            self.count["cancelled"] += 1
            self.epoch += 1

    def leave(self, i):
        """Nothing is expected of it any more; nor of the other parts, whose
        script cannot go on."""
        self.gone.add(i)
        if i in self.snap.jobs and self.snap.jobs[i]["het"]:
            self.gone.add(int(self.snap.jobs[i]["het"]))

    def start_later(self):
        """Requeued jobs wait for two minutes; some seconds are enough for their
        first node to clean up after them."""
        now = time.time()
        for j in self.snap.jobs.values():
            if j["state"] != "PENDING":
                self.waits_since.pop(j["id"], None)
            elif j["reason"] == "BeginTime" and now - self.waits_since.setdefault(j["id"], now) > 4:
                run("scontrol", "update", "JobId=%d" % j["id"], "StartTime=now")
            elif j["reason"] == "launch_failed_requeued_held":
                # slurmd found the last run's directory still there.
                self.count["launch failed, the last run's directory was there"] += 1
                run("scontrol", "release", str(j["id"]))

    def update(self):
        rng = self.rng
        for i in self.pick("PENDING"):
            want = self.mine(self.snap.jobs[i])
            if not want or want["kind"] in ("het", "array"):
                return
            # Slurm itself holds a plain job whose user asks for what is not there.
            dice, spec = rng.random() * (0.35 if want["kind"] == "plain" else 1), None
            if dice < 0.2:
                word = ["TimeLimit=%d" % rng.randint(1, 9)]
            elif dice < 0.35:
                word = ["Nice=%d" % rng.randint(0, 100)]
            elif dice < 0.45:
                word = ["Partition=main"]
            elif dice < 0.55:
                word = ["Features=" + rng.choice(sorted(self.cluster["features"]))]
            elif dice < 0.65:
                word = ["ExcNodeList=" + rng.choice(self.cluster["nodes"])]
            elif dice < 0.75:
                word = ["NumNodes=%d" % rng.randint(1, 5)]
            elif want["kind"] == "parallel":
                spec = rnd_gen.layout(rng)
                word = ["Comment=--parallel=" + spec]
            else:
                return
            rc, text = run("scontrol", "update", "JobId=%d" % i, *word)
            self.count["updated" if not rc else "updates refused"] += 1
            self.epoch += 1
            # Either may have been looked at when the job started in between.
            now = self.read_job(i)
            if rc or not now or now["state"] != "PENDING":
                if not rc:
                    want["unsure"] = True
                # It had started: it has lost nodes that its script counts on.
                if not rc and word[0].startswith("NumNodes"):
                    run("scancel", str(i))
                    self.gone.add(i)
                return
            key, _, value = word[0].partition("=")
            if key == "Partition":
                want["partition"] = ["main"]
            elif key == "Features":
                want["feature"] = value
            elif key == "ExcNodeList":
                want["without"] = [value]
            elif key == "NumNodes":
                want["nodes"] = (int(value), int(value))
            elif spec:
                want.setdefault("had", []).append(want["spec"])
                want["spec"] = spec
                self.count["layouts changed"] += 1

    def reserve(self):
        rng = self.rng
        if len(self.reservations) >= 2 or rng.random() < 0.5:
            if self.reservations:
                name = self.reservations.pop(0)
                for i in [j["id"] for j in self.snap.jobs.values() if j["resv"] == name]:
                    run("scancel", str(i))
                    self.gone.add(i)
                if run("scontrol", "delete", "reservation", name)[0]:
                    self.reservations.insert(0, name)
                self.epoch += 1
            return
        name = "r%d" % self.count["reservations"]
        what = rng.choice([["Nodes=" + ",".join(rnd_gen.some_nodes(rng, self.cluster["nodes"], 2))],
                           ["NodeCnt=2"], ["NodeCnt=3", "Flags=FLEX"],
                           ["Nodes=" + rng.choice(self.cluster["nodes"]), "Flags=MAINT,IGNORE_JOBS"],
                           ["CoreCnt=16"], ["TRES=gres/npu=6"], ["TRES=cpu=32"]])
        rc, text = run("scontrol", "create", "reservation", "ReservationName=" + name, "StartTime=now",
                       "Duration=20", "Users=root", "Partition=main", *what)
        if not rc:
            self.count["reservations"] += 1
            self.reservations.append(name)
            self.epoch += 1
            for _ in range(rng.randint(0, 2)):
                job = self.gen.parallel() if rng.random() < 0.6 else self.gen.plain()
                job["reservation"] = name
                self.submit(job, ["--reservation=" + name])

    def drain(self):
        if self.drained:
            run("scontrol", "update", "NodeName=" + self.drained, "State=RESUME")
            self.drained = None
            self.epoch += 1
        else:
            self.drained = self.rng.choice(self.cluster["nodes"])
            run("scontrol", "update", "NodeName=" + self.drained, "State=DRAIN", "Reason=test")
            self.count["drained"] += 1
            self.epoch += 1

    # ---- watching ------------------------------------------------------------

    def read_job(self, i):
        return self.read(["scontrol", "-o", "-d", "show", "job", str(i)], "").jobs.get(i)

    def read(self, jobs, nodes):
        return rnd_check.Snapshot(self.check.ranks, run(*jobs)[1], nodes)

    def look(self):
        show = ["scontrol", "-o", "-d", "show"]
        before = self.read(show + ["job"], "")
        nodes = run(*show, "node")[1]
        self.snap = self.read(show + ["job"], nodes)
        steady = before.key() == self.snap.key()
        self.count["snapshots"] += 1
        self.count["steady snapshots"] += steady
        for text in self.check.accounting(self.snap, steady):
            self.say(text)
        running = {}
        for job in self.snap.jobs.values():
            want = self.mine(job)
            if not want:
                continue
            if job["state"] in rnd_check.RUNS and "COMPLETING" not in job["state"]:
                running[job["id"]] = job["restarts"]
                self.running(job, want)
            elif job["state"] == "PENDING":
                self.pending(job)
            elif job["state"] in ("FAILED", "NODE_FAIL", "TIMEOUT", "BOOT_FAIL", "OUT_OF_MEMORY") and \
                    not {job["id"], int(job["het"] or 0)} & self.gone:
                self.say("job %d (%s) is %s %s" % (job["id"], " ".join(want["args"]), job["state"], job["reason"]))
        if any(running.get(i) != r for i, r in self.last_running.items()):
            self.epoch += 1
        self.last_running = running

    def running(self, job, want):
        key = (job["id"], job["restarts"])
        if key in self.ran or want.get("unsure"):
            return
        self.ran.add(key)
        self.count["runs seen"] += 1
        wrong = self.check.nodes(job, want)
        spec = want.get("spec")
        if want["kind"] == "het":
            spec = want["specs"][job["id"] - int(job["het"])]
        if spec:
            wrong += self.check.parallel(job, spec)
        for text in wrong:
            self.say("job %d (%s): %s" % (job["id"], " ".join(want["args"]), text))
        why = self.whys.pop(job["id"], None)
        if why and why[0].get("fits_now") is False and why[1] == self.epoch and why[2] == set(self.last_running):
            # Nothing ended, was cancelled or changed between the two looks.
            now = self.read(["scontrol", "-o", "-d", "show", "job"], "")
            if why[2] <= {j["id"] for j in now.jobs.values() if j["state"] in rnd_check.RUNS}:
                self.say("why said that job %d does not fit (%s), and it started with nothing changed"
                         % (job["id"], why[0].get("reason")))

    def pending(self, job):
        if any(key and int(key) in self.held for key in (job["id"], job["array"], job["het"])):
            return
        if job["reason"] == "launch_failed_requeued_held":
            return
        # A hold that came while a task of an array ran is not undone with the rest.
        if job["reason"] == "JobHeldUser" and any(
                key and int(key) in self.ever_held for key in (job["id"], job["array"], job["het"])):
            return
        # In one of several partitions a reservation may have no node; Slurm says so
        # until it has tried the next one.
        if job["resv"] not in (None, "", "(null)") and job["priority"] != "0" and job["reason"] == "BadConstraints":
            return
        if job["priority"] == "0" or not fine(job["reason"]):
            now = self.read_job(job["id"])
            if now and now["state"] == "PENDING" and (now["priority"] == "0" or not fine(now["reason"])):
                want = self.mine(job)
                self.count["held for no cause"] += 1
                self.say("job %d (%s) pends with priority %s, reason %s"
                         % (job["id"], " ".join(want["args"]), now["priority"], now["reason"]))

    def ask_why(self):
        waits = [j for j in self.snap.jobs.values() if j["state"] == "PENDING" and j["reason"] == "Resources"]
        if not waits:
            return
        job = self.rng.choice(waits)
        rc, text = run("snctl", "why", str(job["id"]), "--json")
        if rc:
            now = self.read_job(job["id"])
            if now and now["state"] == "PENDING":
                self.say("snctl why %d: exit status %d: %s" % (job["id"], rc, text.strip()))
            return
        answer = json.loads(text)
        self.count["whys"] += 1
        if answer.get("state") != "pending" or "fits_now" not in answer:
            return
        self.whys[job["id"]] = (answer, self.epoch, set(self.last_running))
        if answer["fits_now"]:
            self.prove_fit(job["id"], answer)

    def prove_fit(self, i, answer):
        """It is the first in line and is said to fit: then it must start, unless
        something that a client cannot see (memory, reservations) forbids."""
        epoch, want = self.epoch, self.mine(self.snap.jobs[i])
        end = time.time() + 20
        while time.time() < end:
            self.look()
            now = self.snap.jobs.get(i)
            if not now or now["state"] != "PENDING" or now["reason"] != "Resources" or self.epoch != epoch:
                return
            time.sleep(0.3)
        rc, text = run("snctl", "why", str(i), "--json")
        if not rc and json.loads(text).get("fits_now"):
            kind = "fits, says why, and does not start"
            if self.reservations or any(a.startswith("--mem") for a in want["args"]):
                self.count["fits, does not start; reservations or memory about"] += 1
            else:
                self.say("job %d (%s) %s" % (i, " ".join(want["args"]), kind))

    # ---- the end -------------------------------------------------------------

    def settle(self, seconds=240):
        for name in list(self.reservations):
            for j in self.snap.jobs.values():
                if j["resv"] == name:
                    run("scancel", str(j["id"]))
                    self.gone.add(j["id"])
        if self.drained:
            self.drain()
        end = time.time() + seconds
        while time.time() < end:
            for name in list(self.reservations):
                if not run("scontrol", "delete", "reservation", name)[0]:
                    self.reservations.remove(name)
            for i in sorted(self.held):
                run("scontrol", "release", str(i))
            self.held.clear()
            self.look()
            self.start_later()
            if not self.live("PENDING", "RUNNING") and not run("squeue", "-h", "-o", "%i")[1].strip():
                return
            time.sleep(0.5)
        for j in self.snap.jobs.values():
            if j["state"] == "PENDING":
                want = self.mine(j)
                self.say("job %d (%s) still pends at the end: %s" % (j["id"], " ".join(want["args"]), j["reason"]))

    def outputs(self):
        """The runs that came to their end, each by its own output."""
        for name in os.listdir(WORK):
            if not re.match(r"^\d+(\.h\d)?\.out$", name):
                continue
            text = open(os.path.join(WORK, name), errors="replace").read()
            for m in re.finditer(r"^begin (\d+) (\d+) (\d+)\n((?:(?!begin ).*\n)*?)end \1$", text, re.M):
                want = self.jobs.get(int(m.group(2)))
                if not want or want.get("unsure"):
                    continue
                spec = want["specs"][int(m.group(3))] if want["kind"] == "het" else want.get("spec")
                if spec:
                    self.count["whole runs checked"] += 1
                    tried = [self.check.run(x, m.group(4)) for x in [spec] + want.get("had", [])]
                    # A whole run may be of the layout before an update.
                    for t in min(tried, key=len):
                        self.say("job %s (%s), by its output: %s" % (m.group(1), spec, t))

    def drive(self, seconds):
        end = self.started + seconds
        actions = [(self.hold, 3), (self.unhold, 4), (self.requeue, 6), (self.cancel, 4), (self.update, 7),
                   (self.reserve, 3), (self.drain, 2), (self.dependent, 2), (self.ask_why, 12)]
        deck = [a for a, n in actions for _ in range(n)]
        next_word = self.started + 60
        while time.time() < end:
            self.look()
            live = len(self.live("PENDING", "RUNNING"))
            for _ in range(min(3, max(0, 14 - live))):
                self.submit()
            self.rng.choice(deck)()
            self.start_later()
            if time.time() > next_word:
                next_word += 60
                print("# %d s: %s" % (time.time() - self.started, dict(self.count)), flush=True)
        self.settle()
        self.outputs()


def main(argv):
    opt = dict(zip(argv[1::2], argv[2::2]))
    driver = Driver(int(opt["--seed"]))
    if argv[0] == "outcomes":
        rnd_compare.outcomes(driver, int(opt["--count"]), opt["--out"])
        return 0
    driver.drive(int(opt["--seconds"]))
    print("# seed %s, %d s" % (opt["--seed"], time.time() - driver.started))
    for key, n in sorted(driver.count.items()):
        print("#   %6d %s" % (n, key))
    for text, n in driver.refusals.most_common():
        print("#   %6d times: %s" % (n, text))
    print("# seconds waited for: %s" % ", ".join("%s %.0f" % x for x in SPENT.most_common()))
    print("# %d violations" % len(driver.wrong))
    return 1 if driver.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
