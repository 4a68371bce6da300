"""From records to claims with verdicts: evidence of each kind of report, a replayed campaign, the command line."""

from __future__ import annotations

import html
import json
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import tabled
from kit import Home
from records import record
from rich.console import Console

from benchbook import published, report
from benchbook.analysis import results, summary
from benchbook.analysis.results import JudgedClaim
from benchbook.campaign import store
from benchbook.campaign.design import Cell, Trial, plan
from benchbook.campaign.environment import Environment
from benchbook.campaign.record import Quantity, Record
from benchbook.campaign.store import Campaign
from benchbook.claims import claims_terminal, evidence, judge, ledger, section, undecided
from benchbook.claims.figures import Term
from benchbook.pipeline import judge_claims
from benchbook.published import Published
from benchbook.reports.kind import Kind, kind_of

TIDB, DTM, GA = "tidb_v7_1_3_sysbench", "dtm_mysql", "dm_1_0_ga"


def judged(campaign: Campaign, data: Published, kind: Kind[Any]) -> list[JudgedClaim]:
    return judge.of_campaign(campaign, data, kind)


def saga(clients: int, repetition: int, tps: float, **levels: Any) -> Record:
    summary = {
        name: Quantity(value=tps * each, unit="1/s") for name, each in {"global_tps": 1, "db_tps": 4, "ops": 10}.items()
    }
    all_levels = {"mode": "dtm", "sql_per_branch": 2, "concurrency": clients, **levels}
    return record(f"r{repetition}-{clients}-{levels}", table="saga", system="mariadb", levels=all_levels,
                  repetition=repetition, summary=summary)  # fmt: skip


def of(records: list[Record]) -> Trial:
    r = records[0]
    cell = Cell(table=r.table, system=r.system, levels=r.levels)
    return Trial(id=r.id, identity="i", cell=cell, repetition=1, order=0)


def test_a_rung_keeps_the_knee_of_all_its_repetitions() -> None:
    # Means: 100 at 10 clients, 200 at 20. The second repetition alone would have its knee at 10 clients.
    records = [saga(10, 1, 50), saga(10, 2, 150), saga(20, 1, 260), saga(20, 2, 140)]
    kind, data = kind_of(DTM), published.load(DTM)
    found = tabled.measured(kind, data, records, [of(records)])
    values = found.values(Term("saga", "global_tps", {"mode": "dtm", "sql_per_branch": 2}), "mariadb")
    assert values.to_dict() == {1: 260, 2: 140}
    assert found.systems == ["mariadb"]


def test_components_of_one_dm_run_are_rows_of_its_table() -> None:
    figures = {"mysql_qps": 2000.0, "dm_qps": 1000.0, "tidb_qps": 900.0}
    records = [
        record(f"r{n}", table="sync_result", system="dm", levels={"test": "result"}, repetition=n,
               summary={k: Quantity(value=v * n, unit="1/s") for k, v in figures.items()}) for n in (1, 2)
    ]  # fmt: skip
    found = tabled.measured(kind_of(GA), published.load(GA), records, [of(records)])
    term = Term("sync_result", "qps", {"component": "DM binlog replication unit"})
    assert found.values(term, "dm").to_dict() == {1: 1000, 2: 2000}
    with pytest.raises(
        evidence.NotMeasured, match="qps_insert of sync_result at component TiDB was not measured"
    ) as why:
        found.values(term._replace(metric="qps_insert", rows={"component": "TiDB"}), "dm")
    # More of the same would not bring it, as another campaign would bring a system that was left out.
    assert why.value.needs.startswith("a load generator or a probe that records `qps_insert`")
    with pytest.raises(evidence.NotMeasured) as why:
        found.values(term, "pgcat")
    assert why.value.needs == "a campaign with pgcat among its systems"


