"""How a comparison looks in its notebook: the two campaigns, the gate, every cell, and the ratios as a figure."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pandas as pd
from IPython.display import HTML

from benchbook import parameters, plots
from benchbook.analysis import formatting
from benchbook.campaign.store import Campaign
from benchbook.compare import NOTEBOOK
from benchbook.compare.cells import NOT_CALLED
from benchbook.compare.environment_facts import ABSENT
from benchbook.compare.gate import short
from benchbook.compare.history import effect_rows
from benchbook.compare.pair import CompareParameters, Comparison, compare
from benchbook.display import show
from benchbook.plots import output


def open_comparison(**given: object) -> Comparison:
    """Return the comparison that these parameters (`CompareParameters`) ask for. Raise BadInput."""
    return compare(parameters.check(CompareParameters, NOTEBOOK, given))


def verdict(comparison: Comparison) -> HTML:
    """Return what may be said, what would decide the rest, and what is known of campaigns."""
    said = (comparison.sentence(), comparison.undecided(), comparison.history_note())
    return show.stack([show.paragraph(text) for text in said if text])


def history(comparison: Comparison) -> HTML:
    """What repeated campaigns of the same system differ by, per table, system and metric; or that nobody knows."""
    head, rows = show.paragraph(comparison.history_note()), effect_rows(comparison.effects)
    said = "What campaigns of the same system differ by, beside repetitions"
    return show.stack([head, show.table(rows, said)]) if rows else head


def campaigns(comparison: Comparison) -> HTML:
    """Return the two campaigns side by side."""
    a, b = _about(comparison.a), _about(comparison.b)
    return show.table([{"": name, "A (baseline)": a[name], "B": b[name]} for name in a], "Two campaigns")


def _about(campaign: Campaign) -> dict[str, str]:
    records = campaign.records()
    began = datetime.fromtimestamp(min(record.started for record in records), UTC)
    about = campaign.environment()
    return {
        "campaign": campaign.id,
        "report": campaign.report,
        "began": f"{began:%Y-%m-%d %H:%M} UTC",
        "profile": str(campaign.asked.get("profile", "")),
        "inventory": str(campaign.asked.get("inventory", "")),
        "records": str(len(records)),
        "systems": "; ".join(system.called for system in about.systems.values()),
        "measured by": "; then ".join(f"Benchbook {kit}" for kit in about.measured_by) or "not recorded",
    }


def gate(comparison: Comparison) -> HTML:
    """Return every difference of the environments with both values, the unfair ones first."""
    rows = gate_rows(comparison)
    if not rows:
        return show.paragraph("The environments do not differ in anything that could change a result.")
    unfair = len(comparison.gate.unfair)
    return show.table(rows, f"Differences of the environments: {len(rows)}, of which {unfair} unfair")


def gate_rows(comparison: Comparison, longest: int = 90) -> list[dict[str, str]]:
    """Return a line per difference; of values no more than so many characters."""
    return [
        {"": d.standing, "what": d.name, "where": d.where or ABSENT, "A": short(d.a, longest), "B": short(d.b, longest)}
        for d in comparison.gate.differences
    ]


def table(comparison: Comparison) -> HTML:
    """Return every cell: means, ratio B / A with its interval, p value after Holm, and what it is called."""
    caption = (
        f"B against A: means over n repetitions, ratio [{comparison.confidence} interval of the cell alone], p after "
        "Holm over all cells"
    )
    parts = [show.table(cell_rows(comparison), caption)]
    if comparison.left_out:
        parts.append(show.table([{"not compared": text} for text in comparison.left_out], "Left out"))
    return show.stack(parts)


def cell_rows(comparison: Comparison) -> list[dict[str, str]]:
    """Return a line per cell, as people read it."""
    cells = zip(comparison.cells.itertuples(), comparison.called(), strict=True)
    return [_cell(row, called, interleaved=comparison.interleaved) for row, called in cells]


def _cell(row: Any, called: str, *, interleaved: bool) -> dict[str, str]:
    return {
        **{name: getattr(row, name) for name in ("table", "system", "levels")},
        "metric": f"{row.metric} ({row.unit})",
        "A": formatting.number(row.a),
        "B": formatting.number(row.b),
        "n": f"{row.n_a}, {row.n_b}",
        "B / A": ratio(row.ratio, row.low, row.high),
        "p (Holm)": formatting.number(row.p_holm),
        "B is": in_words(called, None if pd.isna(row.needed) else row.needed, row.campaigns or interleaved),
    }


def in_words(called: str, needed: int | None, campaigns: int) -> str:
    """Return what a cell is called, with what it would need, or that campaigns of one system may differ as much."""
    if called == "undecided" and needed is not None:
        return f"{called} (needs n = {needed})"
    return called if called in {"undecided", NOT_CALLED} or campaigns else f"{called} (no history)"


def ratio(value: float, low: float, high: float) -> str:
    """Return `0.95 [0.91, 0.99]`; with one repetition a side the ratio alone."""
    said, *ends = map(formatting.ratio, (value, low, high))
    return said if math.isnan(low) or math.isnan(high) else f"{said}\u00a0[{ends[0]},\u00a0{ends[1]}]"


def figure(comparison: Comparison) -> HTML:
    """Ratios with intervals, a panel per metric; the band is the margin within which a difference does not matter."""
    frame = comparison.cells.assign(called=comparison.called())
    caption = (
        f"Ratio B / A of every cell with its {comparison.confidence} interval; grey: ±{comparison.margin:.0%}. "
        "Right of 1 is more: better for a rate, worse for a time. Intervals that leave the picture are cut."
    )
    return output.picture(plots.described(plots.ratios(frame, margin=comparison.margin), _alt(comparison), caption))


def _alt(comparison: Comparison) -> str:
    frame = comparison.cells.assign(called=comparison.called())
    parts = []
    for called, part in frame.groupby("called", sort=False):
        named = [f"{r.levels} {r.metric} {r.ratio:.2f}" for r in part.itertuples()]
        listed = f": {'; '.join(named)}" if called not in ("undecided", NOT_CALLED) and len(named) <= 12 else ""
        parts.append(f"{len(part)} {called}{listed}")
    low, high = frame.ratio.min(), frame.ratio.max()
    return f"Ratios B / A of {len(frame)} cells, between {low:.2f} and {high:.2f}. {'. '.join(parts)}."
