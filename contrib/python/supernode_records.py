# SPDX-License-Identifier: GPL-2.0-or-later
"""What a rank believes about its communicators, and does in them.

The Python side of libsnrecord: the same files, which `snctl groups verify`
compares (docs/records.md has the lines). Only the standard library is needed.

With PyTorch, nothing of the training script changes:

    python3 -m supernode_records train.py --its --arguments

or, in the script, after `import torch.distributed`:

    import supernode_records
    supernode_records.install()

Then every collective of torch.distributed is recorded. A group has torch's own
name, and its kind from $SUPERNODE_JOB_DIR/groups.json. By hand:

    rec = supernode_records.Recorder()
    tp = rec.comm("tp_4", [16, 17, 18, 19], kind="tp")
    with tp.op("all_reduce", nbytes):
        ...

Recording never harms the job: what cannot be written is dropped, and
Recorder.error says why. Times are the host's: for accelerators that return
from a collective before it is done, `end` is when the call or wait() returned.
"""
import functools
import json
import os
import socket
import sys
import threading
import time

__all__ = ["Recorder", "Comm", "install", "recorder"]

_BYTES = 128 << 10


def _number(*names):
    for name in names:
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return 0


def ranks_text(members):
    """The compact form of a list of ranks: [0, 8, 16, 3] is "0-16:8,3"."""
    out, i, n = [], 0, len(members)
    while i < n:
        k, step = 1, members[i + 1] - members[i] if i + 1 < n else 0
        while step > 0 and i + k < n and members[i + k] - members[i + k - 1] == step:
            k += 1
        if k < 3:
            out.append("%d" % members[i])
            i += 1
            continue
        text = "%d-%d" % (members[i], members[i + k - 1])
        out.append(text if step == 1 else "%s:%d" % (text, step))
        i += k
    return ",".join(out)


def _make_job_dir(path):
    """Under plain srun nobody has made it yet. It is the user's alone, for snrun,
    later in the job, takes no other."""
    if path and not os.path.isdir(path):
        _make_job_dir(os.path.dirname(path))
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            pass


class Recorder:
    """One rank's file. Without a directory to write to it does nothing."""

    def __init__(self, directory=None, rank=None, world=None, generation=None):
        self.rank = _number("RANK", "SLURM_PROCID") if rank is None else rank
        self.world = _number("WORLD_SIZE", "SLURM_NTASKS") if world is None else world
        self.generation = (_number("SUPERNODE_GENERATION", "TORCHELASTIC_RESTART_COUNT")
                           if generation is None else generation)
        self.error = None
        self.path = None
        self._fd = None
        self._comms = {}
        self._lock = threading.RLock()
        self._limit = max(_number("SNRECORD_BYTES") or _BYTES, 4096)
        job = os.environ.get("SUPERNODE_JOB_DIR")
        own = directory is None
        if own:
            if not job or os.environ.get("SUPERNODE_RECORDS") == "no":
                return
            directory = os.path.join(job, "records")
        try:
            if own:
                _make_job_dir(job)
            os.makedirs(directory, exist_ok=True)
            self.path = os.path.join(directory, "rank-%d.jsonl" % self.rank)
            self._open(self.path, os.O_CREAT)
            # An earlier process may have been killed within a line.
            if self._size and os.pread(self._fd, 1, self._size - 1) != b"\n":
                self._write(b"\n")
            self._start()
        except OSError as why:
            self._give_up(why)

    def _open(self, path, flags):
        self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC |
                           os.O_NOFOLLOW | os.O_NONBLOCK | flags, 0o644)
        self._size = os.fstat(self._fd).st_size

    def _give_up(self, why):
        self.error = self.error or why
        self.close()

    def close(self):
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None

    def _write(self, data):
        """One write a line, so that it is whole whatever happens next."""
        if self._fd is None:
            return
        try:
            if os.write(self._fd, data) != len(data):
                raise OSError("the disk is full")
            self._size += len(data)
        except OSError as why:
            self._give_up(why)

    def _line(self, **fields):
        line = {"rank": self.rank, "gen": self.generation}
        line.update(fields)
        self._write(json.dumps(line, separators=(",", ":")).encode() + b"\n")

    def _start(self):
        host = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
        self._line(v=1, world=self.world, host=host, pid=os.getpid(), time=time.time_ns())

    def _rotate(self):
        """The new file tells all that counts of the old one."""
        new, was = self.path + ".new", self._fd
        try:
            if os.path.lexists(new):
                os.unlink(new)
            self._open(new, os.O_CREAT | os.O_EXCL)
            os.close(was)
            self._start()
            for comm in self._comms.values():
                self._line(**comm._about)
                for last in comm._last.values():
                    self._line(**last)
            os.rename(self.path, self.path + ".1")
            os.rename(new, self.path)
            self._limit = max(self._limit, 2 * self._size)
        except OSError as why:
            self._give_up(why)

    def comm(self, name, members, kind=None, index=None, took_ns=None):
        """A communicator: the same name on all its members, global ranks in order."""
        return Comm(self, name, list(members), kind, index, took_ns)


