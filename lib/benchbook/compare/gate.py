"""The gate before a verdict: every difference between two environments, and whether it makes the comparison unfair."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from operator import itemgetter
from statistics import median
from typing import Literal

from benchbook.campaign.environment import IMPORTED, UNKNOWN
from benchbook.campaign.store import Campaign
from benchbook.campaign.validity import lost_share
from benchbook.compare import environment_facts
from benchbook.compare.environment_facts import ABSENT, VARIABLE_SET, Facts
from benchbook.errors import BadInput
from benchbook.grouping import grouped

Standing = Literal["unfair", "accepted", "subject"]
ALL = "all"
TAKEN = "host.cpu_taken"
# Shares of the CPU that others took differ by as much from one quiet campaign to the next on a machine that is shared.
APART = 0.1
# What hosts were like while a campaign ran.
OF_HOSTS = ("host", "waived")
# What comes with a declared subject: a version brings settings of its own.
_BRINGS = {"system.version": (VARIABLE_SET,)}
_LONGEST = 90


@dataclass(frozen=True)
class Difference:
    """One fact that differs: its name, the roles or the system it was found at, and both values as text."""

    name: str
    where: str
    a: str
    b: str
    standing: Standing

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return f"{self.name}{place}: {short(self.a)} | {short(self.b)}"


@dataclass(frozen=True)
class Gate:
    """All differences, the unfair ones first. Closed while one of them is neither the subject nor accepted."""

    differences: tuple[Difference, ...]

    @property
    def unfair(self) -> list[Difference]:
        return [d for d in self.differences if d.standing == "unfair"]

    @property
    def open(self) -> bool:
        return not self.unfair

    @property
    def names(self) -> list[str]:
        """Names of the unfair differences, each once: what `accept` or `subject` would have to say."""
        return list(dict.fromkeys(difference.name for difference in self.unfair))

    @property
    def together(self) -> dict[str, int]:
        """What covers these names in `accept` or `subject`, and how many of them: {"asked.scaled.levels": 9}.

        Names of more than two parts stand together by what they share.
        """
        alike = grouped(self.names, lambda name: tuple(name.split(".")[:2]))
        return {_shared(names): len(names) for names in alike.values()}


def check(
    a: Campaign,
    b: Campaign,
    systems: Mapping[str, str],
    *,
    accept: Sequence[str] = (),
    subject: Sequence[str] = (),
    measured: tuple[Facts, Facts] = ({}, {}),
    in_turns: bool = False,
) -> Gate:
    """Hold two environments against each other. `systems` as `of_pair` has them; another system is the subject itself.

    `accept` and `subject` name facts, or their first part (`host`, `system.config`); `accept` may be `all`. `measured`
    are facts of each side that its records hold (`cpu_taken`). Of two that ran `in_turns` on the same hosts, what these
    were like is accepted. Raise BadInput for a name that neither environment has.
    """
    sides = [
        {**one, **two, **three}
        for one, two, three in zip(
            environment_facts.of_pair(a, b, systems),
            environment_facts.load_options(a, b, systems),
            measured,
            strict=True,
        )
    ]
    left, right = sides
    for facts, campaign, called in ((left, a, "A"), (right, b, "B")):
        # Two that nobody knows are not known to be the same.
        if campaign.imported:
            facts[IMPORTED, ""] = f"{UNKNOWN} of {called}"
    known = [name for name, _ in (*left, *right)] + ["system.name", VARIABLE_SET, TAKEN]
    _check_names("accept", [name for name in accept if name != ALL], known)
    _check_names("subject", subject, known)
    granted = [*accept, *(OF_HOSTS if in_turns else ())]
    wide = [*subject, *(brought for name in subject for brought in _BRINGS.get(name, ())), "system.name"]
    found = [
        Difference(name, where, ours, theirs, _standing(name, granted, wide))
        for (name, ours, theirs), where in _merged(left, right).items()
    ]
    order = {"unfair": 0, "subject": 1, "accepted": 2}
    return Gate(tuple(sorted(found, key=lambda d: (order[d.standing], d.name, d.where))))


def cpu_taken(a: Campaign, b: Campaign, systems: Mapping[str, str]) -> tuple[Facts, Facts]:
    """Return the share of the hosts' CPU that others took, median over loads, where it is not about the same in both.

    `systems` leads from those of `a` to those of `b`; two of one campaign took turns beside the same others. Records
    from before anybody looked say nothing.
    """
    if a.folder == b.folder:
        return {}, {}
    ours, theirs = _taken_share(a, systems.keys()), _taken_share(b, systems.values())
    if ours is None or theirs is None or abs(ours - theirs) <= APART:
        return {}, {}
    return {(TAKEN, ""): f"{ours:.0%}"}, {(TAKEN, ""): f"{theirs:.0%}"}


def _taken_share(campaign: Campaign, systems: Collection[str]) -> float | None:
    shares = [lost_share(record.proof) for record in campaign.records() if record.system in systems]
    known = [share for share in shares if share is not None]
    return median(known) if known else None


def _merged(left: Facts, right: Facts) -> dict[tuple[str, str, str], str]:
    """(name, a, b) -> every role or system where it differs so: one machine with four roles is one difference."""
    sides = [
        (name, where, left.get((name, where), ABSENT), right.get((name, where), ABSENT))
        for name, where in dict.fromkeys([*left, *right])
    ]
    differ = sorted(((name, ours, theirs), where) for name, where, ours, theirs in sides if ours != theirs)
    return {what: ", ".join(where for _, where in same if where) for what, same in groupby(differ, key=itemgetter(0))}


def _standing(name: str, accept: Sequence[str], subject: Sequence[str]) -> Standing:
    if any(_covers(given, name) for given in subject):
        return "subject"
    return "accepted" if ALL in accept or any(_covers(given, name) for given in accept) else "unfair"


def _shared(names: Sequence[str]) -> str:
    """Return the parts that all of these names begin with."""
    same = takewhile(lambda parts: len(set(parts)) == 1, zip(*(name.split(".") for name in names), strict=False))
    return ".".join(parts[0] for parts in same)


def _covers(given: str, name: str) -> bool:
    return name == given or name.startswith(f"{given}.")


def _check_names(key: str, given: Iterable[str], known: Sequence[str]) -> None:
    for name in given:
        if not any(_covers(name, fact) for fact in known):
            first = sorted({fact.rsplit(".", 1)[0] if fact.count(".") > 1 else fact for fact in known})
            raise BadInput("no such fact of an environment", key=key, value=name, fix=f"use one of {', '.join(first)}")


def short(text: str, longest: int = _LONGEST) -> str:
    """Return a value as it fits a line."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
