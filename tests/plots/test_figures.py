"""What a figure must not leave out, and what it says in words."""

from __future__ import annotations

import itertools
import math
from base64 import b64decode
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from benchbook import plots
from benchbook.errors import BadInput
from benchbook.plots import output, published, values
from benchbook.plots.forest import Scale, forest


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def lines_of(axes: Axes) -> list[list[tuple[float, float]]]:
    """The points of every line that has several."""
    drawn = [list(zip(line.get_xdata(), line.get_ydata(), strict=True)) for line in axes.lines]
    return [[(float(x), float(y)) for x, y in points] for points in drawn if len(points) > 1]


def beside(*rows: tuple[int, float, float | None, float | None, float | None], **columns: object) -> pd.DataFrame:
    """A frame like `report.beside_frame()`: (threads, published, measured, low, high)."""
    frame = pd.DataFrame(rows, columns=["threads", "published", "measured", "low", "high"])
    known = {"table": "t", "system": "tidb", "workload": "w", "metric": "tps", "n": 3, "unit": "1/s"}
    return frame.assign(**{**known, **columns})


# -- published beside measured -------------------------------------------------------------------------------------

WIDE = beside((50, 200.0, 40.0, 30.0, 50.0), (100, 400.0, 20.0, -900.0, 940.0))


def test_published_is_dashed_and_measured_is_solid_with_its_interval() -> None:
    figure = plots.levels(WIDE, "tps", x="threads", panel="workload")
    (axes,) = figure.axes
    assert lines_of(axes)[:2] == [[(50, 200), (100, 400)], [(50, 40), (100, 20)]]
    assert [line.is_dashed() for line in axes.lines[:2]] == [True, False]
    # Each line has its name and its gain at its end.
    assert (figure.legends, [text.get_text() for text in axes.texts]) == ([], ["tidb ×0.5", "published ×2"])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    # Bars: the first as it is; the second, which spans zero, is cut at the lower edge and ends in an arrow.
    (bars,) = [[segment[:, 1].tolist() for segment in part.get_segments()] for part in axes.collections]
    bottom, _ = axes.get_ylim()
    assert bars == [[30.0, 50.0], [pytest.approx(bottom), pytest.approx(940.0)]]
    arrows = [(line.get_marker(), float(line.get_ydata()[0])) for line in axes.lines if len(line.get_xdata()) == 1]
    assert arrows == [("v", bottom)]


def test_the_axis_names_the_published_level_and_the_one_that_was_run() -> None:
    """A screenshot whose axis says 50 to 100 threads, where 1 and 2 ran, is false."""
    figure = plots.levels(WIDE.assign(threads_run=[1, 2]), "tps", x="threads", panel="workload")
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["50\n(1)", "100\n(2)"]
    assert figure.axes[0].get_xlabel() == "threads (run here)"
    same = plots.levels(WIDE.assign(threads_run=[50, 100]), "tps", x="threads", panel="workload")
    assert [label.get_text() for label in same.axes[0].get_xticklabels()] == ["50", "100"]
    assert same.axes[0].get_xlabel() == "threads"


def test_every_curve_of_a_grid_has_a_panel() -> None:
    """Of two points at one number of threads the second was dropped without a word."""
    grid = pd.concat(
        [beside((1, 100.0 * s, 10.0 * s, None, None), (2, 200.0 * s, 20.0 * s, None, None), size=s) for s in (1.0, 2.0)]
    )
    figure = plots.levels(grid, "tps", x="threads", panel="workload")
    assert {axis.get_title().splitlines()[0]: lines_of(axis) for axis in figure.axes} == {
        "w, size 1": [[(1.0, 100.0), (2.0, 200.0)], [(1.0, 10.0), (2.0, 20.0)]],
        "w, size 2": [[(1.0, 200.0), (2.0, 400.0)], [(1.0, 20.0), (2.0, 40.0)]],
    }
    # What was run for a size is no level beside it.
    scaled = plots.levels(grid.assign(size_run=grid["size"] / 2), "tps", x="threads", panel="workload")
    assert [axis.get_title().splitlines()[0] for axis in scaled.axes] == ["w, size 1", "w, size 2"]


