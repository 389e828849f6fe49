# SPDX-License-Identifier: GPL-2.0-or-later
"""Checkpoints in the memory of two nodes: libsnmem for Python (docs/checkpoints.md).

    import supernode_memckpt
    mem = supernode_memckpt.MemoryCheckpoint(tag="run1")
    if mem.iteration is not None and mem.iteration > on_disk:
        state = pickle.loads(mem.load(rank))     # mem.world ranks have saved it
    for iteration in ...:
        train()
        if iteration % 10 == 0:
            mem.save(iteration, pickle.dumps(state))   # or a memoryview, an array
    mem.close()

All ranks make it, at the same place. Where there is no region (submit with
--pool=SIZE/node), no library or no job of ours, MemoryCheckpoint does nothing and
`error` says why. Only the standard library is needed.
"""
import ctypes
import ctypes.util
import os

__all__ = ["MemoryCheckpoint"]


class _Options(ctypes.Structure):
    _fields_ = [("region", ctypes.c_char_p), ("job_dir", ctypes.c_char_p),
                ("tag", ctypes.c_char_p), ("node", ctypes.c_char_p),
                ("rank", ctypes.c_int), ("world", ctypes.c_int),
                ("local_rank", ctypes.c_int), ("generation", ctypes.c_int),
                ("keep", ctypes.c_uint), ("wait_ms", ctypes.c_uint),
                ("flush_dir", ctypes.c_char_p), ("flush_every", ctypes.c_uint)]


def _library(path):
    lib = ctypes.CDLL(path or os.environ.get("SNMEM_LIBRARY") or
                      ctypes.util.find_library("snmem") or "libsnmem.so.0")
    lib.snmem_open.restype = ctypes.c_void_p
    lib.snmem_open.argtypes = [ctypes.POINTER(_Options), ctypes.c_char_p, ctypes.c_size_t]
    lib.snmem_close.argtypes = [ctypes.c_void_p]
    lib.snmem_close.restype = None
    lib.snmem_last.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64),
                               ctypes.POINTER(ctypes.c_int)]
    lib.snmem_load.argtypes = [ctypes.c_void_p, ctypes.c_int,
                               ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t)]
    lib.snmem_save.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p,
                               ctypes.c_size_t]
    lib.snmem_wait.argtypes = [ctypes.c_void_p]
    lib.snmem_error.argtypes = [ctypes.c_void_p]
    lib.snmem_error.restype = ctypes.c_char_p
    return lib


def _bytes(text):
    return None if text is None else os.fsencode(text)


class MemoryCheckpoint:
    """This rank's side. iteration and world: what there is to go on from, or None."""

    def __init__(self, tag="", flush_dir=None, flush_every=1, keep=0, wait=60.0,
                 library=None, **where):
        self.iteration = self.world = None
        self.error = ""
        self._mem = None
        self._lib = None
        options = _Options(
            _bytes(where.get("region")), _bytes(where.get("job_dir")), _bytes(tag),
            _bytes(where.get("node")), where.get("rank", -1), where.get("world", -1),
            where.get("local_rank", -1), where.get("generation", -1), keep,
            int(wait * 1000), _bytes(flush_dir), flush_every)
        try:
            self._lib = _library(library)
        except (OSError, AttributeError) as why:
            self.error = "libsnmem cannot be loaded: %s" % why
            return
        why = ctypes.create_string_buffer(512)
        self._mem = self._lib.snmem_open(ctypes.byref(options), why, len(why))
        if not self._mem:
            self.error = why.value.decode(errors="replace")
            return
        iteration, ranks = ctypes.c_uint64(), ctypes.c_int()
        if not self._lib.snmem_last(self._mem, ctypes.byref(iteration), ctypes.byref(ranks)):
            self.iteration, self.world = iteration.value, ranks.value
        else:
            self._note()

    def _note(self):
        self.error = self._lib.snmem_error(self._mem).decode(errors="replace")

    def load(self, shard):
        """The bytes that this rank of `world` has saved; OSError if they are lost."""
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        rc = self._lib.snmem_load(self._mem, shard, ctypes.byref(data),
                                  ctypes.byref(size)) if self._mem else -22
        if rc:
            if self._mem:
                self._note()
            raise OSError(-rc, self.error or "there is nothing in memory")
        try:
            return ctypes.string_at(data, size.value)
        finally:
            libc = ctypes.CDLL(None)
            libc.free.argtypes = [ctypes.c_void_p]
            libc.free(data)

    def save(self, iteration, data):
        """True if this node has it; the neighbour gets it meanwhile."""
        if not self._mem:
            return False
        view = memoryview(data).cast("B")
        if view.readonly:
            rc = self._lib.snmem_save(self._mem, iteration,
                                      ctypes.c_char_p(bytes(view)), len(view))
        else:
            own = (ctypes.c_char * len(view)).from_buffer(view)
            rc = self._lib.snmem_save(self._mem, iteration, own, len(view))
        if rc:
            self._note()
        return rc == 0

    def wait(self):
        """True once the neighbour has the last one."""
        if not self._mem:
            return False
        rc = self._lib.snmem_wait(self._mem)
        if rc:
            self._note()
        return rc == 0

    def close(self):
        if self._mem:
            self._lib.snmem_close(self._mem)
            self._mem = None
