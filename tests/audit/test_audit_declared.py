"""A user's own tables: what she declares is checked, from JSON and YAML alone; what she misdeclares is refused."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from packages import column, facts, package, table, write

from benchbook import cli, paths
from benchbook.audit.findings import Audit
from benchbook.audit.report_audit import audit
from benchbook.display import show
from benchbook.documents.findings import Finding
from benchbook.errors import BadInput
from benchbook.published import arithmetic
from benchbook.published.tables import load

COLUMNS = [
    column("threads", "integer", "level", required=True), column("pool", "integer", "level"),
    column("tps", "number", "metric"), column("qps", "number", "metric"), column("engine", "string", "note"),
]  # fmt: skip
ROWS = [["1", "8", "100", "600", "InnoDB"], ["2", "8", "180", "1080", "InnoDB"], ["4", "8", "350", "2100", "InnoDB"]]


def found(root: Path, rows: list[list[str]] = ROWS, report: dict[str, Any] | None = None, **declared: Any) -> Audit:
    return audit(load("mine", write(root, package(declared.pop("columns", COLUMNS), **declared), rows, report=report)))


def only(root: Path, rows: list[list[str]], report: dict[str, Any] | None = None, **declared: Any) -> Finding:
    (finding,) = found(root, rows, report, **declared).findings
    return finding


def changed(row: int, column: int, value: str) -> list[list[str]]:
    return [
        [value if (r, c) == (row, column) else cell for c, cell in enumerate(cells)] for r, cells in enumerate(ROWS)
    ]


# -- each declaration, kept and broken ------------------------------------------------------------------------------


def test_a_table_without_declarations_is_still_looked_at(tmp_path: Path) -> None:
    result = found(tmp_path)
    assert result.findings == []
    assert result.passed == {"outlier": 6, "repeated figures": 3, "missing level": 6}


IDENTITY = {"id": "six", "left": "qps", "relation": "=", "right": "tps * 6", "why": "6 statements"}


def test_identity(tmp_path: Path) -> None:
    assert found(tmp_path, identities=[IDENTITY]).passed["identity"] == 3
    finding = only(tmp_path, changed(1, 3, "1180"), identities=[IDENTITY])
    assert finding.arithmetic == ["threads 2: 180 x 6 = 1,080; printed 1,180",
                                  "180 x 6 = 1,080, with qps with one slip of a digit"]  # fmt: skip


def test_a_number_that_fits_another_row_is_named(tmp_path: Path) -> None:
    finding = only(tmp_path, changed(2, 3, "1080"), identities=[IDENTITY])
    assert finding.arithmetic[1] == "180 x 6 = 1,080, with the tps of threads 2"


def test_identity_limited_to_rows_with_a_tolerance_and_a_severity(tmp_path: Path) -> None:
    check = {**IDENTITY, "rows": {"threads": 4}, "tolerance": 0.1, "severity": "note"}
    assert found(tmp_path, changed(1, 3, "700"), identities=[check]).findings == []
    assert found(tmp_path, changed(2, 3, "2250"), identities=[check]).findings == []
    assert only(tmp_path, changed(2, 3, "2450"), identities=[check]).severity == "note"


def test_what_is_equal_but_for_a_tolerance_is_not_called_truncated(tmp_path: Path) -> None:
    # 100.6 x 6 = 603.6, at least 603.3: printed 603, it looks cut off; within 10% it may have been measured so.
    rows = [["1", "8", "100.6", "603", "InnoDB"], *ROWS[1:]]
    finding = only(tmp_path, rows, identities=[IDENTITY])
    assert (finding.id, finding.severity) == ("t.six.truncated", "note")
    result = found(tmp_path, rows, identities=[{**IDENTITY, "tolerance": 0.1}])
    assert (result.findings, result.passed["identity"]) == ([], 3)


def test_an_equality_that_holds_only_if_digits_were_cut_off_is_a_note(tmp_path: Path) -> None:
    """8 / 3 = 2.667 for exact 8 and 3: 2.66 is no rounding of it, and no other rounding explains it."""
    check = {"id": "cut", "left": "tps", "relation": "=", "right": "pool / 3", "why": "thirds"}
    finding = only(tmp_path, [["1", "8", "2.67", "1", ""], ["2", "8", "2.66", "2", ""]], identities=[check])
    assert (finding.id, finding.kind, finding.severity) == ("t.cut.truncated", "rounding", "note")
    assert finding.arithmetic == ["threads 2: 8 / 3 = 2.6667; printed 2.66, where rounding gives 2.67"]
    beyond = only(tmp_path, [["1", "8", "2.68", "1", ""]], identities=[check])
    assert (beyond.kind, beyond.severity) == ("identity", "contradiction")


def test_numbers_of_the_text_in_a_table_and_among_themselves(tmp_path: Path) -> None:
    text = {"id": "setup", "where": "Setup", "printed": "6 statements, 3 rows", "values": {"statements": 6, "rows": 3}}
    check = {**IDENTITY, "right": "tps * setup.statements"}
    rule = {"id": "half", "left": "setup.rows * 2", "relation": "=", "right": "setup.statements", "why": "halves"}
    report = facts(text_facts=[text], identities=[rule])
    assert found(tmp_path, report=report, identities=[check]).passed["identity"] == 4
    report = facts(text_facts=[{**text, "values": {"statements": 7, "rows": 3}}], identities=[rule])
    broken = found(tmp_path, report=report, identities=[check]).findings
    assert [finding.arithmetic[0] for finding in broken] == [
        "threads 1: 100 x 7 = 700; printed 600", "3 x 2 = 6; printed 7",
    ]  # fmt: skip
    assert broken[1].where == "text (Setup)"


def test_littles_law_above_the_p95_is_suspicious(tmp_path: Path) -> None:
    columns = [*COLUMNS[:4], column("p95_ms", "number", "metric")]
    law = {"id": "law", "left": "threads / tps * 1000", "relation": "<=", "right": "p95_ms", "why": "closed loop",
           "kind": "Little's law"}  # fmt: skip
    rows = [["1", "8", "100", "600", "11.0"], ["2", "8", "180", "1080", "10.0"]]
    finding = only(tmp_path, rows, columns=columns, identities=[law])
    assert (finding.kind, finding.severity) == ("Little's law", "suspicious")
    assert finding.arithmetic == ["threads 2: 2 / 180 x 1,000 = 11.111 > 10.0 (10.05 at most, within rounding)"]


def test_constant(tmp_path: Path) -> None:
    constant = {"id": "ratio", "expression": "qps / tps", "tolerance": 0.01, "why": "one workload"}
    assert found(tmp_path, constants=[constant]).passed["constant"] == 3
    finding = only(tmp_path, changed(0, 3, "660"), constants=[constant])
    assert finding.arithmetic == ["threads 1: 660 / 100 = 6.6, +10.0% off the median 6"]


def test_trend_names_the_one_row_that_spoils_it(tmp_path: Path) -> None:
    trend = {"id": "up", "metric": "tps", "over": ["threads", "pool"], "direction": "increases", "why": "scales"}
    assert found(tmp_path, trends=[trend]).passed["trend"] == 3
    finding = only(tmp_path, changed(0, 2, "400"), trends=[trend])
    assert "tps of threads 1 is 400, above all 2 rows with larger settings, by 14% to 122%" in finding.sentence
    assert found(tmp_path, changed(1, 2, "99"), trends=[{**trend, "tolerance": 0.02}]).findings == []


def test_a_falling_trend(tmp_path: Path) -> None:
    trend = {"id": "down", "metric": "tps", "over": ["threads"], "direction": "decreases", "why": "contention"}
    rows = [["1", "8", "300", "1", ""], ["2", "8", "200", "2", ""], ["4", "8", "250", "3", ""]]
    finding = only(tmp_path, rows, trends=[trend])
    assert "by 25%" in finding.sentence
    assert finding.arithmetic == ["200 against 250 (threads 4): +25%"]


def test_companion(tmp_path: Path) -> None:
    companion = {"id": "with", "metric": "tps", "beside": "qps", "factor": 2, "why": "they go together"}
    rows = [["1", "8", "100", "600", ""], ["2", "8", "100", "1100", ""], ["4", "8", "100", "1300", ""]]
    result = found(tmp_path, rows, companions=[companion])
    assert result.passed["same value"] == 2
    assert "tps 100 is printed both for qps 600 and for 1,300, 2.17 times" in result.findings[0].sentence


def test_uniform_text_and_levels_that_apply_to_some_rows(tmp_path: Path) -> None:
    uniform = [*COLUMNS[:4], {**COLUMNS[4], "uniform": True}]
    assert found(tmp_path, columns=uniform).passed["wording"] == 3
    assert "“MyISAM”; 2 rows: “InnoDB”" in only(tmp_path, changed(2, 4, "MyISAM"), columns=uniform).arithmetic[0]
    assert only(tmp_path, changed(2, 1, "")).id == "t.pool.missing"
    applies = [COLUMNS[0], {**COLUMNS[1], "applies_to": {"threads": [1, 2]}}, *COLUMNS[2:]]
    assert found(tmp_path, changed(2, 1, ""), columns=applies).findings == []


def test_two_tables_restating_and_repeating(tmp_path: Path) -> None:
    first, again = table(COLUMNS, "first"), table(COLUMNS, "again")
    described = {"name": "mine", "title": "Mine", "resources": [first, again]}
    figures = [["1", "8", "1234.5", "7407.0", "InnoDB"]]
    (repeated,) = audit(load("mine", write(tmp_path, described, figures, figures))).findings
    assert (repeated.kind, repeated.severity) == ("repeated figures", "note")
    (copied,) = audit(load("mine", write(tmp_path, described, figures, [["2", *figures[0][1:]]]))).findings
    assert copied.severity == "suspicious"
    assert "threads is 1 and 2" in copied.sentence
    again["restates"] = ["first"]
    assert audit(load("mine", write(tmp_path, described, figures, figures))).passed["restated"] == 2
    (differs,) = audit(load("mine", write(tmp_path, described, figures, [["1", "8", "1234.6", "7407.0", ""]]))).findings
    assert differs.arithmetic == ["tps: 1234.6, but 1234.5"]
    (nowhere,) = audit(load("mine", write(tmp_path, described, figures, [["2", *figures[0][1:]]]))).findings
    assert "restates a point that first does not have" in nowhere.sentence


def test_few_equal_digits_are_chance(tmp_path: Path) -> None:
    rows = [["1", "8", "12", "34", ""], ["2", "8", "12", "34", ""]]
    assert found(tmp_path, rows).findings == []


def test_text_against_table(tmp_path: Path) -> None:
    def says(**values: Any) -> Audit:
        fact = {"id": "f", "where": "W", "printed": "p", "values": values, "tables": ["t"]}
        return found(tmp_path, report=facts(text_facts=[fact]), fixed={"rows": 5})

    assert says(threads=[1, 2, 4], pool=8, rows=5, tps=100, qps=600).passed["text against table"] == 4
    assert says(threads=[1, 2]).findings[0].arithmetic[-1] == "4 is not in the text"
    assert says(pool=16).findings[0].sentence == "The text says pool 16, table t has 8."
    assert says(rows=6).findings[0].severity == "contradiction"
    assert says(tps=100, qps=1080).findings[0].sentence == "No row of table t has the figures of the text."


def test_hosts_placements_versions_and_options(tmp_path: Path) -> None:
    hosts = [{"address": "10.0.0.1", "runs": ["db"]}, {"address": "10.0.0.2", "runs": ["client"]}]
    old = [{"option": "--num-threads", "since": "1.0", "instead": "it is --threads"}]
    system = {"name": "sysbench", "version": "1.0.9", "old_options": old}
    impossible = {"name": "db", "version": "v0.9", "earliest": {"version": "1.2", "why": "it has sagas"}}
    flow = {"id": "flow", "where": "W", "printed": "db (10.0.0.2)", "values": {"db": "10.0.0.2"}}
    command = {"id": "run", "where": "W", "printed": "sysbench --num-threads=4 --host=10.0.1.1 --ip=210.0.0.1"}
    report = facts(hosts=hosts, systems=[system, impossible], text_facts=[flow, command])
    result = found(tmp_path, report=report)
    kinds = [(finding.kind, finding.arithmetic[0]) for finding in result.findings]
    assert kinds == [
        ("host", "10.0.1.1 against 10.0.0.1: 1 in place of 0"),
        ("host", "210.0.0.1 against 10.0.0.1: 210 in place of 10"),
        ("placement", "10.0.0.2 runs client"),
        ("version", "v0.9 < 1.2"),
        ("option", "run: --num-threads=4; since 1.0 it is --threads"),
    ]
    system["version"], impossible["version"] = "0.5", "v1.10"
    result = found(tmp_path, report=facts(systems=[system, impossible], text_facts=[command]))
    assert (result.findings, result.passed["version"]) == ([], 1)


@pytest.mark.parametrize(
    ("version", "earliest", "older"), [("1.2", "1.2.0", 0), ("1.2.0", "1.2", 0), ("1.1", "1.1.1", 1)]
)
def test_a_version_is_not_older_than_itself_with_a_zero_more(
    tmp_path: Path, version: str, earliest: str, older: int
) -> None:
    system = {"name": "db", "version": version, "earliest": {"version": earliest, "why": "it has sagas"}}
    assert len(found(tmp_path, report=facts(systems=[system])).findings) == older


def test_an_address_at_the_end_of_a_sentence_is_held_against_the_hosts(tmp_path: Path) -> None:
    hosts = [{"address": "10.0.0.1", "runs": ["db"]}]
    said = {"id": "said", "where": "W", "printed": "The client is 10.0.0.2. Version 1.10.0.0.3 is none."}
    finding = only(tmp_path, ROWS, facts(hosts=hosts, text_facts=[said]))
    assert finding.sentence.startswith("10.0.0.2 is none of the 1 hosts")


# -- arithmetic -------------------------------------------------------------------------------------------------------


def test_interval_arithmetic() -> None:
    known = {"a": arithmetic.rounded(2.0, 0.1), "b": arithmetic.rounded(4.0, 1.0), "z": arithmetic.rounded(0.0, 1.0)}
    assert arithmetic.evaluate("a * b", known) == pytest.approx((1.95 * 3.5, 8.0, 2.05 * 4.5))
    assert arithmetic.evaluate("a / b", known) == pytest.approx((1.95 / 4.5, 0.5, 2.05 / 3.5))
    assert arithmetic.evaluate("b - a", known) == pytest.approx((3.5 - 2.05, 2.0, 4.5 - 1.95))
    assert arithmetic.evaluate("-a + 1", known) == pytest.approx((-1.05, -1.0, -0.95))
    assert arithmetic.evaluate("-a * b", known) == pytest.approx((-2.05 * 4.5, -8.0, -1.95 * 3.5))
    assert arithmetic.evaluate("a / z", known) is None
    assert arithmetic.evaluate("a * c", known) is None


def test_spelling_keeps_parentheses() -> None:
    assert arithmetic.spelled("(a + f.b) * 1024 / c", {"a": "1", "f.b": "2,000", "c": "3"}.__getitem__) == (
        "(1 + 2,000) x 1,024 / 3"
    )


# -- bad declarations -------------------------------------------------------------------------------------------------

BUCKETS = {"id": "grid", "metric": "p95_ms", "of": "sysbench", "why": ""}
BAD = [
    ({"identities": [{**IDENTITY, "left": "qpss"}]}, "t.six: an identity uses an unknown name"),
    ({"identities": [{**IDENTITY, "left": "engine"}]}, "t.six: an identity uses an unknown name, or one that is no"),
    ({"identities": [{**IDENTITY, "left": "qps ** 2"}]}, "t.six: it is not plain arithmetic"),
    ({"identities": [{**IDENTITY, "left": "qps('x')"}]}, "t.six: it is no function over rows"),
    ({"identities": [{**IDENTITY, "left": "'a' * qps"}]}, "t.six: it is not plain arithmetic"),
    ({"identities": [{**IDENTITY, "right": "no.fact"}]}, "t.six: an identity uses an unknown name"),
    ({"identities": [{**IDENTITY, "rows": {"engine": "x"}}]}, "t.six: an identity is limited to rows by an"),
    ({"identities": [{**IDENTITY, "relation": "<"}]}, "resources.0.identities.0.relation"),
    ({"identities": [{**IDENTITY, "relation": "<=", "tolerance": 0.1}]}, "t.six: a tolerance belongs to an equality"),
    ({"identities": [{**IDENTITY, "becuase": "x"}]}, "resources.0.identities.0.becuase"),
    ({"identities": [{**IDENTITY, "severity": "bad"}]}, "resources.0.identities.0.severity"),
    ({"identities": [IDENTITY, IDENTITY]}, "t: two of one name (got 'six')"),
    *(({"identities": [{**IDENTITY, "right": right}]}, "t.six: it is no function over rows") for right in
      ("median(tps)", "sum()", "sum(tps, by=threads)", "sum(tps, threads < 3)", "sum(max(tps))", "sum(tps == 1)")),
    ({"identities": [{**IDENTITY, "right": "sum(tpss, threads)"}]}, "or one that is no number (got 'tpss')"),
    ({"identities": [{**IDENTITY, "right": "sum(engine)"}]}, "or one that is no number (got 'engine')"),
    ({"identities": [{**IDENTITY, "right": "sum(tps, tps)"}]}, "t.six: a function over rows names no level (got 'tps"),
    ({"identities": [{**IDENTITY, "left": "1", "right": "mean(tps)", "rows": {"threads": 1}}]},
     "t.six: `rows` has no effect here"),
    ({"buckets": [{**BUCKETS, "metric": "threads"}]}, "t.grid: a histogram needs a metric that is a time"),
    ({"buckets": [{**BUCKETS, "rows": {"x": 1}}]}, "t.grid: buckets are limited to rows by an unknown level"),
    ({"buckets": [{**BUCKETS, "of": "ab"}]}, "buckets.0.of"),
    ({"constants": [{"id": "c", "expression": "qps / tsp", "tolerance": 0.1, "why": ""}]}, "t.c: an identity uses"),
    ({"constants": [{"id": "c", "expression": "qps", "tolerance": 0, "why": ""}]}, "constants.0.tolerance"),
    ({"trends": [{"id": "u", "metric": "threads", "over": ["threads"], "direction": "increases", "why": ""}]},
     "t.u: a trend needs a metric"),
    ({"trends": [{"id": "u", "metric": "tps", "over": ["engine"], "direction": "increases", "why": ""}]},
     "t.u: a trend needs levels that are numbers"),
    ({"companions": [{"id": "u", "metric": "tps", "beside": "cpu", "why": ""}]}, "t.u: a companion must be a metric"),
    ({"restates": ["s"]}, "t.restates: a table restates an unknown one (got 's')"),
    ({"columns": [*COLUMNS, column("x", "integer", "note", uniform=True)]}, "t.x: only text can be uniform"),
    ({"columns": [*COLUMNS, column("x", "integer", "level", statements=2)]}, "t.x: only a metric counts statements"),
    ({"columns": [*COLUMNS, column("x", "integer", "level", applies_to={"y": [1]})]}, "t.x: `applies_to` names no col"),
]  # fmt: skip


@pytest.mark.parametrize(("declared", "said"), BAD)
def test_a_bad_declaration_is_one_paragraph(declared: dict[str, Any], said: str, tmp_path: Path) -> None:
    # What is declared is looked at before any row is read.
    declared = dict(declared)
    columns = [*declared.pop("columns", COLUMNS), column("p95_ms", "number", "metric", unit="ms")]
    with pytest.raises(BadInput) as caught:
        found(tmp_path, columns=columns, **declared)
    assert said in str(caught.value)
    assert "datapackage.json" in str(caught.value)
    assert "Fix: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bad_declaration_about_the_text_names_report_yaml(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"report\.yaml: identities\.six: an identity uses an unknown name"):
        found(tmp_path, report=facts(identities=[{**IDENTITY, "left": "1", "right": "a.b"}]))
    with pytest.raises(BadInput, match=r"report\.yaml: identities\.six: an identity of the text has no rows"):
        found(tmp_path, report=facts(identities=[{**IDENTITY, "left": "1", "right": "1", "rows": {"threads": 1}}]))
    with pytest.raises(BadInput, match=r"report\.yaml: identities\.six: only a table has rows to go over"):
        found(tmp_path, report=facts(identities=[{**IDENTITY, "left": "1", "right": "sum(tps)"}]))


# -- where it is shown ------------------------------------------------------------------------------------------------


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Runs `benchbook audit` on the report `mine` of a project folder of its own."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(paths, "home", lambda: tmp_path)

    def run(*arguments: str, rows: list[list[str]] = ROWS) -> tuple[int, str]:
        write(tmp_path / "data" / "published", package(COLUMNS, identities=[IDENTITY]), rows)
        monkeypatch.setattr(sys, "argv", ["benchbook", "audit", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out + said.err

    return run


def test_findings_are_no_error_unless_asked_for(command: Callable[..., tuple[int, str]]) -> None:
    wrong = changed(1, 3, "1180")
    status, said = command(rows=wrong)
    assert status == 0
    assert (
        "mine: 1 contradiction. Passed: 17 checks (identity 2, outlier 6, repeated figures 3, missing level 6)." in said
    )
    assert "threads 2: 180 x 6 = 1,080; printed 1,180" in said
    assert command("mine", "--strict", rows=wrong)[0] == 1
    assert command("mine", "--strict")[0] == 0
    assert "Nothing found. Passed: 18 checks" in command()[1]


def test_json_of_the_command_line(command: Callable[..., tuple[int, str]]) -> None:
    (one,) = json.loads(command("mine", "--json", rows=changed(1, 3, "1180"))[1])
    assert one["passed"] == {"identity": 2, "outlier": 6, "repeated figures": 3, "missing level": 6}
    assert [finding["id"] for finding in one["findings"]] == ["t.six"]


def test_a_notebook_shows_findings_escaped(tmp_path: Path) -> None:
    check = {**IDENTITY, "why": "<b>6</b> statements"}
    html = show.audit(found(tmp_path, changed(1, 3, "1180"), identities=[check])).data
    assert "&lt;b&gt;6&lt;/b&gt; statements" in html
    assert "<small>threads 2: 180 x 6 = 1,080; printed 1,180</small>" in html
    assert 'class="pill bad"' in html
    assert "<table" not in show.audit(found(tmp_path)).data


def test_a_finding_in_a_notebook_has_its_arithmetic_on_lines_of_their_own(tmp_path: Path) -> None:
    """JupyterLab has no style sheet of ours: pieces that only CSS set apart were read as one ("200400 is not ...")."""
    check = {**IDENTITY, "why": "6 statements"}
    shown = show.audit(found(tmp_path, changed(1, 3, "1180"), identities=[check]))
    lines = repr(shown).splitlines()
    arithmetic = lines.index("threads 2: 180 x 6 = 1,080; printed 1,180")
    assert lines[arithmetic - 1].endswith("6 statements.")
    soup = BeautifulSoup(shown.data, "html.parser")
    assert {piece.parent.name for piece in soup.find_all("small") if piece.parent} == {"div"}
