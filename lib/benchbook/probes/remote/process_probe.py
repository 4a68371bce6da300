"""What groups of processes use: CPU seconds and resident memory, summed over each group, and how many are stopped.

A group is what a job runs: its `pid` file (hosts/remote/agent.py) names the process group. `jobs` maps a label to a
pattern of such files, which is looked up again at every sample, so a job may start after its probe. `cpu.LABEL` only
grows: a process that has ended keeps what it was last seen with. In `rss.LABEL`, memory that forked processes share
counts for each of them.
"""

import collections
import glob
import json
import os

METRICS = {"cpu.*": ("counter", "cores"), "rss.*": ("level", "B"), "stopped.*": ("level", "processes")}
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
# Label -> process -> CPU seconds that it was last seen with.
USED = collections.defaultdict(dict)  # type: collections.defaultdict[str, dict[tuple[str, str], float]]


def groups_of(pattern):
    """Process groups that the pid files name; a file that is being written is read next time."""
    for name in glob.glob(pattern):
        try:
            with open(name) as source:
                yield json.load(source)["group"]
        except (OSError, ValueError, KeyError):
            continue


def processes():
    """(group, (pid, start time), CPU seconds, resident bytes, whether it is stopped) of every process to be read."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid, errors="replace") as source:  # a name may be of any bytes
                words = source.read().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        used = (int(words[11]) + int(words[12])) / TICK
        yield int(words[2]), (pid, words[19]), used, int(words[21]) * PAGE, words[0] == "T"


def sample(jobs):
    seen, values = list(processes()), {}
    for label, pattern in jobs.items():
        wanted = set(groups_of(pattern))
        mine = [(key, cpu, resident, still) for group, key, cpu, resident, still in seen if group in wanted]
        USED[label].update((key, cpu) for key, cpu, _, _ in mine)
        values["cpu." + label] = sum(USED[label].values())
        values["rss." + label] = sum(resident for _, _, resident, _ in mine)
        values["stopped." + label] = sum(still for _, _, _, still in mine)
    return values
