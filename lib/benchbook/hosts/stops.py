"""What stood still on a host while jobs ran there: commands that somebody had stopped, supervisors that woke late."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from benchbook.hosts.about import Json

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost

_COMMAND, _SUPERVISOR = "command", "supervisor"
# A clock that nothing is known of may be off by so much.
CLOCKS_APART_S = 60.0


@dataclass(frozen=True)
class Stop:
    """The `job` of this name stood still on `host`: its command (somebody stopped it), or only its supervisor.

    `began` and `ended` are seconds since the epoch by the host's clock; `ended` is None while it still stands.
    """

    host: str
    job: str
    what: str
    began: float
    ended: float | None


def read(host: RemoteHost, lease: str) -> list[Stop]:
    """All that the jobs under this lease have stood still so far, as supervise.py wrote it down."""
    data = host.read(f"{lease}.stopped")
    return stops_in(host.name, data[: data.rfind(b"\n") + 1].decode().splitlines())


def stops_in(host: str, lines: Iterable[str]) -> list[Stop]:
    """The lines of one host's file, each command's "stopped" and "continued" put together."""
    found: list[Stop] = []
    standing: dict[str, int] = {}
    for said in map(json.loads, lines):
        job, _, _ = said["job"].rpartition("-")
        if said["state"] == "late":
            found.append(Stop(host, job, _SUPERVISOR, said["t"] - said["late_s"], said["t"]))
        elif said["state"] == "stopped":
            standing[said["job"]] = len(found)
            found.append(Stop(host, job, _COMMAND, said["t"], None))
        elif said["job"] in standing:
            at = standing.pop(said["job"])
            found[at] = replace(found[at], ended=said["t"])
    return found


def since(began: float, told: Iterable[Sequence[Stop]], first: Mapping[str, float]) -> list[Stop]:
    """Of what all hosts told, what still stood at a trial's `first` sample of that host, or later.

    Of a host without samples, what still stood a minute before `began`, which is the driver's clock.
    """
    every = [stop for part in told for stop in part]
    return [s for s in every if s.ended is None or s.ended > first.get(s.host, began - CLOCKS_APART_S)]


def proof(stopped: Sequence[Stop]) -> Json:
    """What stands of it in a record."""
    return {"stopped": [asdict(stop) for stop in stopped]} if stopped else {}
