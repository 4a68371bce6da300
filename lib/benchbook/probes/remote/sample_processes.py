"""Samples what groups of processes use, into a file: CPU seconds and resident memory, summed over each group.

    sample_processes.py OUT_FILE INTERVAL_S LABEL=PID_FILE_PATTERN ...

A group is what a supervised job runs: its `pid` file (see supervise.py) names the process group. Patterns are looked up
again at every sample, so a job may start after its probe. One JSON line per sample: {"t": epoch seconds, "v": {...}}
with `cpu.LABEL` (s, only grows: a process that has ended keeps what it was last seen with) and `rss.LABEL` (bytes;
memory that forked processes share counts for each of them).
"""

import glob
import json
import os
import signal
import sys
import time

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
STOP = (signal.SIGTERM, signal.SIGINT)


def groups_of(pattern):
    """Process groups that the pid files name; a file that is being written is read next time."""
    for name in glob.glob(pattern):
        try:
            with open(name) as source:
                yield json.load(source)["group"]
        except (OSError, ValueError, KeyError):
            continue


def processes():
    """(group, (pid, start time), CPU seconds, resident bytes) of every process that can be read."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as source:
                words = source.read().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        yield int(words[2]), (pid, words[19]), (int(words[11]) + int(words[12])) / TICK, int(words[21]) * PAGE


class Groups:
    """What each label has used so far."""

    def __init__(self, patterns):
        self.patterns = patterns
        self.used = {label: {} for label in patterns}  # type: ignore[var-annotated]

    def sample(self):
        seen, values = list(processes()), {}
        for label, pattern in self.patterns.items():
            wanted = set(groups_of(pattern))
            mine = [(key, cpu, resident) for group, key, cpu, resident in seen if group in wanted]
            self.used[label].update((key, cpu) for key, cpu, _ in mine)
            values["cpu." + label] = sum(self.used[label].values())
            values["rss." + label] = sum(resident for _, _, resident in mine)
        return values


def main(argv):
    out_path, interval = argv[0], float(argv[1])
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
    groups, due = Groups(dict(word.split("=", 1) for word in argv[2:])), time.monotonic()
    with open(out_path, "w", buffering=1) as out:
        while True:
            out.write(json.dumps({"t": time.time(), "v": groups.sample()}) + "\n")
            due += interval
            if signal.sigtimedwait(STOP, max(0.0, due - time.monotonic())):
                out.write(json.dumps({"t": time.time(), "v": groups.sample()}) + "\n")
                return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
