"""Figures that are bound to a campaign are held against it: one that was changed by hand fails, with both numbers."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from kit import ROOT, Home
from typer.testing import CliRunner

from benchbook import cite, cli, open_campaign
from benchbook.errors import BadInput
from benchbook.user_input.atomic_file import replace_text

REPORT, CAMPAIGN = "tidb_v7_1_3_sysbench", "20261122T091115497316-d03bde2ab846"
# The mean of its three repetitions at these levels is 16,710.77 (95% interval 10,828 to 22,594).
CELL = f"bb: {REPORT}@{CAMPAIGN} cell tps workload=oltp_point_select threads=100"


@pytest.fixture
def sample(home: Home) -> Path:
    """The folder of the campaign that comes with the kit, in a project folder of the test's own."""
    shutil.copytree(ROOT / "data" / "sample", home.path / "data" / "sample", ignore=shutil.ignore_patterns("*.parquet"))
    shutil.copytree(ROOT / "data" / "sample", home.path / "data" / "sample", dirs_exist_ok=True)
    return home.path / "data" / "sample" / REPORT / CAMPAIGN


def ran(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(cli.app, ["cite", *map(str, arguments)])
    return done.exit_code, " ".join(done.output.split())


def write(folder: Path, text: str, name: str = "paper.md") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_the_figures_of_our_own_documents_are_what_was_measured(sample: Path) -> None:
    files = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = [cite.cited(bound) for file in files for bound in cite.bound_in(file)]
    assert len(found) >= 2
    assert [f"{one.bound.where}: {one.problem}" for one in found if one.problem] == []


@pytest.mark.parametrize("printed", ["16,711", "16710.77", "16.7k", "about 16,711 tps"])
def test_what_was_measured_passes_at_the_digits_that_are_printed(sample: Path, tmp_path: Path, printed: str) -> None:
    assert ran(write(tmp_path, f"<!-- {CELL} -->{printed}<!-- /bb -->"))[0] == 0


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (
            "17,000",
            "17,000 is printed, 16,711 was measured (95% interval 10,828 to 22,594, n = 3): inside its interval",
        ),
        (
            "26,711",
            "26,711 is printed, 16,711 was measured (95% interval 10,828 to 22,594, n = 3): outside its interval",
        ),
        ("fast", "no number is printed, 16,711 was measured"),
        ("10,000-20,000", "no number is printed, 16,711 was measured"),
    ],
)
def test_a_figure_that_was_changed_by_hand_fails_with_both_numbers(
    sample: Path, tmp_path: Path, printed: str, said: str
) -> None:
    file = write(tmp_path, f"# Title\n\nIt does <!-- {CELL} -->{printed}<!-- /bb --> a second.\n")
    status, output = ran(file, "--check")
    assert status == 1
    assert f"paper.md:3: {said}" in output
    assert ran(file, "--update")[0] == 0
    assert file.read_text() == f"# Title\n\nIt does <!-- {CELL} -->16,711<!-- /bb --> a second.\n"
    assert ran(file)[0] == 0


def test_a_document_of_its_owner_alone_is_at_no_moment_for_others_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, write_bytes, modes = write(tmp_path, "1"), Path.write_bytes, list[int]()

    def seen(path: Path, content: bytes) -> int:
        written = write_bytes(path, content)
        modes.append(path.stat().st_mode & 0o777)
        return written

    file.chmod(0o600)
    monkeypatch.setattr(Path, "write_bytes", seen)
    replace_text(file, "2")
    assert (modes, file.read_text()) == ([0o600], "2")
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_document_behind_a_link_is_written_itself_and_keeps_its_mode(sample: Path, tmp_path: Path) -> None:
    file, link = write(tmp_path, f"<!-- {CELL} -->1<!-- /bb -->"), tmp_path / "link.md"
    file.chmod(0o600)
    link.symlink_to("paper.md")
    assert ran(link, "--update")[0] == 0
    assert link.is_symlink()
    assert file.read_text() == f"<!-- {CELL} -->16,711<!-- /bb -->"
    assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(tmp_path.glob("*.md")) == [link, file]


