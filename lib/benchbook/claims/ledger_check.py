"""A ledger against the published tables: every name and level in it must be printed there, exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from benchbook import paths
from benchbook.claims.ledger import (
    Along,
    Claim,
    Correlates,
    Dominates,
    Figure,
    Ledger,
    Order,
    PeakAt,
    Ratio,
    Rows,
    SaturatesAt,
    Term,
    figures_of,
)
from benchbook.errors import BadInput
from benchbook.published.reading import known, names_in
from benchbook.published.tables import Published, PublishedTable
from benchbook.yamlfile import load_model


def load(published: Published, root: Path | None = None) -> Ledger | None:
    """The report's ledger, checked against its tables; None if it has none. Raises BadInput with file, key and fix."""
    file = (root or paths.home() / "data" / "published") / published.report.name / "claims.yaml"
    if not file.exists():
        return None
    ledger = load_model(Ledger, file)
    _named_alike(ledger, published, file)
    for claim in ledger.claims:
        _check(claim, published, file)
    return ledger


def levels_of(claim: Along | Dominates, published: Published) -> list[Rows]:
    """The levels that a claim goes along: its own, else all that are printed; one factor of numbers in rising order."""
    figure = claim.figure if isinstance(claim, Dominates) else claim
    names = claim.factors() if isinstance(claim, Along) else [claim.factor] if claim.factor else []
    if not names:
        return [{}]
    if claim.levels:
        return [_level(names, value) for value in claim.levels]
    table = published.tables[figure.table]
    rows = table.frame.loc[table.matching(figure.rows), names].drop_duplicates()
    ordered = rows.sort_values(names) if len(names) == 1 else rows
    return [{str(k): v for k, v in row.items()} for row in ordered.astype(object).to_dict("records")]


def level_at(claim: SaturatesAt | PeakAt, value: Any) -> Rows:
    """The level that a claim calls `at` or `until`, by the names of its factors."""
    return _level(claim.factors(), value)


def _level(names: list[str], value: Any) -> Rows:
    values = value if isinstance(value, list) else [value]
    return dict(zip(names, values, strict=False)) if len(values) == len(names) else {}


def _named_alike(ledger: Ledger, published: Published, file: Path) -> None:
    if ledger.report != published.report.name:
        raise BadInput(
            "is not the folder's name",
            file=file,
            key="report",
            value=ledger.report,
            fix=f"write {published.report.name}",
        )
    seen: set[str] = set()
    for claim in ledger.claims:
        if claim.id in seen:
            raise BadInput("two claims have this id", file=file, key="id", value=claim.id, fix="rename one")
        seen.add(claim.id)


def _check(claim: Claim, published: Published, file: Path) -> None:
    for key, term in _terms(claim, published, file):
        _check_term(term, published, file, f"{claim.id}.{key}")


def _terms(claim: Claim, published: Published, file: Path) -> Iterator[tuple[str, Term]]:
    """Every figure that a claim speaks of, with the key that it stands under."""
    if isinstance(claim, Correlates):
        for table in claim.tables:
            known(table, list(published.tables), "unknown table", f"{claim.id}.tables", file)
            for metric in (claim.x, claim.y):
                _check_metric(metric, published.tables[table], file, claim.id)
        return
    if isinstance(claim, Order):
        yield from ((f"figures.{i}", term) for i, f in enumerate(figures_of(claim)) for term in f.terms())
    elif isinstance(claim, Ratio):
        yield from (("rows", term) for term in claim.terms())
    else:
        for level in _checked_levels(claim, published, file):
            for figure in figures_of(claim):
                yield from (("rows", term) for term in figure.terms(level))


def _checked_levels(claim: Along | Dominates, published: Published, file: Path) -> list[Rows]:
    figure: Figure = claim.figure if isinstance(claim, Dominates) else claim
    known(figure.table, list(published.tables), "unknown table", f"{claim.id}.table", file)
    _check_rows(figure.rows, published.tables[figure.table], f"{claim.id}.rows", file)
    names = claim.factors() if isinstance(claim, Along) else [claim.factor] if claim.factor else []
    for name in names:
        known(name, published.tables[figure.table].levels, "unknown level", f"{claim.id}.factor", file)
    for key in ("levels", "at", "until"):
        given = getattr(claim, key, None)
        for value in given if key == "levels" and given else [] if given is None or given == [] else [given]:
            _known_level(names, value, published.tables[figure.table], f"{claim.id}.{key}", file)
    found = levels_of(claim, published)
    if isinstance(claim, Along):
        _long_enough(claim, found, file)
    return found


def _known_level(names: list[str], value: Any, table: PublishedTable, key: str, file: Path) -> None:
    printed = table.frame[names].drop_duplicates().astype(object).to_numpy().tolist()
    values = value if isinstance(value, list) else [value]
    if values not in printed:
        shown = ", ".join(str(row[0] if len(row) == 1 else row) for row in printed)
        raise BadInput(
            f"no such level of {', '.join(names)} in table {table.id}",
            file=file,
            key=key,
            value=value,
            fix=f"use one of: {shown}",
        )


def _long_enough(claim: Along, levels: list[Rows], file: Path) -> None:
    if len(levels) < 2:
        _refuse("needs at least two levels", file, f"{claim.id}.levels", levels, "name more levels, or widen `rows`")
    if not isinstance(claim, SaturatesAt | PeakAt):
        return
    at = levels.index(level_at(claim, claim.at))
    if isinstance(claim, SaturatesAt):
        until = levels.index(level_at(claim, claim.until)) if claim.until is not None else len(levels) - 1
        beyond = len(levels) - 1 - until
        if at == 0 or until < at or (claim.falls and beyond == 0):
            _refuse(
                "there is nothing before, or nothing after it",
                file,
                f"{claim.id}.at",
                claim.at,
                "saturation needs a lower level to rise from, and `falls` a level after `until`",
            )


def _check_term(term: Term, published: Published, file: Path, key: str) -> None:
    known(term.table, list(published.tables), "unknown table", key, file)
    table = published.tables[term.table]
    _check_rows(term.rows, table, key, file)
    _check_metric(term.metric, table, file, key)
    rows = table.frame.loc[table.matching(term.rows)]
    if len(rows) != 1:
        _refuse(
            f"{len(rows)} rows of table {table.id} have these levels",
            file,
            key,
            term.rows,
            f"name one row by its levels: {', '.join(table.levels)}",
        )
    if pd.isna(pd.Series(rows.eval(term.metric, engine="python"), index=rows.index).iloc[0]):
        _refuse(f"table {table.id} prints nothing there", file, key, str(term), "claim what is printed")


def _check_rows(rows: Rows, table: PublishedTable, key: str, file: Path) -> None:
    for name, value in rows.items():
        known(name, table.levels, f"unknown level of table {table.id}", key, file)
        _known_level([name], value, table, key, file)


def _check_metric(metric: str, table: PublishedTable, file: Path, key: str) -> None:
    printed = [*table.metrics, *table.frame[table.levels].select_dtypes("number").columns]
    for name in names_in(metric, file, "a metric"):
        known(name, printed, f"unknown metric of table {table.id}", key, file)


def _refuse(problem: str, file: Path, key: str, value: Any, fix: str) -> NoReturn:
    raise BadInput(problem, file=file, key=key, value=value, fix=fix)
