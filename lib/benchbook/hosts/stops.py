"""What stood still on a host while jobs ran there: commands that somebody had stopped, supervisors that woke late."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from benchbook.hosts.about import Json
from benchbook.hosts.holder import since_in_words

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost

_COMMAND, _SUPERVISOR = "command", "supervisor"
# A clock that nothing is known of may be off by so much.
UNKNOWN_CLOCK_S = 60.0


@dataclass(frozen=True)
class Stop:
    """A job stood still on `host`: its command (somebody stopped it), or only its supervisor.

    `job` is its name, `folder` that of its folder. `began` and `ended` are seconds since the epoch, in the time of the
    host's samples; `ended` is None while it still stands, and where it was killed before it went on.
    """

    host: str
    job: str
    folder: str
    what: str
    began: float
    ended: float | None

    def earlier(self, seconds: float) -> Stop:
        """The same by a clock that is so much behind."""
        return replace(self, began=self.began - seconds, ended=None if self.ended is None else self.ended - seconds)

    def __str__(self) -> str:
        who = self.job if self.what == _COMMAND else f"the supervisor of {self.job}"
        until = f" until {since_in_words(self.ended)}" if self.ended else " and has not gone on"
        return f"{who} on {self.host} was stopped at {since_in_words(self.began)}{until}"


def read(host: RemoteHost, lease: str) -> list[Stop]:
    """All that the jobs under this lease have stood still so far, as supervise.py wrote it down."""
    data = host.read(f"{lease}.stopped")
    found = stops_in(host.name, _whole(data[: data.rfind(b"\n") + 1].decode().splitlines()))
    return [stop.earlier(host.ahead_s) for stop in found]


def _whole(lines: Iterable[str]) -> list[str]:
    """Those that were written to their end: of the others a disk that was full took only a part."""
    return [line for line in lines if line.endswith("}")]


def stops_in(host: str, lines: Iterable[str]) -> list[Stop]:
    """The lines of one host's file, each command's "stopped" and "continued" put together."""
    found: list[Stop] = []
    standing: dict[str, int] = {}
    for said in map(json.loads, lines):
        folder, at = said["job"], said["t"]
        job, _, _ = folder.rpartition("-")
        if said["state"] == "late":
            found.append(Stop(host, job, folder, _SUPERVISOR, at - said["late_s"], at))
        elif said["state"] == "stopped":
            standing[folder] = len(found)
            found.append(Stop(host, job, folder, _COMMAND, at, None))
        elif folder in standing:
            begun = standing.pop(folder)
            found[begun] = replace(found[begun], ended=at)
    return found


def of_trial(told: Iterable[Sequence[Stop]], first: Mapping[str, float], began: float, alive: Set[str]) -> list[Stop]:
    """Of what all hosts told, what stood still at a trial's `first` sample of that host, or later.

    Of a host without samples, from a minute before `began`, which is the driver's clock. What was killed before the
    trial, while it stood, never went on: only jobs whose folders are in `alive` still stand.
    """

    def concerns(stop: Stop) -> bool:
        since = first.get(stop.host, began - UNKNOWN_CLOCK_S)
        return stop.began > since or (stop.folder in alive if stop.ended is None else stop.ended > since)

    return [stop for part in told for stop in part if concerns(stop)]


def proof(stopped: Sequence[Stop]) -> Json:
    """What stands of it in a record."""
    return {"stopped": [asdict(stop) for stop in stopped]} if stopped else {}
