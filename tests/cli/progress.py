# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a program with standard error on a terminal, for progress.t.

usage: progress.py WANTED FILE COMMAND [ARGUMENT…]

Once the terminal shows the text WANTED, FILE is made, which the program's work waits
for; where the program ends without it, there is no FILE. What the terminal got is in
the file "terminal", standard output in "out"; the exit status is the program's.
"""
import os
import pty
import subprocess
import sys
import termios
import fcntl
import struct

wanted, made = sys.argv[1].encode(), sys.argv[2]
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
with open("out", "wb") as out:
    program = subprocess.Popen(sys.argv[3:], stdin=subprocess.DEVNULL, stdout=out, stderr=slave)
os.close(slave)
seen = b""
while True:
    try:
        more = os.read(master, 4096)
    except OSError:  # the last one has closed it
        break
    if not more:
        break
    seen += more
    if wanted in seen and not os.path.exists(made):
        open(made, "w").close()
with open("terminal", "wb") as f:
    f.write(seen)
sys.exit(program.wait())
