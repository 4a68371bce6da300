"""Counts in sentences: one thing, or several."""

from __future__ import annotations


def counted(count: int, one: str, several: str = "") -> str:
    """`1 table`, `2 tables`; `several` is the plural where it is not made with an s."""
    return f"{count} {one if count == 1 else several or f'{one}s'}"
