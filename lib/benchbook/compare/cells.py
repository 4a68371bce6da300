"""What two campaigns measured, cell by cell: ratio with interval, what to call it, and what would decide the rest."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from benchbook import published
from benchbook.analysis.trials import figures_of, of_records
from benchbook.campaign.design import Levels
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.documents.units import is_rate, is_time
from benchbook.errors import BadInput
from benchbook.stats.campaign_effect import CampaignEffect
from benchbook.stats.cellwise import CONFIDENCE, coefficient_of_variation, compare_cells, repetitions_needed
from benchbook.stats.estimates import DegenerateDataWarning

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

    A system that is not in `names` is left out; `apart` says by those names which levels are no part of a cell. Raise
    BadInput for a metric that no record has.
    """
    records = [record for record in campaign.records() if record.system in names]
    _known(metrics, records)
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


def _known(metrics: Sequence[str], records: Sequence[Record]) -> None:
    known = sorted({name for record in records for name in record.summary})
    for name in metrics:
        if name not in known:
            raise BadInput("no record has this metric", key="metric", value=name, fix=f"use some of {', '.join(known)}")


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
    """As `outcomes`, and `needed`: repetitions a side that would show a difference of `margin` in an undecided cell.

    With probability 0.8, in a family of this size; missing where the outcome stands, nothing is known of the spread, or
    campaigns differ too much for any number of repetitions to do. Where there are as many, it is the ratio that leaves
    the cell open: then, what would decide it at this ratio. A cell that varies unlike the others of its group is told
    by its own spread, as it was judged.
    """
    table = outcomes(frame, effects=effects, margin=margin, alpha=alpha)
    undecided, each = table.outcome == "undecided", alpha / len(table)
    alike, apart = _spread(frame, table[~table.own_spread], GROUP), _spread(frame, table[table.own_spread], CELL)

    @cache
    def needed(cv: float, group: Group, distance: float) -> int | None:
        return _needed(cv, distance, each, (effects or {}).get(group))

    def of(cell: tuple[str, ...], group: Group, distance: float, have: int) -> int | None:
        cv = alike[group] if cell not in apart else apart[cell]
        found = needed(cv, group, -math.log(1 - margin))
        if found is not None and found <= have:
            found = needed(cv, group, distance)
        return None if found is None else max(found, have + 1)

    have = np.minimum(table.n_a, table.n_b)
    rows = zip(_keys(table, CELL), _groups(table), _distances(table, margin), have, strict=True)
    found = [of(*row) if left else None for row, left in zip(rows, undecided, strict=True)]
    return table.assign(needed=pd.array(found, dtype="Int64"))


def _distances(table: pd.DataFrame, margin: float) -> list[float]:
    """The difference (of logs) that decides each cell soonest at its ratio: from 1, or from an edge of the margin.

    A ratio halfway between them takes four times the repetitions of one that lies on either. In steps of a twentieth of
    the margin, so that few are worked out.
    """
    edge, shift = -math.log(1 - margin), np.abs(np.log(table.ratio.to_numpy(float)))
    return [float(edge * steps / 20) for steps in np.floor(20 * np.clip(shift / edge, 1 - shift / edge, 1.0))]


def _keys(table: pd.DataFrame, columns: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(map(str, key)) for key in table[list(columns)].itertuples(index=False, name=None)]


def _groups(table: pd.DataFrame) -> list[Group]:
    return [Group(*key) for key in table[GROUP].itertuples(index=False, name=None)]


def outcomes(
    frame: pd.DataFrame, *, effects: Effects | None = None, margin: float = MARGIN, alpha: float = 1 - CONFIDENCE
) -> pd.DataFrame:
    """A row per cell that both arms have, in the order of `frame` (as `long` makes it), corrected by Holm over all.

    [*cell, a, b (means), ratio (b / a), low, high, n_a, n_b, p_value, p_holm, campaigns, own_spread, outcome].
    "faster" and "slower" are told by the unit, a metric without a better side is "changed". A difference that is shown
    to lie within `margin` is "equivalent", whatever its p value; "not slower" is shown to lose less than `margin`, but
    not to gain less. `effects` holds what campaigns differ by. `alpha` is the error rate of
    every statement: less than 5% where this is one of several looks.
    """
    usable = comparable(frame)
    keys = usable[CELL].drop_duplicates(ignore_index=True)
    numbered = usable.merge(keys.reset_index(names="cell"), on=CELL)
    known = {cell: effects[group] for cell, group in enumerate(_groups(keys)) if effects and group in effects}
    kinds = numbered.assign(kind=numbered.metric)
    found = compare_cells(kinds, arms=("b", "a"), effects=known, margin=margin, alpha=alpha)
    means = numbered.pivot_table(index="cell", columns="arm", values="value", aggfunc="mean")
    table = keys.join(means).join(found, how="inner")
    table = table.rename(columns={"n_new": "n_b", "n_baseline": "n_a"})
    table["campaigns"] = [known[cell].campaigns if cell in known else 0 for cell in table.index]
    table["outcome"] = _called(table)
    told = ["ratio", "low", "high", "n_a", "n_b", "p_value", "p_holm", "campaigns", "own_spread", "outcome"]
    return table[[*CELL, "a", "b", *told]].reset_index(drop=True)


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


def _called(table: pd.DataFrame) -> list[Outcome]:
    told = ["unit", "ratio", "equivalent", "different", "not_below", "not_above"]
    return [_outcome(*row) for row in table[told].itertuples(index=False, name=None)]


def _outcome(unit: str, ratio: float, equivalent: bool, different: bool, not_below: bool, not_above: bool) -> Outcome:
    if equivalent:
        return "equivalent"
    if different:
        return direction(unit, ratio)
    kept = {1: not_below, -1: not_above, 0: False}[better_side(unit)]
    return "not slower" if kept else "undecided"


def _spread(frame: pd.DataFrame, table: pd.DataFrame, by: Sequence[str]) -> dict[tuple[str, ...], float]:
    """Relative standard deviation between repetitions, pooled over both campaigns and the cells that `by` groups."""
    compared = frame.merge(table[CELL], on=CELL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return {
            tuple(map(str, key)): coefficient_of_variation(part.value, groups=(part.levels + part.arm).tolist())
            for key, part in compared.groupby(list(by), sort=False)
        }


def _needed(cv: float, distance: float, alpha: float, effect: CampaignEffect | None) -> int | None:
    """None where the repetitions at hand say nothing of their spread, or where even 10,000 would not do."""
    if not cv > 0:
        return None
    try:
        # Bonferroni over the family stands in for Holm, which is at least as powerful.
        return repetitions_needed(cv=cv, ratio=math.exp(-distance), alpha=alpha, effect=effect)
    except BadInput:
        return None


def better_side(unit: str) -> int:
    """Return 1 where more is better (a rate), -1 where less is (a time), 0 where the unit does not say."""
    return int(is_rate(unit)) - int(is_time(unit))


def direction(unit: str, ratio: float) -> Literal["faster", "slower", "changed"]:
    """Return what a difference is called, of a ratio new over old; a metric without a better side has changed."""
    better = better_side(unit)
    return "changed" if better == 0 else "faster" if (ratio > 1) == (better > 0) else "slower"
