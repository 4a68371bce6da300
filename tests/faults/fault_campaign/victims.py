"""Which processes a fault is done to, found from what the run itself keeps: its jobs' pid files, its own children."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from fault_campaign import catalogue
from fault_campaign.draw import PlannedRound
from fault_campaign.home import CLIENT, SERVER, RoundHome
from fault_campaign.moments import LOAD_JOB, PREPARE_JOB, PROBE_JOB, SERVER_JOB, RunSigns

_HOST = {"client": CLIENT, "server": SERVER}


def victims(planned: PlannedRound, signs: RunSigns, driver: int) -> list[int]:
    """Numbers of the processes that are hit; empty where what was there a moment ago has ended."""
    target = planned.fault.target
    if target == catalogue.DRIVER:
        return [driver]
    if target == catalogue.KERNEL:
        return _kernels(driver)
    if target == catalogue.SSHD:
        return [listener(signs.home, planned.place)]
    if target == catalogue.SSHD_SESSION:
        return _sessions(listener(signs.home, planned.place))
    job = _job(planned, signs)
    if job is None:
        return []
    pids = json.loads((job / "pid").read_text())
    pid = int(pids["supervisor" if target == catalogue.SUPERVISOR else "group"])
    return [pid] if psutil.pid_exists(pid) and not (job / "status.json").exists() else []


def _job(planned: PlannedRound, signs: RunSigns) -> Path | None:
    """The folder of the job that is hit: the load's, where there is one, else the server's."""
    busy = {"prepare": PREPARE_JOB, "load": LOAD_JOB}.get(planned.phase, "")
    of_load = signs.jobs(CLIENT, busy) if busy else []
    of_server = signs.jobs(SERVER, SERVER_JOB)
    found = {
        catalogue.GENERATOR: of_load,
        catalogue.SUPERVISOR: of_load or of_server,
        catalogue.SERVER: of_server,
        catalogue.PROBE: signs.jobs(_HOST[planned.place], PROBE_JOB) if planned.place in _HOST else [],
    }[planned.fault.target]
    return found[-1] if found else None


def _kernels(driver: int) -> list[int]:
    children = psutil.Process(driver).children(recursive=True)
    return [child.pid for child in children if "ipykernel_launcher" in " ".join(child.cmdline())]


def listener(home: RoundHome, place: str) -> int:
    """The sshd that listens for a host."""
    return int((home.host(_HOST[place]) / "sshd.pid").read_text())


def _sessions(sshd: int) -> list[int]:
    """What an sshd has forked for the logins that are open; the commands below them are not sshd any more."""
    children = psutil.Process(sshd).children(recursive=True)
    return [child.pid for child in children if child.name().startswith("sshd")]


def start_sshd(home: RoundHome, place: str) -> None:
    """Start a host's sshd again, as the lab had started it; a run that begins meanwhile may have done so."""
    folder = home.host(_HOST[place])
    if psutil.pid_exists(listener(home, place)):
        return
    program = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin:/bin") or "sshd"
    other = "client" if place == "server" else "server"
    subprocess.run(
        [*inside(home, other), program, "-f", str(folder / "sshd_config"), "-E", str(folder / "sshd.log")], check=True
    )


def inside(home: RoundHome, place: str) -> list[str]:
    """The command line that enters the network of a host's sshd."""
    return ["nsenter", f"--target={listener(home, place)}", "--net"]


def is_in_our_network(home: RoundHome, place: str) -> bool:
    return Path(f"/proc/{listener(home, place)}/ns/net").samefile("/proc/self/ns/net")


@contextmanager
def another_key(home: RoundHome, place: str) -> Iterator[None]:
    """Give a host another key than the lab's, which its sshd reads when it starts."""
    folder = home.host(_HOST[place])
    config, other = folder / "sshd_config", folder / "other_key"
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)]
    subprocess.run(words, check=True, capture_output=True)
    before = config.read_text()
    config.write_text(before.replace(f'HostKey "{home.lab}/keys/host"', f'HostKey "{other}"'))
    try:
        yield
    finally:
        config.write_text(before)
        for file in (other, other.with_name("other_key.pub")):
            file.unlink()
