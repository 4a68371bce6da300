"""Frames of a report: what was published, what was measured beside it, what was claimed."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from benchbook.analysis.results import Bounds, JudgedClaim, Row, Table
from benchbook.analysis.schema import BESIDE, CLAIMS, PUBLISHED, as_level, typed
from benchbook.given.named import one_of
from benchbook.published.tables import Published, PublishedTable

# A metric that a trial may lack: a percentile is told only where the requests support it (stats.latency).
_PERCENTILE = re.compile(r"(\w+_)?p(\d\d|999|9999)_ms")


def published(report: Published) -> pd.DataFrame:
    """A row per published number; see `schema.PUBLISHED`."""
    tables = report.tables.values()
    rows = [row for table in tables for row in _printed(table)]
    names = dict.fromkeys(as_level(name) for table in tables for name in [*table.fixed, *table.levels])
    return typed(pd.DataFrame(rows), PUBLISHED, levels=list(names))


def _printed(table: PublishedTable) -> Iterator[dict[str, object]]:
    for cells, texts in zip(table.cells, table.texts, strict=True):
        known = {**table.fixed, **{name: cells[name] for name in table.levels}}
        levels = {as_level(name): value for name, value in known.items()}
        for metric in table.metrics:
            if pd.notna(cells[metric]):
                about = {"metric": metric, "value": cells[metric], "unit": table.fields[metric].unit}
                yield {"table": table.id, **levels, **about, "printed": texts[metric]}


def beside(tables: Iterable[Table]) -> pd.DataFrame:
    """A row per cell, system and metric; see `schema.BESIDE`."""
    pairs = [(table, row) for table in tables for row in table.rows]
    names = dict.fromkeys(name for _, row in pairs for name in _levels(row))
    return typed(pd.DataFrame([_beside(table.id, row) for table, row in pairs]), BESIDE, levels=list(names))


def _levels(row: Row) -> Mapping[str, object]:
    return {as_level(k): value for k, value in (row.model_extra or {}).items() if k != "system"}


def _beside(table: str, row: Row) -> dict[str, object]:
    found = row.measured
    return {
        "table": table,
        "system": (row.model_extra or {}).get("system", ""),
        **_levels(row),
        "metric": row.metric,
        "published": row.published,
        "measured": found.value if found else None,
        "low": found.low if found else None,
        "high": found.high if found else None,
        "n": found.n if found else 0,
        "unit": row.unit or "",
    }


def claims(judged: Sequence[JudgedClaim]) -> pd.DataFrame:
    """A row per claim and system; see `schema.CLAIMS`."""
    return typed(pd.DataFrame([_claim(one) for one in judged]), CLAIMS)


def _claim(one: JudgedClaim) -> dict[str, object]:
    # An interval that is open at an end is infinite there; without an interval both ends are missing.
    low, high = _ends(one.interval, (-math.inf, math.inf)) if one.interval else (None, None)
    region_low, region_high = one.region or (None, None)
    return {
        **one.model_dump(
            include={"system", "verdict", "here", "speaks", "unit", "published", "n", "p_value", "leaning", "needed"}
        ),
        "claim": one.id,
        "hypothesis": one.hypothesis or "",
        "effect": one.effect if isinstance(one.effect, float) else None,
        "low": low,
        "high": high,
        "region_low": region_low,
        "region_high": region_high,
        "statement": one.statement,
        "sentence": one.sentence,
    }


def _ends(bounds: Bounds, open_ends: tuple[float, float]) -> tuple[float, float]:
    low, high = bounds
    return (open_ends[0] if low is None else low, open_ends[1] if high is None else high)


def with_columns(trials: pd.DataFrame, names: Collection[str], published: Published) -> pd.DataFrame:
    """`trials`, with an empty column for each of these levels and metrics that no trial of the campaign has.

    Their tables were left out, or of a percentile (ms) no load had requests enough. Raises BadInput for any other name
    that neither the frame nor a published table has; of a campaign without a trial nobody knows what its trials would
    have had, and every name is taken.
    """
    tables = published.tables.values()
    units = {name: table.fields[name].unit for table in tables for name in table.metrics}
    units = _percentiles(names, {*trials.columns, *units}) | units
    known = {*trials.columns, *units, *(as_level(name) for table in tables for name in (*table.levels, *table.fixed))}
    known |= set(names) if trials.empty else set()
    missing = {one_of(name, sorted(known), "column"): np.nan for name in names if name not in trials}
    found = trials.assign(**missing)
    found.attrs = {**trials.attrs, "units": trials.attrs["units"] | {n: units[n] for n in missing if n in units}}
    return found


def _percentiles(names: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Those of `names` that are percentiles, with their unit; what one is of (`new_order_p95_ms`) has other columns."""
    found = {name: match[1] or "" for name in names if (match := _PERCENTILE.fullmatch(name))}
    return {name: "ms" for name, of in found.items() if any(other.startswith(of) for other in known)}