def test_nothing_is_said_to_be_written_that_a_full_disk_did_not_take(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = write(tmp_path, f"<!-- {CELL} -->1<!-- /bb -->")
    monkeypatch.setattr(Path, "write_bytes", full)
    done = CliRunner().invoke(cli.app, ["cite", str(file), "--update"])
    assert "paper.md cannot be written: No space left on device" in str(done.exception)
    assert done.output == ""
    assert file.read_text() == f"<!-- {CELL} -->1<!-- /bb -->"
    assert list(tmp_path.glob(".*")) == []


def test_a_macro_of_latex_is_checked_and_written(sample: Path, tmp_path: Path) -> None:
    file = write(tmp_path, f"\\newcommand{{\\tps}}{{1}} % {CELL} to=100\n", "numbers.tex")
    assert ran(file)[0] == 1
    assert ran(file, "--update")[0] == 0
    assert file.read_text() == f"\\newcommand{{\\tps}}{{16,700}} % {CELL} to=100\n"
    assert ran(file)[0] == 0


def test_records_and_campaigns_that_are_gone_are_told(sample: Path, tmp_path: Path) -> None:
    file = write(tmp_path, f"<!-- {CELL} -->16,711<!-- /bb -->")
    shutil.rmtree(sample / "trials" / "r01-tidb-oltp_point_select-threads3")
    status, output = ran(file)
    assert status == 1
    assert "1 of its 3 records are lost" in output
    for folder in sample.glob("trials/*point_select-threads3"):
        shutil.rmtree(folder)
    assert "16,711 is printed, and its records are lost" in ran(file, "--update")[1]
    shutil.rmtree(sample)
    assert f"there is no campaign {CAMPAIGN} of {REPORT} here" in ran(file)[1]


def test_what_names_no_single_cell_is_told(sample: Path, tmp_path: Path) -> None:
    head = f"bb: {REPORT}@{CAMPAIGN} cell"
    several = write(tmp_path, f"<!-- {head} tps threads=100 -->1<!-- /bb -->")
    assert "2 cells have these levels: add table=, workload=" in ran(several)[1]
    unknown = write(tmp_path, f"<!-- {CELL.replace('cell tps', 'cell speed')} -->1<!-- /bb -->")
    assert "no speed was measured: there is " in ran(unknown)[1]
    assert "the campaign has no such cell" in ran(write(tmp_path, f"<!-- {head} tps threads=7 -->1<!-- /bb -->"))[1]
    with pytest.raises(BadInput, match="not a binding"):
        list(cite.bound_in(write(tmp_path, "<!-- bb: nonsense -->1<!-- /bb -->")))


def test_a_table_is_written_and_an_example_in_code_is_left_alone(sample: Path, tmp_path: Path) -> None:
    example = f"```\n<!-- {CELL} -->1<!-- /bb -->\n```\n"
    file = write(tmp_path, f"{example}<!-- bb: {REPORT}@{CAMPAIGN} table tps workload=oltp_read_write --><!-- /bb -->")
    assert ran(file)[0] == 1
    assert ran(file, "--update")[0] == 0
    text = file.read_text()
    assert text.startswith(example)
    assert "| threads | tps | low | high | n |" in text
    assert "| 200 | 296.6 | 223.3 | 369.9 | 3 |" in text
    assert ran(file)[0] == 0


def test_a_cell_of_a_table_that_was_changed_is_told_with_its_line_and_both_numbers(
    sample: Path, tmp_path: Path
) -> None:
    table = f"bb: {REPORT}@{CAMPAIGN} table tps workload=oltp_read_write"
    file = write(tmp_path, f"# Title\n\n<!-- {table} --><!-- /bb -->\n")
    assert "paper.md:3: a table of 0 rows is printed, 4 rows were measured" in ran(file)[1]
    ran(file, "--update")
    whole = file.read_text()
    file.write_text(whole.replace("| 200 | 296.6 |", "| 200 | 396.6 |").replace("369.9", "469.9"))
    line = whole[: whole.index("| 200 |")].count("\n") + 1
    said = f"paper.md:{line}: 396.6 is printed, 296.6 was measured (tps of 200); 1 more cell of the table"
    assert (ran(file, "--check")[0], said in ran(file)[1]) == (1, True)
    # As a formatter sets it.
    file.write_text(whole.replace("| 200 | 296.6 |", "|     200 |    296.6 |").replace("| --- |", "| :------: |"))
    assert ran(file)[0] == 0
    tex = write(tmp_path, f"\\begin{{tabular}}{{lllll}}\n  % {table}\n  % /bb\n\\end{{tabular}}\n", "rows.tex")
    assert ran(tex, "--update")[0] == 0
    assert "\n200 & 296.6 & 223.3 & 369.9 & 3 \\\\\n" in tex.read_text()
    assert ran(tex)[0] == 0
    tex.write_text(tex.read_text().replace("296.6", "396.6"))
    assert "396.6 is printed, 296.6 was measured (tps of 200)" in ran(tex)[1]


@pytest.mark.parametrize("form", [cite._in_markdown, cite._in_latex])
def test_a_cell_without_a_level_is_compared_as_it_is_written(form: Callable[[list[list[str]]], str]) -> None:
    rows = [["threads", "clients", "tps"], ["", "4", "1"], ["8", "", "2"]]
    printed = f"\n{form(rows)}\n"
    assert cite._table_problem(printed, rows) == (0, "")
    assert cite._table_problem(printed.replace("hline", "midrule"), rows) == (0, "")


def test_figures_of_a_notebook_are_checked_and_written_cell_by_cell(sample: Path, tmp_path: Path) -> None:
    table = f"<!-- bb: {REPORT}@{CAMPAIGN} table tps workload=oltp_read_write --><!-- /bb -->"
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(f"print('<!-- {CELL} -->1<!-- /bb -->')"),
            nbformat.v4.new_markdown_cell(f"# Title\n\nIt does <!-- {CELL} -->26,711<!-- /bb --> a second."),
            nbformat.v4.new_markdown_cell(f"All:\n{table}"),
        ]
    )
    file = write(tmp_path, nbformat.writes(notebook), "paper.ipynb")
    status, output = ran(file, "--check")
    assert status == 1
    assert "paper.ipynb, cell 2, line 3: 26,711 is printed, 16,711 was measured" in output
    assert ran(file, "--update")[0] == 0
    found = nbformat.read(file, as_version=4)
    assert found.cells[1].source == f"# Title\n\nIt does <!-- {CELL} -->16,711<!-- /bb --> a second."
    assert "\n| 200 | 296.6 | 223.3 | 369.9 | 3 |\n" in found.cells[2].source
    assert "-->1<!--" in found.cells[0].source
    assert ran(file)[0] == 0
    with pytest.raises(BadInput, match="not a notebook"):
        list(cite.bound_in(write(tmp_path, "{", "broken.ipynb")))