class Comm:
    def __init__(self, rec, name, members, kind, index, took_ns):
        self.rec, self.name, self.members = rec, str(name), members
        self._seq = {}
        self._last = {}
        about = {"comm": self.name}
        if kind:
            about["kind"] = kind
        about["members"] = ranks_text(members)
        if index is None and rec.rank in members:
            index = members.index(rec.rank)
        if index is not None:
            about["index"] = index
        if took_ns:
            about["took"] = int(took_ns)
        self._about = about
        with rec._lock:
            rec._comms[self.name] = self
            rec._line(**about)

    def begin(self, op, nbytes=0, peer=None):
        """Arrive at an operation; with a peer, op is "send" or "recv"."""
        rec = self.rec
        with rec._lock:
            key = None if peer is None else (op, peer)
            seq = self._seq[key] = self._seq.get(key, 0) + 1
            if rec._fd is None:
                return (key, seq)
            if rec._size >= rec._limit:
                rec._rotate()
            last = {"comm": self.name, "seq": seq, "op": op}
            if peer is not None:
                last["peer"] = peer
            last["bytes"] = int(nbytes)
            last["arrive"] = time.time_ns()
            self._last[key] = last
            rec._line(**last)
            return (key, seq)

    def end(self, token):
        rec = self.rec
        key, seq = token
        with rec._lock:
            if rec._fd is None:
                return
            line = {"comm": self.name, "seq": seq}
            if key is not None:
                line["op"], line["peer"] = key
            line["end"] = time.time_ns()
            last = self._last.get(key)
            if last is not None and last["seq"] == seq:
                last["end"] = line["end"]
            rec._line(**line)

    def op(self, op, nbytes=0, peer=None):
        return _Op(self, op, nbytes, peer)


class _Op:
    def __init__(self, comm, op, nbytes, peer):
        self._comm, self._what = comm, (op, nbytes, peer)

    def __enter__(self):
        self._token = self._comm.begin(*self._what)

    def __exit__(self, kind, *_):
        # One that failed is not done: it stays open, as one that hangs.
        if kind is None:
            self._comm.end(self._token)


# ---- torch.distributed ---------------------------------------------------------------

recorder = None  # install()'s
_comms = {}
_kinds = None
_inside = threading.local()  # a collective that is made of others counts once


def _bytes(value):
    if isinstance(value, (list, tuple)):
        return sum(_bytes(v) for v in value)
    try:
        return value.numel() * value.element_size()
    except AttributeError:
        return 0


def _kind_of(members):
    """The axis whose group, by groups.json, has these members."""
    global _kinds
    if _kinds is None:
        _kinds = {}
        path = os.path.join(os.environ.get("SUPERNODE_JOB_DIR", ""), "groups.json")
        try:
            with open(path) as f:
                groups = json.load(f)["groups"]
            for kind, lists in groups.items():
                for ranks in lists:
                    if recorder.rank in ranks:
                        _kinds.setdefault(tuple(sorted(ranks)), kind)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass  # without it groups just have no kind
    return _kinds.get(tuple(sorted(members))) if len(members) > 1 else None


def _members(dist, group):
    if hasattr(dist, "get_process_group_ranks"):
        return dist.get_process_group_ranks(group)
    get = getattr(dist, "get_global_rank", None) or dist.distributed_c10d.get_global_rank
    if group == dist.group.WORLD:
        return list(range(dist.get_world_size()))
    return [get(group, i) for i in range(dist.get_world_size(group))]


def _name(dist, group):
    """torch's name: the same on all members, as all ranks make all groups in turn."""
    names = getattr(getattr(dist, "distributed_c10d", dist), "_pg_names", {})
    name = names.get(group) or getattr(group, "group_name", "") or str(len(_comms))
    return "group_" + name if name.isdigit() else name


def _comm_of(dist, group, took_ns=None):
    if group is None:
        group = dist.group.WORLD
    comm = _comms.get(group)
    if comm is None:
        members = _members(dist, group)
        name = _name(dist, group)
        comm = _comms[group] = recorder.comm(name, members, _kind_of(members), None, took_ns)
    return comm


class _Work:
    """A torch Work whose wait() ends the record."""

    def __init__(self, work, done):
        self._work, self._done = work, done

    def wait(self, *args, **kwargs):
        result = self._work.wait(*args, **kwargs)
        if self._done:
            self._done()
            self._done = None
        return result

    def __getattr__(self, name):
        return getattr(self._work, name)


