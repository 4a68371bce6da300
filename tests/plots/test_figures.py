"""What a figure must not leave out."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from benchbook import plots
from benchbook.analysis.results import JudgedClaim
from benchbook.claims import claims_plot
from benchbook.errors import BadInput
from benchbook.plots import curves, mime, picture, ratio_plot, style, timelines
from benchbook.plots.forest import Scale, forest
from benchbook.plots.placed import placed
from benchbook.plots.style import DPI, Look
from benchbook.site.forest_rows import Forest


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def lines_of(axes: plt.Axes) -> list[list[tuple[float, float]]]:
    """The points of every line that has several."""
    drawn = [list(zip(line.get_xdata(), line.get_ydata(), strict=True)) for line in axes.lines]
    return [[(float(x), float(y)) for x, y in points] for points in drawn if len(points) > 1]


def of_a_grid() -> pd.DataFrame:
    """Two sizes at each number of threads, of one workload; the larger does twice as much."""
    return pd.DataFrame(
        {"table": "t", "system": "s", "workload": "w", "threads": threads, "size": size, "metric": "tps",
         "published": 100.0 * threads * size, "measured": 10.0 * threads * size, "low": np.nan, "high": np.nan, "n": 1,
         "unit": "1/s"}
        for threads in (1, 2) for size in (1.0, 2.0)
    )  # fmt: skip


def test_every_curve_of_a_grid_has_a_panel() -> None:
    """Of two points at one number of threads the second was dropped without a word."""
    drawn = plots.levels(of_a_grid(), "tps", x="threads", panel="workload")
    panels = {axis.get_title(): lines_of(axis) for axis in drawn.axes}
    assert panels == {
        "w, size 1": [[(1.0, 100.0), (2.0, 200.0)], [(1.0, 10.0), (2.0, 20.0)]],
        "w, size 2": [[(1.0, 200.0), (2.0, 400.0)], [(1.0, 20.0), (2.0, 40.0)]],
    }


def test_a_mark_that_stands_for_several_trials_is_not_called_one() -> None:
    """Two caches at one number of threads: 10 and 20 are one mark."""
    trials = pd.DataFrame({"workload": "w", "threads": [1, 1, 2], "repetition": 1, "tps": [10.0, 20.0, 18.0]})
    several, one = (plots.repetitions(frame, "tps") for frame in (trials, trials[1:]))
    assert lines_of(several.axes[0]) == [[(1.0, 15.0), (2.0, 18.0)]]
    joined = "; marks of one repetition are joined."
    assert mime.words(several)[1] == f"A mark is the mean of a repetition there, of up to 2 trials{joined}"
    assert mime.words(one)[1] == f"A mark per trial{joined}"


# -- time series ---------------------------------------------------------------------------------------------------


def test_every_level_has_a_panel_however_many_there_are() -> None:
    levels = {"a": [1, 2, 4, 8, 16], "b": [1, 2]}
    frame = pd.DataFrame(
        {"workload": w, "threads": n, "repetition": 1, "t": float(t), "value": 1.0}
        for w, threads in levels.items()
        for n in threads
        for t in range(3)
    )
    drawn = timelines.time_series(frame, row="workload", column="threads", label="tps")
    titles = [axes.get_title() for axes in drawn.axes if axes.get_visible()]
    assert titles == [f"{w}, threads {n}" for w, threads in levels.items() for n in threads]


def test_a_line_per_repetition_with_a_colour_and_a_mark_of_its_own() -> None:
    frame = pd.DataFrame(
        {"workload": "a", "threads": 1, "repetition": n, "t": float(t), "value": 10.0 * n}
        for n in (1, 2, 10)
        for t in (1, 2)
    )
    drawn = timelines.time_series(frame, row="workload", column="threads", label="tps")
    assert lines_of(drawn.axes[0]) == [[(1, 10.0 * n), (2, 10.0 * n)] for n in (1, 2, 10)]
    assert [text.get_text() for text in drawn.legends[0].texts] == ["repetition 1", "repetition 2", "repetition 10"]
    looks = {(line.get_color(), line.get_marker()) for line in drawn.axes[0].lines}
    assert len({colour for colour, _ in looks}) == len({str(marker) for _, marker in looks}) == 3
    assert drawn.axes[0].get_ylim() == (0, pytest.approx(108))


def test_every_figure_of_a_frame_is_drawn_in_one_style() -> None:
    """Drawn outside of the style, as the ecdf was for a day, a figure has matplotlib's own frames and letters."""
    trials = pd.DataFrame(
        {"workload": "a", "threads": threads, "system": "s", "repetition": n, "tps": 10.0 * threads + n, "cores": n}
        for threads in (1, 2, 4, 8)
        for n in (1, 2)
    )
    histograms = trials[["workload", "threads", "system"]].assign(latency_ms=1.5, count=3)
    seconds = trials.assign(trial="t", since_s=1.0, value=2.0, metric="tps", source="sysbench", host="h", unit="1/s")
    drawn = [
        plots.repetitions(trials, "tps"),
        plots.relation(trials, "cores", "tps", colour="threads"),
        plots.ecdf(histograms),
        plots.over_time(seconds),
        plots.usl(trials, "tps"),
    ]
    own = plt.rcParams["axes.linewidth"]
    with style.styled():
        ours = plt.rcParams["axes.linewidth"]
    assert ours != own
    assert [{one.spines["left"].get_linewidth() for one in figure.axes} for figure in drawn] == [{ours}] * len(drawn)


