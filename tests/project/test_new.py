"""A report of your own: what `new` lays down is valid, and can be planned and run as it stands."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml
from kit import OFFERED, Home

from benchbook import new, parameters, paths, workloads
from benchbook.analysis import results
from benchbook.audit.report_audit import audit
from benchbook.campaign.store import Campaign
from benchbook.claims import ledger, transcription
from benchbook.errors import BadInput, NotWritten
from benchbook.hosts.inventory import load_inventory
from benchbook.profiles import load_profile
from benchbook.published import data_package
from benchbook.reports import planning
from benchbook.reports.kind import RunRequest, kind_of

NAME = "my_report"


MODELS = {"load": "tidb_v7_1_3_sysbench", "versions": "tidb_v6_2_vs_v6_1_sysbench"}
# What the laid-down report says of itself, not of the report whose notebook it has.
WORDS = {
    "load": ("PingCAP", "TiDB", "Fifteen", "15 cells", "lab_tidb"),
    "versions": ("PingCAP", "TiDB", "v6.1.0", "v6.2.0", "Twenty-four", "lab_tidb"),
}
by_kind = pytest.mark.parametrize("kind", sorted(new.LAYOUTS))


@pytest.fixture
def made(home: Home) -> list[Path]:
    return new.create_report(NAME)


def sections(report: str) -> list[str]:
    cells = nbformat.read(str(paths.notebook(report)), as_version=4).cells
    return [c.source.splitlines()[0] for c in cells if c.cell_type == "markdown" and c.source.startswith("## ")]


def code(report: str) -> list[str]:
    cells = nbformat.read(str(paths.notebook(report)), as_version=4).cells
    return [c.source for c in cells if c.cell_type == "code"]


def test_the_tables_are_a_valid_package_and_say_that_they_are_placeholders(made: list[Path]) -> None:
    found = data_package.validate(NAME)
    assert [len(table.frame) for table in found.tables.values()] == [3, 3]
    assert all("PLACEHOLDER" in table.title for table in found.tables.values())
    assert "PLACEHOLDER" in found.report.title
    for table in found.tables.values():
        assert (table.frame.eval("threads / tps * 1000") <= table.frame.p95_ms).all()


def test_check_says_where_a_placeholder_was_left(home: Home, made: list[Path]) -> None:
    """Only what is left: 2 lines of the notebook until its prose is replaced, and none in the end."""
    notebook = paths.notebook(NAME)
    assert planning.placeholders(NAME)[f"notebooks/{NAME}.ipynb"] == 2
    notebook.write_text(notebook.read_text().replace("PLACEHOLDER", "this"))
    folder = f"data/published/{NAME}"
    assert planning.placeholders(NAME) == {
        f"{folder}/claims.yaml": 4, f"{folder}/datapackage.json": 3, f"{folder}/report.yaml": 10,
    }  # fmt: skip
    assert not planning.placeholders(MODELS["load"])


@pytest.mark.parametrize(
    ("chosen", "cells"),
    [
        ({}, 6), ({"kind": "versions"}, 12), ({"system": "postgresql", "load": "pgbench"}, 6), ({"system": "dolt"}, 6),
        ({"load": "db_bench"}, 6), ({"load": "etcd_benchmark"}, 6),
        ({"kind": "load", "load": "go_tpc"}, 3), ({"load": "redis_benchmark"}, 6),
    ],
)  # fmt: skip
def test_what_is_laid_down_passes_check_audits_and_plans_as_it_stands(
    home: Home, chosen: dict[str, str], cells: int
) -> None:
    """Two workloads at three levels of threads, of two versions; TPC-C is one workload."""
    new.create_report(NAME, **chosen)
    data, what = data_package.validate(NAME), kind_of(NAME)
    held = ledger.load(data)
    assert held
    assert {term.table for claim in held.claims for _, term in claim.speaks_of(data)} == set(data.tables)
    planning.check(data, held)
    assert transcription.slips(data, held) == []
    assert not [f for f in audit(data).findings if f.severity == "contradiction"]
    said = parameters.check(what.Parameters, NAME, parameters.defaults(NAME))
    size, where = load_profile(NAME), load_inventory(said.inventory)
    RunRequest(what, data, said, size, where).experiment()
    assert len(what.cells(data, said)) == cells


@pytest.mark.parametrize("profile", ["smoke", "lab", "paper"])
@pytest.mark.parametrize("load", workloads.names())
def test_every_load_generator_has_its_size_in_the_kits_profiles(load: str, profile: str) -> None:
    assert workloads.generator(load).size_in(load_profile(profile)).time_s >= 2


@pytest.mark.parametrize(
    ("chosen", "key", "said"),
    [
        ({"system": "redis"}, "--system", "sysbench cannot drive it"),
        ({"system": "nope"}, "--system", "no such part"),
        ({"kind": "versions", "load": "pgbench"}, "--load", "driven by sysbench"),
        ({"source": "report.md", "load": "pgbench"}, "--load", "it is read from the document's tables"),
        ({"kind": "sysbench"}, "--kind", "there is no such kind"),
    ],
)
def test_what_does_not_fit_is_refused(home: Home, chosen: dict[str, str], key: str, said: str) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        new.create_report(NAME, **chosen)
    assert caught.value.key == key
    assert not paths.published_dir(NAME).exists()


@by_kind
def test_its_notebook_has_every_section_of_its_kind_and_speaks_of_no_other_report(home: Home, kind: str) -> None:
    new.create_report(NAME, kind)
    assert sections(NAME) == sections(MODELS[kind])
    text = paths.notebook(NAME).read_text()
    assert not [word for word in (MODELS[kind], *WORDS[kind]) if word in text]
    opened = next(source for source in code(NAME) if "open_report(" in source)
    assert [name for name in parameters.defaults(NAME) if f"{name}={name}" not in opened] == []
    assert all(ast.parse(source) for source in code(NAME))


def test_two_versions_are_laid_down_side_by_side(home: Home) -> None:
    """Filled in with other versions, it is still valid: only tables, design and claims name them."""
    new.create_report(NAME, "versions")
    for path in paths.published_dir(NAME).iterdir():
        filled = path.read_text().replace('"1.0"', '"v5"').replace('"2.0"', '"v6"')
        path.write_text(filled.replace("\n1.0,", "\nv5,").replace("\n2.0,", "\nv6,"))
    data, what = data_package.validate(NAME), kind_of(NAME)
    assert ledger.load(data)
    said = parameters.check(what.Parameters, NAME, parameters.defaults(NAME))
    cells = what.cells(data, said)
    assert {(cell.system, cell.levels["version"]) for cell in cells} == {("mysql57", "v5"), ("mysql8", "v6")}


def test_one_that_cannot_be_laid_down_whole_is_no_obstacle_to_the_next(home: Home) -> None:
    hosts, aside = home.path / "env" / "hosts", home.path / "env" / "aside"
    hosts.rename(aside)
    hosts.write_text("no folder")
    with pytest.raises(NotWritten, match=rf"lab_{NAME}\.yaml cannot be written"):
        new.create_report(NAME)
    assert [path for path in home.path.rglob(f"*{NAME}*") if path.is_file()] == []
    hosts.unlink()
    aside.rename(hosts)
    assert all(path.is_file() for path in new.create_report(NAME))


def test_nothing_is_ever_overwritten(home: Home, made: list[Path]) -> None:
    before = {path: path.read_text() for path in made}
    with pytest.raises(BadInput, match=r"my_report\.ipynb: name: there is something of this name already"):
        new.create_report(NAME)
    assert {path: path.read_text() for path in made} == before
    with pytest.raises(BadInput, match=r"profiles/smoke\.yaml"):
        new.create_report("smoke")
    assert not paths.published_dir("smoke").exists()


@pytest.mark.parametrize("name", ["", "x", "My_report", "my-report", "1st", "../up", "import", "a" * 61, "my report"])
def test_a_bad_name_is_refused(home: Home, name: str) -> None:
    with pytest.raises(BadInput, match="not a name for a report") as caught:
        new.create_report(name)
    assert caught.value.value == name


@pytest.mark.parametrize("name", ["index", "glossary", "batches", "history_mine", "compare_mine"])
def test_a_name_that_the_site_has_for_itself_is_refused(home: Home, name: str) -> None:
    """The page of a report `index` was overwritten by the site's own."""
    with pytest.raises(BadInput, match="a page or a folder of its own") as caught:
        new.create_report(name)
    assert (caught.value.key, caught.value.value) == ("name", name)
    assert not paths.published_dir(name).exists()


