"""Sets what spoils a measurement on this host for as long as a run lasts, and puts it back.

    tune.py ROOT SUDO ALL KNOB ...      ROOT is /; SUDO and ALL are yes or no
    tune.py left ROOT                   prints what killed runs have left set, as JSON: [[file, now, before], ...]

Prints one line of JSON, {knob: {"was": ..., "now": ...}}, once all is set, then waits to be ended. Where one cannot be
set, none is, and it ends with status 1; if not ALL are asked for, the others are. The settings are
held by a second process in a session of its own (under `sudo -n` if asked for), which puts them back when its standard
input ends: whatever becomes of the first one, kill -9 included, the pipe between them closes.

Two labs on one machine may hold the same setting. What it was before the first of them set it stands in a file below
PLACE, on which each holds a lock: the last of them puts it back. A holder that is killed (kill -9) leaves the setting
and that file: whoever holds any setting next puts back what the file says, at once or, of a setting that it holds
itself, at its end.
"""

import contextlib
import fcntl
import glob
import json
import mmap
import os
import signal
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


def left_behind(note, path, wanted):
    """What a file was before a holder that could not put it back; "" if there was none, or the file was set since."""
    note.seek(0)
    return note.read() if read(path) == wanted else ""


def known(root):
    """Every file that is ever set on this host, and to what."""
    for patterns in KNOBS.values():
        for pattern, wanted, _ in patterns:
            for path in sorted(glob.glob(os.path.join(root, pattern))):
                yield path, wanted
    path = os.path.join(root, REPORTS_FROM)
    if os.path.exists(path):
        yield path, str(reports_none(root))


def left(root, put_back=()):
    """[file, now, before] of all that a killed run has left set, and nobody holds; those of `put_back` are put back."""
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
                was = left_behind(note, path, wanted) if nobody_else(note) else ""
            if was and was != wanted:
                found.append([path, wanted, was])
                if path in put_back:
                    write(path, was)
                    os.unlink(name)
    return found


def put_back_left(root, knobs):
    """What killed runs have left and this one does not hold: each by itself, whatever becomes of the others."""
    held = [pattern for knob in knobs for pattern, _, _ in KNOBS.get(knob, [])]
    mine = {path for pattern in held for path in glob.glob(os.path.join(root, pattern))}
    mine |= {os.path.join(root, REPORTS_FROM)} if "memory" in knobs else set()
    for path, _, was in left(root):
        if path in mine:
            continue
        try:
            left(root, [path])
        except OSError as problem:
            sys.stderr.write("%s is not %s again: %s\n" % (path, was, problem.strerror))


def take(root, path, wanted, changed):
    """Set a file to what is wanted, if it is another, and return what it was before anybody did.

    What must be put back goes to `changed`: the file, and the note of what it was.
    """
    place = os.path.join(root, PLACE)
    with alone(place):
        note = open(os.path.join(place, path.replace("/", "_")), "a+")  # noqa: SIM115 - it is held until `put_back`
        if nobody_else(note):
            was = left_behind(note, path, wanted) or read(path)
            note.truncate(0)
            note.write(was)
            note.flush()
        else:
            note.seek(0)
            was = note.read()
        if was == wanted:
            note.close()
        else:
            fcntl.flock(note, fcntl.LOCK_SH)
            # Before it is written: what says that it failed may have done so half-way.
            changed.append((path, note))
            write(path, wanted)
    return was


def find(root, knob):
    for pattern, wanted, names in KNOBS[knob]:
        paths = sorted(glob.glob(os.path.join(root, pattern)))
        if paths:
            return paths, wanted, names
    raise OSError("this host does not expose it")


def is_virtual(root):
    with open(os.path.join(root, "proc/cpuinfo")) as source:
        return " hypervisor" in source.read()


def lightest_sleep(root):
    """(us to wake, name) of the lightest sleep of a CPU that nobody has disabled; state 0 is often none."""
    states = []
    for state in glob.glob(os.path.join(root, CPU + "cpu0/cpuidle/state[0-9]*")):
        disabled = os.path.exists(state + "/disable") and read(state + "/disable") == "1"
        if read(state + "/name") != "POLL" and not disabled:
            states.append((int(read(state + "/latency")), read(state + "/name")))
    if not states:
        raise OSError("this host does not expose it")
    return min(states)


def keep_awake(root):
    """Until this process ends. A CPU that sleeps deeply wakes up to 0.1 ms late, as often as a statement waits.

    A CPU of its own is left its lightest sleep (C1: 1 or 2 us, and what shares its core has all of it meanwhile); for a
    virtual one any sleep is to leave it to its hypervisor.
    """
    latency_us, name = lightest_sleep(root)
    within_us = 0 if is_virtual(root) else latency_us
    path = os.path.join(root, WAKES_WITHIN)
    with open(path, "rb") as limit:
        (before_us,) = struct.unpack("i", limit.read(4))
    os.write(os.open(path, os.O_WRONLY), struct.pack("i", within_us))
    now = "sleep lightly (%s)" % name if within_us else "stay awake"
    return {"was": now if before_us <= within_us else "may sleep", "now": now}


def reports_none(root):
    """From which order on no block is so large: node, zone, and the number of free blocks of 1, 2, 4, ... pages."""
    with open(os.path.join(root, "proc/buddyinfo")) as source:
        return len(source.readline().split()) - 4


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
    with open(os.path.join(root, "proc/meminfo")) as source:
        fields = dict(line.split(":") for line in source.read().splitlines())
    limits = [os.path.join(root, name) for name in LIMITS]
    most = [int(read(path)) for path in limits if os.path.exists(path) and read(path).isdigit()]
    return min(TOUCHED_B, int(TOUCHED_SHARE * min([1024 * int(fields["MemAvailable"].split()[0])] + most)))


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
    memory, once = mmap.mmap(-1, size + step), b"1" * (step // mmap.PAGESIZE)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # It is faster so; a kernel built without them refuses.
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    while done < size and time.monotonic() < until:
        # A byte of each page. One by one, half as long again.
        memory[done : done + step : mmap.PAGESIZE] = once
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


def put_back(changed):
    """What no other holder has as well; each by itself: a CPU that is gone keeps no other from what it had."""
    while changed:
        path, note = changed.pop()
        with note, alone(os.path.dirname(note.name)):
            if not nobody_else(note):
                continue
            note.seek(0)
            was = note.read()
            os.unlink(note.name)
            try:
                write(path, was)
            except OSError as problem:
                sys.stderr.write("%s is not %s again: %s\n" % (path, was, problem.strerror))


def hold(root, every, knobs):
    """Set the knobs, say so, and put them back when standard input ends."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    changed: "list[tuple[str, object]]" = []
    said = {}
    put_back_left(root, knobs)
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


def main(root, sudo, every, knobs):
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


if __name__ == "__main__":
    if sys.argv[1] == "left":
        print(json.dumps(left(sys.argv[2])))
    elif sys.argv[1] == "hold":
        hold(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
