# SPDX-License-Identifier: GPL-2.0-or-later
"""ops_health.py - snelasticd among the random operations of 79-ops.t.

The daemon is the driver's child. What it has answered holds whatever is killed then;
what it has not may hold or not, and it is asked which.
"""
import copy
import json
import os
import subprocess
import time

from ops_model import CARDS, CODES, NODES, parse_nodes

SETTLE = 90                     # s; with slurmctld and snelasticd up, all records say it


def proc_start(pid):
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rsplit(") ", 1)[1].split()[19]


class Daemon:
    """snelasticd as the cluster's scripts start it: they end it, too, if we do not."""
    def __init__(self, log, note):
        self.dir = os.environ["CL_DIR"]
        self.log = os.path.join(self.dir, "log", log)
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(["snelasticd", "-D"], stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=out, start_new_session=True)
        with open("/proc/sys/kernel/random/boot_id") as f:
            boot = f.read().strip()
        with open(os.path.join(self.dir, "run", note), "w") as f:
            f.write("%d %s %s\n" % (self.process.pid, proc_start(self.process.pid), boot))

    def kill(self, signal):
        self.process.send_signal(signal)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return False
        return True

    def says(self, text):
        with open(self.log, errors="replace") as f:
            return text in f.read()


class HealthOps:
    """Of the driver: self.run, self.rng, self.model, self.fail, self.count, self.saved."""
    daemon = None

    # ---- the daemon -----------------------------------------------------------------

    def in_charge(self):
        rc, text = self.run("snctl", "health", "status", "--json")
        try:
            return rc == 0 and json.loads(text)["pid"] == self.daemon.process.pid
        except (ValueError, KeyError):
            return False

    def daemon_up(self):
        if not self.daemon:
            self.daemon = Daemon("snelasticd.log", "elasticd")
            self.wait_charge()

    def wait_charge(self):
        until = time.time() + 60
        while not self.in_charge():
            if time.time() > until or self.daemon.process.poll() is not None:
                self.fail("snelasticd is not in charge")
                return
            time.sleep(0.05)

    def daemon_down(self, signal=15):
        if not self.daemon:
            return self.daemon_up()
        if not self.daemon.kill(signal):
            self.fail("snelasticd does not end")
        self.model.probing.clear()
        self.daemon = None

    def daemon_restart(self, signal):
        if self.daemon:
            self.daemon_down(signal)
        self.daemon_up()

    def take_over(self):
        self.daemon_up()
        first, log = self.daemon, "second.log"
        second = Daemon(log, "beside-elasticd")
        until = time.time() + 60
        while not second.says("standing by") and time.time() < until:
            time.sleep(0.05)
        first.kill(9)
        self.model.probing.clear()
        self.daemon = second
        self.wait_charge()
        run = os.path.join(second.dir, "run")
        os.rename(os.path.join(run, "beside-elasticd"), os.path.join(run, "elasticd"))
        os.rename(second.log, second.log + "-%d" % second.process.pid)
        second.log += "-%d" % second.process.pid

    # ---- looking --------------------------------------------------------------------

    def settled(self, wait):
        """Do the records say what the model does? With wait they must, if the daemon is up."""
        until = time.time() + SETTLE
        while self.model.late:
            rc, text = self.run("scontrol", "-o", "-d", "show", "node")
            if rc == 0 and not self.model.settle(parse_nodes(text)):
                break
            if not wait or not self.daemon:
                return False
            if time.time() > until:
                self.fail("records do not say of %s what they should: drained %s, sick %s: %s" % (
                    sorted(self.model.late), sorted(self.model.drained), self.model.sick,
                    [(n, e) for n, (_, e) in sorted(parse_nodes(text).items()) if e]))
                self.model.late.clear()
                return False
            time.sleep(0.05)
        return True

    # ---- doing ----------------------------------------------------------------------

    def some_cards(self):
        node = self.rng.choice(NODES)
        return node, self.rng.sample(range(CARDS), self.rng.choice((1, 1, 1, 2, 3)))

    def report(self):
        node, some = self.some_cards()
        code = self.rng.choice(("sick", "sick", "sick", "xid-94", "xid-74", "xid-79", "xid-63"))
        rc, text = self.run("snctl", "health", "report", "%s:%s" % (node, ",".join(map(str, some))),
                            "--code=" + code)
        if (rc == 0) != bool(self.daemon):
            self.fail("snctl health report: %d %s" % (rc, text[:300]))
        if rc == 0:
            for c in some:
                self.model.fault((node, c), CODES[code])

    def forged(self):
        node, some = self.some_cards()
        rc, text = self.run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                            "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search",
                            "snctl", "health", "report", "%s:%d" % (node, some[0]), "--code=xid-79")
        if rc == 0:
            self.fail("nobody's report is believed: " + text[:300])

    def release(self):
        if not self.model.sick or self.rng.random() < 0.1:
            node, some = self.some_cards()
        else:
            node = self.rng.choice(sorted(self.model.sick))[0]
            some = [c for n, c in sorted(self.model.sick) if n == node]
            some = self.rng.sample(some, self.rng.randint(1, len(some)))
        rc, text = self.run("snctl", "health", "release", "%s:%s" % (node, ",".join(map(str, some))))
        if (rc == 0) != bool(self.daemon):
            self.fail("snctl health release: %d %s" % (rc, text[:300]))
        if rc == 0:
            for c in some:
                self.model.release((node, c))

    def request(self, **what):
        sock = os.path.join(os.environ["CL_DIR"], "munge/socket")
        p = subprocess.run(["munge", "-S", sock], input=json.dumps(what), text=True,
                           stdout=subprocess.PIPE, check=True)
        rc, text = self.run(os.path.join(os.environ["TESTS"], "wire.py"), "send",
                            os.path.join(os.environ["CL_DIR"], "run/elasticd.socket"), p.stdout.strip())
        if rc or int(text) <= 0:
            self.fail("a request by hand is not answered: %s" % text[:300])

    def probe(self):
        """The node asks what to probe, perhaps a card is sick meanwhile, and the answer."""
        if not self.daemon or not self.model.sick:
            return self.report()
        node = self.rng.choice(sorted(self.model.sick))[0]
        some = [c for n, c in sorted(self.model.sick) if n == node and self.model.sick[n, c] == "suspect"]
        if some and self.rng.random() < 0.7:
            self.run("snctl", "health", "probe-request", "%s:%s" % (node, ",".join(map(str, some))))
            self.request(op="health.wanted", node=node)
            for c in some:
                self.model.probing.setdefault((node, c), False)
            if self.rng.random() < 0.3:
                c = self.rng.choice(some)
                self.run("snctl", "health", "report", "%s:%d" % (node, c))
                self.model.fault((node, c), "suspect")
        card, good = self.rng.randrange(CARDS), self.rng.random() < 0.7
        if self.rng.random() < 0.8:
            card = self.rng.choice([c for n, c in sorted(self.model.sick) if n == node])
        self.request(op="health.report", node=node, probes=[{"card": card, "passed": good}])
        if good:
            self.model.passed((node, card))
        else:
            self.model.fault((node, card), "quarantined")

    def killed_amid(self):
        """kill -9 while a report is on its way: what was not answered may hold or not."""
        self.daemon_up()
        node, some = self.some_cards()
        card, code = (node, some[0]), self.rng.choice(("sick", "xid-74"))
        p = subprocess.Popen(["snctl", "health", "report", "%s:%d" % card, "--code=" + code],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        time.sleep(self.rng.random() * 0.06)
        self.daemon_down(9)
        p.communicate(timeout=90)
        old = copy.deepcopy(self.model)
        self.model.fault(card, CODES[code])
        self.model.touch(card)
        self.daemon_up()
        if p.returncode == 0:
            self.count["answered before the kill"] += 1
            return
        until = time.time() + 30
        is_ = []
        while not is_ and time.time() < until:
            # Healthy ones are told of when it has the nodes.
            rc, text = self.run("snctl", "health", "show", node, "--json")
            is_ = [(c["state"], c["marks"]) for c in json.loads(text)["cards"] if c["card"] == card[1]]
        for model in self.model, old:
            state = model.sick.get(card, "healthy")
            if is_ and is_[0] in ((state, model.times[card]), ("probing", model.times[card])):
                self.model.times[card] = model.times[card]
                if state == "healthy":
                    self.model.sick.pop(card, None)
                else:
                    self.model.sick[card] = state
                return
        self.fail("after a report of %s that was not answered %s:%d is %s; it was %s" % (
            (code,) + card + (is_, (old.sick.get(card), old.times[card]))))

    def lost_writes(self):
        """slurmctld forgets what was written of health since it saved its state."""
        self.daemon_up()
        self.settled(True)
        if not self.saved():
            return
        act = self.rng.choice((self.report, self.release, self.release, self.probe))
        act()
        if self.rng.random() < 0.7:
            self.settled(True)
        # Once more late: what is saved is from before.
        for node in {n for n, _ in self.model.changing}:
            for c in range(CARDS):
                self.model.touch((node, c))
        self.restart("KILL", saved=True)
