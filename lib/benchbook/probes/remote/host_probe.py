"""What the kernel counts of the whole host: CPU by mode, load, run queue, memory, disk and network; and how fast its
cores compute, of which no kernel keeps a count.
"""

import contextlib
import fcntl
import functools
import os
import socket
import struct
import time

METRICS = {
    "cpu.*": ("counter", "cores"),  # seconds of CPU per second
    "bound.*": ("counter", "cores"),  # the same of the processors that we are bound to, where these are not all
    "ctxt": ("counter", "1/s"),
    "procs_running": ("level", "tasks"),
    "procs_blocked": ("level", "tasks"),
    "load.1min": ("level", "1"),
    "memory.*": ("level", "B"),
    "disk.read_bytes": ("counter", "B/s"),
    "disk.written_bytes": ("counter", "B/s"),
    "disk.reads": ("counter", "1/s"),
    "disk.writes": ("counter", "1/s"),
    "disk.busy_s": ("counter", "1"),  # seconds busy per second: a share
    "loopback.*": ("counter", "B/s"),
    "network.*": ("counter", "B/s"),
    "tcp.timeouts": ("counter", "1/s"),  # retransmission timers that ran out
    "tcp.syn_retransmitted": ("counter", "1/s"),  # of these, those of a connection that is still to be made
    "tcp.retransmitted": ("counter", "1/s"),  # segments sent again
    "speed": ("level", "1/s"),  # pieces of work per second of CPU time (`speed`)
    "link_changes.*": ("level", "1"),  # by interface: how often its link was lost or came back since it is there
}
CPU = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
MEMORY = {
    "MemTotal": "memory.total",
    "MemAvailable": "memory.available",
    "Cached": "memory.cached",
    "Dirty": "memory.dirty",
}
BLOCK, INTERFACES = "/sys/block", "/sys/class/net"
TICK = os.sysconf("SC_CLK_TCK")
# A piece takes about 0.1 ms: long beside a reading of the clock, short beside what the scheduler gives at a time.
PIECES, STEPS = 3, 1200
SIOCGIFADDR = 0x8915  # netdevice(7): the IPv4 address of an interface


@functools.lru_cache(maxsize=None)
def opened(path):
    """A file of /proc, kept open: reading it again from its start gives fresh values at a third of the cost."""
    return os.open(path, os.O_RDONLY)


def lines(path):
    """To its end: of many a file of /proc one read gives a page, however much is asked for."""
    parts = [os.pread(opened(path), 1 << 16, 0)]
    while parts[-1]:
        parts.append(os.pread(opened(path), 1 << 16, sum(map(len, parts))))
    return b"".join(parts).decode().splitlines()


def cpu():
    found, each = {}, {}
    for line in lines("/proc/stat"):
        words = line.split()
        if words[0] == "cpu":
            found.update(by_mode("cpu.", [words]))
        elif words[0].startswith("cpu"):
            each[words[0]] = words
        elif words[0] in ("procs_running", "procs_blocked", "ctxt"):
            found[words[0]] = int(words[1])
    # By affinity or a cpuset, as all that the kit starts here is. A container may see others' numbers, or no more.
    mine = {"cpu%d" % number for number in os.sched_getaffinity(0)}
    if mine < set(each):
        found.update(by_mode("bound.", [each[name] for name in mine]))
    return found


def by_mode(prefix, processors):
    """The seconds of these lines of /proc/stat, added up."""
    for mode, *values in zip(CPU, *(words[1:] for words in processors)):  # noqa: B905  (old Pythons have no `strict`)
        yield prefix + mode, sum(map(int, values)) / TICK


def load():
    yield "load.1min", float(lines("/proc/loadavg")[0].split()[0])


def memory():
    for line in lines("/proc/meminfo"):
        name, _, value = line.partition(":")
        if name in MEMORY:
            yield MEMORY[name], int(value.split()[0]) * 1024


def piece():
    """The same arithmetic every time, of numbers that fit into a core's cache."""
    number = 1
    for _ in range(STEPS):
        number = (number * 1103515245 + 12345) & 0x7FFFFFFF
    return number