def test_repetitions_that_look_alike_are_one_line_with_gaps() -> None:
    """There are 36 looks: the 37th of 38 repetitions has that of the first, the 38th that of the second."""
    frame = pd.DataFrame(
        {"workload": "a", "threads": 1, "repetition": n, "t": float(t), "value": 10.0 * n}
        for n in range(1, 39)
        for t in (2, 1)
    )
    drawn = timelines.time_series(frame, row="workload", column="threads", label="tps")
    lines = [line.get_xydata().tolist() for line in drawn.axes[0].lines]
    gap = pytest.approx([float("nan")] * 2, nan_ok=True)
    shared = [[[1, 10 * n], [2, 10 * n], gap, [1, 10 * (n + 36)], [2, 10 * (n + 36)]] for n in (1, 2)]
    assert lines == [*shared, *([[1, 10 * n], [2, 10 * n]] for n in range(3, 37))]


def test_no_two_of_ten_repetitions_look_alike() -> None:
    """A legend that has one mark for the first and the seventh does not tell which line is whose."""
    found = style.looks(["published", *(f"repetition {n}" for n in range(1, 37))])
    assert len(set(found.values())) == 37
    assert [found[f"repetition {n}"].marker for n in range(1, 7)] == list(style.MARKERS)


def test_samples_of_trials_without_the_level_are_left_out() -> None:
    """A campaign has tables of other levels: a saga has no threads, sysbench no mode."""
    about = {"metric": "tps", "unit": "1/s", "source": "s", "host": "h", "repetition": 1}
    seconds = pd.DataFrame(
        {"trial": trial, "mode": mode, "threads": threads, "t": 100.0 + t, "since_s": t, "value": 5.0, **about}
        for trial, mode, threads in (("r01-a", "dtm", 2.0), ("r01-b", "dtm", None), ("r01-c", None, 4.0))
        for t in (1.0, 2.0)
    )
    drawn = plots.over_time(seconds, row="mode", column="threads")
    assert [axes.get_title() for axes in drawn.axes if axes.get_visible()] == ["dtm, threads 2"]
    assert lines_of(drawn.axes[0]) == [[(1, 5), (2, 5)]]
    none = plots.over_time(seconds[seconds.trial == "r01-b"], row="mode", column="threads")
    assert mime.words(none)[0] == "No samples of trials with mode and threads."


def test_what_was_watched_stands_two_panels_in_a_row_with_the_end_of_the_load() -> None:
    lines = [("rates", "in"), ("rates", "out"), ("lag", "rows"), ("time", "p90")]
    frame = pd.DataFrame(
        {"trial": trial, "panel": panel, "line": line, "t": t, "value": t}
        for trial in ("8 workers", "16 workers")
        for panel, line in lines
        for t in (0.0, 1.0, 2.0)
    )
    drawn = timelines.watched(frame, ends={"8 workers": 1.5, "16 workers": 1.0}, since="the load")
    shown = [axes for axes in drawn.axes if axes.get_visible()]
    panels = ["rates", "lag", "time"]
    assert [axes.get_title() for axes in shown] == [f"{t}: {p}" for t in ("8 workers", "16 workers") for p in panels]
    assert drawn.get_size_inches()[0] == pytest.approx(2 * style.PANEL_WIDTH)
    assert [(1.5, 0.0), (1.5, 1.0)] in lines_of(shown[0])
    assert [text.get_text() for text in shown[0].get_legend().texts] == ["in", "out"]
    assert shown[1].get_legend() is None


