"""The verdicts in a notebook and on a terminal: counts, a table, and the picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from IPython.display import HTML

from benchbook import plots
from benchbook.analysis import report_frames
from benchbook.analysis.results import JudgedClaim, Verdict
from benchbook.claims.decide import MOST_REPETITIONS
from benchbook.claims.words import leans, number
from benchbook.display import show
from benchbook.plots import output

_HOW = (
    "An interval inside the claimed range reproduces the claim, one outside contradicts it. With many claims some "
    "would look settled by luck, so intervals are widened: the chance of even one wrong verdict is at most {} (Holm). "
    "What no repetition showed is not counted: a slow state that one cell alone is in for 30% of the time stays unseen "
    "by 3 repetitions in a third of all cases, by 7 in a twelfth, and so does a drift too small to be told from noise. "
    "One such cell among 15, or 15 such cells, made up to 10% of simulated ledgers wrong."
)


def counts(claims: Sequence[JudgedClaim]) -> str:
    """ "3 reproduced, 2 contradicted", in the design's order."""
    found = Counter(claim.verdict for claim in claims)
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in get_args(Verdict) if found[verdict])


def rows(claims: Sequence[JudgedClaim]) -> list[dict[str, str]]:
    """One line per claim, as short texts."""
    return [
        {
            "claim": c.id,
            "verdict": c.verdict,
            "effect": _effect(c),
            "interval": _interval(c),
            "published": number(c.published),
            "n": "–" if c.n is None else str(c.n),
            "p": p_value(c.p_value),
            "n to decide": _needed(c),
            "leaning": leans(c.leaning) if c.verdict == "inconclusive" else "–",
        }
        for c in claims
    ]


def html(claims: Sequence[JudgedClaim], folder: Path) -> HTML:
    """Per system the picture, then every claim with its sentence; pictures are kept in `folder`."""
    if not claims:
        return show.paragraph("This report has no ledger of claims.")
    parts = [_system(name, [c for c in claims if c.system == name], folder) for name in dict.fromkeys(_names(claims))]
    # A page that shows the claims itself finds this view by its class.
    return HTML(f'<div class="bb-claims">{show.stack(parts).data}</div>')


def _system(name: str, claims: Sequence[JudgedClaim], folder: Path) -> HTML:
    tested = [claim for claim in claims if claim.unit]
    caption = f"{name or 'No system'}: {counts(claims)} of {len(claims)} claims."
    lines = [{"claim": c.id, "verdict": c.verdict, "in words": c.sentence} for c in claims]
    table = show.table(lines, caption)
    if not tested:
        return table
    how = _HOW.format(error_rate(tested))
    where = folder / f"{name.replace(':', '_')}-claims.png"
    figure = plots.claims(report_frames.claims(tested))
    alt, _ = output.words(figure)
    output.save(plots.described(figure, alt, f"{name}: each claim's effect. {how}"), where)
    return show.stack([output.picture(figure), table])


def error_rate(claims: Sequence[JudgedClaim]) -> str:
    """ "5%": what the chance of even one wrong verdict among the claims of a ledger is at most."""
    return f"{100 * claims[0].alpha:g}%"


def _names(claims: Sequence[JudgedClaim]) -> list[str]:
    return [claim.system for claim in claims]


def _needed(claim: JudgedClaim) -> str:
    if claim.verdict != "inconclusive":
        return "–"
    return str(claim.needed) if claim.needed else f"> {MOST_REPETITIONS}" if (claim.n or 0) > 1 else "2 or more"


def _effect(claim: JudgedClaim) -> str:
    if not isinstance(claim.effect, float):
        return "–"
    return f"tau {number(claim.effect)}" if claim.unit == "tau" else f"{number(claim.effect)}x"


def _interval(claim: JudgedClaim) -> str:
    return "–" if claim.interval is None else " to ".join(number(bound) for bound in claim.interval)


def p_value(p: float | None) -> str:
    """Two significant digits; below 0.001 that it is below."""
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.2g}"
