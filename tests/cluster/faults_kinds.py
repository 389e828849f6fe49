# SPDX-License-Identifier: GPL-2.0-or-later
"""faults_kinds.py - the faults of 78-faults.t: whom they strike, how, and what the job
is to do: "next", go on in another generation; "on", run on without one; "maybe"."""
import os
import re
import time

import faults_do as do

REPAIR = (12, 35)       # s until a node is back


class Fault:
    def __init__(self, driver, kind, number, text, hits):
        self.kind, self.number, self.text = kind, number, text
        self.must = "next"
        self.label = kind
        self.since = time.time()
        self.at = {j.name: (len(do.text_of(j.out)), j.restarts, j.hosts()) for j in hits}
        self.hits, self.ends = hits, []
        self.late = self.waited = False
        driver.say("fault %d: %s" % (number, text))

    def begin(self, must="next"):
        """It is done: from now on jobs are to get over it."""
        self.must, self.since = must, time.time()
        for job in self.hits:
            job.open.append(self)
        return self

    def see_room(self, job, room):
        """To grow takes cards. While none are free for it, it waits for nothing of ours."""
        if not any(m.state == "PENDING" for m in job.members.values()):
            return
        if not room:
            self.since, self.waited = time.time(), True

    def close(self, job, means, seconds, asked=None, saved=None):
        """seconds: until the next step; of these until the ranks were asked to save, and
        then until that was done."""
        if self.waited:
            means += ", after a wait for cards"
        self.ends.append((means, seconds, asked, saved))

    def report(self, driver, job):
        means, seconds, asked, saved = self.ends[-1]
        driver.say("fault %d, %s: %s%s%s%s" % (
            self.number, job.name, means, "" if seconds is None else " in %.1f s" % seconds,
            "" if asked is None else ", asked to save after %.1f s" % asked,
            "" if saved is None else ", saved in %.1f s" % saved))


def running(d, settled=True):
    """Jobs worth a fault: they train, and will for a while."""
    return [j for j in d.jobs if (j.trains() if settled else j.state == "RUNNING") and j.left() > 25]


def pick(rng, some):
    return some[int(rng.random() * len(some))] if some else None


def hit_by(d, nodes):
    nodes = set(nodes)
    return [j for j in d.jobs if nodes & (set(j.base) | set(j.member_nodes()))]


def strike_nodes(d, rng, kind, number, nodes, text, marked):
    """Kill them, and say so to Slurm or not."""
    f = Fault(d, kind, number, text, hit_by(d, nodes))
    # A spare, or a member that waits for the next generation, is missed by no rank.
    ranked = {j.name for j in f.hits if set(nodes) & (set(j.rank_nodes()) | {j.batch()})}
    f.hits = [j for j in f.hits if j.name in ranked]
    f.since = time.time()
    rc, out = do.nodes_kill(nodes)
    if marked:
        do.mark(nodes, "down", "killed")
    d.hurt(nodes, True, rng.uniform(*REPAIR) + (0 if marked else 20))
    since = f.since
    f.begin()
    f.since = since
    return f


def victim(d, rng, batch=False):
    """A job and a node of it, with ranks and not its batch host; or that."""
    if len(d.out()) > 8:
        return None, None
    job = pick(rng, running(d))
    if not job:
        return None, None
    node = job.batch() if batch else pick(rng, [n for n in job.rank_nodes() if n not in d.out()])
    return job, node


def node_marked(d, rng, kind, number):
    job, node = victim(d, rng)
    return node and strike_nodes(d, rng, kind, number, [node], "%s, a node of %s, is killed and marked down" % (node, job), True)


def node_unmarked(d, rng, kind, number):
    job, node = victim(d, rng)
    return node and strike_nodes(d, rng, kind, number, [node], "%s, a node of %s, is killed" % (node, job), False)


def batch(d, rng, kind, number):
    job, node = victim(d, rng, True)
    marked = rng.random() < 0.5
    return node and strike_nodes(d, rng, kind, number, [node], "%s, the batch host of %s, is killed%s" %
                                 (node, job, " and marked down" if marked else ""), marked)


def two_nodes(d, rng, kind, number):
    if len(d.out()) > 6:
        return None
    some = sorted({n for j in running(d) for n in j.rank_nodes()} - d.out())
    nodes = rng.sample(some, 2) if len(some) > 1 else None
    return nodes and strike_nodes(d, rng, kind, number, nodes, "%s and %s are killed and marked down" % tuple(nodes), True)


