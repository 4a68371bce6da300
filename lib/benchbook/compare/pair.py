"""One comparison: two campaigns, the gate between their environments, their cells, and what may be said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict

from benchbook.analysis.schema import RATIOS, typed
from benchbook.campaign.store import Campaign
from benchbook.compare import address, cells, gate, history
from benchbook.compare.cells import NOT_CALLED, OUTCOMES, Group, Outcome
from benchbook.compare.gate import Gate
from benchbook.compare.history import History
from benchbook.errors import BadInput
from benchbook.stats.campaign_effect import STATED, CampaignEffect
from benchbook.stats.cellwise import CONFIDENCE

Verdict = Literal["no regression", "regression", "refused", "differs", "undecided"]
# 2 is every command's status for input that cannot be used.
EXIT: dict[Verdict, int] = {"no regression": 0, "regression": 1, "refused": 3, "differs": 4, "undecided": 4}
# Names of differences that a sentence lists.
_MOST = 6


class CompareParameters(BaseModel):
    """What a comparison is asked for, by a notebook's parameters as by the command's options.

    `a` and `b` are addresses (see `address`); `mapping` holds `SYSTEM_OF_A=SYSTEM_OF_B` pairs. Repeated campaigns count
    as history, but those in `without`. `campaign_effect` is what campaigns of one system are taken to differ by
    (standard deviation, as a share) until a history shows more.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    a: str
    b: str = ""
    accept: list[str] = []
    subject: list[str] = []
    mapping: list[str] = []
    metric: list[str] = []
    margin: float = cells.MARGIN
    without: list[str] = []
    campaign_effect: float = STATED


