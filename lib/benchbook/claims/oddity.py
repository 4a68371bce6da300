"""What makes some repetitions vary more than those of the cells beside them, in words."""

from __future__ import annotations

import numpy as np

from benchbook.stats.estimates import Array

OUTLIER = "one repetition stands apart from the others"
REGIMES = "this cell has two regimes"
WIDER = "its repetitions vary far more than those of the other cells"


def oddity(effects: Array) -> str:
    """Which of the three it is, from one value per repetition."""
    rising = np.sort(effects)
    gaps = np.diff(rising)
    at = int(gaps.argmax()) + 1
    within = max(float(np.ptp(rising[:at])), float(np.ptp(rising[at:])))
    if effects.size < 4 or gaps[at - 1] < 2 * within:
        return WIDER
    return OUTLIER if min(at, effects.size - at) == 1 else REGIMES