def test_an_error_bar_is_student_s_interval_of_what_was_measured() -> None:
    # Mean 10, s = 1, t(0.975, 2) = 4.3027: 10 ± 4.3027 / sqrt(3).
    for found in ([9.0, 10, 11], [9.0, math.nan, 10, 11]):
        assert plots.interval(found) == pytest.approx((7.5158, 12.4842), abs=1e-4)
    assert all(map(math.isnan, plots.interval([10.0]) + plots.interval([])))


def test_a_normalised_curve_begins_at_one_and_its_intervals_hold_the_spread_of_both() -> None:
    points = WIDE.assign(panel="w", who="tidb", value=[40.0, 80.0], low=[30.0, 60.0], high=[50.0, 100.0])
    first, last = published.normalise(points, "threads").itertuples()
    assert (first.value, math.isnan(first.low), math.isnan(first.high)) == (1, True, True)
    # Both points are known to 25%: the square root of 0.25^2 + 0.25^2 is 0.3536, and e to that is 1.424.
    assert (last.low, last.high) == (pytest.approx(2 / 1.42412, rel=1e-4), pytest.approx(2 * 1.42412, rel=1e-4))
    figure = plots.levels(WIDE, "tps", x="threads", panel="workload", normalised=True)
    assert lines_of(figure.axes[0])[:2] == [[(50, 1), (100, 2)], [(50, 1), (100, 0.5)]]
    assert output.words(figure)[0].endswith("w, published: 1 at 50 to 2 at 100; w, tidb: 1 at 50 to 0.5 at 100.")
    # A report may print the most threads first.
    for frame in (WIDE, WIDE[::-1]):
        figure = plots.levels(frame, "tps", x="threads", panel="workload", normalised=True)
        assert sorted(text.get_text() for text in figure.axes[0].texts) == ["published ×2", "tidb ×0.5"]


def test_a_gain_is_written_without_a_power_of_ten_and_one_that_all_panels_share_once() -> None:
    """etcd's page said "published ×1e+02", PgCat's "pgbouncer ×1.5 to ×1.5"."""
    rows = ((1, 1.0, 10.0, None, None), (1000, 105.0, 15.0, None, None))
    frame = pd.concat([beside(*rows), beside(*rows, workload="other")])
    figure = plots.levels(frame, "tps", x="threads", panel="workload")
    assert figure.get_suptitle() == "tps, highest over lowest threads: published ×105, tidb ×1.5"
    assert [text.get_text() for text in figure.axes[0].texts] == ["tidb ×1.5", "published ×105"]


def test_a_log_scale_has_a_drawing_for_a_phone() -> None:
    assert output.phone(plots.levels(WIDE, "tps", x="threads", panel="workload"))[0]


def test_names_of_lines_that_end_together_stand_apart() -> None:
    ends = pd.concat([beside((1, 5.0, 1.0, None, None), (2, 9.0, 2.0, None, None), system=name) for name in "abc"])
    figure = plots.levels(ends, "tps", x="threads", panel="workload")
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) == 4
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


def test_levels_at_which_the_run_filled_its_cores_are_shaded_and_the_caption_says_so() -> None:
    """1 thread used half of the cores; 2 threads 88% and 94%, 91% in the mean. Halfway of 50 and 100 is 70.7."""
    known = {"table": "t", "system": "tidb", "workload": "w"}
    trials = pd.DataFrame({"threads": [1, 2, 2], "threads_published": [50, 100, 100], "own_share": [0.5, 0.88, 0.94]})
    figure = plots.levels(WIDE, "tps", x="threads", panel="workload", trials=trials.assign(**known))
    (shaded,) = [patch.get_bbox() for patch in figure.axes[0].patches]
    assert (shaded.x0, shaded.x1) == (pytest.approx(5000**0.5), figure.axes[0].get_xlim()[1])
    said = "Shaded: levels at which the run used at least 90% of the cores of a host."
    assert output.words(figure)[1].endswith(said)
    idle = plots.levels(WIDE, "tps", x="threads", panel="workload", trials=trials.assign(own_share=0.5, **known))
    assert (len(idle.axes[0].patches), said in output.words(idle)[1]) == (0, False)