def transfer(cache: int, threads: tuple[int, int], repetition: int, **figures: float) -> Record:
    levels = {"source_threads": threads[0], "target_threads": threads[1], "cache_bucket_size": cache,
              "cache_bucket_num": cache, "data_batch_size": 128}  # fmt: skip
    known = {"qps": 1000.0, "cpu_percent": 90.0, "memory_mb": 60.0, "wall_qps": 1.0, "cpu_s_per_million": 1.0,
             "peak_memory_mb": 1.0, **figures}  # fmt: skip
    fields = published.load("ddt_full_scale").tables[f"cache_{cache}"].fields
    units = {k: fields[k].unit if k in fields else "1" for k in known}
    return record(
        f"r{repetition}-{cache}-{threads}",
        table=f"cache_{cache}",
        system="pymongo",
        levels=levels,
        repetition=repetition,
        summary={k: Quantity(value=v, unit=units[k]) for k, v in known.items()},
    )


def test_pairs_of_threads_and_fixed_caches_of_a_transfer() -> None:
    records = [transfer(32, (5, 15), 1), transfer(32, (6, 20), 1, qps=1200), transfer(48, (5, 15), 1, qps=2200)]
    data, kind = published.load("ddt_full_scale"), kind_of("ddt_full_scale")
    found = tabled.measured(kind, data, records, [of(records)])
    assert found.values(Term("cache_32", "qps", {"source_threads": 6, "target_threads": 20}), "pymongo").to_dict() == {
        1: 1200
    }
    assert found.points("cache_48", "pymongo", ["cpu_percent", "qps"]).to_numpy().tolist() == [[1, 90, 2200]]
    ids = {c.id: c.verdict for c in judge.judge(_ledger("ddt_full_scale"), data, found, judge.JudgedSystem("pymongo"))}
    assert (ids["cache-48-doubles"], ids["threads-help-cache-48"]) == ("open", "not run")


def _ledger(report: str) -> Any:
    return ledger.load(published.load(report))


# -- a recorded campaign ----------------------------------------------------------------------------------------------


@pytest.fixture
def recorded(home: Home) -> Campaign:
    """MariaDB on a small machine: the rate falls with threads, reads are fastest; TiDB is planned but never ran."""
    levels = {"oltp_point_select": (50, 100, 200), "oltp_insert": (100, 200, 400)}
    cells = [
        Cell(table=name, system=system, levels={"workload": name, "threads": threads})
        for system, (name, counts) in product(("mariadb", "tidb"), levels.items())
        for threads in counts
    ]
    trials = plan(cells, 3, seed=1, asked={})
    found = store.start_or_continue(TIDB, {"profile": "smoke", "inventory": "lab"}, trials, seed=1)
    for trial in trials:
        if trial.cell.system == "mariadb":
            found.keep(_measured(trial), pd.DataFrame(), "")
    about = {"title": "MariaDB", "name": "mariadb", "version": "10", "stand_in_for": "TiDB", "config": {}}
    systems = {"mariadb": about, "tidb": {**about, "name": "tidb", "title": "TiDB"}}
    found.note(Environment.model_validate({"hosts": {}, "systems": systems}))
    return found


def _measured(trial: Trial) -> Record:
    threads = int(trial.cell.levels["threads"])
    most = {"oltp_point_select": 1e6, "oltp_insert": 5e5}[trial.cell.table]
    tps = most / threads * (1 + 0.001 * trial.repetition * threads / 100)
    summary = {"tps": Quantity(value=tps, unit="1/s"), "p95_ms": Quantity(value=threads / 10, unit="ms")}
    return record(
        trial.id,
        identity=trial.identity,
        table=trial.cell.table,
        system=trial.cell.system,
        levels=trial.cell.levels,
        repetition=trial.repetition,
        order=trial.order,
        summary=summary,
    )


