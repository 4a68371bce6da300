"""Names who listens on an IPv4 address and TCP port of this host: "process 123 (redis-server)"; else nothing."""

import glob
import os
import socket
import sys

LISTEN = "0A"


def local(address):
    """An address as /proc/net/tcp writes it; an IPv4 one in the host's byte order."""
    return "%08X" % int.from_bytes(socket.inet_aton(address), sys.byteorder)


def sockets(address, port):
    """Inodes of the sockets that listen on this address and port, or on this port of all addresses."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table) as lines:
                rows = [line.split() for line in lines][1:]
        except OSError:
            continue
        for row in rows:
            bound, _, number = row[1].rpartition(":")
            mine = not bound.strip("0") or bound.endswith(local(address))
            if row[3] == LISTEN and mine and int(number, 16) == port:
                yield row[9]


def holder(inode):
    """(pid, command line) of the process that has this socket open; None where that is another user's."""
    for link in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if os.readlink(link) != "socket:[%s]" % inode:
                continue
            pid = link.split("/")[2]
            with open("/proc/%s/cmdline" % pid, "rb") as words:
                return pid, words.read().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
    return None


if __name__ == "__main__":
    for found in filter(None, (holder(inode) for inode in sockets(sys.argv[1], int(sys.argv[2])))):
        print("process %s (%s)" % (found[0], found[1][:120]))
        break