@dataclass(frozen=True, eq=False)
class Comparison:
    """`a` is the baseline, `b` is held against it: every ratio is b / a. `cells` as `cells.differences` makes it.

    `margin` is the share within which a difference does not matter, `left_out` says which cells were not compared,
    `lost` which of them B was to measure and has no figure for.
    `effects` is what campaigns differ by, by group of cells: as `history` shows it, else as it is stated. Empty where
    both took turns: within one campaign, or run again by `compare --confirm`.
    """

    a: Campaign
    b: Campaign
    gate: Gate
    cells: pd.DataFrame
    left_out: list[str]
    lost: list[str]
    margin: float
    history: History
    effects: dict[Group, CampaignEffect]

    def __repr__(self) -> str:
        return f"<Comparison A {self.a.id}, B {self.b.id}: {self.sentence()}>"

    @property
    def counts(self) -> dict[Outcome, int]:
        """Cells per outcome, all outcomes, in the order of `cells.OUTCOMES`."""
        return {outcome: int((self.cells.outcome == outcome).sum()) for outcome in OUTCOMES}

    @property
    def verdict(self) -> Verdict:
        """ "regression" with any slower cell of which campaigns' own differences are known, or where both systems took
        turns in one campaign; with other slower cells it "differs": of one pair of campaigns nobody knows whether it is
        the campaign. "no regression" only if each other cell is shown to lose less than the margin (or to differ in a
        metric without a better side), and B has a figure for all that it was to measure; else "undecided".
        """
        if not self.gate.open:
            return "refused"
        if self.counts["slower"]:
            slower = self.cells[self.cells.outcome == "slower"]
            known = self.interleaved or (slower.campaigns > 0).any()
            return "regression" if known else "differs"
        return "undecided" if self.counts["undecided"] or self.lost else "no regression"

    @property
    def interleaved(self) -> bool:
        """Whether both ran side by side, so that what campaigns differ by is in both."""
        return _took_turns(self.a, self.b)

    @property
    def confidence(self) -> str:
        """What intervals hold with: 95%, or more where the error rate is shared among several looks."""
        alpha = _alpha(self.a)
        # As many digits as tell it from 100%.
        digits = max(1, math.ceil(-math.log10(alpha)) - 2)
        return f"{CONFIDENCE:.0%}" if alpha == 1 - CONFIDENCE else f"{1 - alpha:.{digits}%}"

    @property
    def exit_status(self) -> int:
        return EXIT[self.verdict]

    def sentence(self) -> str:
        """Return the verdict and why, in words."""
        if self.verdict == "refused":
            return self._refusal()
        found = {str(outcome): count for outcome, count in self.counts.items() if count}
        each = ", ".join(f"{count} {outcome}" for outcome, count in found.items())
        counted = "" if list(found) == [self.verdict] else f": {each}"
        lost = (
            f" Of {len(self.lost)} more B has no figure, or a rate of 0, and was to measure them." if self.lost else ""
        )
        may_be = (
            " Without a history this may be the campaign: --confirm runs both again."
            if self.verdict == "differs"
            else ""
        )
        return f"{self.verdict.capitalize()} in {len(self.cells)} cells{counted}.{lost}{may_be}"

    def _refusal(self) -> str:
        facts = self.gate.together
        names = [f"{name} ({count} facts)" if count > 1 else name for name, count in facts.items()]
        shown = ", ".join(names[:_MOST]) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")
        flags = " ".join(f"--accept {name}" for name in facts) if len(facts) <= _MOST else f"--accept {gate.ALL}"
        subject = next(iter(facts)) if len(facts) == 1 else "NAME"
        return (
            f"Refused: the environments differ in {shown}, so none of the {len(self.cells)} cells is called faster or "
            f"slower. To compare anyway, add {flags}, or --subject {subject} if that is what you compare."
        )

    def called(self) -> list[str]:
        """Return what each cell is called, in the order of `cells`; behind a closed gate none is called anything."""
        return [str(outcome) if self.gate.open else NOT_CALLED for outcome in self.cells.outcome]

    def history_note(self) -> str:
        """Return how many repeated campaigns stand behind the comparison, or that there is no history."""
        if self.a.folder == self.b.folder:
            return "Both are of one campaign, in which they took turns: what campaigns differ by is in both."
        if self.interleaved:
            return (
                "Both were run again in turns, repetition by repetition: what campaigns differ by is in both. The "
                f"error rate is shared among all looks at the two: intervals hold with {self.confidence}."
            )
        return self.history.sentence(self.effects)

    def undecided(self) -> str:
        """Return how many cells are undecided, between which ratios, and what would decide them; empty if none is."""
        left = self.cells[self.cells.outcome == "undecided"]
        if left.empty or not self.gate.open:
            return ""
        low, high = f"{left.ratio.min():.2f}", f"{left.ratio.max():.2f}"
        return (
            f"{len(left)} of {len(self.cells)} cells are undecided: not shown to differ, but a loss of more than "
            f"{self.margin:.0%} is not ruled out. Their B / A is {low if low == high else f'{low} to {high}'}. "
            f"{self._would_decide(left)}"
        )

    def _would_decide(self, left: pd.DataFrame) -> str:
        said = []
        # Without an interval it is the repetitions that are too few, whatever campaigns differ by.
        needed = left.needed.dropna()
        fixed = left[left.needed.isna() & left.low.notna() & bool(self.effects)]
        if not needed.empty:
            span = f"{needed.min()}" if needed.min() == needed.max() else f"{needed.min()} to {needed.max()}"
            have = int(min(left.n_a.min(), left.n_b.min()))
            said.append(
                f"{span} repetitions a side (there are {have}) are likely to decide "
                f"{'each' if len(needed) == len(left) else len(needed)} of them."
            )
        if not fixed.empty:
            said.append(
                f"In {len(fixed)} no number of repetitions would: campaigns of the same system differ too much, or too "
                f"few are recorded ({fixed.campaigns.min()}). More campaigns, a quieter host or a larger margin would."
            )
        unknown = len(left) - len(needed) - len(fixed)
        if unknown:
            said.append(f"In {unknown} the repetitions do not show their own spread, or it is too large: repeat more.")
        return " ".join(said)


def _alpha(a: Campaign) -> float:
    """Return the error rate of a comparison with `a`, which may be one of several looks."""
    return (1 - CONFIDENCE) * a.plan.share_of_a_look


def _took_turns(a: Campaign, b: Campaign) -> bool:
    """Within one campaign, or as `compare --confirm` keeps a pair: side by side in one folder."""
    turns = a.plan.looks_after is not None and b.plan.looks_after is not None
    return a.folder == b.folder or (turns and a.folder.parent == b.folder.parent)