# -- curves --------------------------------------------------------------------------------------------------------

THREADS = pd.DataFrame(
    [
        {"workload": "w", "threads": n, "who": who, "value": value, "low": low, "high": high}
        for who, n, value, low, high in (
            ("tidb", 50, 40.0, 30.0, 50.0),
            ("tidb", 100, 20.0, -900.0, 940.0),
            ("published", 50, 200.0, None, None),
            ("published", 100, 400.0, None, None),
        )
    ]
)


def test_published_is_dashed_and_measured_is_solid_with_its_interval() -> None:
    drawn = curves.curves(THREADS, panel="workload", x="threads", metric_label="tps", x_label="threads")
    (axes,) = drawn.axes
    assert lines_of(axes)[:2] == [[(50, 200), (100, 400)], [(50, 40), (100, 20)]]
    assert [line.is_dashed() for line in axes.lines[:2]] == [True, False]
    assert [text.get_text() for text in drawn.legends[0].texts] == ["published", "tidb"]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["50", "100"]
    # Bars: the first as it is; the second, which spans zero, is cut at both edges and ends in two arrows.
    (bars,) = [[segment[:, 1].tolist() for segment in part.get_segments()] for part in axes.collections]
    bottom, top = axes.get_ylim()
    assert bars == [[30.0, 50.0], [pytest.approx(bottom), pytest.approx(940.0)]]
    assert bottom > 0
    assert top > 940
    arrows = [(line.get_marker(), float(line.get_ydata()[0])) for line in axes.lines if len(line.get_xdata()) == 1]
    assert arrows == [("v", bottom)]


def test_a_normalised_curve_begins_at_one_and_its_intervals_hold_the_spread_of_both() -> None:
    found = curves.normalise(THREADS, "workload", "threads").set_index(["who", "threads"])
    assert found.value.to_dict() == {("tidb", 50): 1, ("tidb", 100): 0.5, ("published", 50): 1, ("published", 100): 2}
    assert found.loc[("tidb", 50), ["low", "high"]].isna().all()
    # Both points are known to 25%: the square root of 0.25^2 + 0.25^2 is 0.3536, and e to that is 1.424.
    even = THREADS[THREADS.who == "tidb"].assign(value=[40, 80], low=[30, 60], high=[50, 100])
    last = curves.normalise(even, "workload", "threads").iloc[-1]
    assert (last.low, last.high) == (pytest.approx(2 / 1.42412, rel=1e-4), pytest.approx(2 * 1.42412, rel=1e-4))


@pytest.mark.parametrize(
    ("levels", "apart"),
    [([50, 100, 200], True), ([1, 3, 5, 50], True), ([10, 11, 12], False), ([0, 2], False), ([5], False)],
)
def test_levels_that_double_are_set_apart_evenly(levels: list[int], apart: bool) -> None:
    assert curves.doubling(pd.Series(levels)) is apart


def test_curves_in_words_say_every_value_or_the_ends() -> None:
    assert curves.points_in_words(THREADS, "workload", "threads") == (
        "w, tidb: 40 at 50, 20 at 100; w, published: 200 at 50, 400 at 100"
    )
    assert curves.ends_in_words(THREADS, "workload", "threads").startswith("w, tidb: 40 at 50 to 20 at 100; ")
    lone = THREADS[THREADS.threads == 50]
    assert curves.ends_in_words(lone, "workload", "threads") == "w, tidb: 40 at 50; w, published: 200 at 50"


# -- scatter and map -----------------------------------------------------------------------------------------------

COMBINATIONS = pd.DataFrame(
    [
        {
            "who": who,
            "cache": cache,
            "threads": threads,
            "label": threads,
            "qps": 10.0 * cache,
            "value": 5.0 * cache,
            "value_low": low,
            "value_high": high,
        }
        for who, low, high in (("published", None, None), ("pymongo", 1.0, 3.0))
        for cache in (32, 64)
        for threads in ("5/15", "8/24")
    ]
)


