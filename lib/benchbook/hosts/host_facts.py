"""Host facts and the preflight: what a host is, and what about it would spoil a measurement."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

from benchbook.errors import HostUnusable
from benchbook.hosts import open_ports
from benchbook.hosts.agent import program_on
from benchbook.hosts.host import Host, with_retry
from benchbook.hosts.host_models import HostFacts, HostFinding, Survey, Tuned
from benchbook.hosts.session import Session, clock_offset
from benchbook.hosts.timeouts import FACTS_S
from benchbook.hosts.tuning import left_behind, tune

T = TypeVar("T")

# Beyond this the clocks of driver and host do not tell the same story within one second of a series.
CLOCK_OFFSET_S = 0.5
# Samples come once a second: of clocks further apart, one host's stand beside what another did at other times.
CLOCKS_APART_S = 1.0
OPEN_FILES = 4096
# What is written there goes to memory, or to another host, and not to a disk that could be measured.
NO_DISKS = ("tmpfs", "nfs", "nfs4", "cifs")
# What a host writes that only drives loads: their output, and samples.
DRIVING_BYTES = 10**9


def gather(host: Host) -> HostFacts:
    """Facts of one host, with `clock_offset_s` (host minus driver, good to half the round trip, `clock_error_s`)."""
    program = program_on(host, "hosts", "machine.py")
    before = time.time()
    facts = json.loads(host.run([*program, "facts", host.root], timeout=FACTS_S).stdout)
    offset, error = clock_offset(host)
    asked = {"address": host.address, "roles": list(host.host.roles), "asked_at": before}
    return HostFacts(**facts, **asked, clock_offset_s=offset, clock_error_s=error)


def preflight(
    session: Session,
    *,
    disk_bytes: int,
    tuned: Mapping[str, Tuned] = MappingProxyType({}),
    timed_here: bool = False,
) -> tuple[dict[str, HostFacts], list[HostFinding]]:
    """Facts per host, where these were tuned, and what is off.

    `disk_bytes` must be free on a host that holds data, or be taken by what earlier runs left; one that only drives
    loads needs DRIVING_BYTES of them.
    Raise HostUnusable where the disk cannot hold what the run will write, and for clocks so far apart that no load can
    be laid beside what the hosts did meanwhile.
    """
    facts = _as_tuned(session.each("reading host facts", with_retry(gather)), tuned)
    _check_clocks(session, facts, timed_here=timed_here)
    for name, about in facts.items():
        # No data set lies on a host that only drives loads.
        needed = min(disk_bytes, DRIVING_BYTES) if set(about.roles) == {"client"} else disk_bytes
        # Looked for only where it decides: to add up many files takes a while.
        if about.disk_free_bytes < needed and about.disk_free_bytes + (kept := _kept(session.hosts[name])) < needed:
            raise session.inventory.unusable(
                name,
                f"too little disk on host {name}: the run needs {needed / 1e9:.1f} GB in its folder",
                key="workdir",
                value=f"{about.disk_free_bytes / 1e9:.1f} GB free, {kept / 1e9:.1f} GB of earlier runs",
                fix=f"free space below {session.hosts[name].root}, "
                f"{session.inventory.elsewhere(name, 'a folder on a larger disk')}, or choose a smaller profile",
            )
    leftovers = [
        _finding(name, "leftover processes", ", ".join(jobs), "none (they were ended)", waived=False)
        for name, jobs in session.reaped.items()
    ]
    leftovers += open_ports.findings(session.inventory, session.hosts)
    return facts, leftovers + [finding for name, about in facts.items() for finding in _findings(name, about)]


def check_addresses(session: Session) -> None:
    """Raise HostUnusable for a host whose servers cannot bind to its address."""
    session.each("asking for their addresses", with_retry(check_address))


def check_address(host: Host) -> None:
    """Raise HostUnusable where servers are to bind to what is no address of their host: an alias, or that of a NAT."""
    if not set(host.host.roles) - {"client", *open_ports.EVERYWHERE}:
        return
    why = host.run([*program_on(host, "hosts", "machine.py"), "can-bind", host.address]).stdout.strip()
    if not why:
        return
    own, ssh_address = host.probe().own_address, host.host.ssh_address or host.address
    if own in ("", host.address, "::1") or own.startswith("127."):
        own = "AN ADDRESS OF ITS OWN"  # a tunnel ends there
    said = f"servers on host {host.name} cannot listen on this address: {why}"
    fix = f"write `address: {own}` and `ssh_address: {ssh_address}`"
    raise host.inventory.unusable(host.name, said, key="address", value=host.address, fix=fix)


def _once_a_machine(found: Mapping[str, T], facts: Mapping[str, HostFacts]) -> dict[str, T]:
    """Of hosts of one machine, the first; of those whose machine is not known, each."""
    first = {facts[name].boot_id or name: name for name in reversed(list(found))}
    return {name: found[name] for name in found if name in first.values()}


def _kept(host: Host) -> int:
    """Bytes that earlier runs left in the host's folder: data sets that are used again, and data that goes first."""
    said = host.run(["du", "-sk", "--", host.root], timeout=600, check=False).stdout.split()
    return 1024 * int(said[0]) if said else 0


