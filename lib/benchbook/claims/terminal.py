"""`python -m benchbook claims`: the ledger's verdicts of a recorded campaign as a table."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchbook import campaign, published
from benchbook.claims import judge, section
from benchbook.kinds import kind_of

WIDTH = 132
_STYLES = {"reproduced": "green", "contradicted": "red", "inconclusive": "yellow", "not testable here": "dim"}


def show(report: str, which: str, console: Console) -> int:
    """Print the claims of one report, judged from a campaign (the latest without `which`); returns 0."""
    recorded = campaign.latest(report, which)
    found = judge.of_campaign(recorded, published.load(report), kind_of(report))
    # A pipe is as narrow as 80 columns, and whoever reads it wants the whole line.
    console.width = max(console.width, WIDTH)
    console.print(f"[bold]{report}[/], campaign {recorded.id}{'' if found else ': no ledger of claims'}")
    for system in dict.fromkeys(claim.system for claim in found):
        mine = [claim for claim in found if claim.system == system]
        console.print(f"{system or 'nothing measured'}: {section.counts(mine)}")
        console.print(_table(section.rows(mine)))
    return 0


def _table(lines: list[dict[str, str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in lines[0]:
        table.add_column(name, no_wrap=True)
    for line in lines:
        table.add_row(*(Text(text, style=_STYLES.get(text, "")) for text in line.values()))
    return table
