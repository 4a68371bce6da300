"""`python -m benchbook claims`: the ledger's verdicts of a recorded campaign as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchbook.analysis.results import JudgedClaim
from benchbook.claims import section

WIDTH = 140
_STYLES = {"reproduced": "green", "contradicted": "red", "inconclusive": "yellow", "not testable here": "dim"}


def show(report: str, campaign: str, found: Sequence[JudgedClaim], console: Console) -> None:
    """Print the claims of one report, as they were judged from the campaign of this id."""
    # A pipe is as narrow as 80 columns, and whoever reads it wants the whole line.
    console.width = max(console.width, WIDTH)
    console.print(f"[bold]{report}[/], campaign {campaign}{'' if found else ': no ledger of claims'}")
    for system in dict.fromkeys(claim.system for claim in found):
        mine = [claim for claim in found if claim.system == system]
        console.print(f"{system or 'nothing measured'}: {section.counts(mine)}")
        console.print(_table(section.rows(mine)))


def _table(lines: list[dict[str, str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in lines[0]:
        table.add_column(name, no_wrap=True)
    for line in lines:
        table.add_row(*(Text(text, style=_STYLES.get(text, "")) for text in line.values()))
    return table