def supernode(d, rng, kind, number):
    if len(d.out()) > 2:
        return None
    job = pick(rng, running(d))
    if not job or not job.rank_nodes():
        return None
    name = do.supernode_of(pick(rng, job.rank_nodes()))
    marked = kind == "supernode"
    return strike_nodes(d, rng, kind, number, do.nodes_of_supernode(name),
                        "all of %s is killed%s" % (name, " and marked down" if marked else ""), marked)


def node_down(d, rng, kind, number):
    job, node = victim(d, rng)
    if not node:
        return None
    f = Fault(d, kind, number, "%s, a node of %s, is marked down and lives" % (node, job), hit_by(d, [node]))
    f.since = since = time.time()
    do.mark([node], "down", "odd")
    d.hurt([node], False, rng.uniform(5, 20))
    f.begin()
    f.since = since
    return f


def drain(d, rng, kind, number):
    job, node = victim(d, rng)
    if not node:
        return None
    f = Fault(d, kind, number, "%s, a node of %s, is drained" % (node, job), hit_by(d, [node]))
    do.mark([node], "drain", "maintenance")
    d.hurt([node], False, rng.uniform(*REPAIR))
    return f.begin("on")


def rank(d, rng, kind, number):
    job = pick(rng, running(d))
    pids = sorted(do.ranks(job.dir)) if job else []
    if not pids:
        return None
    pid = pick(rng, pids)
    since = time.time()
    if not do.kill(pid):
        return None
    f = Fault(d, kind, number, "a rank of %s is killed" % job, [job]).begin()
    f.since = since
    return f


def snrun(d, rng, kind, number):
    job = pick(rng, running(d))
    pids = do.snruns(job.dir) if job else []
    if not pids:
        return None
    f = Fault(d, kind, number, "snrun of %s is killed" % job, [job]).begin()
    do.kill(min(pids))
    return f


def elasticd(d, rng, kind, number):
    jobs = running(d)
    if not jobs:
        return None
    f = Fault(d, kind, number, "snelasticd is killed", jobs)
    do.elasticd_kill()
    time.sleep(rng.uniform(0.2, 4))
    rc, text = do.elasticd_up()
    if rc:
        d.fail("snelasticd does not start again: " + text[-300:])
    return f.begin("on")


def ctld(d, rng, kind, number):
    """In the middle of what another fault brings about."""
    jobs = running(d)
    # What slurmctld has not yet written is lost, a whole job too: that is Slurm's.
    if not jobs or any(time.time() - max(j.started, j.submitted) < 12 for j in d.jobs):
        return None
    inner = pick(rng, ["rank", "node", "shrink", "batch", "snrun"])
    f = {"rank": rank, "node": node_marked, "shrink": shrink, "batch": batch, "snrun": snrun}[inner](d, rng, kind, number)
    if not f:
        return None
    time.sleep(rng.uniform(0, 2.5))
    d.say("slurmctld is killed amid fault %d" % number)
    do.ctld_kill()
    d.forget()
    time.sleep(rng.uniform(0.5, 5))
    rc, text = do.ctld_up()
    if rc:
        d.fail("slurmctld does not start again: " + text[-300:])
    d.blind_until = time.time() + 3
    return f


def card(d, rng, kind, number):
    job = pick(rng, running(d))
    plan = job and do.plan_of(job.id)
    some = plan and [c for c in plan["ranks"] if c[0] not in d.out() and tuple(c) not in d.releases]
    if not some:
        return None
    node, c = pick(rng, some)
    sick = kind == "card-sick"
    f = Fault(d, kind, number, "card %s:%d of %s is reported %s" % (node, c, job, "faulty" if sick else "suspect"), [job])
    since = f.since
    rc, text = do.run("snctl", "health", "report", "%s:%d" % (node, c), "--code=" + ("ecc-fatal" if sick else "sick"))
    if rc:
        d.fail("fault %d: snctl health report: %s" % (number, text[:300]))
    if sick:
        job.left_nodes.add(node)
    d.releases[node, c] = time.time() + rng.uniform(20, 40)
    # Rather a little smaller than with a sick card. At its smallest size it may have to stay.
    smaller = job.dp() > min(job.kind.legal)
    f.begin("on" if not sick else "next" if smaller else "maybe")
    f.since = since
    return f


