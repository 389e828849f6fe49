#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""wire.py HOW SOCKET … - snelasticd's wire, by hand, for tests.

send SOCKET CRED…     send each credential on a connection of its own; print how
                      many bytes came back; a number: so many bytes of nonsense
flood SOCKET N        hold N connections that say nothing until standard input ends
garbage SOCKET N      N connections with bytes that are none of the protocol
SOCKET is a path, or HOST:PORT.
"""
import os
import socket
import struct
import sys


def dial(where):
    if where.startswith("/"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(where)
    else:
        host, port = where.rsplit(":", 1)
        s = socket.create_connection((host, int(port)))
    s.settimeout(15)
    return s


def send(where, cred):
    s = dial(where)
    body = cred.encode()
    n = 0
    try:
        s.sendall(b"SNE1" + struct.pack(">I", len(body)) + body)
        while True:
            data = s.recv(65536)
            if not data:
                break
            n += len(data)
    except ConnectionError:
        pass
    return n


how, where = sys.argv[1:3]
if how == "send":
    for c in sys.argv[3:]:
        print(send(where, "x" * int(c) if c.isdigit() else c))
elif how == "flood":
    held = []
    for _ in range(int(sys.argv[3])):
        try:
            held.append(dial(where))
        except OSError:
            pass
    print("held", flush=True)
    sys.stdin.read()
else:
    for i in range(int(sys.argv[3])):
        try:
            s = dial(where)
            s.sendall([b"GET / HTTP/1.0\r\n\r\n", b"SNE1\xff\xff\xff\xff", b"SNE1\0\0\0\x08MUNGE:x:", os.urandom(64)][i % 4])
        except OSError:
            pass
