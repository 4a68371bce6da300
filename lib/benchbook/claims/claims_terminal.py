"""`python -m benchbook claims`: the ledger's verdicts of a recorded campaign as a table."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from benchbook.analysis.results import JudgedClaim
from benchbook.claims import section

# A pipe is as narrow as 80 columns, and whoever reads it wants the whole line.
WIDTH = 1000
# Columns of several words; the others hold one word or figure each.
_WRAPPED = ("state", "speaks", "interval", "n to decide", "reason", "would decide it", "what would help")
_STYLES = {"holds": "green", "fails": "red", "open": "yellow"}


def show(report: str, campaign: str, found: Sequence[JudgedClaim], console: Console) -> None:
    """Print the claims of one report, as they were judged from the campaign of this id: their figures, or why none.

    A terminal's lines are as wide as it is, and long texts go on beneath; elsewhere a claim is one line.
    """
    console.print(f"[bold]{report}[/], campaign {campaign}{'' if found else ': no ledger of claims'}")
    for system in dict.fromkeys(claim.system for claim in found):
        mine = [claim for claim in found if claim.system == system]
        console.print(f"{system or 'nothing measured'}: {section.counts(mine)}")
        for lines in (section.rows([claim for claim in mine if claim.here]), _reasons(mine)):
            print_rows(lines, console)


def _reasons(claims: Sequence[JudgedClaim]) -> list[dict[str, str]]:
    """Why a claim says no more of the report, or was not run, and what would decide it."""
    return [
        {
            "claim": claim.id,
            "state": claim.verdict,
            "reason": claim.reason or "–",
            "would decide it": claim.decide or "–",
        }
        for claim in claims
        if claim.reason or claim.here is None
    ]


def print_rows(lines: list[dict[str, str]], console: Console) -> None:
    """Print a table as wide as the terminal; on one narrower than the longest words nothing is cut, nor in a pipe."""
    if not lines:
        return
    table = _table(lines)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    width, options = console.width, console.options.update(width=WIDTH)
    console.width = max(width, Measurement.get(console, options, table).minimum)
    console.print(table, soft_wrap=False, crop=False)
    console.width = width


def _table(lines: list[dict[str, str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in lines[0]:
        words = " ".join([name, *(line[name] for line in lines)]).split()
        table.add_column(name, no_wrap=name not in _WRAPPED, min_width=max(map(len, words)))
    for line in lines:
        table.add_row(*(Text(text, style=_STYLES.get(text, "")) for text in line.values()))
    return table