def test_a_ratio_to_nothing_counted_has_no_place_on_an_axis() -> None:
    """As writes for each flush of a load in which nothing was flushed."""
    frame = pd.DataFrame(
        {"ratio": [2.0, float("inf"), 4.0], "tps": [10.0, 20.0, 30.0], "threads": 1, "workload": "put"}
    )
    drawn = plots.relation(frame, "ratio", "tps")
    assert drawn.axes[0].get_xlim() == (0, 4.24)
    assert "2 points" in mime.words(drawn)[0]


def test_a_scatter_has_a_panel_per_who_and_no_label_covers_another() -> None:
    drawn = plots.relation(COMBINATIONS, "qps", "value", colour="cache", panel="who", label="label")
    assert [axis.get_title() for axis in drawn.axes] == ["published", "pymongo"]
    offsets = [part.get_offsets().tolist() for part in drawn.axes[0].collections]
    assert sorted(point for part in offsets for point in part) == [[320, 160]] * 2 + [[640, 320]] * 2
    places = [text.get_position() for text in drawn.axes[0].texts]
    assert len(places) == 4
    assert not [
        1 for i, a in enumerate(places) for b in places[:i] if abs(a[0] - b[0]) < 0.1 and abs(a[1] - b[1]) < 0.05
    ]


def test_a_map_writes_each_value_with_half_its_interval() -> None:
    drawn = plots.heat(COMBINATIONS, "value", down="cache", across="threads")
    texts = [[text.get_text() for text in axis.texts] for axis in drawn.axes]
    assert texts == [["160.0", "160.0", "320.0", "320.0"], ["160.0\n±1.0"] * 2 + ["320.0\n±1.0"] * 2]
    assert mime.words(drawn)[0].startswith("value over cache and threads. published, cache 32, threads 5/15: 160; ")


# -- the metrics of one table, what was watched ------------------------------------------------------------------------

MEASURES = pd.DataFrame(
    {"table": "load", "system": "tidb", "threads": [1, 2, 1, 2], "metric": ["speed", "speed", "lag", "lag"],
     "published": [10.0, 20.0, 0.0, 4.0], "measured": [5.0, None, 3.0, 6.0], "low": None, "high": None,
     "unit": ["MB/s", "MB/s", "s", "s"]}
)  # fmt: skip


def test_each_metric_of_a_table_has_a_panel_and_a_zero_is_left_out_of_a_log_scale() -> None:
    frame = MEASURES.copy()
    frame.attrs["titles"] = {"speed": "Speed"}
    drawn = plots.measures(frame, ["lag", "speed"], x="threads")
    assert [axis.get_title() for axis in drawn.axes] == ["lag (s)", "Speed (MB/s)"]
    assert mime.words(drawn)[0] == (
        "Against threads. lag (s), published: 4 at 2; lag (s), measured: 3 at 1, 6 at 2; "
        "Speed (MB/s), published: 10 at 1, 20 at 2; Speed (MB/s), measured: 5 at 1."
    )
    with pytest.raises(BadInput, match="did you mean speed"):
        plots.measures(frame, ["sped"], x="threads")


def test_a_table_that_was_not_measured_is_a_sentence() -> None:
    drawn = plots.measures(MEASURES.assign(measured=float("nan")), ["lag"], x="threads")
    assert mime.words(drawn)[0] == "This table was not measured in this campaign."


def test_what_was_watched_says_the_highest_of_every_line() -> None:
    frame = pd.DataFrame(
        [("w4", "rows", "behind", 0.0, 2.0), ("w4", "rows", "behind", 1.0, 8.0), ("w4", "s", "late", 0.0, None)],
        columns=["trial", "panel", "line", "t", "value"],
    )
    frame.attrs = {"about": "Lag", "since": "the load", "ends": {"w4": 0.5}}
    drawn = plots.watched(frame)
    assert [axis.get_title() for axis in drawn.axes] == ["w4: rows"]
    alt, caption = mime.words(drawn)
    assert alt == "Lag over time, a block of panels per trial. w4: behind up to 8."
    assert caption.endswith("Without a sample, and so without a panel: s in 1 of 1 trials.")


