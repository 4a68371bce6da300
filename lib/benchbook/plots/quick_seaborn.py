"""seaborn without what it takes of scipy: density curves and dendrograms import that when somebody draws one.

It is the larger half of what seaborn takes to import, in every kernel that draws. Our modules import seaborn from here.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

# What seaborn takes by name, and the modules that have it; a module is a name of its package.
TAKEN = {"scipy.stats": ("gaussian_kde",), "scipy.cluster": ("hierarchy",)}


class _Later:
    """A name of a module, which is imported when the name is called, or when something of it is asked for."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def _itself(self) -> Any:
        return getattr(importlib.import_module(self._module), self._name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._itself()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._itself(), name)


@contextmanager
def _stood_in() -> Iterator[None]:
    """Until the block ends, modules that are not there yet have nothing but the names above."""
    absent = [module for module in TAKEN if module not in sys.modules]
    for module in absent:
        stand_in = ModuleType(module)
        vars(stand_in).update({name: _Later(module, name) for name in TAKEN[module]})
        sys.modules[module] = stand_in
    try:
        yield
    finally:
        for module in absent:
            del sys.modules[module]


with _stood_in():
    import seaborn as sns

__all__ = ["sns"]
