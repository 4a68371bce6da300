"""The cells of a comparison as a frame."""

from __future__ import annotations

import pandas as pd

from benchbook.analysis.schema import RATIOS, typed
from benchbook.compare.pair import compare


def ratios(a: str, b: str = "") -> pd.DataFrame:
    """A row per cell of both campaigns; see `schema.RATIOS`. `attrs["sentence"]` says what may be said of them all."""
    found = compare(a, b)
    frame = typed(found.cells.assign(called=found.called()), RATIOS)
    frame.attrs |= {"a": found.a.id, "b": found.b.id, "sentence": found.sentence()}
    return frame