# The argument whose size all members must agree on, by name and by place.
_SIZED = {
    "all_reduce": ("tensor", 0), "broadcast": ("tensor", 0), "reduce": ("tensor", 0),
    "all_gather": ("tensor", 1), "all_gather_into_tensor": ("input_tensor", 1),
    "reduce_scatter": ("output", 0), "reduce_scatter_tensor": ("output", 0),
    "gather": ("tensor", 0), "scatter": ("tensor", 0),
    "all_to_all": ("input_tensor_list", 1), "all_to_all_single": ("input", 1),
    "barrier": (None, None),
    "send": ("tensor", 0), "recv": ("tensor", 0), "isend": ("tensor", 0), "irecv": ("tensor", 0),
}
# The place of the group, where it is not given by name.
_GROUP = {
    "all_reduce": 2, "broadcast": 2, "reduce": 3, "all_gather": 2,
    "all_gather_into_tensor": 2, "reduce_scatter": 3, "reduce_scatter_tensor": 3,
    "gather": 3, "scatter": 3, "all_to_all": 2, "all_to_all_single": 4, "barrier": 0,
    "send": 2, "recv": 2, "isend": 2, "irecv": 2,
}


def _argument(args, kwargs, name, place, default=None):
    if name in kwargs:
        return kwargs[name]
    return args[place] if place is not None and place < len(args) else default


def _what(name, args, kwargs):
    if name in ("send", "isend"):
        return "send"
    if name in ("recv", "irecv"):
        return "recv"
    # Each rank has sizes of its own; see docs/records.md on names that end in v.
    if name == "all_to_all" or (name == "all_to_all_single" and
                                _argument(args, kwargs, "input_split_sizes", 3)):
        return "all_to_allv"
    return name


def _peer(dist, name, args, kwargs, group):
    if name not in ("send", "recv", "isend", "irecv"):
        return None
    word = "dst" if name in ("send", "isend") else "src"
    peer = _argument(args, kwargs, word, 1)
    if peer is None and kwargs.get("group_" + word) is not None:
        peer = dist.get_global_rank(group or dist.group.WORLD, kwargs["group_" + word])
    return peer


def _wrap(dist, name, function):
    sized, place = _SIZED[name]

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        group = _argument(args, kwargs, "group", _GROUP[name])
        if getattr(_inside, "on", False) or dist.get_rank(group) < 0:
            return function(*args, **kwargs)
        peer = _peer(dist, name, args, kwargs, group)
        if peer is None and name in ("recv", "irecv"):
            return function(*args, **kwargs)  # from whomever: no pair to number
        nbytes = _bytes(_argument(args, kwargs, sized, place)) if sized else 0
        comm = _comm_of(dist, group)
        token = comm.begin(_what(name, args, kwargs), nbytes, peer)
        _inside.on = True
        try:
            work = function(*args, **kwargs)
        finally:
            _inside.on = False
        if work is not None and hasattr(work, "wait"):
            return _Work(work, lambda: comm.end(token))
        comm.end(token)
        return work

    return wrapped


def _wrap_maker(dist, function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        begin = time.monotonic_ns()
        _inside.on = True
        try:
            group = function(*args, **kwargs)
        finally:
            _inside.on = False
        took = time.monotonic_ns() - begin
        world = group is None  # init_process_group
        try:
            if world or dist.get_rank(group) >= 0:
                _comm_of(dist, group, took)
        except (ValueError, RuntimeError):
            pass  # not a member
        return group

    return wrapped


def install(rec=None, dist=None):
    """Record every collective of torch.distributed from now on."""
    global recorder
    if recorder is not None:
        return recorder
    if dist is None:
        import torch.distributed as dist
    recorder = rec or Recorder()
    if recorder.path is None:
        return recorder
    modules = [dist, getattr(dist, "distributed_c10d", dist)]
    for name in list(_SIZED) + ["new_group", "init_process_group"]:
        original = getattr(dist, name, None)
        if original is None:
            continue  # an older or newer torch
        if name in _SIZED:
            wrapped = _wrap(dist, name, original)
        else:
            wrapped = _wrap_maker(dist, original)
        for module in modules:
            if getattr(module, name, None) is original:
                setattr(module, name, wrapped)
    if getattr(dist, "is_initialized", lambda: False)():
        _comm_of(dist, None)
    return recorder


def _main():
    import runpy
    if len(sys.argv) < 2:
        sys.exit("usage: python3 -m supernode_records SCRIPT [ARGUMENT ...]")
    # The module that runs is __main__; the script may import it under its name.
    import supernode_records
    supernode_records.install()
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    _main()
