"""What two campaigns measured, cell by cell: ratio with interval, what to call it, and what would decide the rest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import pandas as pd

from benchbook import published
from benchbook.analysis.trials import figures_of, of_records
from benchbook.campaign.design import Levels
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.documents.units import is_rate, is_time
from benchbook.errors import BadInput
from benchbook.stats.campaign_effect import CampaignEffect
from benchbook.stats.cellwise import CONFIDENCE, compare_cells, repetitions_needed
from benchbook.user_input.choices import one_of

MARGIN = 0.05
Outcome = Literal["faster", "slower", "changed", "equivalent", "not slower", "undecided"]
OUTCOMES: tuple[Outcome, ...] = ("slower", "faster", "changed", "equivalent", "not slower", "undecided")
# What every cell is behind a closed gate.
NOT_CALLED = "not called"

CELL = ["table", "system", "levels", "metric", "unit"]
# Cells of one table, system and metric share their spread: a few repetitions of one cell say little of it.
GROUP = ["table", "system", "metric"]


class Group(NamedTuple):
    """Cells that differ in their levels only."""

    table: str
    system: str
    metric: str


Effects = Mapping[Group, CampaignEffect]


def long(a: Campaign, b: Campaign, systems: Mapping[str, str], metrics: Sequence[str] = ()) -> pd.DataFrame:
    """[table, system, levels, metric, unit, arm ("a" or "b"), value]: a row per trial and metric, in report order.

    Without `metrics`, those of the published table that a trial belongs to. Raise BadInput for a metric that no record
    has, and when the campaigns have no cell in common.
    """
    check_metrics(metrics, [*a.records(), *b.records()])
    apart = _going_along(a, b, systems)
    parts = [
        values(a, names_of(systems), metrics, apart).assign(arm="a"),
        values(b, names_of_other(systems), metrics, apart).assign(arm="b"),
    ]
    frame = pd.concat(parts, ignore_index=True)
    arms = frame.groupby(CELL, sort=False).arm.nunique()
    if not (arms == 2).any():
        fix = f"compare cells that both have: {_some(parts[0])} against {_some(parts[1])}"
        raise BadInput("the two campaigns have no cell in common", key="b", value=b.id, fix=fix)
    return frame


def names_of(systems: Mapping[str, str]) -> dict[str, str]:
    """Return what the systems of the first campaign are called in a comparison; `systems` maps them to the other's."""
    return {ours: ours if ours == theirs else f"{ours} → {theirs}" for ours, theirs in systems.items()}


def names_of_other(systems: Mapping[str, str]) -> dict[str, str]:
    """Return what the systems of the second campaign are called in a comparison."""
    return {systems[ours]: name for ours, name in names_of(systems).items()}


