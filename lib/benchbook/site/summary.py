"""What a page says first: what came out in a sentence, a badge, and how far to trust it. Made of the results alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchbook.analysis.formatting import span
from benchbook.analysis.results import JudgedClaim, Results, SystemSummary, Verdict
from benchbook.claims import section
from benchbook.grouping import grouped

# Systems that the sentence names; the facts below it name all of them.
_MOST_NAMED = 3
_TO_TEST = (
    "The results at scaled levels are about this machine, not about the report. To test the report, run its own levels "
    "(-p levels=published) on a machine with enough cores."
)


@dataclass(frozen=True)
class Badge:
    """How a run stands: `look` is a class of the style sheet, `sign` what tells it without colours."""

    look: Literal["good", "warn", "bad", "none"]
    sign: str
    text: str


def headline(found: Results) -> str:
    """ "Restaged on 2 shared cores with TiDB 6.5 and 1,000-row tables: 7 of 16 claims hold, 2 fail, 3 are open." """
    if found.said:
        return found.said
    systems = list(dict.fromkeys(claim.system for claim in found.claims))
    if len(systems) < 2:
        named = list(dict.fromkeys(filter(None, map(short, found.systems))))[:_MOST_NAMED]
        return f"{_restaged(found, named)}: {_counted(found, found.claims)}."
    each = [f"{_called(found, name)}: {_counts([c for c in found.claims if c.system == name])}" for name in systems]
    return f"{_restaged(found, [])}. {'; '.join(each)}."


def _restaged(found: Results, systems: Sequence[str]) -> str:
    """ "Restaged in a smoke run on 2 shared cores with TiDB 6.5 and 1,000-row tables", as far as it is known."""
    smoke = "in a smoke run" if found.profile == "smoke" else ""
    where = f"on {found.setting.where}" if found.setting.where else ""
    parts = _joined([*systems, *([found.setting.data] if found.setting.data else [])])
    return " ".join(filter(None, ("Restaged", smoke, where, f"with {parts}" if parts else "")))


def _counted(found: Results, claims: Sequence[JudgedClaim]) -> str:
    if claims:
        return _counts(claims)
    return f"{found.trials.done} of {found.trials.planned} trials were measured; no claim was judged"


def _counts(claims: Sequence[JudgedClaim]) -> str:
    """Return "7 of 16 claims hold, 2 fail, 3 are open, 4 need a bigger machine (here: 1 holds, 3 open)"."""
    found = Counter(claim.verdict for claim in claims)
    if len(found) == 1:
        every = {1: "the one claim", 2: "both claims"}.get(len(claims), f"all {len(claims)} claims")
        return f"{every} {_DO[next(iter(found))][len(claims) > 1]}{section.here(claims)}"
    several = [(state, found[state]) for state in section.STATES if found[state]]
    here = {"needs a bigger machine": section.here(claims)}
    said = [f"{count} {_DO[state][count > 1]}{here.get(state, '')}" for state, count in several]
    return ", ".join([said[0].replace(" ", f" of {len(claims)} claims ", 1), *said[1:]])


# What one claim, and what several do.
_DO: dict[Verdict, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "fails": ("fails", "fail"),
    "open": ("is open", "are open"),
    "needs a bigger machine": ("needs a bigger machine", "need a bigger machine"),
    "not run": ("was not run", "were not run"),
}


def _joined(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _called(found: Results, name: str) -> str:
    return next((short(system) or system.title or name for system in found.systems if system.name == name), name)


def short(system: SystemSummary) -> str:
    """ "TiDB 6.5": name and first two numbers of the version; empty where the version has no such numbers."""
    name = re.sub(r"\s*\(.*?\)|,.*", "", system.title or system.name)
    own = re.search(rf"\b{re.escape(name.split()[0])}-v?(\d+\.\d+)", system.version, re.IGNORECASE)
    number = own or re.match(r"v?(\d+\.\d+)", system.version)
    # A title may say its version itself: "MySQL 5.7".
    return f"{name.removesuffix(f' {number[1]}')} {number[1]}" if number else ""


def badge(found: Results) -> Badge:
    """Green only where everything was measured, in a run that is long enough to judge by, and a claim is settled."""
    trials = found.trials
    settled = any(claim.verdict in ("holds", "fails") for claim in found.claims)
    if found.failed:
        return Badge("bad", "✕", "Measured; notebook failed" if trials.whole else "Run failed")
    if trials.failed:
        return Badge("warn", "!", f"{trials.failed} failed {'trial' if trials.failed == 1 else 'trials'}")
    if trials.done < trials.planned:
        return Badge("warn", "!", "Incomplete")
    if found.profile == "smoke":
        return Badge("warn", "!", "smoke: shows that it runs")
    if found.claims and not settled:
        return Badge("warn", "!", "Measured; no claim is settled")
    return Badge("good", "✓", "Complete")


def in_a_badge(found: Results) -> str:
    """Return "7 of 16 claims hold"; of a run that cannot say so, how it stands."""
    if not found.claims or found.profile == "smoke" or badge(found).look == "bad":
        return badge(found).text
    every, holding = len(found.claims), sum(claim.verdict == "holds" for claim in found.claims)
    return f"{holding} of {every} {'claim holds' if every == 1 else 'claims hold'}"


def trust(found: Results) -> list[str]:
    """Return how far the result can be trusted, a sentence each, the gravest first."""
    said = []
    if scaled := _scaled_levels(found):
        said = [scaled, _TO_TEST]
    if found.profile == "smoke":
        said.append(
            f"A smoke run shows that everything works; its loads are too short to judge a system by.{_lengths(found)}"
        )
    said += [text for text in (found.setting.unsure, found.setting.crowded) if text]
    replaced = grouped((s for s in found.systems if s.stand_in_for), lambda s: s.stand_in_for or "")
    said += [
        f"{_joined([s.title or s.name for s in part])} stand{'s' if len(part) == 1 else ''} in for {original}."
        for original, part in replaced.items()
    ]
    if "shared" in found.setting.where:
        said.append("Load generator and servers share the cores, so each slows the other.")
    said += [text for text in (_spoilt(found),) if text]
    return said


def _scaled_levels(found: Results) -> str:
    """Say that levels were scaled, and what that means; empty where none were."""
    tables = {
        table: {name: pairs for name, pairs in levels.items() if any(there != str(n) for there, n in pairs.items())}
        for table, levels in found.setting.scaled.items()
    }
    if not any(tables.values()):
        return ""
    return f"Levels are scaled to the cores here: {_joined(_scaled(tables))}."


def _lengths(found: Results) -> str:
    here = next((text for text in found.setting.load if text.endswith("per load")), "")
    published = next((text for text in found.setting.published_load if " per load" in text), "")
    length, _, where = published.partition(" per load")
    return f" {here} here, {length} published{where}." if here and published else ""


def _scaled(tables: Mapping[str, Mapping[str, Mapping[str, int]]]) -> list[str]:
    """ "threads 50 to 400 were run as 1 to 10": over all tables, a text per level."""
    names = sorted({name for levels in tables.values() for name in levels})
    pairs = {name: [pair for levels in tables.values() for pair in levels.get(name, {}).items()] for name in names}
    return [
        f"{name.replace('_', ' ')} {span(there for there, _ in each)} were run as {span(here for _, here in each)}"
        for name, each in pairs.items()
    ]


def _spoilt(found: Results) -> str:
    trials = found.trials
    failed = f"{trials.failed} of {trials.planned} trials failed." if trials.failed else ""
    again = ", and made again" if trials.whole else ""
    what = f"{trials.disturbed} {'measurement was' if trials.disturbed == 1 else 'measurements were'} disturbed"
    return " ".join(filter(None, (failed, f"{what}: left out{again}." if trials.disturbed else "")))