def test_a_replayed_campaign_is_judged_per_system(recorded: Campaign) -> None:
    found = {(c.system, c.id): c for c in judged(recorded, published.load(TIDB), kind_of(TIDB))}
    falls = found["mariadb", "rises-insert"]
    assert (falls.here, falls.speaks, falls.n) == ("fails", "nothing", 3)
    assert falls.effect == pytest.approx(0.25, rel=0.02)
    assert "MariaDB stands in for TiDB." in falls.sentence
    assert found["mariadb", "scaling-insert"].here == "fails"
    assert "oltp_update_non_index was measured" in found["mariadb", "order-at-100"].sentence
    assert {c.verdict for (system, _), c in found.items() if system == "tidb"} == {"not run"}


def test_the_results_hold_the_claims_and_can_be_read_again(recorded: Campaign) -> None:
    data, kind = published.load(TIDB), kind_of(TIDB)
    claims = judged(recorded, data, kind)
    path = summary.write_results(data, recorded, tabled.beside(kind, data, recorded.records(), recorded.trials), claims)
    assert results.read(path).claims == claims
    saved = next(
        c for c in json.loads(path.read_text())["claims"] if (c["id"], c["system"]) == ("rises-insert", "mariadb")
    )
    assert saved["what"] == "throughput of insert, threads 400 against 100"
    assert saved["region"] == pytest.approx([1.2, None])


def test_a_notebook_shows_them_with_a_picture_that_says_in_words_what_it_shows(recorded: Campaign) -> None:
    shown = html.unescape(report.open_report(TIDB, replay=True, campaign=recorded.id).claims_table().data)
    assert "rises-insert: open, 0.25" in shown
    busy = "how busy the servers' CPU was at 400 threads is not known"
    assert f"<small><code>rises-insert</code>: {busy}</small>" in shown
    assert "<small>fails here</small>" in shown
    # 0.7 to the power of 3.
    assert "fast in all 3 repetitions in 34% of campaigns" in shown
    assert "mariadb-claims.png" in {path.name for path in (recorded.folder / "figures").iterdir()}


def test_the_command_prints_one_line_a_claim(recorded: Campaign) -> None:
    console = Console(record=True, width=60)
    assert judge_claims(TIDB, "", console) == 0
    said = console.export_text().splitlines()
    start, end = (n for n, line in enumerate(said) if line.startswith(("mariadb: ", "tidb: ")))
    lines = {line.split()[0]: line.split() for line in said[start:end] if "0.251x" in line}
    assert lines["rises-insert"][1:6] == ["open", "fails", "nothing", "0.251x", "0.251"]
    assert sum(line.startswith(" rises-") for line in said) == 12, (
        "a reason each for five on two systems, and two figures"
    )
    assert said[start].startswith("mariadb: 5 open, 11 not run")


def untested(**changes: Any) -> JudgedClaim:
    given = {"id": "load-rises", "statement": "", "verdict": "not run", "system": "dm"}
    return JudgedClaim.model_validate({**given, **changes})


def test_why_no_claim_speaks_of_the_report_is_said_once_where_it_is_true_of_all(tmp_path: Path) -> None:
    why = "threads were scaled to the cores here: 1 for {}"
    claims = [untested(id=f"c{n}", verdict="open", reason=why.format(n)) for n in (50, 100)]
    shown = str(section.html(claims, tmp_path).data)
    assert "<p>True of every claim that was run: threads were scaled to the cores here.</p>" in shown
    assert shown.count("scaled to the cores") == 1
    alike = [untested(id=f"c{n}", verdict="open", reason=why.format(50)) for n in (50, 100)]
    assert "run: threads were scaled to the cores here: 1 for 50.</p>" in str(section.html(alike, tmp_path).data)
    with_another = str(section.html([*claims, untested(id="c", verdict="open")], tmp_path).data)
    assert [with_another.count(text) for text in ("True of every claim", ": threads were scaled")] == [0, 2]
    # A colon of a name parts nothing.
    unseen = [untested(id=f"c{of}", verdict="open", reason=f"CPU at image mysql:{of} is not known") for of in (5, 8)]
    assert "True of every claim" not in str(section.html(unseen, tmp_path).data)