def test_a_receipt_says_which_records(sample: Path, tmp_path: Path) -> None:
    file, receipt, badge = (
        write(tmp_path, f"<!-- {CELL} -->16,711<!-- /bb -->"),
        tmp_path / "r.json",
        tmp_path / "b.svg",
    )
    assert ran(file, "--receipt", receipt, "--badge", badge)[0] == 0
    said: dict[str, Any] = json.loads(receipt.read_text())
    (figure,) = said["figures"]
    assert (figure["measured"]["n"], figure["cell"]["threads"], figure["problem"]) == (3, "100", "")
    before = said["campaigns"][CAMPAIGN]["records_sha256"]
    assert (len(before), said["campaigns"][CAMPAIGN]["circumstances"]) == (64, "recorded")
    assert "1 of 1 figures measured" in badge.read_text()
    record = next(sample.glob("trials/*/record.json"))
    record.write_text(record.read_text() + " ")
    ran(file, "--receipt", receipt)
    assert json.loads(receipt.read_text())["campaigns"][CAMPAIGN]["records_sha256"] != before


def test_tables_and_bibtex_for_a_paper(sample: Path) -> None:
    report = open_campaign(str(sample))
    found = report.table("tps")
    row = found[(found.workload == "oltp_point_select") & (found.threads == 100)].iloc[0]
    assert (round(row.measured, 2), row.n) == (16710.77, 3)
    assert "16711" in found.to_latex(index=False, float_format="%.0f")
    assert "oltp_point_select" in found.to_markdown(index=False)
    said = report.bibtex()
    assert said.count("@") == 2
    assert f"@misc{{{REPORT}_{CAMPAIGN}," in said
    with pytest.raises(BadInput, match="there is no such metric"):
        report.table("speed")
