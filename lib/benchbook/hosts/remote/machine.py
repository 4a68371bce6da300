"""What a machine is, and what of it is set for as long as a run lasts.

    machine.py facts FOLDER       print what a reader of a benchmark must know about it (JSON); FOLDER is the kit's
    machine.py can-bind ADDRESS   print why no server here can bind to this name or address; nothing where one can
    machine.py set ROOT SUDO ALL KNOB ...
                                  set what spoils a measurement; ROOT is /; SUDO and ALL are yes or no
    machine.py left ROOT          print what killed runs have left set (JSON): [[file, now, before], ...]

`set` prints one line of JSON, {knob: {"was": ..., "now": ...}}, once all is set, then waits to be ended. Where one
cannot be set, none is, and it ends with status 1; if not ALL are asked for, the others are. The settings are held by a
second process in a session of its own (under `sudo -n` if asked for), which puts them back when its standard input
ends: whatever becomes of the first one, kill -9 included, the pipe between them closes.

Two labs on one machine may hold the same setting. What it was before the first of them set it stands in a file below
PLACE, on which each holds a lock: the last of them puts it back. A holder that is killed (kill -9) leaves the setting
and that file: whoever holds any setting next puts back what the file says.

Python 3.7 and its standard library, and nothing else: this is copied to hosts.
"""

import contextlib
import fcntl
import glob
import json
import mmap
import os
import platform
import resource
import signal
import socket
import struct
import subprocess
import sys
import time

CPU = "sys/devices/system/cpu/"
# Knob: files that may exist, what a benchmark wants in them, and what their values are called where that is not the
# value itself. Of each knob the first pattern that exists is used.
KNOBS: "dict[str, list[tuple[str, str, dict[str, str]]]]" = {
    "governor": [(CPU + "cpu[0-9]*/cpufreq/scaling_governor", "performance", {})],
    "turbo": [
        (CPU + "intel_pstate/no_turbo", "1", {"1": "off", "0": "on"}),
        (CPU + "cpufreq/boost", "0", {"0": "off", "1": "on"}),
    ],
    "thp": [("sys/kernel/mm/transparent_hugepage/enabled", "never", {})],
    "swappiness": [("proc/sys/vm/swappiness", "1", {})],
}
NOT_EXPOSED = "not exposed"
# What keeps CPUs awake that have nothing to do: how long one may take to wake, in us as four bytes, for as long as this
# file is open (Documentation/power/pm_qos_interface.rst in the kernel's sources).
WAKES_WITHIN = "dev/cpu_dma_latency"
# A virtual machine whose hypervisor asks for it reports free blocks of so many pages and more, as a power of two, and
# has to fault them in again there (Documentation/mm/free_page_reporting.rst).
REPORTS_FROM = "sys/module/page_reporting/parameters/page_reporting_order"
# So much of its memory a virtual machine uses once, for so long at most: what a lab takes in `smoke` (1.1 to 4.1 GB; in
# other profiles TiDB takes what is beyond it in its rehearsal), and a share of what there is.
TOUCHED_B, TOUCHED_SHARE, TOUCH_S, TOGETHER = 4 << 30, 1 / 3, 15.0, 2
LIMITS = ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes")
# Root's own, and gone with the machine's boot, as settings are.
PLACE = "run/benchbook-tune"


def read(path):
    with open(path) as source:
        text = source.read().strip()
    # A choice is shown as "always [madvise] never".
    return text[text.index("[") + 1 : text.index("]")] if "[" in text else text


def write(path, value):
    with open(path, "w") as out:
        out.write(value)


def lines_of(path):
    """Return the lines of a file; none of one that is not there."""
    try:
        with open(path, errors="replace") as source:
            return source.read().splitlines()
    except OSError:
        return []


def fields_of(path, separator=":"):
    """Return the `key: value` lines of a file; of a key that stands several times, the first."""
    fields = {}  # type: dict[str, str]
    for line in lines_of(path):
        key, _, value = line.partition(separator)
        fields.setdefault(key.strip(), value.strip().strip('"'))
    return fields


def find(root, knob):
    for pattern, wanted, names in KNOBS[knob]:
        paths = sorted(glob.glob(os.path.join(root, pattern)))
        if paths:
            return paths, wanted, names
    raise OSError("this host does not expose it")


def is_virtual(root):
    return "hypervisor" in fields_of(os.path.join(root, "proc/cpuinfo")).get("flags", "").split()


