"""The shape of `data/published/<report>/claims.yaml`: one entry per statement of a report that a rerun can judge.

A claim names its figures as the published tables do: a table, a metric (a column, or arithmetic over columns), and
`rows`, the levels of one printed row. `over` divides by another figure, so that a claim is about a ratio. Never is a
published figure typed: it is taken from the table. `hypothesis` chooses the class that knows the other keys.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import Field, InstanceOf, ValidationError

from benchbook import plugins
from benchbook.claims.hypothesis import ID, Hypothesis, Share
from benchbook.errors import BadInput
from benchbook.given.named import one_of
from benchbook.yamlfile import Strict, bad_input, validate

GROUP = "hypotheses"


class Ledger(Strict):
    """All claims of a report; `alpha` bounds the chance that any of its verdicts is wrong."""

    report: str
    alpha: Share = 0.05
    claims: list[InstanceOf[Hypothesis]] = Field(min_length=1)


def read(values: dict[str, Any], file: Path | None = None) -> Ledger:
    """A ledger from what its file says. Raises BadInput with file, key and fix."""
    claims = values.get("claims")
    found = [_claim(one, _key(one, i), file) for i, one in enumerate(claims)] if isinstance(claims, list) else claims
    return validate(Ledger, {**values, "claims": found} if "claims" in values else values, file)


def _key(values: object, place: int) -> str:
    """Where a claim stands: by its id, if it has one that can be read; else by its place, which counts from 0."""
    id = values.get("id") if isinstance(values, dict) else None
    return f"claims.{id if isinstance(id, str) and re.fullmatch(ID, id) else place}"


def _claim(values: object, key: str, file: Path | None) -> Hypothesis:
    if not isinstance(values, dict):
        raise BadInput("a claim has keys and values", file=file, key=key, value=values, fix="write `key: value` lines")
    if "hypothesis" not in values:
        fix = f"add this key, with one of {', '.join(plugins.names(GROUP))}"
        raise BadInput("a claim says what is tested", file=file, key=f"{key}.hypothesis", value=list(values), fix=fix)
    kind = _kind(values["hypothesis"], f"{key}.hypothesis", file)
    try:
        return kind.model_validate(values)
    except ValidationError as problem:
        raise bad_input(problem, file, kind, below=key) from problem


def _kind(name: object, key: str, file: Path | None) -> type[Hypothesis]:
    kind: type[Hypothesis] = plugins.load(
        GROUP, one_of(str(name), plugins.names(GROUP), "hypothesis", file=file, key=key), key=key
    )
    return kind
