"""What must hold after a fault, checked on files and processes alone.

It shares no code with what it checks: it reads JSON, Parquet and /proc, and knows the layout of a project folder as it
is documented (plan.json, trials/, failed/, site/). A test keeps it so.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

INVARIANTS = {
    "complete": "every planned trial is recorded after at most two reruns",
    "kept": "no record is rewritten",
    "clean": "nothing of the run is alive on the hosts once the lease and 10 s are over",
    "one trial": "one fault costs at most one trial",
    "named": "the reason names the component that failed",
    "exit": "exit status 0 or 1, and 1 leaves a page; 2 only where nothing was loaded; every run ends",
    "traceback": "no traceback in the output",
    "secret": "no secret in the output, the records, the pages or the process lists",
    "whole": "every record is whole: its series opens, its times are in order, it has a line for each second",
    "apart": "two drivers never load the hosts at the same time",
}
# A series may begin and end with a sample just outside the load: probes sample once a second.
EDGE_S = 2.5
# Characters of what is quoted.
_MOST_SHOWN = 300
_TAKEN = "of the CPU was|programs that are no part of the run"
_HOST_LATE = r"^the supervisor of .* stood still|its heartbeat came that late$|^no sample of host "
_TRACE = re.compile(r"Traceback \(most recent call last\)|^  File \".*\", line \d+", re.MULTILINE)


@dataclass(frozen=True)
class Violation:
    """One thing that does not hold: the invariant's name (see INVARIANTS) and what was found."""

    invariant: str
    what: str


@dataclass(frozen=True)
class RunSeen:
    """A run as its user saw it. `status` is None where it had to be ended, `killed` where the fault itself ended it.

    `may_refuse`: exit status 2 is an answer to this fault; `paged`: a page stood in site/ when it had ended. `met`: it
    met the fault, and must say so where it failed.
    """

    what: str
    status: int | None
    output: str
    killed: bool = False
    may_refuse: bool = False
    paged: bool = True
    met: bool = True


@dataclass
class RoundSeen:
    """A round as it was seen from outside, all that the checker is told.

    `homes`: the project folder, and the second driver's. `lost`: trials that the fault cost. `named_by`: a pattern that
    a reason of this fault must hold; "" = there is nobody to give one. `lasted`: when the fault began and was over
    (s since 1970); a load outside of it was disturbed by something else. `on_hosts`: it was done to a part of a host.
    `left`: command lines still alive on the hosts when their time was over. `command_lines`: all that were seen of the
    round meanwhile.
    """

    homes: Sequence[Path]
    runs: Sequence[RunSeen]
    time_s: int
    lost: int = 0
    named_by: str = ""
    lasted: tuple[float, float] = (0.0, math.inf)
    on_hosts: bool = True
    left: Sequence[str] = ()
    secrets: Sequence[str] = ()
    command_lines: Iterable[str] = ()
    rewritten: Sequence[str] = ()


@dataclass
class KeptRecords:
    """The hash of every whole record when it was first seen; `look` adds new ones and notes those that changed."""

    first: dict[Path, str] = field(default_factory=dict)
    rewritten: dict[Path, str] = field(default_factory=dict)

    def look(self, homes: Iterable[Path]) -> None:
        for home in homes:
            for folder in whole_records(home):
                self._one(folder)
        self.rewritten.update({folder: "was taken away" for folder in self.first if not folder.exists()})

    def _one(self, folder: Path) -> None:
        try:
            now = digest(folder)
        except FileNotFoundError:
            self.rewritten[folder] = "was taken away"
            return
        if self.first.setdefault(folder, now) != now:
            self.rewritten[folder] = "was rewritten"

    @property
    def said(self) -> list[str]:
        return [f"{folder.name} {what}" for folder, what in self.rewritten.items()]


def check(seen: RoundSeen) -> list[Violation]:
    """Every invariant, asked of a round that is over; empty where all hold."""
    answers: dict[str, Iterable[str]] = {
        "complete": _incomplete(seen.homes[0]),
        "kept": seen.rewritten,
        "clean": [f"still alive: {words}" for words in seen.left],
        "one trial": [f"{seen.lost} trials were lost"] if seen.lost > 1 else [],
        "named": _unnamed(seen),
        "exit": _exits(seen.runs),
        "traceback": (f"{run.what}: {_short(run.output)}" for run in seen.runs if _TRACE.search(run.output)),
        "secret": _told(seen),
        "whole": (problem for home in seen.homes for problem in _broken(home, seen.time_s)),
        "apart": _overlaps(seen.homes),
    }
    return [Violation(name, what) for name, said in answers.items() for what in said]


# -- the files of a project folder ------------------------------------------------------------------------------------


def campaigns(home: Path) -> list[Path]:
    """Folders of campaigns: those with a plan."""
    return sorted(plan.parent for plan in home.glob("data/runs/*/*/plan.json"))


def whole_records(home: Path) -> list[Path]:
    """Folders of the records that count: whole ones whose status is `done`."""
    folders = [path for campaign in campaigns(home) for path in sorted(campaign.glob("trials/*/"))]
    return [path for path in folders if not path.name.endswith(".partial") and _status(path) == "done"]


def planned(home: Path) -> set[tuple[str, str]]:
    """(campaign, trial) of every plan."""
    plans = {folder.name: _json(folder / "plan.json") for folder in campaigns(home)}
    return {(name, trial["id"]) for name, plan in plans.items() for trial in plan["trials"]}


def done(home: Path) -> set[tuple[str, str]]:
    """(campaign, trial) of every whole record."""
    return {(folder.parents[1].name, folder.name) for folder in whole_records(home)}


def reasons(home: Path) -> list[str]:
    """What the attempts that failed, or were disturbed, say of themselves."""
    return [_said(record) for record in _spoilt(home)]


