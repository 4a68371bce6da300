"""seaborn, which takes one name from scipy.stats, for density curves: that is imported when somebody draws one.

It is the half of what seaborn takes to import, in every kernel that draws. Our modules import seaborn from here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

NAME = "scipy.stats"


def gaussian_kde(*args: Any, **kwargs: Any) -> Any:
    """As scipy.stats has it."""
    from scipy import stats  # noqa: PLC0415 - the whole point of this module

    return stats.gaussian_kde(*args, **kwargs)


@contextmanager
def _stood_in() -> Iterator[None]:
    """Until the block ends, scipy.stats is a module that has nothing but the name above; not if it is there already."""
    if NAME in sys.modules:
        yield
        return
    stand_in = ModuleType(NAME)
    vars(stand_in)["gaussian_kde"] = gaussian_kde
    sys.modules[NAME] = stand_in
    try:
        yield
    finally:
        del sys.modules[NAME]


with _stood_in():
    import seaborn as sns

__all__ = ["sns"]
