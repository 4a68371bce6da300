"""What a figure must not leave out."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd

from benchbook.plots import panels


def test_every_level_has_a_panel_however_many_there_are() -> None:
    levels = {"a": [1, 2, 4, 8, 16], "b": [1, 2]}
    frame = pd.DataFrame(
        {"workload": w, "threads": n, "repetition": 1, "t": float(t), "value": 1.0}
        for w, threads in levels.items() for n in threads for t in range(3)
    )  # fmt: skip
    drawn = panels.time_series(frame, row="workload", column="threads", label="tps")
    titles = [axes.get_title() for axes in drawn.axes if axes.get_visible()]
    plt.close(drawn)
    assert titles == [f"{w}, threads {n}" for w, threads in levels.items() for n in threads]
