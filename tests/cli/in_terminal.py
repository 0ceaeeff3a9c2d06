"""Runs a command with its standard error on a terminal and prints, a line each, every status line
that it drew there.   in_terminal.py COLUMNS COMMAND..."""
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

ours, theirs = pty.openpty()
fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
process = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=theirs)
os.close(theirs)
drawn = b""
while True:
    try:
        some = os.read(ours, 65536)
    except OSError:
        break
    if not some:
        break
    drawn += some
for line in drawn.split(b"\r\x1b[K")[1:]:
    print(line.decode())
sys.exit(process.wait())