@pytest.mark.parametrize(
    ("levels", "apart"),
    [([50, 100, 200], True), ([1, 3, 5, 50], True), ([10, 11, 12], False), ([0, 2], False), ([5], False)],
)
def test_levels_that_double_are_set_apart_evenly(levels: list[int], apart: bool) -> None:
    assert published.doubling(levels) is apart


MEASURES = pd.DataFrame(
    {"table": "load", "system": "tidb", "threads": [1, 2, 1, 2], "metric": ["speed", "speed", "lag", "lag"],
     "published": [10.0, 20.0, 0.0, 4.0], "measured": [5.0, None, 3.0, 6.0], "low": None, "high": None,
     "unit": ["MB/s", "MB/s", "s", "s"]}
)  # fmt: skip


def test_each_metric_of_a_table_has_a_panel_and_a_zero_is_left_out_of_a_log_scale() -> None:
    frame = MEASURES.copy()
    frame.attrs["titles"] = {"speed": "Speed"}
    figure = plots.measures(frame, ["lag", "speed"], x="threads")
    assert [axis.get_title().splitlines()[0] for axis in figure.axes] == ["lag (s)", "Speed (MB/s)"]
    assert output.words(figure)[0] == (
        "Against threads. lag (s), published: 4 at 2; lag (s), tidb: 3 at 1, 6 at 2; "
        "Speed (MB/s), published: 10 at 1, 20 at 2; Speed (MB/s), tidb: 5 at 1."
    )
    with pytest.raises(BadInput, match="did you mean speed"):
        plots.measures(frame, ["sped"], x="threads")


# -- trials --------------------------------------------------------------------------------------------------------


def test_every_repetition_has_a_line_of_its_own_and_a_legend() -> None:
    trials = pd.DataFrame(
        {"workload": "w", "threads": threads, "repetition": n, "tps": 10.0 * n}
        for n in (1, 2, 10)
        for threads in (1, 2)
    )
    figure = plots.repetitions(trials, "tps")
    (axes,) = figure.axes
    assert lines_of(axes) == [[(1, 10.0 * n), (2, 10.0 * n)] for n in (1, 2, 10)]
    assert len({to_hex(line.get_color()) for line in axes.lines if len(line.get_xdata()) > 1}) == 3
    assert figure.legends[0].get_title().get_text() == "repetition"


def test_latency_is_drawn_by_percentile_over_all_trials_of_a_line() -> None:
    """96 of 100 requests take 1 ms at most, in two trials; 4 take 8 ms."""
    frame = pd.DataFrame(
        {"workload": "w", "threads": 1, "system": "s", "latency_ms": [1.0, 8.0, 1.0, 8.0], "count": [48, 2, 48, 2]}
    )
    figure = plots.ecdf(frame)
    (line,) = lines_of(figure.axes[0])
    assert {(round(x, 6), y) for x, y in line if x > 0} >= {(0.04, 1.0)}
    assert output.words(figure)[0].endswith("95% of the requests took at most: w, threads 1: 1 ms.")
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["p50", "p90", "p99"]


def seconds(cells: Iterable[tuple[object, ...]], names: str = "trial mode threads repetition") -> pd.DataFrame:
    """A frame like `report.seconds()`: two samples of each trial, whose rate falls with its repetition."""
    frame = pd.DataFrame(cells, columns=names.split()).assign(metric="tps", unit="1/s", source="s", host="h")
    frame["value"] = 1000.0 - frame.repetition
    return pd.concat([frame.assign(since_s=t) for t in (1.0, 2.0)], ignore_index=True)


def drawn_over_time(frame: pd.DataFrame) -> dict[str, list[float]]:
    """The rates of the lines of each panel."""
    panels = plots.over_time(frame, row="mode", column="threads").axes
    return {axes.get_title(): [points[0][1] for points in lines_of(axes)] for axes in panels}


