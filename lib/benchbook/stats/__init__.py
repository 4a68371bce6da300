"""Statistics for benchmarks: stateless functions, explicit seeds, small frozen results; nothing here knows a record.

The unit of replication is a repetition. Import from here; the modules are the chapters.
"""

from benchbook.stats.compare import (
    EffectSize,
    Equivalence,
    TestResult,
    difference_test,
    effect_size,
    equivalence,
    holm,
    ratio_interval,
)
from benchbook.stats.intervals import (
    bca_bootstrap,
    hierarchical_bootstrap,
    mean_interval,
    percentile_bootstrap,
    resampled_means,
)
from benchbook.stats.latency import (
    Histogram,
    LittleCheck,
    Percentile,
    hdr_buckets,
    histogram_mean,
    little,
    merge_histograms,
    percentile,
    percentiles,
    resolved,
)
from benchbook.stats.results import DegenerateDataWarning, Interval
from benchbook.stats.series import block_bootstrap, block_length, effective_samples, series_interval
from benchbook.stats.shapes import (
    Curve,
    Position,
    RankAgreement,
    curve,
    knee_position,
    normalised_curve,
    peak_position,
    rank_agreement,
    ratio_slope,
    saturation_position,
)
from benchbook.stats.steady import SteadyState, steady_state
from benchbook.stats.stopping import StopDecision, StopRule, forecast_s, replay, stop_decision
from benchbook.stats.tables import (
    coefficient_of_variation,
    compare_cells,
    repetitions_for_half_width,
    repetitions_needed,
)
from benchbook.stats.usl import UslFit, usl_fit, usl_throughput

__all__ = [
    "Curve",
    "DegenerateDataWarning",
    "EffectSize",
    "Equivalence",
    "Histogram",
    "Interval",
    "LittleCheck",
    "Percentile",
    "Position",
    "RankAgreement",
    "SteadyState",
    "StopDecision",
    "StopRule",
    "TestResult",
    "UslFit",
    "bca_bootstrap",
    "block_bootstrap",
    "block_length",
    "coefficient_of_variation",
    "compare_cells",
    "curve",
    "difference_test",
    "effect_size",
    "effective_samples",
    "equivalence",
    "forecast_s",
    "hdr_buckets",
    "hierarchical_bootstrap",
    "histogram_mean",
    "holm",
    "knee_position",
    "little",
    "mean_interval",
    "merge_histograms",
    "normalised_curve",
    "peak_position",
    "percentile",
    "percentile_bootstrap",
    "percentiles",
    "rank_agreement",
    "ratio_interval",
    "ratio_slope",
    "repetitions_for_half_width",
    "repetitions_needed",
    "replay",
    "resampled_means",
    "resolved",
    "saturation_position",
    "series_interval",
    "steady_state",
    "stop_decision",
    "usl_fit",
    "usl_throughput",
]