def test_where_nothing_was_sampled_a_sentence_says_so() -> None:
    frame = pd.DataFrame({"trial": ["w4"], "panel": ["rows"], "line": ["behind"], "t": [0.0], "value": [float("nan")]})
    frame.attrs = {"about": "Lag", "since": "the load", "ends": {"w4": 0.5}}
    assert mime.words(plots.watched(frame))[0] == "Lag: nothing was sampled."


def test_a_panel_that_a_trial_lacks_leaves_no_hole_and_a_trial_s_panels_have_one_time_axis() -> None:
    frame = pd.DataFrame(
        [
            (trial, panel, f"of {panel}", t, 1.0)
            for trial, panels in (("w4", "abc"), ("w8", "ac"), ("w16", "c"))
            for panel in panels
            for t in (0.0, 1.0 if panel == "a" else 3.0)
        ],
        columns=["trial", "panel", "line", "t", "value"],
    )
    drawn = timelines.watched(frame, ends={"w4": 2.0, "w8": 2.0, "w16": 4.0}, since="the load")
    shown = {axis.get_title(): axis for axis in drawn.axes if axis.get_visible()}
    assert list(shown) == ["w4: a", "w4: b", "w4: c", "w8: a", "w8: c", "w16: c"]
    places = {title: axis.get_subplotspec() for title, axis in shown.items()}
    assert [(at.rowspan.start, at.colspan.start) for at in places.values()] == [
        (0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (3, 0),
    ]  # fmt: skip
    # 3 s of samples, and a load of 4 s, each with 8% of room.
    assert [shown[name].get_xlim()[1] for name in ("w8: a", "w8: c", "w16: c")] == pytest.approx([3.24, 3.24, 4.32])


# -- forest --------------------------------------------------------------------------------------------------------


def test_an_interval_beyond_the_scale_ends_in_an_arrow_at_the_edge() -> None:
    frame = pd.DataFrame(
        [("p", "a", "x", 1.0, 0.5, float("inf")), ("p", "b", "x", 9.0, float("nan"), float("nan"))],
        columns=["panel", "row", "who", "value", "low", "high"],
    )
    drawn = forest(frame, {"p": Scale("ratio", (0.25, 4.0))}, {"x": Look("#000000", "o")}, width=6, row_height=0.3)
    (axes,) = drawn.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert lines_of(axes)[-1] == [(0.5, 0.0), (4.0, 0.0)]
    assert [(line.get_marker(), line.get_xdata()[0]) for line in axes.lines if line.get_marker() in "<>"] == [
        (">", 4.0)
    ]
    # The effect of b is beyond the scale: it stands at the edge.
    assert [point for part in axes.collections for point in part.get_offsets().tolist()] == [
        pytest.approx([1.0, 0.0]),
        pytest.approx([4.0, 1.0]),
    ]


def test_what_was_printed_stands_where_it_is_however_far_from_what_was_measured() -> None:
    """Published 76.1x and measured 7.13x (etcd): the tick stood at 32x, the edge of the picture."""
    about = {"statement": "s", "system": "etcd", "verdict": "inconclusive", "effect": 7.13, "unit": "times", "n": 4}
    rest = {"interval": (1.42, 35.7), "region": (2.0, None), "published": 76.1, "test": "", "sentence": ""}
    claim = JudgedClaim.model_validate({"id": "batching", **about, **rest})
    (axes,) = claims_plot.forest([claim]).axes
    (tick,) = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "|"]
    assert (tick, axes.get_xlim()) == (76.1, (0.5, 152.2))
    (published,) = [strip.published for strip in [Forest([claim]).strip(claim)] if strip]
    # On the page's strip from 0.5 / 1.2 to 76.1 x 1.2, with 2% at both ends.
    assert published == pytest.approx(2 + 96 * math.log(76.1 / 0.5 * 1.2) / math.log(76.1 / 0.5 * 1.44))


