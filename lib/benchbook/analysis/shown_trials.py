"""Which trials a figure of single trials shows, where there are more than anybody could tell apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from benchbook.campaign.record import Record
from benchbook.grouping import grouped

# Lines in a panel, panels in a row, and rows: as many as can be read.
MOST_LINES, MOST_ACROSS, MOST_DOWN = 9, 8, 12
Item = TypeVar("Item")


def evenly(items: Sequence[Item], most: int) -> list[Item]:
    """At most so many of the items, in their order: the first, the last, and those evenly between."""
    if len(items) <= most:
        return list(items)
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def shown(
    records: Sequence[Record], *, row: str, column: str, rate: Callable[[Record], float]
) -> tuple[list[Record], str]:
    """The records that a figure with a panel per level `row` and `column` shows, and a sentence on the others.

    Of too many repetitions: by their `rate` the lowest, the highest, and those at even ranks between.
    """
    rows = list(grouped(records, lambda r: r.levels[row]).values())
    panels = [list(grouped(mine, lambda r: r.levels[column]).items()) for mine in evenly(rows, MOST_DOWN)]
    # Levels of one kind, but for whose kind nobody vouches.
    across = [
        evenly(sorted(each, key=lambda panel: (isinstance(panel[0], str), panel[0])), MOST_ACROSS) for each in panels
    ]
    chosen = [r for each in across for _, mine in each for r in evenly(sorted(mine, key=rate), MOST_LINES)]
    kept = {r.id for r in chosen}
    left_out = [
        _of(len(panels), len(rows), f"values of {row}"),
        _of(max(map(len, across), default=0), max(map(len, panels), default=0), f"values of {column}"),
        _of(_most(across), _most(panels), "repetitions (the slowest, the fastest, and even ranks between)", MOST_LINES),
    ]
    said = ", ".join(filter(None, left_out))
    return [r for r in records if r.id in kept], f"Shown are {said}." if said else ""


def _most(panels: Sequence[Sequence[tuple[object, Sequence[Record]]]]) -> int:
    return max((len(mine) for each in panels for _, mine in each), default=0)


def _of(shown: int, all_of_them: int, what: str, most: int | None = None) -> str:
    count = min(shown, most) if most else shown
    return f"{count} of {all_of_them} {what}" if count < all_of_them else ""
