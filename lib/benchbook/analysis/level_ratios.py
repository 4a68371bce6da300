"""One value of a level over another, published beside measured: a new version over the old one, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from benchbook.analysis.trials import paired_ratio
from benchbook.campaign.record import Record
from benchbook.campaign.scaled_levels import LevelScaling, as_published
from benchbook.given.named import one_of
from benchbook.grouping import grouped
from benchbook.published.tables import Published, PublishedTable


def level_ratios(
    published: Published, records: Sequence[Record], metric: str, *, level: str, scaling: LevelScaling | None = None
) -> pd.DataFrame:
    """The last value of `level` over the first, in the order of each table: a row per table and its other levels.

    [table, others..., published, measured, low, high, n]: ratios; the 95% interval over n repetitions in each of which
    both were measured (NaN below two). `records` as they ran; `scaling` says which published levels theirs stand for.
    Raises BadInput for a level or a metric that no table has.
    """
    with_both = [t for t in published.tables.values() if level in t.levels and metric in t.metrics]
    # Of one value alone there is nothing to form a ratio with.
    tables = [t for t in with_both if t.frame[level].nunique() > 1]
    one_of(level, {name for t in published.tables.values() for name in t.levels}, "level")
    one_of(metric, {name for t in published.tables.values() for name in t.metrics}, "metric")
    placed = grouped(as_published(records, scaling), lambda record: record.table)
    return pd.DataFrame([row for t in tables for row in _rows(t, placed.get(t.id, []), metric, level)])


def _rows(table: PublishedTable, records: Sequence[Record], metric: str, level: str) -> Iterator[dict[str, object]]:
    old, *_, new = dict.fromkeys(table.frame[level])
    others = [name for name in table.levels if name != level]
    for at in table.frame[others].drop_duplicates().astype(object).to_dict("records"):
        levels = {str(name): value for name, value in at.items()}
        printed = [table.value(metric, **levels, **{level: value}) for value in (new, old)]
        over, under = (_by_repetition(records, metric, {**levels, level: value}) for value in (new, old))
        pairs = [(over[r], under[r]) for r in sorted(over.keys() & under.keys())]
        found = paired_ratio(pairs) if pairs else None
        yield {
            "table": table.id,
            **levels,
            "published": printed[0] / printed[1] if printed[0] and printed[1] else None,
            "measured": found.value if found else None,
            "low": found.low if found else None,
            "high": found.high if found else None,
            "n": len(pairs),
        }


def _by_repetition(records: Sequence[Record], metric: str, levels: dict[str, object]) -> dict[int, float]:
    """Of the records at these levels; those above 0, for a ratio."""
    mine = [r for r in records if all(r.levels.get(name) == value for name, value in levels.items())]
    return {r.repetition: value for r in mine if metric in r.summary and (value := r.summary[metric].value) > 0}
