"""What a cell's campaign came to: counts of trials and of verdicts, read where it ran, so that they come home."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from benchbook import paths
from benchbook.errors import BenchbookError

# The line by which a report names its campaign's folder.
SAID = "campaign: "


class CellFound(BaseModel):
    """`verdicts` counts claims by verdict; `problem` is why the run broke off, if it did."""

    model_config = ConfigDict(frozen=True)

    campaign: str
    planned: int
    done: int
    failed: int
    disturbed: int = 0
    verdicts: dict[str, int] = {}
    problem: str = ""


def found_by(output: str) -> CellFound | None:
    """By the output of `benchbook report`; None where it began no campaign, or one that cannot be read."""
    named = [line.removeprefix(SAID) for line in output.splitlines() if line.startswith(SAID)]
    if not named:
        return None
    folder = Path(named[-1])
    try:
        return _judged(folder) if (folder / paths.RESULTS).is_file() else _recorded(folder)
    except BenchbookError:
        # The cell's own output says what is wrong with it.
        return None


def _judged(folder: Path) -> CellFound:
    # pandas comes with it: a worker needs that at the end of its first cell, and not to start.
    from benchbook.analysis import results  # noqa: PLC0415

    said = results.read(folder / paths.RESULTS)
    verdicts = Counter(claim.verdict for claim in said.claims)
    return CellFound(
        campaign=folder.name, **said.trials.model_dump(), verdicts=dict(verdicts), problem=said.failed or ""
    )


def _recorded(folder: Path) -> CellFound:
    """A run that broke off before it had results has left its records."""
    from benchbook.campaign.store import Campaign  # noqa: PLC0415

    campaign = Campaign(folder)
    counts = {"planned": len(campaign.trials), "done": len(campaign.done()), "failed": len(campaign.failures())}
    return CellFound(campaign=folder.name, **counts)