def compare(asked: CompareParameters) -> Comparison:
    """Compare two campaigns.

    Raise BadInput for addresses, names and systems that do not exist, and when nothing can be compared.
    """
    margin, effect = asked.margin, asked.campaign_effect
    if not 0 < margin < 1:
        raise BadInput("must lie between 0 and 1", key="margin", value=margin, fix="write 0.05 for 5%")
    if not 0 <= effect < 1:
        raise BadInput("must be 0 or more, and below 1", key="campaign_effect", value=effect, fix="write 0.02 for 2%")
    left, right = address.pair(asked.a, asked.b)
    _check_one_report(left, right)
    systems = matched(left, right, asked.mapping)
    taken = gate.cpu_taken(left, right, systems)
    turns = _took_turns(left, right)
    between = gate.check(
        left, right, systems, accept=asked.accept, subject=asked.subject, measured=taken, in_turns=turns
    )
    frame = cells.long(left, right, systems, asked.metric)
    behind = history.around(left, right, systems, asked.metric, asked.without)
    # What campaigns differ by is the same for two that took turns.
    effects = {} if turns else behind.effects(cells.comparable(frame), effect)
    found = cells.differences(frame, effects=effects, margin=margin, alpha=_alpha(left))
    lost = cells.lost(frame, left, right, systems)
    return Comparison(left, right, between, found, cells.left_out(frame), lost, margin, behind, effects)


def _check_one_report(a: Campaign, b: Campaign) -> None:
    """Raise BadInput for campaigns of two reports that have no table in common: no choice of systems would help."""
    ours, theirs = ({trial.cell.table for trial in campaign.trials} for campaign in (a, b))
    if a.report != b.report and not ours & theirs:
        said = "these are campaigns of different reports, which have no table in common"
        fix = f"name two campaigns of one report, or a report alone for its two latest: {address.known()}"
        raise BadInput(said, key="b", value=f"{b.id} of {b.report}, against {a.id} of {a.report}", fix=fix)


def _both(campaign: Campaign, systems: Sequence[str]) -> dict[str, str]:
    """The two systems of a campaign, in the order in which they were asked for. Raise BadInput for more of them."""
    if len(systems) > 2:
        fix = f"say which to hold against which: {systems[0]}={systems[1]}"
        raise BadInput(
            "the systems of one campaign are compared by pairs", key="map", value=", ".join(systems), fix=fix
        )
    first, second = [str(name) for name in campaign.asked.get("systems", []) if name in systems] or systems
    return {first: second}


def ratios(a: str | Path, b: str | Path = "") -> pd.DataFrame:
    """Return a row per cell of both campaigns; see `schema.RATIOS`. `attrs["sentence"]` says what may be said."""
    found = compare(CompareParameters(a=str(a), b=str(b)))
    frame = typed(found.cells.assign(called=found.called()), RATIOS)
    frame.attrs |= {"a": found.a.id, "b": found.b.id, "sentence": found.sentence(), "confidence": found.confidence}
    return frame


def matched(a: Campaign, b: Campaign, mapping: Sequence[str]) -> dict[str, str]:
    """System of `a` -> system of `b`: as mapped, and systems of one name where neither is mapped. Raise BadInput.

    Of one campaign its two systems are held against each other, the first as the baseline.
    """
    ours, theirs = (sorted({record.system for record in campaign.records()}) for campaign in (a, b))
    said: dict[str, str] = {}
    for pair in mapping:
        mine, equals, other = pair.partition("=")
        if not equals or mine not in ours or other not in theirs:
            fix = f"write A=B with A of {', '.join(ours)} and B of {', '.join(theirs)}"
            raise BadInput("not a pair of systems of the two campaigns", key="map", value=pair, fix=fix)
        said[mine] = other
    if a.folder == b.folder and len(ours) > 1:
        return said or _both(a, ours)
    same = {name: name for name in ours if name in theirs and name not in {*said, *said.values()}}
    if not said and not same:
        fix = f"say which to hold against which: {ours[0]}={theirs[0]}"
        raise BadInput("the campaigns have no system in common", key="map", value=f"{ours} and {theirs}", fix=fix)
    return {**same, **said}
