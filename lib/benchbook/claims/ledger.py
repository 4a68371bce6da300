"""The shape of `data/published/<report>/claims.yaml`: one entry per statement of a report that a rerun can judge.

A claim names its figures as the published tables do: a table, a metric (a column, or arithmetic over columns), and
`rows`, the levels of one printed row. `over` divides by another figure, so that a claim is about a ratio. Never is a
published figure typed: it is taken from the table. `hypothesis` chooses the class that knows the other keys.
"""

import re
from pathlib import Path
from typing import Any

from pydantic import Field, InstanceOf, ValidationError

from benchbook import paths, plugins
from benchbook.claims.contrasts import Contrast
from benchbook.claims.evidence import PUBLISHED, as_published
from benchbook.claims.figures import check_term
from benchbook.claims.hypothesis import ID, Hypothesis, Share, SystemFigures
from benchbook.claims.verdict_text import number, region
from benchbook.errors import BadInput
from benchbook.published.tables import Published
from benchbook.user_input import user_file
from benchbook.user_input.choices import one_of
from benchbook.user_input.yaml_file import Strict, bad_input, load_yaml, validate

GROUP = "hypotheses"


class Ledger(Strict):
    """All claims of a report; `alpha` bounds the chance that any of its verdicts is wrong."""

    report: str
    alpha: Share = 0.05
    claims: list[InstanceOf[Hypothesis]] = Field(min_length=1)


def read(values: dict[str, Any], file: Path | None = None) -> Ledger:
    """Return a ledger from what its file says. Raise BadInput with file, key and fix."""
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
        raise bad_input(problem, values, file, kind, below=key) from problem


def _kind(name: object, key: str, file: Path | None) -> type[Hypothesis]:
    kind: type[Hypothesis] = plugins.load(
        GROUP, one_of(str(name), plugins.names(GROUP), "hypothesis", file=file, key=key), key=key
    )
    return kind


def load(published: Published, root: Path | None = None) -> Ledger | None:
    """Return the report's ledger, checked: each name and level in it must be printed in its tables, exactly once.

    None if it has none. Raise BadInput with file, key and fix.
    """
    file = (root / published.report.name if root else paths.published_dir(published.report.name)) / "claims.yaml"
    if not user_file.is_there(file):
        return None
    found = read(load_yaml(file), file)
    _named_alike(found, published, file)
    for claim in found.claims:
        _check(claim, published, file)
    return found


def _named_alike(found: Ledger, published: Published, file: Path) -> None:
    report = published.report.name
    if found.report != report:
        raise BadInput("is not the folder's name", file=file, key="report", value=found.report, fix=f"write {report}")
    seen: set[str] = set()
    same: dict[str, str] = {}
    for claim in found.claims:
        if claim.id in seen:
            raise BadInput("two claims have this id", file=file, key="id", value=claim.id, fix="rename one")
        seen.add(claim.id)
        tested = claim.model_dump_json(exclude={"id", "statement", "sentence", "where", "note"})
        if other := same.get(tested):
            fix = f"name the table, metric or levels that {claim.id} is about, or take it out"
            raise BadInput("two claims test the same", file=file, key=claim.id, value=other, fix=fix)
        same[tested] = claim.id


def _check(claim: Hypothesis, published: Published, file: Path) -> None:
    claim.check(published, file)
    terms = claim.speaks_of(published)
    for key, term in terms:
        check_term(term, published, file, f"{claim.id}.{key}")
    if not terms and not claim.in_tables() & set(published.tables):
        # It would be judged on what happens to be measured: no cell is repeated for it, and no machine is asked about.
        fix = f"let `speaks_of` of {type(claim).__name__} name its figures, or `in_tables` its tables"
        raise BadInput("this claim names no figure and no table", file=file, key=claim.id, value=[], fix=fix)
    printed = as_printed(claim, published)
    if not printed:
        fix = f"let `contrasts` of {type(claim).__name__} give at least one comparison"
        raise BadInput("nothing of this claim is tested", file=file, key=claim.id, value=printed, fix=fix)
    against = None if claim.own_table else refuted(printed)
    if against is not None:
        said = f"{against.what}: {number(against.shown(against.mean))} is printed, the claim needs {region(against)}"
        fix = "correct the claim, or say under own_table how the report's own table contradicts its text"
        raise BadInput("the report's own table refutes this claim", file=file, key=claim.id, value=said, fix=fix)


def as_printed(claim: Hypothesis, published: Published) -> list[Contrast]:
    """Return the claim's comparisons with the report's own figures in place of measured ones."""
    return claim.contrasts(SystemFigures(published, as_published(published), PUBLISHED))


def refuted(printed: list[Contrast]) -> Contrast | None:
    """Return the first comparison that printed figures do not satisfy, however rounded; None if all hold."""
    return next((part for part in printed if not part.holds_if_rounded()), None)
