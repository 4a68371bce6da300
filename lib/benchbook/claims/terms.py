"""A claim's figures as logs per repetition, and what to call them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from benchbook.claims.ledger import Figure, Rows, Term
from benchbook.published.tables import Published
from benchbook.stats.estimates import Array

Lookup = Callable[[Term], "pd.Series[float]"]
"""Values by repetition; raises NotMeasured."""


def logs(figure: Figure, lookup: Lookup, level: Rows | None = None) -> pd.Series[float]:
    """log(figure) by repetition, of those repetitions that have all of it."""
    values = [lookup(term) for term in figure.terms(level)]
    quotient = values[0] / values[1] if len(values) > 1 else values[0]
    return pd.Series(np.log(quotient), index=quotient.index, dtype="float64").dropna()


def contrast(a: pd.Series[float], b: pd.Series[float]) -> Array:
    """a - b in each repetition that has both."""
    return np.asarray((a - b).dropna(), dtype=np.float64)


def name(figure: Figure, published: Published) -> str:
    """What people call the figure: its own name, else the column's title, with the table where there are several."""
    if figure.called:
        return figure.called
    field = published.tables[figure.table].fields.get(figure.metric)
    plain = field.title[:1].lower() + field.title[1:] if field else figure.metric
    if figure.over is not None and figure.over.rows != figure.rows:
        return f"{plain}{at(figure.rows)} over {figure.over.metric or 'that'}{at(figure.over.rows)}"
    return plain + at(figure.rows)


def at(rows: Rows) -> str:
    return f" at {words(rows)}" if rows else ""


def step(a: Rows, b: Rows) -> str:
    """Two levels of the same factors: "threads 400 against 100"."""
    names = "/".join(name.replace("_", " ") for name in a)
    upper, lower = ("/".join(str(value) for value in rows.values()) for rows in (a, b))
    return f"{names} {upper} against {lower}"


def words(rows: Rows) -> str:
    """Levels in words: "threads 400", "source threads 6, target threads 24"."""
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in rows.items())
