"""What the kernel counts of the whole host: CPU by mode, load, run queue, memory, disk and network."""

import functools
import os

METRICS = {
    "cpu.*": ("counter", "cores"),  # seconds of CPU per second
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
    for line in lines("/proc/stat"):
        words = line.split()
        if words[0] == "cpu":
            for mode, value in zip(CPU, words[1:]):  # noqa: B905  (old Pythons have no `strict`)
                yield "cpu." + mode, int(value) / TICK
        elif words[0] in ("procs_running", "procs_blocked", "ctxt"):
            yield words[0], int(words[1])


def load():
    yield "load.1min", float(lines("/proc/loadavg")[0].split()[0])


def memory():
    for line in lines("/proc/meminfo"):
        name, _, value = line.partition(":")
        if name in MEMORY:
            yield MEMORY[name], int(value.split()[0]) * 1024


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


def sample():
    values = {}
    for part in (cpu(), load(), memory(), disk()):
        values.update(part)
    for name, value in network():
        values[name] = values.get(name, 0) + value
    return values