def _check_clocks(session: Session, facts: Mapping[str, HostFacts], *, timed_here: bool) -> None:
    """Raise HostUnusable for clocks that are apart.

    What one host did under a load is found by its clock, and the load by that of the client, or of the driver.
    """
    clocks = {f"host {name}": (about.clock_offset_s, about.clock_error_s) for name, about in facts.items()}
    clocks |= {"the driver": (0.0, 0.0)} if timed_here else {}
    behind, ahead = min(clocks, key=clocks.__getitem__), max(clocks, key=clocks.__getitem__)
    apart_s = clocks[ahead][0] - clocks[behind][0]
    if apart_s - clocks[ahead][1] - clocks[behind][1] > CLOCKS_APART_S:
        said = f"the clock of {ahead} is ahead of that of {behind}: what is sampled would stand beside other times"
        fix = "set both clocks by NTP (on each: sudo apt-get install chrony)"
        raise HostUnusable(said, file=session.inventory.file, key="hosts", value=f"{apart_s:.1f} s", fix=fix)


def _as_tuned(facts: dict[str, HostFacts], tuned: Mapping[str, Tuned]) -> dict[str, HostFacts]:
    """Return the facts with what idle CPUs do, which only root can read; hosts of a lab are one machine."""
    now = {facts[name].boot_id or name: knobs["idle"]["now"] for name, knobs in tuned.items() if "idle" in knobs}
    return {
        name: about.model_copy(update={"idle": now.get(about.boot_id or name, about.idle)})
        for name, about in facts.items()
    }


def survey(session: Session, *, disk_gb: float, timed_here: bool = False) -> Survey:
    """The part of a campaign's environment that every experiment has: `hosts` (facts), `findings`, what was `tuned`.

    The inventory's `tune` is applied first, so that the facts are those that the run was measured under. `timed_here`:
    loads are timed by the driver's clock.
    """
    check_addresses(session)
    tuned = tune(session)
    facts, findings = preflight(session, disk_bytes=int(disk_gb * 1e9), tuned=tuned, timed_here=timed_here)
    findings = [*findings, *_left_set(session, facts), *_unseen(session.hosts, facts)]
    return Survey(hosts=facts, findings=findings, tuned=tuned)


def _unseen(hosts: Mapping[str, Host], facts: Mapping[str, HostFacts]) -> list[HostFinding]:
    """Machines where this login cannot see others' disk use: only root and a program's owner read /proc/PID/io."""
    return [
        _finding(name, "disk use of other accounts", "not seen: this login is not root", "root, or nobody else there")
        for name, host in _once_a_machine(hosts, facts).items()
        if not host.by_root.is_root
    ]


def _left_set(session: Session, facts: Mapping[str, HostFacts]) -> list[HostFinding]:
    """Settings that killed runs have left, each once a machine, and how they are put back."""
    machines = _once_a_machine(session.hosts, facts)
    roots = {name: host.by_root for name, host in machines.items() if host.by_root.is_root}
    return [
        _finding(
            name, f"{file}, which a killed run has set", now, f"{before}, as it was: echo {before} | sudo tee {file}"
        )
        for name, files in left_behind(roots.values()).items()
        for file, now, before in files
    ]


def _finding(host: str, what: str, found: str, wanted: str, *, waived: bool = True) -> HostFinding:
    return HostFinding(host=host, what=what, found=found, wanted=wanted, waived=waived)


def _findings(name: str, about: HostFacts) -> list[HostFinding]:
    """Return what is not as a benchmark wants it; nothing here stops the run."""
    checks = [
        (about.governor not in ("performance", "not exposed"), "CPU governor", about.governor, "performance"),
        (about.turbo == "on", "turbo", "on", "off, or a note: clock speed varies with load and heat"),
        (
            about.idle.startswith("sleep:"),
            "idle CPUs",
            about.idle,
            "kept awake (`tune: [idle]`): a CPU that sleeps answers late",
        ),
        (
            about.page_reporting == "on",
            "free memory",
            "given back to the hypervisor",
            "kept (`tune: [memory]`): getting a page back takes longer than using it",
        ),
        (about.thp == "always", "transparent huge pages", "always", "madvise or never"),
        (about.numa_nodes > 1, "NUMA nodes", str(about.numa_nodes), "servers pinned, or one node"),
        (about.virtual, "virtual machine", "yes", "no: other guests share the cores"),
        (about.swap_bytes and about.swappiness not in ("0", "1"), "swappiness", about.swappiness, "0 or 1"),
        (
            about.open_files_limit < OPEN_FILES,
            "open files limit",
            str(about.open_files_limit),
            f">= {OPEN_FILES}",
        ),
        (
            about.filesystem in NO_DISKS and set(about.roles) != {"client"},
            "data folder",
            f"on {about.filesystem}",
            "on a disk of the host (`workdir`; of a lab: move the project)",
        ),
        (about.load_1min > 0.5 * about.cores, "load before the run", f"{about.load_1min:.1f} (1-min average)", "idle"),
        (
            abs(about.clock_offset_s) - about.clock_error_s > CLOCK_OFFSET_S,
            "clock offset to the driver",
            f"{about.clock_offset_s:.3f} s",
            f"within {CLOCK_OFFSET_S} s",
        ),
        (about.ntp_synchronized == "no", "clock synchronisation", "no", "yes"),
    ]
    return [_finding(name, what, found, wanted) for off, what, found, wanted in checks if off]