def test_a_line_that_would_mix_trials_is_refused() -> None:
    with pytest.raises(BadInput, match="a line would mix values of trial"):
        drawn_over_time(seconds([("r01-a", "dtm", 2, 1), ("r01-b", "dtm", 2, 1)]))


def test_levels_that_a_line_would_mix_have_rows_of_their_own() -> None:
    """Trials of 64 and of 8192 bytes were joined to one line of their repetition."""
    names = "trial mode threads repetition bytes"
    trials = [("a", "w", 2, 1, None), ("b", "w", 2, 1, 64.0), ("c", "v", 2, 1, None), ("d", "v", 2, 2, None)]
    assert drawn_over_time(seconds(trials, names)) == {
        "w, bytes -, threads 2": [999.0],
        "w, bytes 64.0, threads 2": [999.0],
        "v, bytes -, threads 2": [999.0, 998.0],
    }
    assert list(drawn_over_time(seconds(trials[2:], names))) == ["v, threads 2"]


def test_of_many_trials_the_slowest_and_the_fastest_are_shown_and_the_caption_says_so() -> None:
    frame = seconds((f"{t}-{n}", "a", t, n) for t in range(1, 101) for n in range(1, 31))
    shown = drawn_over_time(frame)
    assert list(shown) == [f"a, threads {threads}" for threads in (1, 26, 51, 75, 100)]
    rates = sorted(shown["a, threads 1"])
    assert (len(rates), rates[0], rates[-1]) == (7, 970.0, 999.0)
    said = output.words(plots.over_time(frame, row="mode", column="threads"))[1]
    assert "Shown are 35 of 3,000 lines: at most 7 repetitions of a cell" in said


# -- forest --------------------------------------------------------------------------------------------------------


def test_an_interval_beyond_the_scale_ends_in_an_arrow_at_the_edge() -> None:
    frame = pd.DataFrame(
        [("p", "a", "x", 1.0, 0.5, float("inf")), ("p", "b", "x", 9.0, float("nan"), float("nan"))],
        columns=["panel", "row", "who", "value", "low", "high"],
    )
    (axes,) = forest(frame, {"p": Scale("ratio", (0.25, 4.0))}, {"x": ("#000000", "o")}).figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert lines_of(axes)[-1] == [(0.5, 0.0), (4.0, 0.0)]
    arrows = [(line.get_marker(), line.get_xdata()[0]) for line in axes.lines if line.get_marker() in "<>"]
    assert arrows == [(">", 4.0)]
    # The effect of b is beyond the scale: it stands at the edge.
    marks = [point for part in axes.collections for point in part.get_offsets().tolist()]
    assert marks == [pytest.approx([1.0, 0.0]), pytest.approx([4.0, 1.0])]


CLAIMS = pd.DataFrame(
    [
        ("order", "tidb", "open", "open", "tau", 0.2, None, None, 0.5, 1.0, 1.0),
        ("rises", "tidb", "holds", "holds", "times", 1.5, 1.3, 1.7, 1.2, None, 76.1),
        ("full", "tidb", "needs a bigger machine", "fails", "times", 3.0, 2.0, 4.0, 1.0, 1.25, 1.1),
        ("untested", "tidb", "not run", "", None, None, None, None, None, None, None),
    ],
    columns=[
        "claim", "system", "verdict", "here", "unit", "effect", "low", "high", "region_low", "region_high", "published",
    ],
)  # fmt: skip