def _spoilt(home: Path) -> Iterator[dict[str, Any]]:
    """Records of attempts that failed, or were disturbed."""
    for campaign in campaigns(home):
        for path in sorted({*campaign.glob("failed/*/record.json"), *campaign.glob("*/*/record.json")}):
            record = _json(path)
            if record.get("status") != "done":
                yield record


def _said(record: Mapping[str, Any]) -> str:
    return json.dumps({key: record.get(key) for key in ("failure", "disturbed", "validity")})


def digest(folder: Path) -> str:
    """One hash over the names and contents of a folder's files."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def _status(folder: Path) -> str:
    path = folder / "record.json"
    try:
        return str(_json(path).get("status", ""))
    except (OSError, ValueError):
        # A folder under its final name claims to be whole: that it is not is for `_broken` to say.
        return "done"


def _json(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


# -- the invariants ---------------------------------------------------------------------------------------------------


def _incomplete(home: Path) -> Iterator[str]:
    asked, got = planned(home), done(home)
    if not asked:
        yield "no plan was written"
    for campaign, trial in sorted(asked - got):
        yield f"{trial} of {campaign} has no record"


def _unnamed(seen: RoundSeen) -> Iterator[str]:
    """Only what the fault may have spoilt needs its name: an attempt, or a run that says that it failed."""
    told = [_said(record) for record in _spoilt(seen.homes[0]) if not _of_the_machine(record, seen)]
    told += [run.output for run in seen.runs if run.met and run.status]
    if told and seen.named_by and not re.search(seen.named_by, "\n".join(told), re.IGNORECASE):
        yield f"nothing matches /{seen.named_by}/ in: {' | '.join(map(_short, told))}"


def _of_the_machine(record: Mapping[str, Any], seen: RoundSeen) -> bool:
    """Was a measurement disturbed by nothing but what else the machine did? Beside other work its processes come late.

    What a host's own clock tells of its processes is no sign of a fault that was done to none of them.
    """
    told = record.get("disturbed") or []
    if not told or record.get("failure"):
        return False
    began, over = seen.lasted
    if record["ended"] < began or over < record["started"]:
        return True
    signs = _TAKEN if seen.on_hosts else f"{_TAKEN}|{_HOST_LATE}"
    return all(re.search(signs, why) for why in told)


def _exits(runs: Sequence[RunSeen]) -> Iterator[str]:
    for run in runs:
        allowed = {0, 1, 2} if run.may_refuse else {0, 1}
        if run.status is None:
            yield f"{run.what} did not end"
        elif not run.killed and run.status not in allowed:
            yield f"{run.what} ended with {run.status}: {_short(run.output)}"
        elif run.status == 1 and not run.paged:
            yield f"{run.what} ended with 1 and left no page: {_short(run.output)}"


def _told(seen: RoundSeen) -> Iterator[str]:
    texts = [(run.what, run.output) for run in seen.runs]
    texts += [("a process list", words) for words in seen.command_lines]
    for secret in filter(None, seen.secrets):
        for where, text in texts:
            if secret in text:
                yield f"{where} holds a secret"
        for home in seen.homes:
            yield from (f"{path.relative_to(home)} holds a secret" for path in _holding(home, secret))


def _holding(home: Path, secret: str) -> Iterator[Path]:
    for folder in ("data/runs", "site"):
        for path in sorted((home / folder).rglob("*")):
            if path.is_file() and secret.encode() in path.read_bytes():
                yield path


def _broken(home: Path, time_s: int) -> Iterator[str]:
    for folder in whole_records(home):
        try:
            problems = list(_faults_of(folder, time_s))
        except (OSError, ValueError, KeyError, TypeError) as problem:
            problems = [f"cannot be read: {problem!r}"]
        yield from (f"{folder.name}: {problem}" for problem in problems)


def _faults_of(folder: Path, time_s: int) -> Iterator[str]:
    record = _json(folder / "record.json")
    started, ended = float(record["started"]), float(record["ended"])
    rows = pq.read_table(folder / "series.parquet").to_pylist()
    lines = len(re.findall(r"^\[ \d+s \] thds:", (folder / "output.txt").read_text(), re.MULTILINE))
    rates = [row for row in rows if row["source"] == "sysbench" and row["metric"] == "tps"]
    if record["id"] != folder.name:
        yield f"says that it is {record['id']}"
    if not started < ended:
        yield f"started at {started} and ended at {ended}"
    if ended - started < time_s - EDGE_S:
        yield f"its load lasted {ended - started:.1f} s of {time_s}"
    if abs(lines - time_s) > 1:
        yield f"{lines} interval lines were printed in {time_s} s"
    if len(rates) != lines:
        yield f"{len(rates)} seconds in the series, {lines} lines printed"
    outside = [row["t"] for row in rates if not started - EDGE_S <= row["t"] <= ended + EDGE_S]
    if outside:
        yield f"{len(outside)} seconds of its series are outside of its load"


def _overlaps(homes: Sequence[Path]) -> Iterator[str]:
    """Two drivers' loads, by the hosts' clock."""
    if len(homes) < 2:
        return
    first, second = (list(_loads(home)) for home in homes[:2])
    for name, began, ended in first:
        for other, since, until in second:
            if began < until and since < ended:
                both = min(ended, until) - max(began, since)
                yield f"{name} and the second driver's {other} ran together for {both:.1f} s"


def _loads(home: Path) -> Iterator[tuple[str, float, float]]:
    for folder in whole_records(home):
        record = _json(folder / "record.json")
        yield folder.name, float(record["started"]), float(record["ended"])


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _MOST_SHOWN else f"… {words[-_MOST_SHOWN:]}"
