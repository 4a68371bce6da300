"""Slips in a transcription that no rule refuses: each is made in a copy of the TiDB report, and said with its place."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from benchbook import paths, published
from benchbook.claims import ledger, transcription

NAME = "tidb_v7_1_3_sysbench"

SLIPS = {
    "a digit that the fact's words do not have": (
        "report.yaml", "values: {tables: 32, rows: 10000000}", "values: {tables: 32, rows: 1000000}",
        "report.yaml: text_facts.data.values.rows: 1,000,000 does not stand in what is printed",
    ),
    "a system that no host runs": (
        "report.yaml", "runs: [TiKV]", "runs: [TiVK]",
        "hosts.TiKV nodes.runs: TiVK is none of the systems; did you mean TiKV? there are: TiDB, TiKV, sysbench",
    ),
    "a unit of memory": ("report.yaml", "memory: 32 GiB", "memory: 32 GiBB", "memory: GiBB is no unit; GiB?"),
    "nodes that no hosts run": (
        "report.yaml", "count: 3, cpu: 16 vCPU, memory: 64", "count: 2, cpu: 16 vCPU, memory: 64",
        "report.yaml: systems.TiKV.nodes: 3; hosts that run it: 2",
    ),
    "a version that the document does not have": (
        "report.yaml", "product: TiDB Dedicated (TiDB Cloud)\n  version: v7.1.3", "product: TiDB\n  version: v7.3.1",
        "report.yaml: systems.TiDB.version: v7.1.3; document.version: v7.3.1",
    ),
    "a row that was left out": (
        "oltp_insert.csv", "200,25078,11.0\n", "",
        "oltp_insert.csv: no row has threads 200 between its others",
    ),
    "a load generator in other letters": (
        "report.yaml", "- name: sysbench\n", "- name: sysbnech\n",
        "report.yaml: systems: no host runs sysbnech; sysbench?",
    ),
    "a unit of memory with its letters exchanged": (
        "report.yaml", "memory: 32 GiB", "memory: 32 BG", "memory: BG is no unit; GB?",
    ),
    "a host on which nothing ran": (
        "report.yaml", "runs: [sysbench]", "runs: []", "hosts.benchmark executor.runs: nothing; name what ran there",
    ),
    "the words of another table": (
        "claims.yaml", "Inserts: throughput rises", "Point select: throughput rises",
        "rises-insert.statement: it names oltp_point_select, the claim is about oltp_insert",
    ),
    "a letter for a digit": ("report.yaml", "1.0.20", "1.0.2O", "1.0.2O has a letter between its digits"),
    "a design that was left out": (
        "report.yaml", "    table: oltp_insert\n", "    table: oltp_update_index\n",
        "report.yaml: design: none runs table oltp_insert",
    ),
    "falls, over a hypothesis that rises": (
        "claims.yaml", "Inserts: throughput rises", "Inserts: throughput falls",
        "rises-insert.statement: its words go the other way than the hypothesis, increases",
    ),
    "a level that the claim does not have": (
        "claims.yaml", "throughput rises with threads from 50", "throughput rises with threads from 60",
        "rises-point-select.statement: 60 to 200 is none of the claim's levels, bounds and published figures",
    ),
    "the section of another table": (
        "claims.yaml", "where: Test results > Insert performance", "where: Test results > Point select performance",
        "rises-insert.where: that is table oltp_point_select, the claim is about oltp_insert",
    ),
    "a section with a slip": (
        "claims.yaml", "where: Test results > Insert performance", "where: Test results > Insret performance",
        "“Test results > Insret performance” is no table's section; Test results > Insert performance?",
    ),
    "another percentile": (
        "claims.yaml", "The 95% latency of point selects", "The 99% latency of point selects",
        "99% latency is not the claim's metric, p95_ms",
    ),
    "a rate for a time": (
        "claims.yaml", "Inserts: throughput rises", "Inserts: latency rises",
        "it speaks of a time, the claim's metric is a rate",
    ),
    "a name of a system that is short": (
        "report.yaml", "runs: [sysbench]", "runs: [sys bench]",
        "runs: sys bench is none of the systems; did you mean sysbench?",
    ),
    "a rate per minute": (
        "datapackage.json", '"unit": "1/s"', '"unit": "1/min"',
        "oltp_point_select.tps: its unit is 1/min, its name ends in tps",
    ),
    "a unit in other letters": (
        "datapackage.json", '"unit": "1/s"', '"unit": "TPS"',
        "oltp_point_select.tps: TPS is no unit known here; write 1/s",
    ),
    "a unit that nobody has": (
        "datapackage.json", '"unit": "1/s"', '"unit": "hertz"',
        "oltp_point_select.tps: hertz is no unit known here; write one such as ms, 1/s, MB/s or %, 1 for a count, "
        "or name it in report.yaml: units",
    ),
    "a unit that the name denies": (
        "datapackage.json", '"unit": "ms"', '"unit": "s"',
        "oltp_point_select.p95_ms: its unit is s, its name ends in ms",
    ),
    "a unit of its own that no column has": (
        "report.yaml", "language: ", "units: [J]\nlanguage: ", "report.yaml: units: no column is in J"
    ),
}  # fmt: skip

FLAT = "hypothesis: flat\n    table: oltp_point_select\n    metric: p95_ms\n    called: 95% latency of point_select\n"
FLAT += "    factor: threads\n    tolerance: 0.2\n"
RISING = (
    FLAT.replace("hypothesis: flat", "hypothesis: increases").replace("tolerance", "at_least").replace("0.2", "1.01")
)

# What is right, and was taken for a slip: what to write in place of what.
RIGHT: dict[str, dict[str, str]] = {
    "a share that is printed in percent": {
        "printed: import 32 tables and": "printed: import 95% of 32 tables and",
        "values: {tables: 32, rows: 10000000}": "values: {tables: 32, rows: 10000000, share: 0.95}",
    },
    "cores and sizes as anyone writes them": {"memory: 32 GiB": "memory: 16 Cores with 32Gi and 500 GByte"},
    "a rate that scales less than linearly": {
        "Inserts: throughput rises with threads": "Inserts: throughput scales, less than linearly,",
    },
    "a latency that degrades": {"stays nearly flat": "degrades", FLAT: RISING},
    "a latency at a rate": {"The 95% latency of point selects": "While TPS is high, p95 of point selects"},
    "a minimum, which is no minute": {"p95_ms": "latency_min", "The 95% latency": "The least latency"},
    "a cost per hour": {"p95_ms": "cost_per_hour", "The 95% latency": "The latency"},
    "a unit of the report's own": {'"unit": "1/s"': '"unit": "J"', "language: ": "units: [J]\nlanguage: "},
    "a version of the document in fewer parts": {
        "product: TiDB Dedicated (TiDB Cloud)\n  version: v7.1.3": "product: TiDB\n  version: v7.1",
    },
    "two nodes on each host": {"name: TiKV, version: v7.1.3, nodes: 3": "name: TiKV, version: v7.1.3, nodes: 6"},
    "a load generator with a capital letter": {"- name: sysbench\n": "- name: Sysbench\n"},
    "a percentile with a point": {"p95": "p999", "The 95% latency": "The p99.9 latency"},
    # 15,575 and 38,436 with 100 and 400 threads.
    "a range of rounded figures": {
        "Inserts: throughput rises with threads from 100 to 400": "Inserts: throughput goes from 15.6k to 38k TPS",
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(paths.published_dir(NAME), tmp_path / NAME))


def said(folder: Path) -> list[str]:
    found = published.load(NAME, folder.parent)
    return transcription.slips(found, ledger.load(found, folder.parent))


@pytest.mark.parametrize("report", published.known_reports())
def test_the_kits_own_reports_have_none(report: str) -> None:
    found = published.load(report)
    assert transcription.slips(found, ledger.load(found)) == []


@pytest.mark.parametrize("case", SLIPS)
def test_a_slip_is_said_with_its_place(case: str, folder: Path) -> None:
    file, right, wrong, sentence = SLIPS[case]
    text = (folder / file).read_text()
    assert right in text
    (folder / file).write_text(text.replace(right, wrong, 1))
    assert any(sentence in one for one in said(folder)), said(folder)


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_right_is_no_slip(case: str, folder: Path) -> None:
    texts = {path: path.read_text() for path in folder.iterdir() if path.is_file()}
    for right, other in RIGHT[case].items():
        assert any(right in text for text in texts.values()), right
        texts = {path: text.replace(right, other) for path, text in texts.items()}
    for path, text in texts.items():
        path.write_text(text)
    assert said(folder) == []


@pytest.mark.parametrize(
    ("levels", "told"),
    [
        ([16, 64], ["t.csv: no row of system b has threads 32 between its others; all other rows have"]),
        ([8, 64], []),
        ([16, 32], []),
    ],
)
def test_one_level_that_some_rows_lack_is_told_with_their_system(levels: list[int], told: list[str]) -> None:
    rows = [(name, n) for name, ladder in (("a", [8, 16, 32, 64]), ("b", levels), ("c", [16, 32, 64])) for n in ladder]
    frame = pd.DataFrame(rows, columns=["system", "threads"])
    schema = SimpleNamespace(primary_key=["system", "threads"])
    table: Any = SimpleNamespace(id="t", frame=frame, numeric=["threads"], meta=SimpleNamespace(table_schema=schema))
    assert list(transcription._left_out([table])) == told


def test_a_fact_s_section_that_is_a_table_s_is_none_that_differs_by_a_letter(folder: Path) -> None:
    near = transcription._near
    assert near("YCSB workloda", ["YCSB workload"]) == "YCSB workload"
    assert near("Results with 18k rows", ["Results with 16k rows"]) == ""
    package = folder / "datapackage.json"
    package.write_text(
        package.read_text().replace("Insert performance", "workloada").replace("Point select performance", "workloadb")
    )
    facts = folder / "report.yaml"
    facts.write_text(facts.read_text().replace("where: Test steps, step 3", "where: Test results > workloada"))
    assert [one for one in said(folder) if "text_facts" in one] == []


@pytest.mark.parametrize(
    ("ladders", "lacks"),
    [
        ([[16, 32, 64], [16, 64]], ["b 32"]),
        ([[1, 8, 64], [1, 4, 16, 64]], []),  # two tables with levels of their own
        ([[1, 8, 64], [1, 4, 64], [1, 8, 64]], ["b 8"]),  # 4 where two have 8
        ([[1, 8], [1, 8, 64]], []),
    ],
)
def test_a_level_was_left_out_where_all_other_rows_have_it(ladders: list[list[int]], lacks: list[str]) -> None:
    schema = SimpleNamespace(table_schema=SimpleNamespace(primary_key=["threads"]))
    tables: Any = [
        SimpleNamespace(id=id, meta=schema, numeric=["threads"], frame=pd.DataFrame({"threads": ladder}))
        for id, ladder in zip("abc", ladders, strict=False)
    ]
    said = [
        one.partition(" between")[0].replace(".csv: no row has threads", "") for one in transcription._left_out(tables)
    ]
    assert said == lacks