def sleeps(root):
    """Return (us to wake, name) of each sleep of a CPU that nobody has disabled, the lightest first."""
    states = []
    for state in glob.glob(os.path.join(root, CPU + "cpu0/cpuidle/state[0-9]*")):
        disabled = os.path.exists(state + "/disable") and read(state + "/disable") == "1"
        # State 0 is often none.
        if read(state + "/name") != "POLL" and not disabled:
            states.append((int(read(state + "/latency")), read(state + "/name")))
    return sorted(states)


def reports_none(root):
    """From which order on no block is so large: node, zone, and the number of free blocks of 1, 2, 4, ... pages."""
    return max(0, len("".join(lines_of(os.path.join(root, "proc/buddyinfo"))[:1]).split()) - 4)


# -- facts ------------------------------------------------------------------------------------------------------------


def now(knob):
    """Return how a knob is set, in the words of its table."""
    try:
        paths, _, names = find("/", knob)
        value = read(paths[0])
    except OSError:
        return NOT_EXPOSED
    return names.get(value, value)


def cpu():
    fields = fields_of("/proc/cpuinfo")
    return {
        "cpu_model": fields.get("model name") or platform.processor() or platform.machine(),
        "cores": os.sysconf("SC_NPROCESSORS_ONLN"),
        "cores_allowed": len(os.sched_getaffinity(0)),
        "numa_nodes": len(glob.glob("/sys/devices/system/node/node[0-9]*")) or 1,
        "governor": now("governor"),
        "idle": idle(),
        "turbo": now("turbo"),
        "virtual": is_virtual("/"),
    }


def idle():
    """What CPUs do that have nothing to do; any sleep of a virtual one takes its hypervisor to wake it."""
    states = sleeps("/")
    try:
        # Root's to read: how many microseconds a CPU may take to wake.
        with open("/" + WAKES_WITHIN, "rb") as limit:
            (within_us,) = struct.unpack("i", limit.read(4))
    except OSError:
        within_us = None
    allowed = [state for state in states if within_us is None or state[0] <= within_us]
    if not allowed:
        return "stay awake" if states else NOT_EXPOSED
    light = allowed == states[:1] and not is_virtual("/")
    return "sleep lightly (%s)" % allowed[0][1] if light else "sleep: " + ", ".join(name for _, name in allowed)


def page_reporting(root="/"):
    """Whether free memory is given back to the hypervisor; where nobody asks for it blocks begin above, or at -1."""
    path, none = os.path.join(root, REPORTS_FROM), reports_none(root)
    if not (os.path.exists(path) and none):
        return NOT_EXPOSED
    return "on" if 0 <= int(read(path)) < none else "off"


def memory():
    sizes = {key: int(value.split()[0]) * 1024 for key, value in fields_of("/proc/meminfo").items()}
    return {
        "memory_bytes": sizes.get("MemTotal"),
        "memory_available_bytes": sizes.get("MemAvailable"),
        "swap_bytes": sizes.get("SwapTotal"),
        "page_reporting": page_reporting(),
        "thp": now("thp"),
        "swappiness": now("swappiness"),
    }


def mount_of(folder):
    """(device, filesystem) of the mount that holds `folder`: the longest mount point that is its prefix."""
    best = ("", "unknown", "unknown")
    real = os.path.realpath(folder)
    for line in lines_of("/proc/mounts"):
        device, point, kind = line.split()[:3]
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0]):
            best = (point, device, kind)
    return best[1], best[2]


def disk(folder):
    device, kind = mount_of(folder)
    room = os.statvfs(folder)
    block = os.path.basename(os.path.realpath(device))
    parent = os.path.basename(os.path.dirname(os.path.realpath("/sys/class/block/" + block)))
    queue = "/sys/class/block/%s/queue/rotational"
    spins = "".join(lines_of(queue % block) or lines_of(queue % parent))
    return {
        "disk_device": device,
        "disk_kind": {"0": "not rotational", "1": "rotational"}.get(spins, NOT_EXPOSED),
        "filesystem": kind,
        "disk_free_bytes": room.f_bavail * room.f_frsize,
        "disk_total_bytes": room.f_blocks * room.f_frsize,
    }


def system():
    return {
        "hostname": platform.node(),
        "os": fields_of("/etc/os-release", "=").get("PRETTY_NAME", platform.system()),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "boot_id": "".join(lines_of("/proc/sys/kernel/random/boot_id")),
        "open_files_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "load_1min": os.getloadavg()[0],
        "python": platform.python_version(),
    }


