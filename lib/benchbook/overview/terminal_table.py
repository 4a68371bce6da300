"""A plain table on a terminal: whole lines, also in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

# A pipe says that it is as narrow as 80 columns, and whoever reads it wants the whole line.
_LEAST_WIDTH = 160


def show(console: Console, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows below their heads; nothing is cut."""
    console.width = max(console.width, _LEAST_WIDTH)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        table.add_column(head, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
