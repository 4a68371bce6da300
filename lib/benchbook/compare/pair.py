"""One comparison: two campaigns, the gate between their environments, their cells, and what may be said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from benchbook.campaign.store import Campaign
from benchbook.compare import address, cells, gate
from benchbook.compare.gate import Gate
from benchbook.errors import BadInput

Verdict = Literal["no regression", "regression", "refused"]
NOT_CALLED = "not called"
# 2 is every command's status for input that cannot be used.
EXIT: dict[Verdict, int] = {"no regression": 0, "regression": 1, "refused": 3}


@dataclass(frozen=True, eq=False)
class Comparison:
    """`a` is the baseline, `b` is held against it: every ratio is b / a. `cells` as `cells.differences` makes it.

    `margin` is the share within which a difference does not matter, `left_out` says which cells were not compared.
    """

    a: Campaign
    b: Campaign
    gate: Gate
    cells: pd.DataFrame
    left_out: list[str]
    margin: float

    @property
    def counts(self) -> dict[str, int]:
        """Cells per outcome, all outcomes, in the order of `cells.OUTCOMES`."""
        return {outcome: int((self.cells.outcome == outcome).sum()) for outcome in cells.OUTCOMES}

    @property
    def verdict(self) -> Verdict:
        if not self.gate.open:
            return "refused"
        return "regression" if self.counts["slower"] else "no regression"

    @property
    def exit_status(self) -> int:
        return EXIT[self.verdict]

    def sentence(self) -> str:
        """The verdict and why, in words."""
        if self.verdict == "refused":
            names = self.gate.names
            shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
            return (
                f"Refused: the environments differ in {shown}, so none of the {len(self.cells)} cells is called "
                "faster or slower. Declare what you mean to compare (subject), or accept it (accept)."
            )
        counted = ", ".join(f"{count} {outcome}" for outcome, count in self.counts.items() if count)
        return f"{self.verdict.capitalize()} in {len(self.cells)} cells: {counted}."

    def called(self) -> list[str]:
        """What each cell is called, in the order of `cells`; behind a closed gate none is called anything."""
        return [str(outcome) if self.gate.open else NOT_CALLED for outcome in self.cells.outcome]

    def undecided(self) -> str:
        """What would decide the undecided cells, in words; empty when there are none."""
        left = self.cells[self.cells.outcome == "undecided"]
        if left.empty or not self.gate.open:
            return ""
        needed = left.needed.dropna()
        if needed.empty:
            return f"{len(left)} undecided: the repetitions at hand do not show their own spread, or it is too large."
        span = f"{needed.min()}" if needed.min() == needed.max() else f"{needed.min()} to {needed.max()}"
        have = int(min(self.cells.n_a.min(), self.cells.n_b.min()))
        return (
            f"{len(left)} undecided: {span} repetitions a side (there are {have}) would show a difference of "
            f"{self.margin:.0%} with probability 0.8."
        )

    def as_json(self) -> dict[str, Any]:
        """All of it for programs."""
        return {
            "a": _about(self.a),
            "b": _about(self.b),
            "verdict": self.verdict,
            "exit_status": self.exit_status,
            "sentence": self.sentence(),
            "margin": self.margin,
            "counts": self.counts,
            "differences": [vars(difference) for difference in self.gate.differences],
            "cells": cells.as_rows(self.cells),
            "left_out": self.left_out,
        }


def compare(
    a: str,
    b: str = "",
    *,
    accept: Sequence[str] = (),
    subject: Sequence[str] = (),
    mapping: Sequence[str] = (),
    metrics: Sequence[str] = (),
    margin: float = cells.MARGIN,
) -> Comparison:
    """Compare the campaigns at two addresses (see `address`). `mapping` holds `SYSTEM_OF_A=SYSTEM_OF_B` pairs.

    Raises BadInput for addresses, names and systems that do not exist, and when nothing can be compared.
    """
    if not 0 < margin < 1:
        raise BadInput("must lie between 0 and 1", key="margin", value=margin, fix="write 0.05 for 5%")
    left, right = address.pair(a, b)
    systems = matched(left, right, mapping)
    between = gate.check(left, right, systems, accept=accept, subject=subject)
    frame = cells.long(left, right, systems, metrics)
    return Comparison(left, right, between, cells.differences(frame, margin=margin), cells.left_out(frame), margin)


def matched(a: Campaign, b: Campaign, mapping: Sequence[str]) -> dict[str, str]:
    """System of `a` -> system of `b`: as mapped, and systems of one name where neither is mapped. Raises BadInput."""
    ours, theirs = (sorted({record.system for record in campaign.records()}) for campaign in (a, b))
    said: dict[str, str] = {}
    for pair in mapping:
        mine, equals, other = pair.partition("=")
        if not equals or mine not in ours or other not in theirs:
            raise BadInput(
                "not a pair of systems of the two campaigns",
                key="map",
                value=pair,
                fix=f"write A=B with A of {', '.join(ours)} and B of {', '.join(theirs)}",
            )
        said[mine] = other
    same = {name: name for name in ours if name in theirs and name not in {*said, *said.values()}}
    if not said and not same:
        raise BadInput(
            "the campaigns have no system in common",
            key="map",
            value=f"{ours} and {theirs}",
            fix=f"say which to hold against which: {ours[0]}={theirs[0]}",
        )
    return {**same, **said}


def _about(campaign: Campaign) -> dict[str, Any]:
    return {"report": campaign.report, "campaign": campaign.id, "records": len(campaign.records())}
