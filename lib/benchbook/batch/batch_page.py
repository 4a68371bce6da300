"""The page of a batch, `site/batches/ID.html`: all its cells, how each stands, and where its own page is.

It is made anew as cells begin, go on and end; as long as it runs, a browser asks for it again by itself.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchbook import paths
from benchbook.analysis.formatting import duration
from benchbook.batch import batch_words
from benchbook.batch.batch_board import PAGE_EVERY_S, CellStand
from benchbook.batch.batch_cell import BatchCell
from benchbook.batch.cell_found import CellFound
from benchbook.given.whole_file import replace_text
from benchbook.site import publish
from benchbook.site.addresses import BATCHES, PAGE
from benchbook.site.first_screen import Badge

_WAITS, _RUNS = Badge("none", "–", "waits"), Badge("warn", "…", "runs")


@dataclass(frozen=True)
class _CellRow:
    """A cell's row; `href` leads from the batch's page to the campaign's, where that is on this site."""

    cell: BatchCell
    badge: Badge
    spent: str
    href: str
    line: str
    why: str
    log: str
    found: CellFound | None

    @property
    def trials(self) -> str:
        return batch_words.trials(self.found)

    @property
    def verdicts(self) -> str:
        return batch_words.verdicts(self.found.verdicts if self.found else {})


def write(batch: str, plan: str, stands: Sequence[CellStand], over: bool) -> Path:
    """Write the page of a batch of cells that stand so; `plan` names its file. Returns its path. Raises NotWritten."""
    now, site = time.time(), paths.site_dir()
    html = publish.rendered(
        "batch.html.j2",
        batch=batch,
        plan=plan,
        rows=[_row(stand, site, now) for stand in stands],
        counts={state: sum(stand.state == state for stand in stands) for state in ("over", "runs", "waits")},
        over=over,
        every_s=round(PAGE_EVERY_S),
        now=datetime.fromtimestamp(now, UTC),
    )
    return replace_text(site / BATCHES / f"{batch}.html", html)


def _row(stand: CellStand, site: Path, now: float) -> _CellRow:
    result = stand.result
    ran = result.ran if result else None
    found = ran.found if ran else None
    ended = ran.ended if ran else now
    return _CellRow(
        cell=stand.cell,
        badge=_badge(stand),
        spent=duration(ended - stand.began) if stand.began else "",
        href=_href(site, stand.cell, found),
        line="" if result else stand.line,
        why=batch_words.why(result) if result else "",
        log=f"{ran.host}:{ran.log}" if ran and ran.status else "",
        found=found,
    )


def _badge(stand: CellStand) -> Badge:
    if stand.result is None:
        return _RUNS if stand.state == "runs" else _WAITS
    text = batch_words.ended(stand.result)
    return Badge("good", "✓", text) if stand.result.status == 0 else Badge("bad", "✕", text)


def _href(site: Path, cell: BatchCell, found: CellFound | None) -> str:
    below = f"{cell.report}/{found.campaign}/{PAGE}" if found else ""
    return f"../{below}" if below and (site / below).is_file() else ""
