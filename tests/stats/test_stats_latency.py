"""Percentiles from histograms and Little's law, by hand and on published rows."""

import math

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from benchbook.errors import BadInput
from benchbook.stats.latency import (
    hdr_buckets,
    little,
    merge_histograms,
    named_percentiles,
    percent_of,
    percentile,
)


def test_merged_counts_by_hand():
    merged = merge_histograms([[(1.0, 90), (2.0, 10)], [(2.0, 40), (5.0, 60), (9.0, 0)]])
    assert merged == [(1.0, 90), (2.0, 50), (5.0, 60)]
    # The merged p50 is not the mean of the clients' (1.0 and 5.0): rank 100 of 200 lies at 2.0.
    assert percentile(merged, 50) == 2.0


def test_nearest_rank_at_a_bucket_edge():
    edge = [(1.0, 190), (2.0, 10)]
    assert percentile(edge, 95) == 1.0
    assert percentile([(1.0, 1899), (2.0, 101)], 95) == 2.0


def test_only_as_deep_as_the_samples():
    found = {percent: percentile([(1.0, 900), (2.0, 100)], percent) for percent in (99, 99.9)}
    # 10 of 1,000 lie beyond the 99th, 1 beyond the 99.9th.
    assert (found[99], found[99.9]) == (2.0, None)
    assert percentile([], 50) is None


def test_the_name_of_a_metric_says_its_percentile():
    names = ["p5_ms", "p95_ms", "tidb_p99_s", "p999_ms", "p9999_ms", "p100_ms"]
    assert [percent_of(name) for name in names] == [5, 95, 99, 99.9, 99.99, 100]
    assert [percent_of(name) for name in ("tps", "ps_ms", "step95_ms")] == [None, None, None]


def test_percentiles_are_read_off_a_histogram_by_name():
    # Ranks 950 and 999 of 1,000: the first bucket holds 960, the second one ends at 999.
    histogram = [(1.0, 960), (2.0, 39), (7.0, 1)]
    assert named_percentiles(histogram, ["tps", "p95_ms", "p999_ms"]) == {"p95_ms": 1.0, "p999_ms": 2.0}
    assert named_percentiles([], ["p95_ms"]) == {}


def test_percentiles_of_known_data():
    data = np.random.default_rng(1).lognormal(1, 0.5, 100_000)
    width = math.exp(math.log(1e8) / 1023)
    bounds, counts = np.unique(width ** np.round(np.log(data) / math.log(width)), return_counts=True)
    for percent in (50, 95, 99):
        found = percentile(list(zip(bounds, counts, strict=True)), percent)
        assert found / width <= np.percentile(data, percent) <= found * width


def test_an_hdr_histogram_in_microseconds_has_buckets_in_ms():
    made = HdrHistogram(1, 60_000_000, 3)
    for us in (1000, 2000, 2000):
        made.record_value(us)
    bounds, counts = zip(*hdr_buckets(made.encode().decode()), strict=True)
    assert counts == (1, 2)
    assert bounds == pytest.approx([1.0, 2.0], rel=2e-3)


@pytest.mark.parametrize("bucket", [(-1.0, 3), (math.inf, 3), (1.0, -3)])
def test_impossible_buckets_are_refused(bucket):
    with pytest.raises(BadInput):
        merge_histograms([[bucket]])


@pytest.mark.parametrize("percent", [0, 100, 150])
def test_impossible_percentiles_are_refused(percent):
    with pytest.raises(BadInput):
        percentile([(1.0, 100)], percent)


def test_littles_law_by_hand():
    # 5,000/s x 20 ms = 100 in flight.
    good = little(100, 5000, 20, tolerance=0.05)
    assert (good.in_flight, good.ratio, good.holds) == (100, 1, True)
    starved = little(100, 5000, 10, tolerance=0.05)
    assert (starved.in_flight, starved.ratio, starved.holds) == (50, 0.5, False)
    assert little(100, 5000, 10, tolerance=0.5).holds
    assert not little(100, 5000, 30, tolerance=0.05).holds
    assert little(100, 0, 0, tolerance=0.05).ratio == 0, "nothing was done: the check fails, the page is made"
    with pytest.raises(BadInput):
        little(0, 1, 1, tolerance=0.05)
