"""Sets what spoils a measurement on this host for as long as a run lasts, and puts it back.

    tune.py ROOT SUDO ALL KNOB ...      ROOT is /; SUDO and ALL are yes or no

Prints one line of JSON, {knob: {"was": ..., "now": ...}}, once all is set, then waits to be ended. Where one cannot be
set, none is, and it ends with status 1; if not ALL are asked for, the others are. The settings are
held by a second process in a session of its own (under `sudo -n` if asked for), which puts them back when its standard
input ends: whatever becomes of the first one, kill -9 included, the pipe between them closes.
"""

import glob
import json
import os
import signal
import struct
import subprocess
import sys

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


def read(path):
    with open(path) as source:
        text = source.read().strip()
    # A choice is shown as "always [madvise] never".
    return text[text.index("[") + 1 : text.index("]")] if "[" in text else text


def write(path, value):
    with open(path, "w") as out:
        out.write(value)


def find(root, knob):
    for pattern, wanted, names in KNOBS[knob]:
        paths = sorted(glob.glob(os.path.join(root, pattern)))
        if paths:
            return paths, wanted, names
    raise OSError("this host does not expose it")


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
    with open(os.path.join(root, "proc/cpuinfo")) as source:
        within_us = 0 if " hypervisor" in source.read() else latency_us
    path = os.path.join(root, WAKES_WITHIN)
    with open(path, "rb") as limit:
        (before_us,) = struct.unpack("i", limit.read(4))
    os.write(os.open(path, os.O_WRONLY), struct.pack("i", within_us))
    now = "sleep lightly (%s)" % name if within_us else "stay awake"
    return {"was": now if before_us <= within_us else "may sleep", "now": now}


def set_files(root, knob, changed):
    """Write what is wanted; what was written goes to `changed`, as (path, what it was)."""
    paths, wanted, names = find(root, knob)
    before = [read(path) for path in paths]
    for path, was in zip(paths, before):  # noqa: B905 - Python 3.7 has no `strict`
        if was != wanted:
            write(path, wanted)
            changed.append((path, was))
    was = sorted({names.get(value, value) for value in before})
    return {"was": ", ".join(was), "now": names.get(wanted, wanted)}


def put_back(changed):
    while changed:
        write(*changed.pop())


def hold(root, every, knobs):
    """Set the knobs, say so, and put them back when standard input ends."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    changed: "list[tuple[str, str]]" = []
    said = {}
    for knob in knobs:
        own: "list[tuple[str, str]]" = []
        try:
            said[knob] = keep_awake(root) if knob == "idle" else set_files(root, knob, own)
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
    holder = subprocess.Popen(
        (["sudo", "-n"] if sudo == "yes" else []) + words, stdin=subprocess.PIPE, start_new_session=True
    )
    hold_on = holder.stdin
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: hold_on and hold_on.close())
    sys.exit(holder.wait())


if __name__ == "__main__":
    if sys.argv[1] == "hold":
        hold(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
