"""What two campaigns measured, cell by cell: ratio with interval, what to call it, and what would decide the rest."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pandas as pd

from benchbook import published
from benchbook.analysis import measured
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.errors import BadInput
from benchbook.stats.cellwise import coefficient_of_variation, compare_cells, repetitions_needed
from benchbook.stats.estimates import DegenerateDataWarning

Outcome = Literal["faster", "slower", "changed", "equivalent", "undecided"]
OUTCOMES: tuple[Outcome, ...] = ("slower", "faster", "changed", "equivalent", "undecided")
MARGIN, CONFIDENCE = 0.05, 0.95

_CELL = ["table", "system", "levels", "metric", "unit"]
# Cells of one table, system and metric share their spread: a few repetitions of one cell say little of it.
_GROUP = ["table", "system", "metric"]
_SHORTER_IS_BETTER = {"s", "ms", "us"}


def long(a: Campaign, b: Campaign, systems: Mapping[str, str], metrics: Sequence[str] = ()) -> pd.DataFrame:
    """[table, system, levels, metric, unit, arm ("a" or "b"), value]: a row per trial and metric, in report order.

    Without `metrics`, those of the published table that a trial belongs to. Raises BadInput for a metric that no record
    has, and when the campaigns have no cell in common.
    """
    named = {ours: ours if ours == theirs else f"{ours} → {theirs}" for ours, theirs in systems.items()}
    theirs = {systems[ours]: name for ours, name in named.items()}
    parts = [_arm(a, "a", named, metrics), _arm(b, "b", theirs, metrics)]
    frame = pd.concat(parts, ignore_index=True)
    arms = frame.groupby(_CELL, sort=False).arm.nunique()
    if not (arms == 2).any():
        raise BadInput(
            "the two campaigns have no cell in common",
            key="b",
            value=b.id,
            fix=f"compare cells that both have: {_some(parts[0])} against {_some(parts[1])}",
        )
    return frame


def _arm(campaign: Campaign, arm: str, names: Mapping[str, str], metrics: Sequence[str]) -> pd.DataFrame:
    records = [record for record in campaign.records() if record.system in names]
    _known(metrics, records)
    wanted = _published(campaign.report)
    frame = measured.trials(_in_order(records, list(wanted)))
    levels = {record.id: _levels(record) for record in records}
    frame = frame.assign(arm=arm, system=frame.system.map(names), levels=frame.trial.map(levels))
    chosen = frame.metric.isin(list(metrics)) if metrics else _chosen(frame, wanted)
    return frame.loc[chosen, [*_CELL, "arm", "value"]]


def _in_order(records: Sequence[Record], tables: Sequence[str]) -> list[Record]:
    """As the report has its tables, and by rising levels: the run order is shuffled."""

    def place(record: Record) -> tuple[Any, ...]:
        known = tables.index(record.table) if record.table in tables else len(tables)
        return known, record.table, record.system, [(isinstance(v, str), v) for v in record.levels.values()]

    return sorted(records, key=place)


def _levels(record: Record) -> str:
    """The levels in words; one that only repeats the table's name says nothing."""
    return ", ".join(f"{name} {value}" for name, value in record.levels.items() if value != record.table)


def _chosen(frame: pd.DataFrame, wanted: Mapping[str, list[str]]) -> pd.Series[bool]:
    """A table's own metrics; a scenario that was not published has those of all published tables."""
    anywhere = sorted({metric for metrics in wanted.values() for metric in metrics})
    return pd.Series(
        [metric in wanted.get(table, anywhere) for table, metric in zip(frame.table, frame.metric, strict=True)],
        index=frame.index,
        dtype=bool,
    )


def _published(report: str) -> dict[str, list[str]]:
    return {name: table.metrics for name, table in published.load(report).tables.items()}


def _known(metrics: Sequence[str], records: Sequence[Record]) -> None:
    known = sorted({name for record in records for name in record.summary})
    for name in metrics:
        if name not in known:
            raise BadInput("no record has this metric", key="metric", value=name, fix=f"use some of {', '.join(known)}")


def _some(frame: pd.DataFrame) -> str:
    cells = frame[["table", "system", "levels"]].drop_duplicates().astype(str).agg(", ".join, axis=1)
    return "; ".join(cells.head(3)) + (f" and {len(cells) - 3} more" if len(cells) > 3 else "")