def test_claims_are_drawn_by_unit_and_verdict_with_what_was_printed() -> None:
    claims = [
        JudgedClaim.model_validate(
            {
                "id": name,
                "statement": "s",
                "where": "w",
                "system": "tidb",
                "verdict": verdict,
                "effect": effect,
                "interval": interval,
                "region": (1.2, None),
                "unit": unit,
                "published": published,
                "n": 3,
                "sentence": "s",
            }
        )
        for name, verdict, effect, interval, unit, published in (
            ("rises", "reproduced", 1.5, (1.3, 1.7), "times", 1.6),
            ("order", "inconclusive", 0.2, None, "tau", 1.0),
        )
    ]
    drawn = claims_plot.forest(claims)
    assert [axis.get_xlabel() for axis in drawn.axes] == [
        "effect (ratio, log scale)",
        "Kendall's tau (1: the same order)",
    ]
    assert [text.get_text() for text in drawn.legends[0].texts] == [
        "reproduced",
        "inconclusive",
        "claimed range",
        "published",
    ]
    assert [(1.3, 0.0), (1.7, 0.0)] in lines_of(drawn.axes[0])
    assert claims_plot.alt(claims) == (
        "Effect of each claim against the claimed range. rises: reproduced, 1.5 (published 1.6); "
        "order: inconclusive, 0.2 (published 1)."
    )


def test_a_comparison_has_a_panel_per_metric_and_its_margin() -> None:
    frame = pd.DataFrame(
        [
            {
                "table": "t",
                "system": "tidb",
                "levels": f"threads {n}",
                "metric": metric,
                "unit": "1/s",
                "ratio": ratio,
                "low": low,
                "high": high,
                "called": called,
            }
            for n, metric, ratio, low, high, called in (
                (1, "tps", 0.8, 0.7, 0.9, "slower"),
                (2, "tps", 1.0, None, None, "undecided"),
                (1, "p95", 1.0, 0.9, 1.1, "equivalent"),
            )
        ]
    )
    drawn = ratio_plot.draw(frame, margin=0.05)
    assert [axis.get_title(loc="left") for axis in drawn.axes] == ["tps (1/s)", "p95 (1/s)"]
    assert [label.get_text() for label in drawn.axes[0].get_yticklabels()] == ["threads 1", "threads 2"]
    band = drawn.axes[0].patches[0].get_bbox()
    assert (band.x0, band.x1) == (0.95, pytest.approx(1 / 0.95))


def test_a_cell_of_a_comparison_is_named_by_what_tells_it_from_others() -> None:
    about = {
        "system": "dm",
        "metric": "tps",
        "unit": "1/s",
        "ratio": 1.0,
        "low": 0.9,
        "high": 1.1,
        "called": "undecided",
    }
    cells = [
        ("sync", "workload insert, threads 32, worker_count 4, batch 100"),
        ("sync", "workload insert, threads 32, worker_count 8, batch 100"),
        ("result", "test result, workload insert, threads 32"),
    ]
    frame = pd.DataFrame({"table": table, "levels": levels, **about} for table, levels in cells)

    def named(part: pd.DataFrame) -> list[str]:
        return [label.get_text() for label in ratio_plot.draw(part, margin=0.05).axes[0].get_yticklabels()]

    assert named(frame) == ["sync, worker_count 4", "sync, worker_count 8", "result"]
    assert named(frame[frame.table == "sync"]) == ["worker_count 4", "worker_count 8"]
    # One cell alone has nothing to be told from.
    assert named(frame[frame.table == "result"]) == ["test result, workload insert, threads 32"]


def test_a_picture_says_in_words_what_it_shows(tmp_path) -> None:
    figure = plt.figure(figsize=(1, 1))
    shown = picture.show(figure, 'a "b" & c', "x < y", save_as=tmp_path / "figures" / "f.png")
    assert '<img alt="a &quot;b&quot; &amp; c"' in shown.data
    assert "<figcaption>x &lt; y</figcaption>" in shown.data
    assert (tmp_path / "figures" / "f.png").read_bytes().startswith(b"\x89PNG")
    assert not plt.fignum_exists(figure.number)


def _two_panels() -> Figure:
    frame = pd.DataFrame({"panel": ["a", "a", "b", "b"], "threads": [1, 2, 1, 2], "who": "tidb", "value": [1, 2, 3, 5]})
    return curves.curves(
        frame.assign(low=frame.value * 0.9, high=frame.value * 1.1),
        panel="panel", x="threads", metric_label="tps", x_label="threads",
    )  # fmt: skip


