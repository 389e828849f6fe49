# SPDX-License-Identifier: GPL-2.0-or-later
"""The program's side of snrun's checkpoint protocol (docs/checkpoints.md).

Only the standard library is needed. In a training script:

    import supernode_checkpoint
    ask = supernode_checkpoint.Request()      # SIGTERM, or snrun's request file
    for step in ...:
        train()
        ask.progress(step)
        if ask.wanted():                      # agree on it among the ranks
            save()
            ask.done(step)                    # rank 0: the marker, when all have saved
            sys.exit(0)

With MindIO TTP, whose ranks no signal reaches:

    supernode_checkpoint.watch_mindio()       # in all ranks; rank 0's does it

Outside a job of ours nothing happens.
"""
import json
import os
import signal
import sys
import threading
import time

__all__ = ["Request", "watch", "watch_mindio", "job_dir"]


def job_dir():
    """$SUPERNODE_JOB_DIR, or None."""
    return os.environ.get("SUPERNODE_JOB_DIR") or None


def _rank():
    text = os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0"))
    return int(text) if text.isdigit() else 0


def _generation():
    text = os.environ.get("SUPERNODE_GENERATION", "0")
    return int(text) if text.isdigit() else 0


def _write(path, text):
    """Whole or not at all."""
    temporary = "%s.%d.tmp" % (path, os.getpid())
    try:
        with open(temporary, "w") as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        os.rename(temporary, path)
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise


def read_request(directory):
    """The request of this generation as a dict, or None."""
    try:
        with open(os.path.join(directory, "checkpoint.request")) as f:
            ask = json.load(f)
    except (OSError, ValueError):
        return None
    if not isinstance(ask, dict) or ask.get("generation") != _generation():
        return None
    return ask


class Request:
    """Is a checkpoint asked for? By the signals, and by the request file."""

    def __init__(self, signals=(signal.SIGTERM,), every=0.5):
        self._asked = False
        self._seen = 0
        self._next = 0.0
        self._every = every
        self._dir = job_dir()
        self._before = {}
        if threading.current_thread() is threading.main_thread():
            for sig in signals:
                self._before[sig] = signal.signal(sig, self._on_signal)

    def _on_signal(self, signum, frame):
        self._asked = True
        before = self._before.get(signum)
        if callable(before) and before is not signal.default_int_handler:
            before(signum, frame)

    def wanted(self):
        """True once one is asked for, until done()."""
        now = time.monotonic()
        if not self._asked and self._dir and now >= self._next:
            self._next = now + self._every
            ask = read_request(self._dir)
            if ask and ask.get("request", 0) != self._seen:
                self._seen = ask.get("request", 0)
                self._asked = True
        return self._asked

    def done(self, step):
        """The checkpoint of that step is durable on all ranks."""
        self._asked = False
        if self._dir and _rank() == 0:
            _write(os.path.join(self._dir, "checkpoint"), "%d\n" % step)

    def progress(self, step):
        """The job has come to that step; at most every few seconds."""
        if self._dir and _rank() == 0:
            try:
                _write(os.path.join(self._dir, "progress"), "%d\n" % step)
            except OSError:
                pass


def watch(act, every=0.5):
    """Call act(request) in a thread, once for each request of this generation."""
    directory = job_dir()
    if not directory:
        return None

    def run():
        seen = 0
        while True:
            ask = read_request(directory)
            if ask and ask.get("request", 0) != seen:
                seen = ask.get("request", 0)
                act(ask)
            time.sleep(every)

    thread = threading.Thread(target=run, name="supernode-checkpoint", daemon=True)
    thread.start()
    return thread


def watch_mindio(every=0.5):
    """Let MindIO's controller, which is in rank 0, save and end when snrun asks."""
    if _rank() != 0:
        return None

    def act(ask):
        # After a failure it saves by itself.
        if ask.get("why") == "failure":
            return
        try:
            from mindio_ttp.controller_ttp import tft_notify_controller_dump
            if tft_notify_controller_dump() != 0:
                print("supernode_checkpoint: MindIO's controller did not take the request",
                      file=sys.stderr)
        except Exception as why:  # pylint: disable=broad-except
            print("supernode_checkpoint: MindIO cannot be asked: %s" % why, file=sys.stderr)

    return watch(act, every)
