"""How a comparison looks in its notebook: the two campaigns, the gate, every cell, and the ratios as a figure."""

from __future__ import annotations

from datetime import UTC, datetime

from IPython.display import HTML

from benchbook import parameters, plots
from benchbook.analysis import formatting
from benchbook.campaign.store import Campaign
from benchbook.compare import NOTEBOOK
from benchbook.compare.cell_row import NOT_CALLED, CellRow, in_words
from benchbook.compare.environment_facts import ABSENT
from benchbook.compare.gate import short
from benchbook.compare.history import effect_rows
from benchbook.compare.pair import Comparison, asked_for
from benchbook.compare.request import CompareParameters
from benchbook.display import show
from benchbook.plots import output


def open_comparison(**given: object) -> Comparison:
    """Return the comparison that these parameters (`CompareParameters`) ask for. Raise BadInput."""
    return asked_for(parameters.check(CompareParameters, NOTEBOOK, given))


def verdict(comparison: Comparison) -> HTML:
    """What may be said, what would decide the rest, and what is known of campaigns."""
    said = (comparison.sentence(), comparison.undecided(), comparison.history_note())
    return show.stack([show.paragraph(text) for text in said if text])


def history(comparison: Comparison) -> HTML:
    """What repeated campaigns of the same system differ by, per table, system and metric; or that nobody knows."""
    head = show.paragraph(comparison.history_note())
    if not comparison.effects:
        return head
    rows = effect_rows(comparison.effects)
    return show.stack([head, show.table(rows, "What campaigns of the same system differ by, beside repetitions")])


def campaigns(comparison: Comparison) -> HTML:
    """The two campaigns side by side."""
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
    """Every difference of the environments with both values, the unfair ones first."""
    found = comparison.gate.differences
    if not found:
        return show.paragraph("The environments do not differ in anything that could change a result.")
    rows = [
        {"": d.standing, "what": d.name, "where": d.where or ABSENT, "A": short(d.a), "B": short(d.b)} for d in found
    ]
    unfair = len(comparison.gate.unfair)
    return show.table(rows, f"Differences of the environments: {len(found)}, of which {unfair} unfair")


def table(comparison: Comparison) -> HTML:
    """Every cell: means, ratio B / A with its 95% interval, p value after Holm, and what it is called."""
    rows = [_row(row, called) for row, called in zip(comparison.rows, comparison.called(), strict=True)]
    caption = (
        "B against A: means over n repetitions, ratio [95% interval of the cell alone], p after Holm over all cells"
    )
    parts = [show.table(rows, caption)]
    own = [f"{row.table}, {row.system}, {row.levels}, {row.metric}" for row in comparison.rows if row.own_spread]
    if own:
        said = "Their repetitions vary unlike those of the other cells, so they are judged by their own spread alone: "
        parts.append(show.paragraph(f"{said}{'; '.join(own)}."))
    if comparison.left_out:
        parts.append(show.table([{"not compared": text} for text in comparison.left_out], "Left out"))
    return show.stack(parts)


def _row(row: CellRow, called: str) -> dict[str, str]:
    return {
        "table": row.table,
        "system": row.system,
        "levels": row.levels,
        "metric": f"{row.metric} ({row.unit})",
        "A": formatting.number(row.a),
        "B": formatting.number(row.b),
        "n": f"{row.n_a}, {row.n_b}",
        "ratio": ratio(row),
        "p": formatting.number(row.p_holm),
        "B is": in_words(row, called),
    }


def ratio(row: CellRow) -> str:
    """`0.95 [0.91, 0.99]`; with one repetition a side the ratio alone."""
    if row.low is None or row.high is None:
        return formatting.ratio(row.ratio)
    said, low, high = map(formatting.ratio, (row.ratio, row.low, row.high))
    return f"{said}\u00a0[{low},\u00a0{high}]"


def figure(comparison: Comparison) -> HTML:
    """Ratios with intervals, a panel per metric; the band is the margin within which a difference does not matter."""
    frame = comparison.cells.assign(called=comparison.called())
    caption = (
        f"Ratio B / A of every cell with its 95% interval; grey: ±{comparison.margin:.0%}. Right of 1 is more: "
        "better for a rate, worse for a time. Intervals that leave the picture are cut."
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
