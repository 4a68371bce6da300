"""Host settings that the inventory allows the kit to change: set for the run, put back at its end."""

from __future__ import annotations

import json
from collections.abc import Iterable

from benchbook.errors import SettingsLost
from benchbook.hosts.agent import Command, Ended, Job, program_on
from benchbook.hosts.fanout import on_each
from benchbook.hosts.host import Host, with_retry
from benchbook.hosts.host_models import Tuned
from benchbook.hosts.session import Session
from benchbook.hosts.timeouts import LONGEST_S, SET_WITHIN_S, until


def tune(session: Session) -> dict[str, Tuned]:
    """Per host on which any was set: knob -> was, now. They are put back when the session ends or its lease runs out.

    Raise HostUnusable where a knob that is allowed cannot be set, except in a lab: whose machine that is, nobody knew.
    """
    hosts = [host for host in session.hosts.values() if host.host.tune]
    found = on_each("tuning", hosts, lambda host: _tune(session, host))
    return {name: knobs for name, knobs in found.items() if knobs}


def left_behind(hosts: Iterable[Host]) -> dict[str, list[tuple[str, str, str]]]:
    """Per host, on which the login may look (it is root's): (file, now, before) of what killed runs have left set."""
    found = on_each("looking for settings that were left", hosts, with_retry(_left))
    return {name: files for name, files in found.items() if files}


def _left(host: Host) -> list[tuple[str, str, str]]:
    said = host.run([*program_on(host, "hosts", "machine.py"), "left", "/"]).stdout
    return [(str(file), str(now), str(before)) for file, now, before in json.loads(said)]


def reach_again(session: Session) -> None:
    """Return once every host of the session is connected, within the lease, and set as it was for the run.

    What was put back meanwhile is set once more: a host ends what holds it when no driver renews its lease, say. Raise
    HostUnreachable, and HostUnusable where a setting cannot be made again.
    """
    session.reach()
    lost = [session.hosts[name] for name in _lost(session)]
    for host in lost:
        session.end(session.tuning[host.name])
        session.tuning[host.name].remove()
    on_each("tuning again", lost, lambda host: _tune(session, host))


def check_tuned(session: Session) -> None:
    """Raise SettingsLost where what `tune` had set is not known to have held until now."""
    if lost := _lost(session):
        why = "; ".join(
            ended.from_outside(f"what holds the settings of {name}")
            or f"what holds the settings of {name} has ended ({session.tuning[name].stderr().strip() or 'no word'})"
            for name, ended in lost.items()
        )
        raise SettingsLost(f"{why}; what `tune` had set was put back in mid-load")


def _lost(session: Session) -> dict[str, Ended]:
    """Hosts on which what held the settings has ended, and how."""
    holding = [session.hosts[name] for name in session.tuning]
    found = on_each("looking at settings", holding, with_retry(lambda host: session.tuning[host.name].status()))
    return {name: ended for name, ended in found.items() if ended}


def _tune(session: Session, host: Host) -> Tuned:
    host = host.by_root
    program = program_on(host, "hosts", "machine.py")
    is_root = host.is_root
    lab = session.inventory.lab
    argv = [*program, "set", "/", "no" if is_root else "yes", "no" if lab else "yes", *host.host.tune]
    job = session.start(host, "tune", Command(argv, timeout_s=LONGEST_S, grace_s=10))
    ended, said = until(lambda: _answer(job), SET_WITHIN_S) or (None, b"")
    if ended and lab and host.name not in session.tuning:
        return {}
    if ended or not said:
        problem = f"a setting cannot be changed: {job.stderr().strip() or 'no answer'}"
        fix = "take it off the list" + ("" if is_root else ", or let the SSH user run `sudo -n python3`")
        raise session.inventory.unusable(host.name, problem, key="tune", value=", ".join(host.host.tune), fix=fix)
    session.tuning[host.name] = job
    tuned: Tuned = json.loads(said)
    return tuned


def _answer(job: Job) -> tuple[Ended | None, bytes] | None:
    """Return how it ended, and what it printed; None while it runs and has not printed a whole line."""
    ended, said = job.status(), job.stdout()
    return (ended, said) if ended or said.endswith(b"\n") else None