def test_a_figure_is_drawn_once_while_it_stays_as_it_is() -> None:
    """And it looks as matplotlib's own way of drawing it, which finds its place anew for every file."""
    figure, again = _two_panels(), _two_panels()
    drawn = mime.png(figure, "alt")
    with placed(again) as part:
        again.set_layout_engine("constrained")
        plain = io.BytesIO()
        again.savefig(plain, format="png", dpi=DPI, bbox_inches=part, metadata={"Description": "alt"})
    assert drawn == plain.getvalue()
    assert mime.png(figure, "alt") is drawn
    assert (figure.dpi, type(figure.get_layout_engine())) == (again.dpi, type(again.get_layout_engine()))
    figure.axes[0].set_title("another")
    changed = mime.png(figure, "alt")
    assert changed != drawn
    again.axes[0].set_title("another")
    assert changed == mime.png(again, "alt")
    assert mime.png(figure, "other words") != changed


@pytest.mark.parametrize("title", ["short", "a title that is longer than the panel below it is wide, on either side"])
def test_nothing_of_a_figure_is_cut_off(title: str) -> None:
    figure = _two_panels()
    for axis in figure.axes:
        axis.set_title(title)
    # Widths of letters are rounded: they are those of the size that is drawn.
    figure.dpi = DPI
    with placed(figure) as part:
        seen = figure.get_tightbbox()
    assert part.x0 <= seen.x0 < seen.x1 <= part.x1
    assert part.y0 <= seen.y0 < seen.y1 <= part.y1
    # What is around it is an edge, no empty space.
    assert max(seen.x0 - part.x0, part.x1 - seen.x1, seen.y0 - part.y0, part.y1 - seen.y1) < 0.2


def test_the_label_of_a_single_row_is_whole() -> None:
    """It was longer than the row is high, and lost its ends."""
    frame = pd.DataFrame({"load": "w", "threads": 1, "repetition": 1, "t": [0.5, 1.0], "value": [1.0, 2.0]})
    figure = timelines.time_series(frame, row="load", column="threads", label="throughput (transactions/s)")
    figure.dpi = DPI
    with placed(figure):
        label = figure.get_supylabel()
        seen = next(text for text in figure.texts if text.get_text().startswith("throughput"))
        box = seen.get_window_extent()
    assert label == "throughput\n(transactions/s)"
    assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1


def test_a_legend_that_is_wider_than_its_only_panel_is_whole() -> None:
    points = pd.DataFrame(
        {"panel": "load", "line": f"statement_size {n}", "campaign": when, "value": 1.0, "low": 0.9, "high": 1.1}
        for n in (62500, 125000, 250000, 500000, 1000000, 1500000)
        for when in ("20261122T0731", "20261123T0731")
    )
    breaks = pd.DataFrame(columns=["panel", "line", "campaign"])
    figure = plots.campaign_plot.draw(points, breaks, ["20261122T0731", "20261123T0731"])
    figure.dpi = DPI
    with placed(figure) as part:
        seen = figure.legends[0].get_window_extent().transformed(figure.dpi_scale_trans.inverted())
    assert seen.width > figure.get_figwidth()
    assert part.x0 <= seen.x0 < seen.x1 <= part.x1


def test_an_svg_of_too_many_characters_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = _two_panels()
    whole = mime.svg(figure, "alt")
    assert whole is not None
    assert whole.rstrip().endswith("</svg>")
    monkeypatch.setattr(mime, "MOST_SVG", len(whole) - 1)
    assert mime.svg(figure, "alt") is None
    assert "image/svg+xml" not in mime.bundle(figure)[0]
    monkeypatch.setattr(mime, "MOST_SVG", len(whole))
    assert mime.svg(figure, "alt") == whole


def test_an_svg_that_is_sure_to_be_too_long_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (Figure() for _ in range(2))
    for figure, points in ((few, 5), (many, 3000)):
        figure.subplots().plot(range(points), range(points), marker="o")
    whole = mime.svg(few, "alt")
    assert whole is not None
    with monkeypatch.context() as patch:
        patch.setattr(Figure, "savefig", lambda *_, **__: pytest.fail("drawn"))
        assert mime.svg(many, "alt") is None
    # What was foreseen would have come true.
    monkeypatch.setattr(mime, "MOST_SVG", 10**9)
    drawn = mime.svg(many, "alt")
    assert drawn is not None
    assert len(drawn) > 250_000
