"""Names the process that listens on a TCP port of this host: "process 123 (redis-server *:6379)", or nothing."""

import glob
import os
import sys

LISTEN = "0A"


def sockets(port):
    """Inodes of the listening sockets of a port, whatever their address."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table) as lines:
                rows = [line.split() for line in lines][1:]
        except OSError:
            continue
        for row in rows:
            if row[3] == LISTEN and int(row[1].rpartition(":")[2], 16) == port:
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
    for found in filter(None, (holder(inode) for inode in sockets(int(sys.argv[1])))):
        print("process %s (%s)" % (found[0], found[1][:120]))
        break
