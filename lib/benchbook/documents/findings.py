"""What an audit says of one thing: a finding with its arithmetic, or checks that passed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal[
    "identity",
    "rounding",
    "constant",
    "Little's law",
    "bound",
    "plausibility",
    "Markov's inequality",
    "percentiles",
    "buckets",
    "outlier",
    "printed digits",
    "trend",
    "same value",
    "repeated figures",
    "restated",
    "text against table",
    "missing level",
    "wording",
    "meaning",
    "host",
    "placement",
    "version",
    "option",
    "percentage",
    "sum",
    "ratio",
    "rate",
    "impossible",
    "sentence",
    "quoted figure",
]

LITTLE_BROKEN = "one of its figures is wrong, unless its clients paused or its requests failed"
"""What it means that a row is against Little's law: the mean time counts neither pauses nor, often, failed requests."""

Severity = Literal["contradiction", "suspicious", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
_NAMES: dict[Severity, tuple[str, str]] = {
    "contradiction": ("contradiction", "contradictions"),
    "suspicious": ("suspicious figure", "suspicious figures"),
    "note": ("note", "notes"),
}


class Finding(BaseModel):
    """One thing that does not fit: `arithmetic` spells it out with the printed numbers, a line each.

    contradiction: both cannot be true; suspicious: one of them is hardly true; note: a reader should know. In a
    document that was read, `line`, `column` and `printed` say where it stands, and `sure` how sure that reading is,
    from 0 to 1. The audit itself writes down the name of its `report`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    report: str = ""
    where: str
    kind: Kind
    severity: Severity
    sentence: str
    arithmetic: list[str] = Field(min_length=1)
    line: int = 0
    column: str = ""
    printed: str = ""
    sure: float = 1.0


class Passed(NamedTuple):
    """`checks` single checks of a kind (rows, cells, pairs of rows, passages) that found nothing."""

    kind: Kind
    checks: int


def figure(value: float) -> str:
    """Return a computed number with five significant digits, thousands apart; whole from 10,000 up."""
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.5g}"


def by_severity(findings: Iterable[Finding]) -> str:
    """Return how many there are of each severity, in words: "2 contradictions, 1 note"; "" for none."""
    counts = Counter(finding.severity for finding in findings)
    return ", ".join(f"{counts[one]} {_NAMES[one][counts[one] != 1]}" for one in SEVERITIES if counts[one])
