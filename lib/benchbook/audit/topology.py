"""Checks hosts, versions and commands: addresses, what runs where, impossible versions, options that were replaced."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations, zip_longest

from benchbook.audit.findings import Outcomes
from benchbook.documents.findings import Finding, Passed, Severity
from benchbook.published.report_file import Report, SystemFact, TextFact

_ADDRESS = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\d)")
_VERSION = re.compile(r"\d+(?:\.\d+)*")


def topology(report: Report) -> Outcomes:
    """Passages against the report's hosts, and systems against what is known of their versions."""
    runs = {host.address: host.runs for host in report.hosts if host.address}
    for fact in report.text_facts if runs else []:
        yield from _addresses(fact, runs)
    for fact in report.text_facts:
        yield from _placements(fact, runs)
    yield from _versions(report)
    for system in report.systems:
        yield from _options(report, system)


# -- hosts ----------------------------------------------------------------------------------------------------------


def _addresses(fact: TextFact, runs: Mapping[str, list[str]]) -> Outcomes:
    """Every address in a passage must be that of a published host; a report that prints no hosts cannot be asked."""
    for address in dict.fromkeys(_ADDRESS.findall(fact.printed)):
        if address in runs:
            yield Passed("host", 1)
            continue
        nearest = min(sorted(runs), key=lambda host: _distance(host, address))
        slips = ", ".join(f"{b} in place of {a}" for a, b in _differing(nearest, address))
        yield Finding(
            id=f"text.{fact.id}.{address}",
            where=f"text ({fact.where})",
            kind="host",
            severity="contradiction",
            sentence=f"{address} is none of the {len(runs)} hosts of the report; the nearest is {nearest}, "
            f"which runs {', '.join(runs[nearest])}.",
            arithmetic=[f"{address} against {nearest}: {slips}", f"printed: {_around(fact, address)}"],
        )


def _differing(host: str, address: str) -> list[tuple[str, str]]:
    return [(a, b) for a, b in zip(host.split("."), address.split("."), strict=True) if a != b]


def _distance(host: str, address: str) -> tuple[int, int]:
    """Return how many numbers differ, and by how much in sum."""
    differing = _differing(host, address)
    return len(differing), sum(abs(int(a) - int(b)) for a, b in differing)


def _around(fact: TextFact, word: str) -> str:
    """Return the words of a passage in which `word` stands."""
    return " ".join(part for part in fact.printed.split() if word in part)


def _placements(fact: TextFact, runs: Mapping[str, list[str]]) -> Outcomes:
    """A passage that puts roles on addresses: each must run there, and roles that share hosts must share one here."""
    roles = {role for names in runs.values() for role in names}
    placed = {name: value for name, value in fact.values.items() if name in roles and isinstance(value, str)}
    for role, address in placed.items():
        if role in runs.get(address, [role]):
            yield Passed("placement", 1)
            continue
        hosts = ", ".join(host for host, names in runs.items() if role in names)
        sentence = f"The text has {role} on {address}, the topology on {hosts}."
        yield _misplaced(fact, role, "contradiction", sentence, [f"{address} runs {', '.join(runs[address])}"])
    for one, other in combinations(placed, 2):
        shared = [address for address, names in runs.items() if one in names and other in names]
        if len(shared) > 1 and placed[one] != placed[other]:
            sentence = (
                f"The text puts {one} on {placed[one]} and {other} on {placed[other]}, while the topology has a {one} "
                f"and a {other} on each of {' and '.join(shared)}: which pair was used, and what the other ones did, "
                "is not said."
            )
            lines = [f"text: {fact.printed}", *(f"topology: {host} runs {', '.join(runs[host])}" for host in shared)]
            yield _misplaced(fact, f"{one}.{other}", "suspicious", sentence, lines)


def _misplaced(fact: TextFact, roles: str, severity: Severity, sentence: str, lines: list[str]) -> Finding:
    return Finding(
        id=f"text.{fact.id}.{roles}",
        where=f"text ({fact.where}); topology",
        kind="placement",
        severity=severity,
        sentence=sentence,
        arithmetic=lines,
    )


# -- versions and commands --------------------------------------------------------------------------------------------


def _number(version: str) -> tuple[int, ...] | None:
    """Return the leading number of a version: (5, 7, 25) of "5.7.25-log"; None where there is none."""
    found = _VERSION.search(version)
    return tuple(int(part) for part in found[0].split(".")) if found else None


def _older(version: str, than: str) -> bool | None:
    mine, limit = _number(version), _number(than)
    if mine is None or limit is None:
        return None
    # 1.0 is not older than 1.0.0.
    pairs = list(zip_longest(mine, limit, fillvalue=0))
    return [one for one, _ in pairs] < [other for _, other in pairs]


def _versions(report: Report) -> Outcomes:
    """Systems of one printed version are judged together: it was printed once for all of them."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for system in report.systems:
        if system.version and system.earliest:
            key = (system.version, system.earliest.version, system.earliest.why)
            groups.setdefault(key, []).append(system.name)
    for (version, earliest, why), names in groups.items():
        if _older(version, earliest) is False:
            yield Passed("version", len(names))
        elif _older(version, earliest):
            yield Finding(
                id=f"version.{names[0].replace(' ', '_')}",
                where="versions of the systems",
                kind="version",
                severity="contradiction",
                sentence=f"{' and '.join(names)} cannot be of version {version}: {why}.",
                arithmetic=[f"{version} < {earliest}"],
            )


def _options(report: Report, system: SystemFact) -> Outcomes:
    """Options in commands of a system that its printed version has replaced; nothing is said without a version."""
    commands = [fact for fact in report.text_facts if system.name.lower() in fact.printed.lower().split()]
    given_up = [old for old in system.old_options if system.version and _older(system.version, old.since) is False]
    used = [
        (fact, old)
        for fact in commands
        for old in given_up
        if old.option in {word.partition("=")[0] for word in fact.printed.split()}
    ]
    wrong = {fact.id for fact, _ in used}
    yield Passed("option", len(commands) - len(wrong) if given_up else 0)
    use = "uses" if len(wrong) == 1 else "use"
    if used:
        yield Finding(
            id=f"options.{system.name}",
            kind="option",
            severity="note",
            where="; ".join(f"text ({where})" for where in dict.fromkeys(fact.where for fact, _ in used)),
            sentence=f"{len(wrong)} of {len(commands)} commands {use} options that were replaced "
            f"before {system.name} {system.version}, the version that is printed.",
            arithmetic=[
                f"{fact.id}: {_around(fact, old.option)}; since {old.since} {old.instead}" for fact, old in used
            ],
        )
