"""A cell of a batch in words, for its page and for the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from benchbook.batch.cell_found import CellFound
from benchbook.batch.dispatch import LOST, CellResult
from benchbook.given.guard import INTERRUPTED

_MEANINGS = {0: "well", 1: "failed", 2: "bad input", INTERRUPTED: "interrupted"}
_VERDICTS = {
    "reproduced": "reproduced",
    "contradicted": "contradicted",
    "inconclusive": "open",
    "not testable here": "not testable",
}


def meaning(status: int) -> str:
    """An exit status of a report in words."""
    return _MEANINGS.get(status, f"exit status {status}")


def ended(result: CellResult) -> str:
    """How a cell ended: by its exit status, or lost, if it never came to one."""
    if result.ran is None and result.status == LOST:
        return "lost"
    found = result.ran.found if result.ran else None
    # A page that cannot be made, or a build, ends a report with the same status.
    lacks = result.status == 1 and found is not None and found.done < found.planned
    return "failed trials" if lacks else meaning(result.status)


def trials(found: CellFound | None) -> str:
    """ "14 of 15, 1 failed, 2 disturbed"; empty where nothing is known."""
    if found is None:
        return ""
    more = [f"{count} {what}" for what, count in (("failed", found.failed), ("disturbed", found.disturbed)) if count]
    return ", ".join([f"{found.done} of {found.planned}", *more])


def verdicts(counts: Mapping[str, int]) -> str:
    """ "3 reproduced, 1 open"; empty where no claim was judged."""
    return ", ".join(f"{counts[name]} {word}" for name, word in _VERDICTS.items() if counts.get(name))


def why(result: CellResult) -> str:
    """Why a cell did not end well; empty for one that did."""
    if result.ran is None:
        return result.problem
    if result.status == 0:
        return ""
    broken_off = result.ran.found.problem if result.ran.found else ""
    return broken_off or result.ran.why