def clock():
    """Whether the clock is kept by somebody; the offset to the driver is measured from over there."""
    words = ["timedatectl", "show", "-p", "NTPSynchronized"]
    try:
        ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=5, check=False)
        said = ran.stdout.decode().strip().rpartition("=")[2]
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    return {"ntp_synchronized": said or "unknown", "now": time.time()}


def facts(folder):
    return {**system(), **cpu(), **memory(), **disk(folder), **clock()}


def why_no_server(address):
    try:
        found = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM)
    except OSError as problem:
        return problem.strerror
    for family, kind, protocol, _, where in found:
        try:
            with socket.socket(family, kind, protocol) as server:
                server.bind(where)
            return ""
        except OSError as problem:
            said = problem.strerror
    return said


# -- settings, and who holds them --------------------------------------------------------------------------------------


@contextlib.contextmanager
def alone(place):
    """No other holder sets or puts back meanwhile; it takes milliseconds."""
    os.makedirs(place, 0o700, exist_ok=True)
    with open(os.path.join(place, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def nobody_else(note):
    """Whether no other holder has this setting; if so, it is this one's alone until it is shared or closed."""
    try:
        fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def known(root):
    """Every file that is ever set on this host, and to what."""
    for patterns in KNOBS.values():
        for pattern, wanted, _ in patterns:
            for path in sorted(glob.glob(os.path.join(root, pattern))):
                yield path, wanted
    path = os.path.join(root, REPORTS_FROM)
    if os.path.exists(path):
        yield path, str(reports_none(root))


def left(root, put_back=False):
    """[file, now, before] of all that a killed run has left set, and nobody holds or has set since."""
    place = os.path.join(root, PLACE)
    found = []  # type: list[list[str]]
    if not os.path.isdir(place):
        return found
    with alone(place):
        for path, wanted in known(root):
            name = os.path.join(place, path.replace("/", "_"))
            if not os.path.exists(name):
                continue
            with open(name) as note:
                was = note.read() if nobody_else(note) and read(path) == wanted else wanted
                if was not in ("", wanted):
                    found.append([path, wanted, was])
                    if put_back:
                        restore(path, was, note)
    return found


def restore(path, was, note):
    """Put a setting back; one that cannot be keeps no other from what it had, and what it was stays written down."""
    try:
        # It may never have been set: written down, that would be put back once somebody else sets it.
        if read(path) != was:
            write(path, was)
        os.unlink(note.name)
    except OSError as problem:
        sys.stderr.write("%s is not %s again: %s\n" % (path, was, problem.strerror))


def take(root, path, wanted, changed):
    """Set a file to what is wanted, if it is another, and return what it was before anybody did.

    What must be put back goes to `changed`: the file, and the note of what it was.
    """
    place = os.path.join(root, PLACE)
    with alone(place):
        note = open(os.path.join(place, path.replace("/", "_")), "a+")  # noqa: SIM115 - it is held until `put_back`
        note.seek(0)
        was = note.read()
        # Else a killed run has set it, and it could not be put back.
        if nobody_else(note) and (not was or read(path) != wanted):
            was = read(path)
            note.truncate(0)
            note.write(was)
            note.flush()
        if was == wanted:
            note.close()
        else:
            fcntl.flock(note, fcntl.LOCK_SH)
            # Before it is written: what says that it failed may have done so half-way.
            changed.append((path, note))
            write(path, wanted)
    return was


def put_back(changed):
    """What no other holder has as well."""
    while changed:
        path, note = changed.pop()
        with note, alone(os.path.dirname(note.name)):
            if nobody_else(note):
                note.seek(0)
                restore(path, note.read(), note)


# -- knobs ------------------------------------------------------------------------------------------------------------


def keep_awake(root):
    """Until this process ends. A CPU that sleeps deeply wakes up to 0.1 ms late, as often as a statement waits.

    A CPU of its own is left its lightest sleep (C1: 1 or 2 us, and what shares its core has all of it meanwhile); for a
    virtual one any sleep is to leave it to its hypervisor.
    """
    states = sleeps(root)
    if not states:
        raise OSError("this host does not expose it")
    latency_us, name = states[0]
    within_us = 0 if is_virtual(root) else latency_us
    path = os.path.join(root, WAKES_WITHIN)
    with open(path, "rb") as limit:
        (before_us,) = struct.unpack("i", limit.read(4))
    os.write(os.open(path, os.O_WRONLY), struct.pack("i", within_us))
    held = "sleep lightly (%s)" % name if within_us else "stay awake"
    return {"was": held if before_us <= within_us else "may sleep", "now": held}


def keep_memory(root, changed):
    """A virtual machine keeps what is freed, and has some of it from the first.

    A page that its hypervisor has taken back, or never gave, costs 5 to 18 us to use, one that it holds 2.
    """
    if not is_virtual(root):
        # Nobody takes it.
        return {"was": "kept", "now": "kept"}
    path, was, none = os.path.join(root, REPORTS_FROM), "kept", reports_none(root)
    # It is -1 where no hypervisor has asked for reports.
    if os.path.exists(path) and 0 <= int(read(path)) <= none and int(take(root, path, str(none), changed)) < none:
        was = "given back when free"
    return {"was": was, "now": "kept, %.1f GB of it used once" % (touch(to_touch(root)) / 1e9)}


def to_touch(root):
    """Bytes: of what programs may still have, or of the container's limit, a share."""
    available = int(fields_of(os.path.join(root, "proc/meminfo"))["MemAvailable"].split()[0])
    limits = [os.path.join(root, name) for name in LIMITS]
    most = [int(read(path)) for path in limits if os.path.exists(path) and read(path).isdigit()]
    return min(TOUCHED_B, int(TOUCHED_SHARE * min([1024 * available] + most)))


def touch(size):
    """Write to so many bytes, by processes that end; returns how many they were in time for."""
    started = []
    for _ in range(TOGETHER):
        from_it, to_us = os.pipe()
        if not os.fork():
            # Whatever becomes of it, it must not go on as a second holder: what it does not say counts as nothing.
            try:
                os.write(to_us, b"%d" % touched(size // TOGETHER))
            finally:
                os._exit(0)
        os.close(to_us)
        started.append(from_it)
    said = []
    for pipe in started:
        with os.fdopen(pipe, "rb") as source:
            said.append(int(source.read() or 0))
        os.wait()
    return sum(said)


def touched(size):
    # Should memory be short after all, this is what the kernel ends.
    write("/proc/self/oom_score_adj", "1000")
    until, done, step = time.monotonic() + TOUCH_S, 0, 2 << 20
    pages, once = mmap.mmap(-1, size + step), b"1" * (step // mmap.PAGESIZE)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # It is faster so; a kernel built without them refuses.
        with contextlib.suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE)
    while done < size and time.monotonic() < until:
        # A byte of each page. One by one, half as long again.
        pages[done : done + step : mmap.PAGESIZE] = once
        done += step
    return done


def set_files(root, knob, changed):
    """Write what is wanted; what is to be put back goes to `changed`."""
    paths, wanted, names = find(root, knob)
    before = [take(root, path, wanted, changed) for path in paths]
    was = sorted({names.get(value, value) for value in before})
    return {"was": ", ".join(was), "now": names.get(wanted, wanted)}


def setting(root, knob, changed):
    if knob == "idle":
        return keep_awake(root)
    return keep_memory(root, changed) if knob == "memory" else set_files(root, knob, changed)


def hold(root, every, knobs):
    """Set the knobs, say so, and put them back when standard input ends."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    changed: "list[tuple[str, object]]" = []
    said = {}
    left(root, put_back=True)
    for knob in knobs:
        own: "list[tuple[str, object]]" = []
        try:
            said[knob] = setting(root, knob, own)
        except OSError as problem:
            put_back(own)
            if every == "yes":
                put_back(changed)
                sys.exit("%s: %s" % (knob, problem))
        changed += own
    print(json.dumps(said), flush=True)
    sys.stdin.read()
    put_back(changed)


def start_holder(root, sudo, every, knobs):
    """Start the process that holds the settings; end it by closing its input, and only then end."""
    words = [sys.executable, os.path.abspath(__file__), "hold", root, every] + knobs
    try:
        holder = subprocess.Popen(
            (["sudo", "-n"] if sudo == "yes" else []) + words, stdin=subprocess.PIPE, start_new_session=True
        )
    except FileNotFoundError as problem:
        sys.exit("there is no %s on this host" % problem.filename)
    hold_on = holder.stdin
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: hold_on and hold_on.close())
    sys.exit(holder.wait())


def main(verb="", *words):
    if verb == "facts":
        print(json.dumps(facts(*words)))
    elif verb == "can-bind":
        print(why_no_server(*words))
    elif verb == "left":
        print(json.dumps(left(*words)))
    elif verb == "hold":
        hold(words[0], words[1], words[2:])
    elif verb == "set":
        start_holder(words[0], words[1], words[2], list(words[3:]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
