"""A ledger against the published tables: every name and level in it must be printed there, exactly once."""

from __future__ import annotations

from pathlib import Path

from benchbook import paths
from benchbook.claims import ledger
from benchbook.claims.evidence import PUBLISHED, as_published
from benchbook.claims.hypothesis import Arm, Hypothesis
from benchbook.claims.ledger import Ledger
from benchbook.claims.parts import Part
from benchbook.claims.printed_levels import check_term
from benchbook.claims.words import number, region
from benchbook.errors import BadInput
from benchbook.given import user_file
from benchbook.published.tables import Published
from benchbook.yamlfile import load_yaml


def load(published: Published, root: Path | None = None) -> Ledger | None:
    """The report's ledger, checked against its tables; None if it has none. Raises BadInput with file, key and fix."""
    file = (root / published.report.name if root else paths.published_dir(published.report.name)) / "claims.yaml"
    if not user_file.is_there(file):
        return None
    found = ledger.read(load_yaml(file), file)
    _named_alike(found, published, file)
    for claim in found.claims:
        _check(claim, published, file)
    return found


def _named_alike(found: Ledger, published: Published, file: Path) -> None:
    report = published.report.name
    if found.report != report:
        raise BadInput("is not the folder's name", file=file, key="report", value=found.report, fix=f"write {report}")
    seen: set[str] = set()
    for claim in found.claims:
        if claim.id in seen:
            raise BadInput("two claims have this id", file=file, key="id", value=claim.id, fix="rename one")
        seen.add(claim.id)


def _check(claim: Hypothesis, published: Published, file: Path) -> None:
    claim.check(published, file)
    terms = claim.speaks_of(published)
    for key, term in terms:
        check_term(term, published, file, f"{claim.id}.{key}")
    if not terms and not claim.in_tables() & set(published.tables):
        # It would be judged on what happens to be measured: no cell is repeated for it, and no full machine excuses it.
        fix = f"let `speaks_of` of {type(claim).__name__} name its figures, or `in_tables` its tables"
        raise BadInput("this claim names no figure and no table", file=file, key=claim.id, value=[], fix=fix)
    printed = as_printed(claim, published)
    if not printed:
        fix = f"let `parts` of {type(claim).__name__} give at least one comparison"
        raise BadInput("nothing of this claim is tested", file=file, key=claim.id, value=printed, fix=fix)
    against = None if claim.own_table else refuted(printed)
    if against is not None:
        said = f"{against.what}: {number(against.shown(against.mean))} is printed, the claim needs {region(against)}"
        fix = "correct the claim, or say under own_table how the report's own table contradicts its text"
        raise BadInput("the report's own table refutes this claim", file=file, key=claim.id, value=said, fix=fix)


def as_printed(claim: Hypothesis, published: Published) -> list[Part]:
    """The claim's comparisons with the report's own figures in place of measured ones."""
    return claim.parts(Arm(published, as_published(published), PUBLISHED))


def refuted(printed: list[Part]) -> Part | None:
    """The first comparison that the printed figures do not satisfy, however they were rounded; None if all hold."""
    return next((part for part in printed if not part.holds_if_rounded()), None)
