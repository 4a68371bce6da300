"""Prints, as one JSON object, what a reader of a benchmark must know about this host. One run per host and campaign."""

import glob
import json
import os
import platform
import resource
import struct
import subprocess
import sys
import time


def text(path, default=""):
    try:
        with open(path) as source:
            return source.read().strip()
    except (OSError, UnicodeDecodeError):
        return default


def chosen(path):
    """The [bracketed] choice of a kernel setting such as transparent_hugepage/enabled."""
    words = [word for word in text(path).split() if word.startswith("[")]
    return words[0].strip("[]") if words else text(path)


def cpu():
    fields = {}  # type: dict[str, str]
    for line in text("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    virtual = "hypervisor" in fields.get("flags", "").split()
    turbo = text("/sys/devices/system/cpu/cpufreq/boost")
    no_turbo = text("/sys/devices/system/cpu/intel_pstate/no_turbo")
    return {
        "cpu_model": fields.get("model name") or platform.processor() or platform.machine(),
        "cores": os.sysconf("SC_NPROCESSORS_ONLN"),
        "cores_allowed": len(os.sched_getaffinity(0)),
        "numa_nodes": len(glob.glob("/sys/devices/system/node/node[0-9]*")) or 1,
        "governor": text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "not exposed"),
        "idle": idle(virtual),
        "turbo": {"1": "on", "0": "off"}.get(turbo) or {"1": "off", "0": "on"}.get(no_turbo, "not exposed"),
        "virtual": virtual,
    }


def page_reporting():
    """Whether free memory is given back to the hypervisor: its blocks from so many pages upwards (a power of two)."""
    from_order = text("/sys/module/page_reporting/parameters/page_reporting_order")
    # Node, zone, and the number of free blocks of 1, 2, 4, ... pages. Where nobody asks for reports they begin above,
    # or at -1.
    blocks = text("/proc/buddyinfo").partition("\n")[0].split()[4:]
    if not (from_order and blocks):
        return "not exposed"
    return "on" if 0 <= int(from_order) < len(blocks) else "off"


def idle(virtual):
    """What CPUs do that have nothing to do; any sleep of a virtual one takes its hypervisor to wake it."""
    states = []
    for state in glob.glob("/sys/devices/system/cpu/cpu0/cpuidle/state[0-9]*"):
        if text(state + "/name") != "POLL" and text(state + "/disable") != "1":
            states.append((int(text(state + "/latency", "0")), text(state + "/name")))
    states.sort()
    try:
        # Root's to read: how many microseconds a CPU may take to wake.
        with open("/dev/cpu_dma_latency", "rb") as limit:
            (within_us,) = struct.unpack("i", limit.read(4))
    except OSError:
        within_us = None
    allowed = [state for state in states if within_us is None or state[0] <= within_us]
    if not allowed:
        return "stay awake" if states else "not exposed"
    light = allowed == states[:1] and not virtual
    return "sleep lightly (%s)" % allowed[0][1] if light else "sleep: " + ", ".join(name for _, name in allowed)


def mount_of(folder):
    """(device, filesystem) of the mount that holds `folder`: the longest mount point that is its prefix."""
    best = ("", "unknown", "unknown")
    real = os.path.realpath(folder)
    for line in text("/proc/mounts").splitlines():
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
    spins = text(queue % block) or text(queue % parent)
    return {
        "disk_device": device,
        "disk_kind": {"0": "not rotational", "1": "rotational"}.get(spins, "not exposed"),
        "filesystem": kind,
        "disk_free_bytes": room.f_bavail * room.f_frsize,
        "disk_total_bytes": room.f_blocks * room.f_frsize,
    }


def memory():
    values = {}
    for line in text("/proc/meminfo").splitlines():
        key, _, value = line.partition(":")
        values[key] = int(value.split()[0]) * 1024
    return {
        "memory_bytes": values.get("MemTotal"),
        "memory_available_bytes": values.get("MemAvailable"),
        "swap_bytes": values.get("SwapTotal"),
        "page_reporting": page_reporting(),
        "thp": chosen("/sys/kernel/mm/transparent_hugepage/enabled") or "not exposed",
        "swappiness": text("/proc/sys/vm/swappiness"),
    }


def os_facts():
    release = {}
    for line in text("/etc/os-release").splitlines():
        key, _, value = line.partition("=")
        release[key] = value.strip('"')
    return {
        "hostname": platform.node(),
        "os": release.get("PRETTY_NAME", platform.system()),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "boot_id": text("/proc/sys/kernel/random/boot_id"),
        "open_files_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "load_1min": os.getloadavg()[0],
        "python": platform.python_version(),
    }


def clock():
    """Whether the clock is kept by somebody; the offset to the driver is measured from over there."""
    try:
        said = subprocess.run(
            ["timedatectl", "show", "-p", "NTPSynchronized"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=5,
            check=False,
        ).stdout.decode()
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    return {"ntp_synchronized": said.strip().rpartition("=")[2] or "unknown"}


def main(argv):
    folder = argv[0] if argv else "."
    facts = {}  # type: dict[str, object]
    for part in (os_facts(), cpu(), memory(), disk(folder), clock(), {"now": time.time()}):
        facts.update(part)
    print(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