def member(d, rng, kind, number):
    job = pick(rng, [j for j in running(d) if any(m.state == "RUNNING" for m in j.members.values())])
    m = job and pick(rng, sorted(i for i, m in job.members.items() if m.state == "RUNNING"))
    if not m:
        return None
    f = Fault(d, kind, number, "member %d of %s is cancelled" % (m, job), [job]).begin()
    do.run("scancel", str(m))
    return f


FINE = (r"is the (smallest|largest) size|is not (less|more) than|hold no legal size|no spare for|is not in the job|"
        r"is no size|does not run|no snrun runs|has no --elastic")


def elastic(d, kind, number, job, text, *argv, must="next"):
    f = Fault(d, kind, number, text, [job])
    since = time.time()
    rc, out = do.run("snctl", "elastic", *argv)
    if rc:
        if not re.search(FINE, out):
            d.fail("fault %d (%s): snctl elastic %s: %s" % (number, text, " ".join(argv), out[:300]))
        return None
    f.begin(must)
    f.since = since
    return f


def shrink(d, rng, kind, number):
    job = pick(rng, [j for j in running(d) if j.dp() > min(j.kind.legal)])
    return job and elastic(d, kind, number, job, "%s is to shrink" % job, "shrink", str(job.id))


def grow(d, rng, kind, number):
    job = pick(rng, [j for j in running(d) if j.dp() < max(j.kind.legal)])
    return job and elastic(d, kind, number, job, "%s is to grow" % job, "grow", str(job.id), must="maybe")


def swap(d, rng, kind, number):
    job = pick(rng, running(d))
    node = job and pick(rng, job.rank_nodes())
    f = node and elastic(d, kind, number, job, "%s is to leave %s" % (job, node), "swap", str(job.id), node)
    if f:
        job.left_nodes.add(node)
    return f


def pause(d, rng, kind, number):
    job = pick(rng, running(d))
    if not job:
        return None
    f = elastic(d, kind, number, job, "%s is paused, and goes on" % job, "pause", str(job.id))
    if not f:
        return None
    until = time.time() + rng.uniform(1, 6)
    while time.time() < until:
        d.turn()
    f.since = time.time()
    rc, text = do.run("snctl", "elastic", "resume", str(job.id))
    if rc and not re.search(FINE, text):
        d.fail("fault %d: snctl elastic resume: %s" % (number, text[:300]))
    return f


TABLE = {       # kind -> (what, weight)
    "card-suspect": (card, 5), "card-sick": (card, 8), "node-marked": (node_marked, 10),
    "node-unmarked": (node_unmarked, 6), "node-down": (node_down, 6), "drain": (drain, 4), "rank": (rank, 10),
    "batch": (batch, 7), "two": (two_nodes, 6), "supernode": (supernode, 2),
    "supernode-unmarked": (supernode, 2), "elasticd": (elasticd, 4), "snrun": (snrun, 6), "ctld": (ctld, 6), "member": (member, 6), "shrink": (shrink, 5), "grow": (grow, 5),
    "swap": (swap, 5), "pause": (pause, 4),
}
NAMES = {
    "card-suspect": "card suspected", "card-sick": "card confirmed sick", "rank": "kill -9 of a rank",
    "node-marked": "node killed, marked down", "node-unmarked": "node killed, nobody says so",
    "node-down": "node marked down, slurmd lives", "drain": "node drained", "batch": "batch host killed",
    "two": "two nodes killed at once", "supernode": "whole supernode killed, marked down",
    "supernode-unmarked": "whole supernode killed, nobody says so", "elasticd": "kill -9 of snelasticd",
    "snrun": "kill -9 of snrun", "ctld": "kill -9 of slurmctld amid a recovery", "member": "scancel of a member",
    "shrink": "snctl elastic shrink", "grow": "snctl elastic grow", "swap": "snctl elastic swap",
    "pause": "snctl elastic pause, resume",
}


def draw(rng):
    """All kinds in a random order, the likely ones first."""
    only = os.environ.get("SN_ONLY", "").split() or list(TABLE)
    return sorted(only, key=lambda k: rng.random() ** (1 / TABLE[k][1]), reverse=True)


def strike(kind, driver, rng, number):
    return TABLE[kind][0](driver, rng, kind, number)
