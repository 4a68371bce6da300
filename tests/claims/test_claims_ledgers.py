"""The ledgers of the reports agree with the published tables; a wrong ledger is refused with file, key and fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import packages
import pandas as pd
import pytest
import yaml
from packages import column, package

from benchbook import published
from benchbook.claims import evidence, judge
from benchbook.claims import ledger as ledgers
from benchbook.claims.evidence import Evidence
from benchbook.claims.hypothesis import SystemFigures
from benchbook.claims.ledger import Ledger
from benchbook.errors import BadInput

REPORTS = published.known_reports()
PUBLISHED = {name: published.load(name) for name in REPORTS}
by_report = pytest.mark.parametrize("report", REPORTS)
# What claims.yaml must at least speak of, table by table.
LEAST = {
    "ddt_full_scale": 8, "dm_1_0_alpha": 5, "dm_1_0_ga": 17, "dolt_vs_mysql_sysbench": 5,
    "dtm_mysql": 11, "etcd_3_2_performance": 11,
    "pgcat_pgbench": 9, "rocksdb_readwhilewriting": 8, "tidb_v6_2_vs_v6_1_sysbench": 18,
    "tidb_v7_1_3_sysbench": 16, "tidb_v7_1_3_tpcc": 5,
}  # fmt: skip


def ledger(report: str) -> Ledger:
    found = ledgers.load(PUBLISHED[report])
    assert found is not None
    return found


@by_report
def test_every_report_has_a_ledger_whose_claims_its_own_table_shows_unless_it_says_otherwise(report: str) -> None:
    claims = ledger(report).claims
    assert len(claims) >= LEAST[report]
    printed = {claim.id: ledgers.as_printed(claim, PUBLISHED[report]) for claim in claims}
    refuted = {id for id, parts in printed.items() if ledgers.refuted(parts)}
    assert refuted == {claim.id for claim in claims if claim.own_table}


def test_the_one_claim_that_its_own_table_contradicts() -> None:
    found = [claim.id for name in REPORTS for claim in ledger(name).claims if claim.own_table]
    assert found == ["memory-flat-cache-32"]


@by_report
def test_a_world_like_the_published_one_holds_for_every_claim(report: str) -> None:
    source = PUBLISHED[report]
    rng, exact = np.random.default_rng(1), evidence.as_published(source)
    frames = {id: pd.concat([_noisy(frame, source.tables[id].metrics, r, rng) for r in range(1, 6)])
              for id, frame in exact.frames.items()}  # fmt: skip
    found = judge.judge(ledger(report), source, Evidence(frames, ["published"]), judge.JudgedSystem("published"))
    verdicts = {claim.id: claim.here for claim in found}
    expected = {c.id: "fails" if c.own_table else "holds" for c in ledger(report).claims}
    assert verdicts == expected


def _noisy(frame: pd.DataFrame, metrics: list[str], repetition: int, rng: np.random.Generator) -> pd.DataFrame:
    noise = np.exp(2e-4 * rng.standard_normal((len(frame), len(metrics))))
    return frame.assign(repetition=repetition, **{m: frame[m] * noise[:, i] for i, m in enumerate(metrics)})


def test_published_effects_by_hand() -> None:
    # 118462 / 35309 point selects/s; 21997 / 35621 over 8854 / 10928 for what the index leaves of the throughput.
    data = PUBLISHED["tidb_v7_1_3_sysbench"]
    claims = {claim.id: claim for claim in ledger("tidb_v7_1_3_sysbench").claims}
    exact = evidence.as_published(data)

    def effect(id: str) -> float:
        return float(np.exp(judge.contrasts_of(claims[id], SystemFigures(data, exact, "published"))[0].mean))

    assert effect("scaling-point-select") == pytest.approx(118462 / 35309)
    assert effect("index-cost-grows") == pytest.approx((21997 / 35621) / (8854 / 10928))
    assert effect("index-costs") == pytest.approx(10928 / 8854)


CLAIM: dict[str, Any] = {
    "id": "rises", "statement": "It rises.", "where": "Here", "hypothesis": "increases", "table": "oltp_insert",
    "metric": "tps", "factor": "threads",
}  # fmt: skip
RATIO = {**CLAIM, "hypothesis": "ratio", "tolerance": 0.1, "rows": {"threads": 400}, "over": {"rows": {"threads": 100}}}
del RATIO["factor"]
SATURATES = {**CLAIM, "hypothesis": "saturates_at", "at": 200, "tolerance": 0.1}


def write(folder: Path, *claims: dict[str, Any], report: str = "tidb_v7_1_3_sysbench", **more: Any) -> Path:
    file = folder / "tidb_v7_1_3_sysbench" / "claims.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(yaml.safe_dump({"report": report, "claims": list(claims), **more}))
    return file


@pytest.mark.parametrize(
    ("claim", "key", "value", "fix"),
    [
        (CLAIM | {"table": "oltp_inserts"}, "rises.table", "oltp_inserts", "oltp_insert"),
        (CLAIM | {"metric": "qps"}, "rises.rows", "qps", "tps"),
        (CLAIM | {"metric": "tps +"}, None, "tps +", "arithmetic"),
        (CLAIM | {"metric": "abs(tps)"}, None, "abs(tps)", "arithmetic"),
        (CLAIM | {"rows": {"workers": 3}}, "rises.rows", "workers", "threads"),
        (CLAIM | {"factor": "thread"}, "rises.factor", "thread", "threads"),
        (CLAIM | {"levels": [100, 800]}, "rises.levels", 800, "100, 200, 400"),
        (CLAIM | {"levels": [100]}, "rises.levels", None, "more levels"),
        (CLAIM | {"factr": "threads"}, "factr", "threads", "correct its spelling"),
        (CLAIM | {"hypothesis": "grows"}, "claims.rises.hypothesis", "grows", "increases"),
        ({("hypotesis" if k == "hypothesis" else k): v for k, v in CLAIM.items()}, "claims.rises.hypothesis",
         ["factor", "hypotesis", "id", "metric", "statement", "table", "where"], "with one of correlates"),
        ({("factr" if k == "factor" else k): v for k, v in CLAIM.items()}, "claims.rises.factr", "threads", "correct"),
        (CLAIM | {"at_least": 3}, "rises", None, "own_table"),
        (CLAIM | {"at_least": 0.5}, "at_least", 0.5, "write 1 or more: a factor"),
        (CLAIM | {"id": "Rises!"}, "id", "Rises!", "write it without 'R' '!'"),
        ({k: v for k, v in CLAIM.items() if k != "statement"}, "statement", None, "add this key"),
        (RATIO | {"rows": {"threads": 300}}, "rises.rows", 300, "100, 200, 400"),
        (RATIO | {"rows": {"workers": 3}}, "rises.rows", "workers", "threads"),
        (RATIO | {"rows": {}}, "rises.rows", None, "name one row"),
        (RATIO | {"over": {"table": "nowhere"}}, "rises.rows", "nowhere", "oltp_insert"),
        (RATIO | {"tolerance": 1.5}, "tolerance", 1.5, "write a number below 1: a share"),
        (SATURATES | {"at": 300}, "rises.at", 300, "100, 200, 400"),
        (SATURATES | {"at": 100}, "rises.at", 100, "lower level"),
        (SATURATES | {"falls": True}, "rises.at", 200, "after `until`"),
        (CLAIM | {"not_run": [{"systems": ["x"]}]}, "why", None, "add this key"),
    ],
)  # fmt: skip
def test_a_wrong_claim_is_refused(tmp_path: Path, claim: dict[str, Any], key: str | None, value: Any, fix: str) -> None:
    file = write(tmp_path, claim)
    with pytest.raises(BadInput) as caught:
        ledgers.load(PUBLISHED["tidb_v7_1_3_sysbench"], tmp_path)
    assert caught.value.file == file
    assert key is None or str(caught.value.key).endswith(key)
    assert value is None or caught.value.value == value
    assert fix in str(caught.value.fix)


def test_what_is_wrong_with_the_whole_ledger(tmp_path: Path) -> None:
    data = PUBLISHED["tidb_v7_1_3_sysbench"]
    assert ledgers.load(data, tmp_path) is None, "a report need not have one"
    for claims, more, said in [
        ([CLAIM, CLAIM], {}, "two claims have this id"),
        ([CLAIM, {**CLAIM, "id": "copied", "statement": "Other words."}], {}, "two claims test the same"),
        ([CLAIM], {"report": "dm_1_0_ga"}, "not the folder's name"),
        ([], {}, "needs 1"), ([CLAIM], {"alpha": 2}, "less than 1"),
    ]:  # fmt: skip
        write(tmp_path, *claims, **more)
        with pytest.raises(BadInput, match=said):
            ledgers.load(data, tmp_path)


SIZES = [column("size", "string", "level", required=True), column("pool", "integer", "level"),
         column("tps", "number", "metric")]  # fmt: skip


def of_sizes(root: Path, claim: dict[str, Any]) -> list[float]:
    """What a claim compares in a table of sizes, of which the first has no pool: its effects as ratios."""
    packages.write(root, package(SIZES), [["small", "", "100"], ["middle", "8", "200"], ["large", "16", "300"]])
    (root / "mine" / "claims.yaml").write_text(yaml.safe_dump({"report": "mine", "claims": [claim]}))
    mine = published.load("mine", root)
    found = ledgers.load(mine, root)
    assert found is not None
    return [float(np.exp(part.mean)) for part in ledgers.as_printed(found.claims[0], mine)]


def test_levels_that_are_text_go_along_as_they_are_printed(tmp_path: Path) -> None:
    claim = {**CLAIM, "table": "t", "factor": "size"}
    assert of_sizes(tmp_path, claim) == pytest.approx([3])


def test_a_level_that_is_not_printed_in_every_row_can_be_claimed_of_the_others(tmp_path: Path) -> None:
    ratio = {**RATIO, "table": "t", "rows": {"pool": 16}, "over": {"rows": {"pool": 8}}}
    assert of_sizes(tmp_path, ratio) == pytest.approx([1.5])
    assert of_sizes(tmp_path, {**CLAIM, "table": "t", "factor": "pool"}) == pytest.approx([1.5])
    with pytest.raises(BadInput) as caught:
        of_sizes(tmp_path, {**ratio, "rows": {"pool": 4}})
    assert caught.value.fix == "use one of: 8, 16"


def test_a_figure_that_is_not_printed_cannot_be_claimed(tmp_path: Path) -> None:
    file = tmp_path / "dm_1_0_alpha" / "claims.yaml"
    file.parent.mkdir()
    claim = {**RATIO, "table": "result", "metric": "qps_replace", "rows": {"component": "MySQL"}}
    file.write_text(yaml.safe_dump({"report": "dm_1_0_alpha", "claims": [claim]}))
    with pytest.raises(BadInput, match="prints nothing there"):
        ledgers.load(PUBLISHED["dm_1_0_alpha"], tmp_path)