def _going_along(a: Campaign, b: Campaign, systems: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Pair of systems -> levels that only say which of the two it is, as the published version in whose place it runs.

    Each of them is the same in all records of a system, and another one in those of the other system.
    """
    there = {
        name: _constant(b, theirs) for name, theirs in zip(names_of(systems).values(), systems.values(), strict=True)
    }
    return {
        name: frozenset(level for level, value in _constant(a, ours).items() if there[name].get(level, value) != value)
        for ours, name in names_of(systems).items()
        if ours != systems[ours]
    }


def _constant(campaign: Campaign, system: str) -> dict[str, str | int | float]:
    """Return the levels that are the same in all records of a system, and their values."""
    levels = [record.levels for record in campaign.records() if record.system == system]
    first = levels[0] if levels else {}
    return {name: value for name, value in first.items() if all(each.get(name) == value for each in levels)}


def values(
    campaign: Campaign,
    names: Mapping[str, str],
    metrics: Sequence[str] = (),
    apart: Mapping[str, frozenset[str]] | None = None,
) -> pd.DataFrame:
    """[table, system, levels, metric, unit, value] of one campaign; `names` maps its systems to what they are called.

    A system that is not in `names` is left out; `apart` says by those names which levels are no part of a cell.
    """
    records = [record for record in campaign.records() if record.system in names]
    wanted = published_metrics(campaign.report)
    frame = figures_of(of_records(_in_order(records, list(wanted))))
    left_out = apart or {}
    levels = {
        record.id: _levels(record.table, record.levels, left_out.get(names[record.system], frozenset()))
        for record in records
    }
    words = frame.astype(dict.fromkeys(["table", "system", "metric", "unit"], object))
    frame = words.assign(system=words.system.map(names), levels=words.trial.map(levels))
    chosen = frame.metric.isin(list(metrics)) if metrics else _chosen(frame, wanted)
    return frame.loc[chosen, [*CELL, "value"]]


def _in_order(records: Sequence[Record], tables: Sequence[str]) -> list[Record]:
    """As the report has its tables, and by rising levels: the run order is shuffled."""

    def place(record: Record) -> tuple[int, str, str, list[tuple[bool, float, str]]]:
        known = tables.index(record.table) if record.table in tables else len(tables)
        return known, record.table, record.system, [_rank(level) for level in record.levels.values()]

    return sorted(records, key=place)


def _rank(level: float | str) -> tuple[bool, float, str]:
    """Numbers by size, before words."""
    return (True, 0.0, level) if isinstance(level, str) else (False, level, "")


def _levels(table: str, levels: Levels, without: frozenset[str]) -> str:
    """Return the levels in words; one that only repeats the table's name says nothing."""
    shown = {name: value for name, value in levels.items() if name not in without and value != table}
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def _chosen(frame: pd.DataFrame, wanted: Mapping[str, Sequence[str]]) -> pd.Series[bool]:
    """Return which rows are of a metric that their table is compared by."""
    there = {str(table): dict(zip(found.metric, found.unit, strict=True)) for table, found in frame.groupby("table")}
    mine = {table: metrics_of(table, recorded, wanted) for table, recorded in there.items()}
    rows = zip(frame.table, frame.metric, strict=True)
    return pd.Series([metric in mine[table] for table, metric in rows], index=frame.index, dtype=bool)


def metrics_of(table: str, recorded: Mapping[str, str], wanted: Mapping[str, Sequence[str]]) -> list[str]:
    """Of the metrics that trials of a table have (with their units), its own; `wanted`: those of each published table.

    A scenario that was not published has those of all tables. Of a table with a row per component, records have no such
    metric, but one for each component: `mysql_tps` for `tps`. Where they have neither (a speed that is printed, and of
    which bytes and time are recorded), every rate and every time is one: no table is passed over.
    """
    anywhere = sorted({metric for metrics in wanted.values() for metric in metrics})
    names = wanted.get(table, anywhere)
    parts = tuple(f"_{name}" for name in names)
    own = [name for name in names if name in recorded] or [name for name in recorded if name.endswith(parts)]
    return own or [name for name, unit in recorded.items() if better_side(unit)]


def published_metrics(report: str) -> dict[str, list[str]]:
    """Return the metrics of each published table."""
    return {name: table.metrics for name, table in published.load(report).tables.items()}


def check_metrics(metrics: Sequence[str], records: Iterable[Record]) -> None:
    """Raise BadInput for a metric that no record has."""
    known = sorted({name for record in records for name in record.summary})
    for name in metrics:
        one_of(name, known, "metric")


def _some(frame: pd.DataFrame) -> str:
    if frame.empty:
        return "none with a published metric (see --metric)"
    cells = frame[["table", "system", "levels"]].drop_duplicates().astype(str).agg(", ".join, axis=1)
    return "; ".join(cells.head(3)) + (f" and {len(cells) - 3} more" if len(cells) > 3 else "")


def comparable(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of `frame` (as `long` makes it) whose cell both campaigns have, with no value that has no ratio."""
    by_cell = frame.groupby(CELL)
    return frame[(by_cell.value.transform("min") > 0) & (by_cell.arm.transform("nunique") == 2)]


def differences(
    frame: pd.DataFrame, *, effects: Effects | None = None, margin: float = MARGIN, alpha: float = 1 - CONFIDENCE
) -> pd.DataFrame:
    """A row per cell that both arms have, in the order of `frame` (as `long` makes it), corrected by Holm over all.

    [*cell, a, b (means), ratio (b / a), low, high, n_a, n_b, p_value, p_holm, campaigns, outcome, needed].
    "faster" and "slower" are told by the unit, a metric without a better side is "changed". A difference that is shown
    to lie within `margin` is "equivalent", whatever its p value; "not slower" is shown to lose less than `margin`, but
    not to gain less. `effects` holds what campaigns differ by. `alpha` is the error rate of
    every statement: less than 5% where this is one of several looks. `needed`: repetitions a side that would decide an
    undecided cell at its ratio with probability 0.8; missing where nothing is known of the spread, or campaigns differ
    too much for any number to do.
    """
    usable = comparable(frame)
    keys = usable[CELL].drop_duplicates(ignore_index=True)
    numbered = usable.merge(keys.reset_index(names="cell"), on=CELL)
    groups = [Group(*key) for key in keys[GROUP].itertuples(index=False, name=None)]
    known = {cell: effects[group] for cell, group in enumerate(groups) if effects and group in effects}
    kinds = numbered.assign(kind=numbered.metric)
    found = compare_cells(kinds, arms=("b", "a"), effects=known, margin=margin, alpha=alpha)
    means = numbered.pivot_table(index="cell", columns="arm", values="value", aggfunc="mean")
    table = keys.join(means).join(found, how="inner")
    table = table.rename(columns={"n_new": "n_b", "n_baseline": "n_a"})
    behind = [known.get(int(cell)) for cell in table.index]
    table["campaigns"] = [effect.campaigns if effect else 0 for effect in behind]
    signs = ["unit", "ratio", "equivalent", "different", "not_below", "not_above"]
    table["outcome"] = [_outcome(*row) for row in table[signs].itertuples(index=False, name=None)]
    # Bonferroni over the family stands in for Holm, which is at least as powerful.
    each = alpha / len(table)
    needed = [_needed(row, margin, each, effect) for row, effect in zip(table.itertuples(), behind, strict=True)]
    table["needed"] = pd.array(needed, dtype="Int64")
    told = ["ratio", "low", "high", "n_a", "n_b", "p_value", "p_holm", "campaigns", "outcome", "needed"]
    return table[[*CELL, "a", "b", *told]].reset_index(drop=True)


def _needed(cell: Any, margin: float, alpha: float, effect: CampaignEffect | None) -> int | None:
    """Return how many repetitions a side would tell the cell's ratio from 1, or from an edge of the margin."""
    if cell.outcome != "undecided":
        return None
    shift = abs(math.log(cell.ratio))
    nearest = max(shift, -math.log(1 - margin) - shift)
    found = repetitions_needed(cell.variance, nearest, alpha=alpha, effect=effect)
    return None if found is None else max(found, min(cell.n_a, cell.n_b) + 1)


def left_out(frame: pd.DataFrame) -> list[str]:
    """Cells that cannot be compared, and why: only one campaign has them, or a value is zero and has no ratio."""
    said = []
    for key, part in frame.groupby(CELL, sort=False):
        table, system, levels, metric, _ = key
        if part.arm.nunique() < 2:
            said.append(f"{table}, {system}, {levels}, {metric}: only in {part.arm.iloc[0]}")
        elif part.value.min() <= 0:
            said.append(f"{table}, {system}, {levels}, {metric}: a value of zero has no ratio")
    return said


def lost(frame: pd.DataFrame, a: Campaign, b: Campaign, systems: Mapping[str, str]) -> list[str]:
    """Cells of `frame` (as `long` makes it) that `a` has a figure for, and `b`, which was to measure them, has none.

    None either where the figure is a rate of zero.
    """
    apart, names = _going_along(a, b, systems), names_of_other(systems)
    cells = [each.cell for each in b.trials if each.cell.system in names]
    planned = {
        (c.table, names[c.system], _levels(c.table, c.levels, apart.get(names[c.system], frozenset()))) for c in cells
    }
    there = {tuple(key) for key in frame[frame.arm == "b"][CELL[:3]].drop_duplicates().itertuples(index=False)}
    said = []
    for key, part in frame.groupby(CELL, sort=False):
        table, system, levels, metric, unit = key
        of_a, of_b = (part[part.arm == arm].value for arm in ("a", "b"))
        failed = of_b.empty and key[:3] in planned - there
        stood_still = not of_a.empty and of_a.min() > 0 and better_side(str(unit)) > 0 and (of_b <= 0).any()
        if failed or stood_still:
            said.append(f"{table}, {system}, {levels}, {metric}")
    return said


def _outcome(unit: str, ratio: float, equivalent: bool, different: bool, not_below: bool, not_above: bool) -> Outcome:
    if equivalent:
        return "equivalent"
    if different:
        return direction(unit, ratio)
    kept = {1: not_below, -1: not_above, 0: False}[better_side(unit)]
    return "not slower" if kept else "undecided"


def better_side(unit: str) -> int:
    """Return 1 where more is better (a rate), -1 where less is (a time), 0 where the unit does not say."""
    return int(is_rate(unit)) - int(is_time(unit))


def direction(unit: str, ratio: float) -> Literal["faster", "slower", "changed"]:
    """Return what a difference is called, of a ratio new over old; a metric without a better side has changed."""
    better = better_side(unit)
    return "changed" if better == 0 else "faster" if (ratio > 1) == (better > 0) else "slower"
