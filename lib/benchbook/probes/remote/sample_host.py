"""Samples this host once a second into a file: CPU by mode, load, run queue, memory, disk and network.

    sample_host.py OUT_FILE [INTERVAL_S]

One JSON line a second: {"t": epoch seconds, "cpu": seconds that this program has used, "v": {name: counter or level}}.
Counters are written as the kernel keeps them; rates are made from the file by whoever reads it. The schedule is
absolute, so samples do not drift.
"""

import json
import os
import signal
import sys
import time

CPU = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
MEMORY = {
    "MemTotal": "memory.total",
    "MemAvailable": "memory.available",
    "Cached": "memory.cached",
    "Dirty": "memory.dirty",
}
STOP = (signal.SIGTERM, signal.SIGINT)


class Source:
    """A file of /proc, kept open: reading it again from its start gives fresh values at a third of the cost."""

    def __init__(self, path):
        self.file = os.open(path, os.O_RDONLY)

    def lines(self):
        return os.pread(self.file, 1 << 16, 0).decode().splitlines()


def cpu(stat):
    tick = os.sysconf("SC_CLK_TCK")
    for line in stat.lines():
        words = line.split()
        if words[0] == "cpu":
            for mode, value in zip(CPU, words[1:]):  # noqa: B905  (old Pythons have no `strict`)
                yield "cpu." + mode, int(value) / tick
        elif words[0] in ("procs_running", "procs_blocked", "ctxt"):
            yield words[0], int(words[1])


def load(loadavg):
    yield "load.1min", float(loadavg.lines()[0].split()[0])


def memory(meminfo):
    for line in meminfo.lines():
        name, _, value = line.partition(":")
        if name in MEMORY:
            yield MEMORY[name], int(value.split()[0]) * 1024


def whole_disks():
    return {name for name in os.listdir("/sys/block") if not name.startswith(("loop", "ram", "zram"))}


def disk(stats, names):
    """Sectors of 512 bytes, whatever the disk's own size (Documentation/admin-guide/iostats.rst)."""
    read = written = reads = writes = 0
    busy = 0.0
    for line in stats.lines():
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


def network(dev):
    for line in dev.lines()[2:]:
        name, _, rest = line.partition(":")
        words = rest.split()
        kind = "loopback" if name.strip() == "lo" else "network"
        yield kind + ".received_bytes", int(words[0])
        yield kind + ".sent_bytes", int(words[8])


def sampler():
    stat, average, meminfo = Source("/proc/stat"), Source("/proc/loadavg"), Source("/proc/meminfo")
    stats, dev, disks = Source("/proc/diskstats"), Source("/proc/net/dev"), whole_disks()

    def sample():
        values = {}
        for part in (cpu(stat), load(average), memory(meminfo), disk(stats, disks)):
            values.update(part)
        for name, value in network(dev):
            values[name] = values.get(name, 0) + value
        return values

    return sample


def main(argv):
    out_path, interval = argv[0], float(argv[1]) if len(argv) > 1 else 1.0
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
    sample, due = sampler(), time.monotonic()
    with open(out_path, "w", buffering=1) as out:
        while True:
            out.write(json.dumps({"t": time.time(), "cpu": time.process_time(), "v": sample()}) + "\n")
            due += interval
            if signal.sigtimedwait(STOP, max(0.0, due - time.monotonic())):
                out.write(json.dumps({"t": time.time(), "cpu": time.process_time(), "v": sample()}) + "\n")
                return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