def speed():
    """How many pieces of work a core does in a second of the CPU time that this program itself has had.

    Waiting for a core does not count. What does: a core that is clocked down, that shares its units with another one,
    or whose hypervisor runs something else meanwhile and does not call it stolen. The middle one of a few counts, since
    one may be interrupted, and its cache emptied.
    """
    took = []
    for _ in range(PIECES):
        began = time.thread_time()
        piece()
        took.append(time.thread_time() - began)
    return 1 / max(sorted(took)[PIECES // 2], 1e-9)


@functools.lru_cache(maxsize=None)
def whole_disks():
    """Without those that are made of others (RAID, LVM, encrypted ones): what these do is counted below them."""
    own = {name for name in os.listdir(BLOCK) if not name.startswith(("loop", "ram", "zram"))}
    return {name for name in own if not listed(BLOCK + "/" + name + "/slaves")}


@functools.lru_cache(maxsize=None)
def is_made_of_others(interface):
    """A bond, a bridge, a VLAN: its bytes are counted on the interfaces below it."""
    return any(name.startswith("lower_") for name in listed(INTERFACES + "/" + interface))


def listed(folder):
    try:
        return os.listdir(folder)
    except OSError:
        # There is no such folder, or it has just gone.
        return []


def disk():
    """Sectors of 512 bytes, whatever the disk's own size (Documentation/admin-guide/iostats.rst)."""
    read = written = reads = writes = 0
    busy, names = 0.0, whole_disks()
    for line in lines("/proc/diskstats"):
        words = line.split()
        if words[2] in names:
            reads += int(words[3])
            read += int(words[5]) * 512
            writes += int(words[7])
            written += int(words[9]) * 512
            busy += int(words[12]) / 1000.0
    return [
        ("disk.read_bytes", read),
        ("disk.written_bytes", written),
        ("disk.reads", reads),
        ("disk.writes", writes),
        ("disk.busy_s", busy),
    ]


def network():
    for line in lines("/proc/net/dev")[2:]:
        name, _, rest = line.partition(":")
        if is_made_of_others(name.strip()):
            continue
        words = rest.split()
        kind = "loopback" if name.strip() == "lo" else "network"
        yield kind + ".received_bytes", int(words[0])
        yield kind + ".sent_bytes", int(words[8])


def tcp():
    """What is sent again, because nobody acknowledged it: of every connection of this network namespace."""
    for path, group, counted in (
        (
            "/proc/net/netstat",
            "TcpExt:",
            {"TCPTimeouts": "tcp.timeouts", "TCPSynRetrans": "tcp.syn_retransmitted"},
        ),
        ("/proc/net/snmp", "Tcp:", {"RetransSegs": "tcp.retransmitted"}),
    ):
        found = [line.split() for line in lines(path) if line.startswith(group)]
        for name, value in zip(*found):  # noqa: B905  (old Pythons have no `strict`)
            if name in counted:
                yield counted[name], int(value)


def addresses(interface):
    """Its IPv4 address, where it has one (else the kernel refuses), and those of IPv6."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked, contextlib.suppress(OSError):
        yield socket.inet_ntoa(fcntl.ioctl(asked, SIOCGIFADDR, struct.pack("256s", interface.encode()))[20:24])
    for line in lines("/proc/net/if_inet6") if os.path.exists("/proc/net/if_inet6") else ():
        words = line.split()
        if words[5] == interface:
            yield socket.inet_ntop(socket.AF_INET6, bytes.fromhex(words[0]))


def numbers(address):
    """The numeric addresses that a name, or a number, stands for on this host."""
    try:
        return {str(found[4][0]).partition("%")[0] for found in socket.getaddrinfo(address, None)}
    except OSError:
        # Whoever reaches this host knows it by a name that it does not know itself.
        return set()


@functools.lru_cache(maxsize=None)
def links(reached_at):
    """The interface that holds the first of these addresses that one does, and below a bridge the cards in it.

    Not lo, which has no link, nor what else is there: links of containers come and go, a bond does without one of its.
    """
    held = {each: name for _, name in socket.if_nameindex() if name != "lo" for each in addresses(name)}
    found = [held[each] for address in reached_at for each in sorted(numbers(address)) if each in held][:1]
    ports = [port for name in found for port in sorted(listed(INTERFACES + "/" + name + "/brif"))]
    return found + [port for port in ports if os.path.exists(INTERFACES + "/" + port + "/device")]


def link_changes(reached_at):
    for name in links(tuple(reached_at)):
        try:
            # Opened each time: of an interface that was made anew, a file that is kept open says nothing.
            with open(INTERFACES + "/" + name + "/carrier_changes") as source:
                yield "link_changes." + name, int(source.read())
        except OSError:
            # It is gone: the next one of its name counts from its own start.
            continue


def sample(reached_at=()):
    """`reached_at`: addresses by which this host is known to others, that of its servers first."""
    values = dict(link_changes(reached_at))
    for part in (cpu(), load(), memory(), disk(), tcp()):
        values.update(part)
    values["speed"] = round(speed(), 1)
    for name, value in network():
        values[name] = values.get(name, 0) + value
    return values