def differences(frame: pd.DataFrame, *, margin: float = MARGIN, confidence: float = CONFIDENCE) -> pd.DataFrame:
    """As `outcomes`, and `needed`: repetitions a side that would show a difference of `margin` in an undecided cell.

    With probability 0.8, in a family of this size; missing where the outcome stands, or nothing is known of the spread.
    """
    table = outcomes(frame, margin=margin, confidence=confidence)
    spread, undecided = _spread(frame, table), table.outcome == "undecided"
    groups = dict.fromkeys(table.loc[undecided, _GROUP].itertuples(index=False, name=None))
    needed = {key: _needed(spread[key], len(table), margin, confidence) for key in groups}
    keys = table[_GROUP].itertuples(index=False, name=None)
    found = [needed.get(key) if left else None for key, left in zip(keys, undecided, strict=True)]
    return table.assign(needed=pd.array(found, dtype="Int64"))


def outcomes(frame: pd.DataFrame, *, margin: float = MARGIN, confidence: float = CONFIDENCE) -> pd.DataFrame:
    """A row per cell that both arms have, in the order of `frame` (as `long` makes it), corrected by Holm over all.

    [*cell, a, b (means), ratio (b / a), low, high, n_a, n_b, p_value, p_holm, outcome]. "faster" and "slower" are told
    by the unit, a metric without a better side is "changed". A difference that is shown to lie within `margin` is
    "equivalent", whatever its p value.
    """
    usable = frame[frame.groupby(_CELL).value.transform("min") > 0]
    keys = usable[_CELL].drop_duplicates(ignore_index=True)
    numbered = usable.merge(keys.reset_index(names="cell"), on=_CELL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        # Counts that hardly vary: scipy says that their spread is at the limit of a float, which is no news here.
        warnings.filterwarnings("ignore", "Precision loss occurred", RuntimeWarning)
        found = compare_cells(
            numbered, value="value", arm="arm", arms=("b", "a"), cell=["cell"], margin=margin, confidence=confidence
        )
    means = numbered.pivot_table(index="cell", columns="arm", values="value", aggfunc="mean")
    table = keys.join(means).join(found.set_index("cell"), how="inner").reset_index(drop=True)
    table = table.rename(columns={"n_new": "n_b", "n_baseline": "n_a"})
    table["outcome"] = [_outcome(row) for row in table.to_dict("records")]
    return table[[*_CELL, "a", "b", "ratio", "low", "high", "n_a", "n_b", "p_value", "p_holm", "outcome"]]


def left_out(frame: pd.DataFrame) -> list[str]:
    """Cells that cannot be compared, and why: only one campaign has them, or a value is zero and has no ratio."""
    said = []
    for key, part in frame.groupby(_CELL, sort=False):
        table, system, levels, metric, _ = key
        if part.arm.nunique() < 2:
            said.append(f"{table}, {system}, {levels}, {metric}: only in {part.arm.iloc[0]}")
        elif part.value.min() <= 0:
            said.append(f"{table}, {system}, {levels}, {metric}: a value of zero has no ratio")
    return said


def _outcome(row: Mapping[Any, Any]) -> Outcome:
    if row["equivalent"]:
        return "equivalent"
    if not row["different"]:
        return "undecided"
    better = better_side(row["unit"])
    if better == 0:
        return "changed"
    return "faster" if (row["ratio"] > 1) == (better > 0) else "slower"


def better_side(unit: str) -> int:
    """1 where more is better (a rate), -1 where less is (a time), 0 where the unit does not say."""
    if unit.endswith("/s"):
        return 1
    return -1 if unit in _SHORTER_IS_BETTER else 0


def _spread(frame: pd.DataFrame, table: pd.DataFrame) -> dict[tuple[str, ...], float]:
    """Relative standard deviation between repetitions, pooled over the cells of a table and both campaigns."""
    compared = frame.merge(table[_CELL], on=_CELL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return {
            tuple(map(str, key)): coefficient_of_variation(part.value, groups=(part.levels + part.arm).tolist())
            for key, part in compared.groupby(_GROUP, sort=False)
        }


def _needed(cv: float, cells: int, margin: float, confidence: float) -> int | None:
    """None where the repetitions at hand say nothing of their spread, or where even 10,000 would not do."""
    if not cv > 0:
        return None
    try:
        # Bonferroni over the family stands in for Holm, which is at least as powerful.
        return repetitions_needed(cv=cv, ratio=1 - margin, alpha=(1 - confidence) / cells)
    except BadInput:
        return None


def as_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The table for JSON: missing values are null."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=12))
    return rows