def told(claims: list[JudgedClaim], width: int, *, terminal: bool) -> list[str]:
    console = Console(record=True, file=StringIO(), width=width, force_terminal=terminal, soft_wrap=True)
    claims_terminal.show(GA, "c1", claims, console)
    return console.export_text().splitlines()


def test_a_claim_that_cannot_be_tested_says_why_and_has_no_line_of_dashes() -> None:
    why = " ".join(f"word{number}" for number in range(30))
    lines = told([untested(reason=why), untested(id="no-reason-known")], 100, terminal=True)
    assert max(map(len, lines)) <= 100
    words = [word for line in lines for word in line.split() if word.startswith("word")]
    assert words == why.split()
    assert next(line.split() for line in lines if "no-reason-known" in line) == [
        "no-reason-known", "not", "run", "–", "–",
    ]  # fmt: skip
    assert not any("leaning" in line for line in lines), "a table of figures that no claim has"
    whole = told([untested(reason=why, decide="a longer load")], 60, terminal=False)
    assert next(line.split() for line in whole if "word0" in line) == [
        "load-rises",
        "not",
        "run",
        *why.split(),
        "a",
        "longer",
        "load",
    ]
    assert any(line.endswith("would decide it") for line in map(str.rstrip, whole))


def test_a_narrow_terminal_cuts_no_word() -> None:
    figures = {"effect": 2.04, "unit": "times", "interval": (1.07, 3.9), "n": 3, "p_value": 0.0004, "leaning": 0.99}
    tested = untested(id="a-claim-of-a-very-long-name", verdict="open", here="open", speaks="both ways", **figures)
    lines = told([tested, untested(reason="nothing of it was measured")], 60, terminal=True)
    words = " ".join(lines).split()
    assert "…" not in "".join(lines)
    assert {tested.id, "open", "2.04x", "1.07", "3.90", "0.99", "interval", "published"} <= {*words}


def verdict(id: str, needed: int | None, said: results.Verdict = "open") -> results.JudgedClaim:
    chances = tuple(0.5 * (more == needed) for more in range(1, 31))
    return results.JudgedClaim(id=id, statement="", verdict=said, system="tidb", chances=chances)


def test_cells_with_levels_of_the_user_s_own_are_measured_as_often_as_those_that_decide_a_claim() -> None:
    data = published.load(TIDB)
    cells = [
        Cell(table="oltp_insert", system="tidb", levels={"workload": "oltp_insert", "threads": threads})
        for threads in (8, 100, 200, 400)
    ]
    assert undecided.unjudged(ledger.load(data), cells, {}, data, None) == []
    # A table that the report does not have is the kind's own, and shows something else than a claim.
    own = cells[0].model_copy(update={"table": "of_the_kind"})
    assert undecided.unjudged(ledger.load(data), [*cells, own], {}, data, None) == [own]


def test_more_repetitions_go_to_the_cells_of_claims_that_they_can_decide() -> None:
    known = ledger.load(published.load(TIDB))
    cells = [
        Cell(table=table, system=system, levels={"workload": table, "threads": 100})
        for table in ("oltp_insert", "oltp_update_index", "oltp_update_non_index", "oltp_point_select")
        for system in ("tidb", "mariadb")
    ]
    trials = plan(cells, 2, seed=1, asked={})

    def wanted(*verdicts: results.JudgedClaim) -> list[tuple[str, str]]:
        found = undecided.open_claims(known, verdicts, trials, published.load(TIDB), None, most=7)
        return sorted((cell.system, cell.table) for claim in found for cell in claim.cells)

    assert wanted(verdict("rises-insert", 7)) == [("tidb", "oltp_insert")]
    assert wanted(verdict("index-costs", 6)) == [("tidb", "oltp_update_index"), ("tidb", "oltp_update_non_index")]
    assert wanted(verdict("rises-insert", 8), verdict("index-costs", None)) == []
    assert wanted(verdict("rises-insert", 3, "holds")) == []
