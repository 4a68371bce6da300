"""What the phases of one process take: wall time, CPU time and memory each, whichever of them calls which."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

from benchbook.bench.spent import SELF, cpu_s, peak_mb

REST = "the rest"
_COLUMNS = ("seconds", "cpu_s", "mb")


class Phases:
    """A phase has what passes until another one begins within it, and after that one's end again.

    MB are what the process's peak grew by meanwhile: what is given back and taken again counts once.
    """

    def __init__(self) -> None:
        self._under_way, self._seen = [REST], _now()
        self._found = {REST: [0.0, 0.0, 0.0]}
        self._followed_calls = ExitStack()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self._credit()
        self._under_way.append(name)
        try:
            yield
        finally:
            self._credit()
            self._under_way.pop()

    def follow(self, name: str, owner: Any, *functions: str) -> None:
        """Make every call of these functions (of a module or a class) part of the phase, until they are let go."""
        for function in functions:
            plain = getattr(owner, function)
            self._followed_calls.callback(setattr, owner, function, plain)
            setattr(owner, function, self._followed(name, plain))

    def let_go(self) -> None:
        """Functions that were followed are what they were."""
        self._followed_calls.close()

    def _followed(self, name: str, function: Any) -> Any:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.phase(name):
                return function(*args, **kwargs)

        return call

    def _credit(self) -> None:
        now = _now()
        mine = self._found.setdefault(self._under_way[-1], [0.0, 0.0, 0.0])
        for place, (before, after) in enumerate(zip(self._seen, now, strict=True)):
            mine[place] += after - before
        self._seen = now

    def found(self) -> dict[str, dict[str, float]]:
        """Of every phase so far, in the order of their beginnings: `seconds` of wall time, `cpu_s`, `mb`."""
        self._credit()
        first, *others = self._found.items()
        return {
            name: {key: round(value, 2) for key, value in zip(_COLUMNS, values, strict=True)}
            for name, values in [*others, first]
        }


def _now() -> tuple[float, float, float]:
    return time.perf_counter(), cpu_s(SELF), peak_mb(SELF)
