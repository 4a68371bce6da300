"""What can be printed at all: values of a histogram's buckets, and percentages as they were rounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from packages import column, package, write

from benchbook.audit.findings import Audit
from benchbook.audit.report_audit import audit
from benchbook.audit.unused_checks import refuse_dead
from benchbook.errors import BadInput
from benchbook.published.tables import load

P95 = {**column("p95_ms", "number", "metric"), "unit": "ms"}
BUCKETS = {"id": "grid", "metric": "p95_ms", "of": "sysbench", "why": "it is sysbench's"}


def latencies(root: Path, *texts: str, **more: Any) -> Audit:
    columns = [column("run", "string", "level", required=True), P95]
    rows = [[f"r{number}", text] for number, text in enumerate(texts)]
    return audit(load("mine", write(root, package(columns, buckets=[{**BUCKETS, **more}]), rows)))


def test_what_sysbench_printed_is_a_value_of_its_histogram(tmp_path: Path) -> None:
    # Of the outputs of sysbench 1.0.20 in tests/fixtures: their 95th percentiles.
    assert latencies(tmp_path, "1.27", "127.81", "2449.36").passed["buckets"] == 3


def test_a_digit_that_sysbench_never_prints_is_suspicious(tmp_path: Path) -> None:
    # Beside 121.08 there are 118.92 (121.08 / 1.0182) and 123.28; beside 1.93 there are 1.89 and 1.96.
    (finding,) = latencies(tmp_path, "121.07", "1.94", "1.96").findings
    assert (finding.id, finding.kind, finding.severity) == ("t.grid", "buckets", "suspicious")
    assert finding.arithmetic == [
        "run r0: 121.07 lies between 118.92 and 121.08 ms, the nearest that can be printed",
        "run r1: 1.94 lies between 1.93 and 1.96 ms, the nearest that can be printed",
    ]


def test_a_shorter_figure_was_rounded_twice_or_cut_off(tmp_path: Path) -> None:
    """48.335 is printed as 48.34 by sysbench: 48.3 by who rounds that again; 47.4725, 47.47, is 47.5, or 47.4 cut."""
    assert latencies(tmp_path, "48.3", "47.5").findings == []
    (cut,) = latencies(tmp_path, "47.4").findings
    assert cut.severity == "note"
    assert cut.arithmetic[0].endswith("; 47.47 with its last digits cut off")
    assert latencies(tmp_path, "47.8").findings[0].severity == "suspicious"


def test_buckets_closer_than_the_printed_digits_say_nothing(tmp_path: Path) -> None:
    """At 20 ms buckets are 0.36 ms apart, less than the 1 ms of the last digit."""
    assert "buckets" not in latencies(tmp_path, "20").passed
    with pytest.raises(BadInput, match="the buckets check nothing"):
        refuse_dead(load("mine", tmp_path))


def test_seconds_and_rows(tmp_path: Path) -> None:
    columns = [column("run", "string", "level", required=True), {**P95, "name": "p95_s", "unit": "s"}]
    declared = {**BUCKETS, "metric": "p95_s", "rows": {"run": "a"}}
    write(tmp_path, package(columns, buckets=[declared]), [["a", "0.12108"], ["b", "0.12107"]])
    assert audit(load("mine", tmp_path)).findings == []
    write(tmp_path, package(columns, buckets=[declared]), [["a", "0.12107"], ["b", "0.12108"]])
    assert len(audit(load("mine", tmp_path)).findings) == 1


def test_a_whole_percentage_in_a_note_was_rounded(tmp_path: Path) -> None:
    """-40 is printed for 59.782 / 100 - 1 = -40.2%; -42 would be a contradiction."""
    columns = [
        column("run", "string", "level", required=True),
        {**column("before", "number", "metric"), "unit": "ms"},
        {**column("after", "number", "metric"), "unit": "ms"},
        {**column("change", "number", "note"), "unit": "%"},
    ]
    declared = [{"id": "change", "left": "change", "relation": "=", "right": "(after / before - 1) * 100", "why": "so"}]

    def findings(change: str) -> list[str]:
        rows = [["a", "100.000", "59.782", change]]
        found = audit(load("mine", write(tmp_path, package(columns, identities=declared), rows))).findings
        return [finding.severity for finding in found]

    assert findings("-40") == []
    assert findings("-42") == ["contradiction"]
