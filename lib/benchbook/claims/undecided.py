"""Which claims need more repetitions, of which cells of a design, before they can be decided; what decides none."""

from collections.abc import Sequence

from benchbook.analysis import results
from benchbook.campaign.design import Cell, Trial, distinct_cells
from benchbook.campaign.environment import Asked
from benchbook.campaign.repetitions import WORTH_A_REPETITION, OpenClaim
from benchbook.campaign.scaled_levels import LevelScaling, published_levels
from benchbook.claims.evidence import ran_by
from benchbook.claims.hypothesis import Hypothesis
from benchbook.claims.ledger import Ledger
from benchbook.published.tables import Published


def open_claims(
    ledger: Ledger | None,
    verdicts: Sequence[results.JudgedClaim],
    trials: Sequence[Trial],
    published: Published,
    scaling: LevelScaling | None,
    *,
    most: int,
) -> list[OpenClaim]:
    """Return the claims that are undecided and that `most` repetitions or fewer may decide, in the ledger's order."""
    claims = {claim.id: claim for claim in ledger.claims} if ledger else {}
    cells = distinct_cells(trials)
    return [
        OpenClaim(verdict.id, tuple(cells_of(claims[verdict.id], verdict.system, cells, published, scaling)), ahead)
        for verdict in verdicts
        if verdict.verdict == "open"
        if max(ahead := verdict.chances[: max(0, most - (verdict.n or 0))], default=0.0) >= WORTH_A_REPETITION
    ]


def unjudged(
    ledger: Ledger | None, cells: Sequence[Cell], asked: Asked, published: Published, scaling: LevelScaling | None
) -> list[Cell]:
    """The cells that decide no claim of a ledger: none speaks of them, or none that can be tested as it was `asked`.

    None of them without a ledger, for then nothing is judged; and none with levels of the user's own, who wants them.
    """
    if ledger is None:
        return []
    judged = {
        cell.key
        for system in {cell.system for cell in cells}
        for claim in ledger.claims
        if claim.unrun(system, asked) is None
        for cell in cells_of(claim, system, cells, published, scaling)
    }
    return [c for c in cells if c.key not in judged and not _chosen_by_user(_as_published(c, scaling), published)]


def _chosen_by_user(cell: Cell, published: Published) -> bool:
    """Return whether no row of the cell's published table has its levels."""
    table = published.tables.get(cell.table)
    if table is None:
        return False
    return not table.matching({name: cell.levels[name] for name in table.levels if name in cell.levels})


def cells_of(
    claim: Hypothesis, judged: str, cells: Sequence[Cell], published: Published, scaling: LevelScaling | None
) -> list[Cell]:
    """Return the cells whose figures the claim speaks of; all of its tables' where it names none (a correlation).

    A claim is judged within repetitions, so that all of its cells are repeated together.
    """
    terms = [term for _, term in claim.speaks_of(published)]
    if not terms:
        return [cell for cell in cells if cell.system == judged and cell.table in claim.in_tables()]
    printed = [_as_published(cell, scaling) for cell in cells]
    about = [(term, term.system or ran_by(term, printed) or judged) for term in terms]
    return [
        cell
        for cell, its in zip(cells, printed, strict=True)
        if any(its.system == system and term.speaks_of(its.table, its.levels) for term, system in about)
    ]


def _as_published(cell: Cell, scaling: LevelScaling | None) -> Cell:
    return cell.model_copy(update={"levels": published_levels(cell.table, cell.levels, scaling)})