def test_claims_are_drawn_by_unit_and_answer_with_what_was_printed() -> None:
    figure = plots.claims(CLAIMS)
    ratios, taus = figure.axes
    assert [ratios.get_xlabel(), taus.get_xlabel()] == [
        "effect (ratio, log scale)",
        "Kendall's tau (1: the same order)",
    ]
    legend = [text.get_text() for text in figure.legends[0].texts]
    # What failed here only for want of cores is not drawn as failed: the table beside it says otherwise.
    assert legend == ["holds", "open", "needs a bigger machine", "claimed range", "published"]
    assert [(1.3, 0.0), (1.7, 0.0)] in lines_of(ratios)
    # However far it is from what was measured, a published value stands where it is.
    (tick,) = [line.get_xdata()[0] for line in ratios.lines if line.get_marker() == "|"]
    assert (tick, ratios.get_xlim()) == (76.1, (0.5, 152.2))
    assert output.words(figure)[0] == (
        "Effect of each claim against the claimed range. order: open, 0.2 (published 1); "
        "rises: holds, 1.5 (published 76.1); full: needs a bigger machine, 3 (published 1.1)."
    )
    dots = [part for axis in plots.claims(CLAIMS, smoke=True).axes for part in axis.collections]
    assert all((part.get_facecolor() == 1).all() for part in dots if len(part.get_offsets())), "hollow: a smoke run"
    assert output.words(plots.claims(CLAIMS[3:]))[0] == "No claim was tested."


def test_a_comparison_has_a_panel_per_metric_its_margin_and_cells_named_by_what_tells_them_apart() -> None:
    frame = pd.DataFrame(
        [
            ("t", "s", "workload insert, threads 1", "tps", "1/s", 0.8, 0.7, 0.9, "slower"),
            ("t", "s", "workload insert, threads 2", "tps", "1/s", 1.0, None, None, "undecided"),
            ("t", "s", "workload insert, threads 1", "p95", "ms", 1.0, 0.9, 1.1, "equivalent"),
        ],
        columns=["table", "system", "levels", "metric", "unit", "ratio", "low", "high", "called"],
    )
    figure = plots.ratios(frame, margin=0.05)
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["tps (1/s)", "p95 (ms)"]
    named = [[label.get_text() for label in axis.get_yticklabels()] for axis in figure.axes]
    # One cell alone has nothing to be told from.
    assert named == [["threads 1", "threads 2"], ["workload insert, threads 1"]]
    band = figure.axes[0].patches[0].get_bbox()
    assert (band.x0, band.x1) == (0.95, pytest.approx(1 / 0.95))
    for axis in figure.axes:
        assert any(tick == pytest.approx(1) for tick in axis.get_xticks()), "no difference has a tick of its own"


# -- as a notebook keeps it ----------------------------------------------------------------------------------------


