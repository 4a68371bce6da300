"""The parser of ab, on what ab 2.3 printed."""

from __future__ import annotations

import pytest
from kit import FIXTURES

from benchbook.errors import OutputNotParseable, WorkloadFailed
from benchbook.workloads import ab

PRINTED_BY = FIXTURES / "ab"


def printed(name: str) -> str:
    return (PRINTED_BY / f"{name}.txt").read_text()


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("success", {"events": 500, "failed": 0, "non_2xx": 0, "tps": 320.24, "total_time_s": 1.561,
                     "latency_mean_ms": 31.227, "p50_ms": 29, "p66_ms": 34, "p75_ms": 37, "p80_ms": 39, "p90_ms": 43,
                     "p95_ms": 47, "p98_ms": 53, "p99_ms": 56, "latency_max_ms": 61}),
        ("quiet", {"events": 300, "failed": 0, "non_2xx": 0}),
        ("keepalive", {"events": 200, "failed": 0, "non_2xx": 0}),
        ("non_2xx", {"events": 200, "failed": 0, "non_2xx": 200}),
        ("lengths_differ", {"events": 200, "failed": 199, "non_2xx": 0}),
    ],
)  # fmt: skip
def test_the_figures_of_a_whole_run(name: str, figures: dict[str, float]) -> None:
    assert ab.parse(printed(name)).items() >= figures.items()


def test_a_run_ended_by_its_time_limit_is_whole() -> None:
    """ab divides by its unrounded time; the printed one has three decimals."""
    found = ab.parse(printed("timelimit"))
    assert found["tps"] == pytest.approx(found["events"] / found["total_time_s"], rel=1e-3)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("connection_refused", "Connection refused"),
        ("server_stopped", "Total of 381 requests completed"),
        ("timed_out", "timeout specified has expired"),
        ("bad_usage", "Cannot use concurrency level"),
        ("interrupted", "before its run was over"),
        ("quiet_interrupted", "before its run was over"),
        ("terminated", "before its run was over"),
    ],
)
def test_a_run_that_did_not_end_fails_by_name(name: str, said: str) -> None:
    with pytest.raises(WorkloadFailed, match=said):
        ab.parse(printed(name))


@pytest.mark.parametrize(
    ("label", "figure"),
    [
        ("Complete requests", "events"),
        ("Failed requests", "failed"),
        ("Requests per second", "tps"),
        ("Time taken for tests", "total_time_s"),
        ("Time per request", "latency_mean_ms"),
    ],
)
def test_a_missing_line_is_named_and_never_zero(label: str, figure: str) -> None:
    text = printed("success").replace(f"{label}:", "Gone:")
    with pytest.raises(OutputNotParseable, match=f"it has no {figure}"):
        ab.parse(text)


def test_a_rate_of_zero_is_refused() -> None:
    with pytest.raises(WorkloadFailed, match="prints no rate above 0"):
        ab.parse(printed("success").replace("320.24", "0.00"))


def test_a_table_of_percentiles_that_is_cut_is_refused() -> None:
    whole = printed("success")
    with pytest.raises(OutputNotParseable, match=r"is cut: it has no end\. Fix: .*-d.*; it ends with: .*99%"):
        ab.parse(whole[: whole.index(" 100%")])


def test_one_request_has_no_percentiles() -> None:
    with pytest.raises(OutputNotParseable, match="percentiles"):
        ab.parse(printed("one_request"))


@pytest.mark.parametrize("text", ["", "sysbench 1.0.20\n"])
def test_another_tools_output_is_refused(text: str) -> None:
    with pytest.raises(OutputNotParseable, match="not the output of ApacheBench"):
        ab.parse(text)
