# SPDX-License-Identifier: GPL-2.0-or-later
"""faults_do.py - the cluster of 78-faults.t as its driver sees and hurts it.

Nothing here is random, and nothing judges.
"""
import json
import os
import re
import signal
import subprocess
import time

from ops_model import expand

WORK, CL_DIR = os.environ["WORK"], os.environ["CL_DIR"]
NODES = ["n%03d" % i for i in range(1, int(os.environ["CL_NODES"]) + 1)]
SUPERNODES = int(os.environ["CL_NODES"]) // int(os.environ["CL_PER"])
SHELL = """. "$SN_SRCDIR/contrib/lib/common.sh"; . "$SN_SRCDIR/contrib/lib/cluster.sh"
CL_SLURM_PLUGINS=/; cluster_init; . "$CL_DIR/run/net"; "$@" """


def run(*argv, seconds=90, env=None):
    try:
        p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           errors="replace", timeout=seconds, stdin=subprocess.DEVNULL,
                           env=dict(os.environ, **env) if env else None)
    except subprocess.TimeoutExpired as e:
        return 124, "%s did not end in %d s: %s" % (" ".join(argv[:4]), seconds, e.output)
    return p.returncode, p.stdout.strip()


def shell(*words, seconds=120):
    """A function of contrib/lib/cluster.sh."""
    return run("bash", "-c", SHELL, "-", *words, seconds=seconds)


def supernode_of(node):
    return "sn%d" % (NODES.index(node) % SUPERNODES + 1)


def nodes_of_supernode(name):
    return NODES[int(name[2:]) - 1::SUPERNODES]


# ---- processes ----------------------------------------------------------------------

def alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


def environment(pid):
    try:
        with open("/proc/%d/environ" % pid, errors="replace") as f:
            return dict(w.split("=", 1) for w in f.read().split("\0") if "=" in w)
    except OSError:
        return {}


def processes(word):
    """pid -> words, of living processes with that word, a whole one, in their command."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, errors="replace") as f:
                argv = f.read().split("\0")
        except OSError:
            continue
        if word in argv and alive(int(pid)):
            found[int(pid)] = argv
    return found


def ranks(state_dir):
    """pid -> (node, card) of a job's rank processes."""
    found = {}
    for pid, argv in processes(state_dir).items():
        env = environment(pid) if argv[0].endswith("sntrain") else {}
        if "SLURMD_NODENAME" in env:
            found[pid] = (env["SLURMD_NODENAME"], env.get("ASCEND_RT_VISIBLE_DEVICES", "?"))
    return found


def snruns(state_dir):
    return [pid for pid, argv in processes(state_dir).items() if os.path.basename(argv[0]) == "snrun"]


def stepds(node):
    """Steps that have a slurmstepd on that node, as "JOB.STEP"."""
    rc, text = shell("node_daemon", node)
    spaces = {os.readlink("/proc/%s/ns/pid" % text)} if text.isdigit() and alive(int(text)) else set()
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid) as f:
                m = re.match(r"slurmstepd: \[(\d+\.\w+)\]", f.read())
            if m and os.readlink("/proc/%s/ns/pid" % pid) in spaces:
                found.add(m.group(1))
        except OSError:
            continue
    return found


def pid_in(path):
    try:
        with open(path) as f:
            return int(f.read().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


# ---- daemons and nodes -----------------------------------------------------------------

def ctld_kill():
    return kill(pid_in(CL_DIR + "/run/slurmctld.pid"))


def ctld_up():
    return shell("ctld_up", seconds=90)


def elasticd_kill():
    return kill(pid_in(CL_DIR + "/run/elasticd"))


def elasticd_up():
    return shell("elasticd_up", "-v")


def nodes_kill(nodes):
    return shell("nodes_down", *nodes)


def node_up(node):
    return shell("node_up", str(NODES.index(node)))


def mark(nodes, state, why):
    return run("scontrol", "update", "nodename=" + ",".join(nodes), "state=" + state, "reason=" + why)


class Node:
    def __init__(self, line):
        def field(name):
            m = re.search(r"(?:^| )%s=(\S*)" % name, line)
            return m.group(1) if m else ""
        self.state = field("State")
        # slurmd has drained it: docs/elastic.md, "Nodes that slurmd drains".
        self.unkilled = "DRAIN" in self.state and " Reason=Kill task failed" in line
        self.well = not re.search(r"DOWN|DRAIN|FAIL|\*|NOT_RESPONDING|UNKNOWN|INVAL", self.state)
        m = re.search(r" Extra=(\{.*?\}) (?:\w+=|$)", line + " ")
        try:
            self.marks = json.loads(m.group(1)).get("cards", {}) if m else {}
        except ValueError:
            self.marks = {"?": m.group(1)}


def look_at_nodes():
    rc, text = run("scontrol", "-o", "show", "node")
    found = {}
    for line in text.splitlines():
        m = re.match(r"NodeName=(\S+)", line)
        if m:
            found[m.group(1)] = Node(line)
    return found if rc == 0 else None


# ---- a job's files ------------------------------------------------------------------------

def lines_of(path):
    """Whole lines as lists of words."""
    try:
        with open(path) as f:
            text = f.read()
    except OSError:
        return []
    return [l.split() for l in text[:text.rfind("\n") + 1].splitlines()]


def text_of(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def begins_of(state_dir):
    return [(int(w[0]), int(w[1]), int(w[2]), int(w[3]), float(w[4]))
            for w in lines_of(state_dir + "/begins") if len(w) == 5]


def steps_of(state_dir):
    return [(int(w[0]), int(w[1]), float(w[2])) for w in lines_of(state_dir + "/steps") if len(w) == 3]


def final_of(state_dir):
    m = re.match(r"final state (\w+) .* odd (\d+)$", text_of(state_dir + "/final"))
    return m.groups() if m else None


def asked_of(job, since):
    """When the job's ranks were last asked to save, and when what they saved was durable:
    0: not since then."""
    dir, at = "%s/jobs/%d/" % (WORK, job), [0, 0]
    for i, name in enumerate(("checkpoint.request", "checkpoint")):
        try:
            at[i] = os.stat(dir + name).st_mtime
        except OSError:
            pass
    asked = at[0] if at[0] > since else 0
    return asked, at[1] if asked and at[1] > asked else 0


def plan_of(job):
    try:
        return json.loads(text_of("%s/jobs/%d/layout.json" % (WORK, job)))
    except ValueError:
        return None


def mounts_left():
    """Regions of the pool that are still mounted on a node."""
    left = []
    for node in NODES:
        rc, text = shell("node_first", node)
        for pid in text.split():
            for line in text_of("/proc/%s/mountinfo" % pid).splitlines():
                if "/supernode" in line.split()[4] and "/dev/supernode" in line.split()[4]:
                    left.append("%s: %s" % (node, line.split()[4]))
    return left


assert expand  # for the driver
