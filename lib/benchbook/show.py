"""How things look in a notebook: tables as plain HTML that the page styles, numbers with the digits that they carry."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from IPython.display import HTML

from benchbook.published import Published, PublishedTable
from benchbook.results import Measured, Row, Table


def number(value: float | None) -> str:
    """Four significant digits, thousands apart; a missing value is a dash."""
    if value is None or pd.isna(value):
        return "–"
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def with_interval(measured: Measured | None) -> str:
    """`mean [low, high]`; with one repetition the mean alone."""
    if measured is None:
        return "–"
    if measured.low is None or measured.high is None:
        return number(measured.value)
    return f"{number(measured.value)} [{number(max(0.0, measured.low))}, {number(measured.high)}]"


def table(rows: Iterable[Mapping[str, Any]], caption: str = "") -> HTML:
    """Rows as a table; the caption says what it is."""
    frame = pd.DataFrame(list(rows))
    body = frame.to_html(index=False, border=0, classes="bb-table", escape=True, na_rep="–")
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return HTML(body.replace("<thead>", f"{title}<thead>", 1))


def stack(parts: Sequence[HTML]) -> HTML:
    return HTML("\n".join(str(part.data) for part in parts))


def paragraph(text: str) -> HTML:
    return HTML(f"<p>{html.escape(text)}</p>")


def published(data: Published) -> HTML:
    """Every table of the report as it was printed, with units and where it stands."""
    return stack([_published_table(part) for part in data.tables.values()])


def _published_table(part: PublishedTable) -> HTML:
    names = [name for name in part.frame.columns if part.fields[name].role != "note"]
    heads = {n: f"{part.fields[n].title}{_unit(part.fields[n].unit)}" for n in names}
    rows = [{heads[n]: _cell(row[n]) for n in names} for _, row in part.frame.iterrows()]
    return table(rows, f"{part.title} ({part.where})")


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else number(value)


def _unit(unit: str) -> str:
    return f" ({unit})" if unit not in ("", "1", "threads", "connections") else ""


def beside(tables: Sequence[Table], units: Mapping[str, str]) -> HTML:
    """Published beside measured, a table each: one line per system and levels, two columns per metric."""
    return stack([_beside(part, units) for part in tables if any(row.measured for row in part.rows)])


def _beside(part: Table, units: Mapping[str, str]) -> HTML:
    metrics = list(dict.fromkeys(row.metric for row in part.rows))
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for row in part.rows:
        levels = _levels(row)
        line = lines.setdefault(tuple(levels.values()), dict(levels))
        label = f"{row.metric}{_unit(units.get(row.metric, row.unit or ''))}"
        line[f"{label} published"] = number(row.published)
        line[f"{label} measured"] = with_interval(row.measured)
        line["n"] = str(row.measured.n) if row.measured else line.get("n", "0")
    caption = f"{part.title}: published beside measured, mean [95% interval over n repetitions]"
    order = [*_levels(part.rows[0]), *(f"{m}" for m in ())]
    heads = [key for line in lines.values() for key in line if key != "n"]
    columns = list(dict.fromkeys([*order, *heads, "n"]))
    return table([{c: line.get(c, "–") for c in columns} for line in lines.values()], caption if metrics else "")


def _levels(row: Row) -> dict[str, str]:
    return {key: str(value) for key, value in (row.model_extra or {}).items()}