def test_a_figure_of_one_s_own_gets_its_words(tmp_path) -> None:
    """A raw seaborn figure worked, and had no alt text."""
    frame = pd.DataFrame({"threads": [1, 2], "tps": [10.0, 20.0]})
    figure = plots.described(sns.relplot(frame, x="threads", y="tps"), 'tps & "threads"', "x < y")
    data, about = output.bundle(figure)
    assert (about["alt"], about["caption"]) == ('tps & "threads"', "x < y")
    assert '<dc:description>tps &amp; "threads"</dc:description>' in data["image/svg+xml"]
    assert '<img alt="tps &amp; &quot;threads&quot;"' in output.picture(figure).data
    output.save(figure, tmp_path / "figures" / "f.png")
    assert (tmp_path / "figures" / "f.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "figures" / "f.svg").read_text().rstrip().endswith("</svg>")
    assert not plt.fignum_exists(figure.number)


def test_a_saved_figure_has_the_report_s_words_and_short_numbers() -> None:
    frame = pd.DataFrame({"threads": [1, 2, 4], "job_tps": [9_000.0, 11_000.0, 40_000.0], "own_name": "w"})
    figure = plots.described(sns.relplot(frame, x="threads", y="job_tps", col="own_name"), "job_tps of own_name")
    output.reword(figure, {"job_tps": "row changes/s"})
    (axes,) = figure.axes
    figure.draw_without_rendering()
    assert (axes.get_ylabel(), axes.get_title(), output.words(figure)[0]) == (
        "row changes/s", "own_name = w", "row changes/s of own_name"
    )  # fmt: skip
    assert {tick % 1 for tick in axes.get_xticks()} == {0}, "between 1 and 2 threads there is nothing"
    assert "40k" in [label.get_text() for label in axes.get_yticklabels()]


def test_a_share_has_ticks_between_0_and_1() -> None:
    frame = pd.DataFrame({"share": [0, 0.25, 1], "tps": [10.0, 20.0, 30.0]})
    for draw in (sns.scatterplot, sns.lineplot):
        axes = draw(frame, x="share", y="tps", ax=plt.Figure().subplots())
        output.reword(axes.figure, {})
        assert 0.2 in axes.get_xticks().round(9)


def test_categories_have_the_report_s_words_as_drawn_and_on_a_phone() -> None:
    frame = pd.DataFrame({"table": ["oltp_read_only", "own_table"], "tps": [10.0, 20.0]})
    figure = plots.described(sns.relplot(frame, x="table", y="tps"), "tps by table")
    output.reword(figure, {"oltp_read_only": "Read only"})
    for drawn in (output.svg(figure), b64decode(output.phone(figure)[0]).decode()):
        assert ">Read only<" in drawn
        assert ">own_table<" in drawn
        assert "oltp_read_only" not in drawn
    (series,) = output.values(figure)
    assert [mark[2] for mark in series["marks"]] == ["Read only", "own_table"]


def test_a_phone_gets_the_panels_below_each_other_and_the_figure_stays_as_it_was() -> None:
    frame = pd.DataFrame(
        {"threads": [1, 2] * 3, "tps": [10.0, 20.0] * 3, "panel": list("aabbcc"), "who": list("xyxyxy")}
    )
    figure = plots.described(sns.relplot(frame, x="threads", y="tps", col="panel", hue="who"), "three panels")

    def places() -> list[list[float]]:
        return [axis.get_position().bounds for axis in figure.axes]

    before = (figure.get_size_inches().tolist(), places(), output.svg(figure))
    drawn = ElementTree.fromstring(b64decode(output.phone(figure)[0]))
    width, height = (float(drawn.attrib[name].removesuffix("pt")) for name in ("width", "height"))
    assert width < 72 * 4.2
    assert height > 2 * width
    assert (figure.get_size_inches().tolist(), places(), output.svg(figure)) == before
    figure.add_axes((0.1, 0.1, 0.2, 0.2))
    assert output.phone(figure) == ("", ""), "an inset has no place in an order of panels"
    # Axes are labelled by what can be copied: a function without a name cannot.
    latencies = pd.DataFrame({"workload": "w", "threads": 1, "latency_ms": [1.0, 2.0, 4.0], "count": [90, 9, 1]})
    for other in (plots.claims(CLAIMS), plots.ecdf(latencies)):
        assert float(ElementTree.fromstring(b64decode(output.phone(other)[0])).attrib["width"].rstrip("pt")) < 72 * 4.2


def test_a_figure_that_shows_nothing_is_a_sentence_and_no_file(tmp_path: Path) -> None:
    figure = plots.nothing("No trial has p95 < 3.")
    (tmp_path / "tps.svg").touch()
    output.save(figure, tmp_path / "tps.png")
    assert list(tmp_path.iterdir()) == [], "nor is one left of a run that had something to show"
    plots.described(figure, "tps by threads, mean and standard deviation")  # what a cell says of either
    data, about = output.bundle(figure)
    assert (data["text/html"], about) == ("<p>No trial has p95 &lt; 3.</p>", {})


def test_a_figure_tells_its_values_where_they_stand() -> None:
    """Published 100 and 300, measured 10 and 20 (15 to 25): relative 1 and 3, 1 and 2; no arrow is a value."""
    frame = beside((1, 100.0, 10.0, 8.0, 12.0), (4, 300.0, 20.0, 15.0, 25.0))
    absolute = plots.levels(frame, "tps", x="threads", panel="workload")
    told = {each["name"]: each for each in values.values(absolute)}
    assert [mark[2:] for mark in told["published"]["marks"]] == [[1.0, 100.0], [4.0, 300.0]]
    (first, second) = told["tidb"]["marks"]
    assert (first[2:], second[2:]) == ([1.0, 10.0, 8.0, 12.0], [4.0, 20.0, 15.0, 25.0])
    # To the right and higher up, inside of the picture.
    assert 0 < first[0] < second[0] < 1000
    assert 0 < second[1] < first[1] < 1000
    relative = plots.levels(frame, "tps", x="threads", panel="workload", normalised=True)
    assert [[mark[3] for mark in each["marks"]] for each in values.values(relative)] == [[1.0, 3.0], [1.0, 2.0]]
    _, about = output.bundle(relative)
    assert ("relative to" in about["caption"], "absolute" in about["absolute"]["caption"]) == (True, True)


def told(figure: Any) -> list[tuple[str, list[list[object]]]]:
    return [(each["name"], [mark[2:] for mark in each["marks"]]) for each in values.values(figure.figure)]


def test_a_category_is_told_by_its_name_and_no_end_of_a_bar_is_a_value() -> None:
    """Means 2 and 5 were told at threads 0 and 1, and the caps of the bars' intervals as values."""
    frame = pd.DataFrame({"threads": ["1", "1", "8", "8"], "tps": [1.0, 3.0, 4.0, 6.0]})
    points = sns.catplot(frame, kind="point", x="threads", y="tps", errorbar=plots.interval, capsize=0.2)
    assert told(points) == [("", [["1", 2.0], ["8", 5.0]])]
    assert told(sns.catplot(frame, kind="bar", x="threads", y="tps", errorbar=plots.interval, capsize=0.2)) == []
    figure, axis = plt.subplots()
    axis.plot(["a", "b"], [1234567.0, 2.0], marker="o")
    assert told(figure.axes[0]) == [("", [["a", 1234567.0], ["b", 2.0]])]
    axis = plt.subplots()[1]
    axis.plot(pd.to_datetime(["2026-01-01T10:00:30Z"]), [1.0], marker="o")
    assert told(axis) == [("", [["2026-01-01 10:00:30+00:00", 1.0]])]


def test_one_repetition_has_no_interval_and_its_figure_is_shown() -> None:
    """At 8 threads 4 and 5: mean 4.5, s = 0.70711, t(0.975, 1) = 12.706: 4.5 ± 6.35310."""
    frame = pd.DataFrame({"threads": [1, 8, 8], "tps": [1.0, 4.0, 5.0]})
    drawn = sns.relplot(
        frame, kind="line", x="threads", y="tps", marker="o", err_style="bars", errorbar=plots.interval
    )  # fmt: skip
    assert told(drawn) == [("", [[1.0, 1.0], [8.0, 4.5, -1.8531, 10.8531]])]


def test_intervals_are_told_of_bands_of_points_and_of_rows() -> None:
    """t(0.975, 1) = 12.7062: of 1 and 3 the mean is 2 ± 12.7062, of 4 and 6 it is 5 ± 12.7062."""
    frame = pd.DataFrame({"threads": [1, 1, 8, 8], "tps": [1.0, 3.0, 4.0, 6.0]})
    band = sns.relplot(frame, kind="line", x="threads", y="tps", marker="o", errorbar=plots.interval)
    ends = [[2.0, -10.7062, 14.7062], [5.0, -7.7062, 17.7062]]
    assert told(band) == [("", [[1.0, *ends[0]], [8.0, *ends[1]]])]
    points = sns.catplot(frame, kind="point", x="threads", y="tps", errorbar=plots.interval)
    assert told(points) == [("", [["1", *ends[0]], ["8", *ends[1]]])]
    # Trials have no interval, whatever was fitted to them.
    fitted = sns.lmplot(frame, x="threads", y="tps")
    assert [mark for _, marks in told(fitted) for mark in marks[-4:]] == frame.to_numpy().tolist()
    # In rows an interval lies across. The second one is cut where the panel ends, of the third nothing is known.
    rows = pd.DataFrame({
        "panel": "a", "row": ["one", "two", "three"], "who": "open", "value": [1.0, 2.0, 3.0],
        "low": [0.8, 1.5, np.nan], "high": [1.25, 9.0, np.nan],
    })  # fmt: skip
    drawn = forest(rows, {"a": Scale("effect", (0.5, 4.0))}, {"open": ("red", "o")}, hollow=True)
    assert told(drawn) == [("open", [[1.0, "one", 0.8, 1.25], [2.0, "two"], [3.0, "three"]])]


@pytest.mark.parametrize(
    ("latencies", "counts", "expected"),
    [
        # Of 100 requests 98 took 1 ms, 2 took 8 ms: 99% took at most 8 ms, half of them 1 ms.
        ([1.0, 8.0], [98, 2], [["p50", 1.0], ["p90", 1.0], ["p99", 8.0]]),
        # 99 took 1 ms, none 4 and one 8: p50 was told as 4, and p99 as 8, where 1 - 0.99 > 0.01.
        ([1.0, 4.0, 8.0], [99, 0, 1], [["p50", 1.0], ["p90", 1.0], ["p99", 1.0]]),
    ],
)
def test_a_percentile_is_the_least_latency_that_so_many_took(
    latencies: list[float], counts: list[int], expected: list[list[object]]
) -> None:
    histograms = pd.DataFrame({"workload": "a", "threads": 1, "latency_ms": latencies, "count": counts})
    assert told(plots.ecdf(histograms)) == [("", expected)]


def test_rows_of_one_colour_are_told_by_their_marks_and_none_at_an_edge_has_a_value() -> None:
    """Equivalent cells were told to be not slower; a ratio of 25, drawn where the axis ends, as 10."""
    known = {"table": "t", "system": "a", "metric": "tps", "unit": "1/s", "low": np.nan, "high": np.nan}
    rows = [(1, 1.0, "equivalent"), (2, 1.2, "not slower"), (3, 25.0, "faster"), (4, 0.9, "undecided")]
    rows.append((5, 0.95, "not called"))
    frame = pd.DataFrame([{**known, "levels": f"n {n}", "ratio": r, "called": called} for n, r, called in rows])
    assert told(plots.ratios(frame)) == [
        ("equivalent", [[1.0, "n 1"]]), ("not slower", [[1.2, "n 2"]]), ("undecided", [[0.9, "n 4"]]),
        ("not called", [[0.95, "n 5"]]),
    ]  # fmt: skip


def test_every_panel_has_its_own_labels() -> None:
    """A rank correlation was told as a ratio."""
    frame = pd.DataFrame({
        "panel": ["times", "tau"], "row": ["a", "b"], "who": "open", "value": [2.0, -0.5], "low": np.nan,
        "high": np.nan,
    })  # fmt: skip
    scales = {"times": Scale("effect", (0.5, 4.0)), "tau": Scale("tau", (-1, 1), log=False)}
    found = values.values(forest(frame, scales, {"open": ("red", "o")}).figure)
    assert [(each["x"], each["marks"][0][2:]) for each in found] == [("effect", [2.0, "a"]), ("tau", [-0.5, "b"])]
    # An inner panel shows no label and has one.
    pairs = sns.pairplot(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "c": [5.0, 6.0]}), corner=True)
    told_of = [(each["x"], each["y"]) for each in values.values(pairs.figure)]
    assert told_of == [("a", "b"), ("a", "c"), ("b", "c")]


def test_a_level_is_told_as_its_number_and_a_long_curve_at_points_of_its_own() -> None:
    frame = beside((1, 1.0, 1.0, None, None), (16384, 2.0, 2.0, None, None))
    assert told(plots.levels(frame, "tps", x="threads", panel="workload"))[0][1] == [[1.0, 1.0], [16384.0, 2.0]]
    figure, axis = plt.subplots()
    axis.plot([float(n * n) for n in range(1000)], range(1000))
    marks = told(figure.axes[0])[0][1]
    assert len(marks) == values.MOST_OF_A_LINE
    assert [x for x, _ in marks] == pytest.approx([y**2 for _, y in marks], rel=1e-5)
