"""CPU and disk that programs use which are no part of the run: `cpu`, `disk` of all of them, `cpu.NAME`, `disk.NAME`
of those that use much. The disk only of those that this login may ask: its own, or all of them if it is root.

Part of the run is what our agent has started (hosts/remote/agent.py), SSH's own processes, the kernel's threads,
and, on the machine that the driver runs on, the driver: `driver` says which that are by the machine's boot id and the
pids; children of the first pid belong to it. All numbers only grow: what has ended keeps what it was last seen with.
What lives for less than an interval is not seen.

In a container, or any PID namespace, the neighbours are not seen either. There `seen.cpu` (time in user mode),
`seen.read` and `seen.written` (bytes of the disk) are of all programs that are, the run's among them: what the machine
has counted beyond that was used by those that are not. Bytes only where this login may ask all of them.
"""

import collections
import os
import resource

METRICS = {
    "cpu": ("counter", "cores"),
    "cpu.*": ("counter", "cores"),
    "disk": ("counter", "B/s"),
    "disk.*": ("counter", "B/s"),
    "seen.cpu": ("counter", "cores"),
    "seen.read": ("counter", "B/s"),
    "seen.written": ("counter", "B/s"),
}
TICK = os.sysconf("SC_CLK_TCK")
SSH = (b"sshd", b"sshd-session", b"sshd-auth")
SUPERVISOR = b"agent.py\0start\0"
# A name of its own is for what has used this much, in CPU seconds, since the probe began.
MUCH_S = 0.1
# The same for the disk, in bytes.
MUCH_B = 1000000
INIT, KERNEL = 1, 2


class Process:
    """One process; its files of /proc stay open, so that the next reading costs less and is never of another one."""

    def __init__(self, pid):
        self.pid, self.file = pid, os.open("/proc/%d/stat" % pid, os.O_RDONLY)
        self.used, self.first = 0.0, None
        self.disk, self.moved, self.moved_first = None, 0, None
        self.user, self.read, self.written = 0.0, 0, 0
        self.look()

    def look_at_disk(self):
        """Bytes that it had the disk read and write (proc(5), /proc/PID/io), where one may ask."""
        if self.disk == REFUSED:
            return
        try:
            if self.disk is None:
                self.disk = os.open("/proc/%d/io" % self.pid, os.O_RDONLY)
            said = dict(line.split(b":") for line in os.pread(self.disk, 1024, 0).splitlines())
        except OSError as problem:
            NOT_ASKED.update(["disk"] if isinstance(problem, PermissionError) else [])
            self.close_disk()
            return
        self.read, self.written = int(said.get(b"read_bytes", 0)), int(said.get(b"write_bytes", 0))
        moved = self.read + self.written
        self.moved_first = moved if self.moved_first is None else self.moved_first
        self.moved = moved - self.moved_first

    def close_disk(self):
        if self.disk not in (None, REFUSED):
            os.close(self.disk)
        self.disk = REFUSED

    def close(self):
        os.close(self.file)
        self.close_disk()

    def look(self):
        head, _, tail = os.pread(self.file, 1024, 0).rpartition(b")")
        words = tail.split(None, 14)
        self.name, self.parent = head.partition(b"(")[2], int(words[1])
        self.user = int(words[11]) / TICK
        cpu = (int(words[11]) + int(words[12])) / TICK
        self.first = cpu if self.first is None else self.first
        self.used = cpu - self.first


REFUSED = -1
SEEN = {}  # type: dict[int, Process | None]
OURS = {}  # type: dict[int, bool]
ENDED = collections.defaultdict(float)  # type: collections.defaultdict[bytes, float]
MOVED = collections.defaultdict(int)  # type: collections.defaultdict[bytes, int]
# Of all that have ended: time in user mode, bytes read and written.
GONE = [0.0, 0, 0]
NOT_ASKED = set()  # type: set[str]


def content(path):
    try:
        with open(path, "rb") as source:
            return source.read()
    except OSError:
        return b""


def supervises(pid):
    return SUPERVISOR in content("/proc/%d/cmdline" % pid)


def ours(pid, here):
    """Whether a process belongs to the run; what it descends from decides, once, when it is first seen."""
    if pid not in OURS:
        process = SEEN.get(pid)
        if process is None:
            return False
        # A login's own process is SSH's; what is typed there is not. Beside the driver's parent run other things.
        above = SEEN.get(process.parent)
        heir = above is not None and above.name not in SSH and process.parent not in (INIT, *here[1:])
        mine = process.name in SSH or pid in here or supervises(pid)
        OURS[pid] = mine or (heir and ours(process.parent, here))
    return OURS[pid]


def forget(pid):
    process = SEEN.pop(pid)
    OURS.pop(pid, None)
    if process is not None:
        ENDED[process.name] += process.used
        MOVED[process.name] += process.moved
        GONE[:] = [GONE[0] + process.user, GONE[1] + process.read, GONE[2] + process.written]
        process.close()


def meet(pid):
    """A pid that was not there before; the kernel's threads are remembered as nobody."""
    try:
        process = Process(pid)
    except (OSError, IndexError):
        return  # it has ended meanwhile
    SEEN[pid] = process
    if KERNEL in (pid, process.parent) and not hides_others():
        process.close()
        SEEN[pid] = None


def hides_others():
    """Whether this is not the first PID namespace of the machine: there is no `kthreadd`."""
    return content("/proc/%d/comm" % KERNEL).strip() != b"kthreadd"


def look(there, here, also_ours):
    """Bring SEEN up to date."""
    for pid in [pid for pid in SEEN if pid not in there]:
        forget(pid)
    for pid in [pid for pid in there if pid not in SEEN]:
        meet(pid)
    for pid, process in list(SEEN.items()):
        if process is None or (ours(pid, here) and not also_ours):
            continue
        try:
            process.look()
            process.look_at_disk()
        except (OSError, IndexError):
            forget(pid)


def sample(driver):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[0] != limits[1]:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    boot = content("/proc/sys/kernel/random/boot_id").decode().strip()
    here = driver["pids"] if driver["boot"] == boot else []
    hidden = hides_others()
    look({int(name) for name in os.listdir("/proc") if name.isdigit()}, here, hidden)
    by_name, moved = ENDED.copy(), MOVED.copy()
    for pid, process in SEEN.items():
        if process is not None and not OURS.get(pid):
            by_name[process.name] += process.used
            moved[process.name] += process.moved
    values = {"cpu." + name.decode(errors="replace"): used for name, used in by_name.items() if used >= MUCH_S}
    disk = {"disk." + name.decode(errors="replace"): used for name, used in moved.items() if used >= MUCH_B}
    if hidden:
        alive = [(process.user, process.read, process.written) for process in SEEN.values() if process is not None]
        seen = ("seen.cpu",) if NOT_ASKED else ("seen.cpu", "seen.read", "seen.written")
        values.update({name: sum(part) for name, part in zip(seen, zip(GONE, *alive))})  # noqa: B905  (old Pythons)
    return dict(values, cpu=sum(by_name.values()), disk=sum(moved.values()), **disk)