@pytest.mark.parametrize(
    ("said", "why"), [("restaged_by: sysbnch", "no such kind of experiment"), ("", "nothing restages this report")]
)
def test_a_kind_that_nobody_knows(made: list[Path], said: str, why: str) -> None:
    path = paths.published_dir(NAME) / "report.yaml"
    path.write_text(path.read_text().replace("restaged_by: load", said))
    known = "dm, .*load, load_by_server, .*saga, .*transfer, versions"
    with pytest.raises(BadInput, match=rf"report\.yaml: restaged_by: {why}.*{known}"):
        kind_of(NAME)


@pytest.mark.real
@pytest.mark.slow
def test_it_runs_end_to_end_as_it_was_laid_down(home: Home, net: str) -> None:
    status, said = home.run("new", NAME)
    assert status == 0, said
    lab = home.path / "env" / "hosts" / f"lab_{NAME}.yaml"
    laid: dict[str, Any] = yaml.safe_load(lab.read_text())
    # The network of this test run: two runs of the tests on one machine must not meet.
    for number, host in enumerate(laid["hosts"].values()):
        host["address"] = f"{net}.{60 + number}"
    home.write(f"env/hosts/lab_{NAME}.yaml", laid)
    status, said = home.run("report", NAME, "--profile", "tiny", "-p", "time_s=1", "-p", f"rate={OFFERED}")
    assert status == 0, said
    (plan,) = (home.path / "data" / "runs" / NAME).glob("*/plan.json")
    campaign = Campaign(plan.parent)
    assert (len(campaign.trials), len(campaign.records())) == (12, 12)
    found = results.read(home.path / "site" / f"{NAME}.json")
    assert any({"measured", "published"} <= row.keys() for row in found.cells)
    assert "PLACEHOLDER" in (home.path / "site" / f"{NAME}.html").read_text()
    assert home.processes() == []
