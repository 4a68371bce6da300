"""A wheel works anywhere: in a folder that `benchbook init` lays down, and outside of one it says so."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from kit import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run(installed: Path, where: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "BENCHBOOK_HOME"}
    return subprocess.run(
        [sys.executable, "-m", "benchbook", *words],
        cwd=where,
        env={**environment, "PYTHONPATH": str(installed), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_wheel_brings_all_reports_and_a_folder_of_yours_lies_over_them(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "init", "mine")
    assert done.returncode == 0, done.stderr
    mine = tmp_path / "mine"
    assert {path.name for path in mine.iterdir()} == {"Makefile", ".gitignore", "env", "notebooks"}
    listed = run(installed, mine / "notebooks", "list")
    assert listed.returncode == 0, listed.stderr
    for name in ("tidb_v7_1_3_sysbench", "etcd_3_2_performance", "lab_tidb", "smoke", "pinned"):
        assert name in listed.stdout
    (mine / "env" / "profiles" / "mine.yaml").write_text((ROOT / "env" / "profiles" / "smoke.yaml").read_text())
    assert "mine" in run(installed, mine, "list").stdout
    assert run(installed, mine, "check", "dm_1_0_alpha").stdout.startswith("dm_1_0_alpha: 1 table, 3 rows, valid\n")


def test_outside_of_a_project_folder_it_says_so(installed: Path, tmp_path: Path) -> None:
    for words in (["list"], ["check"], ["runs"], ["lab", "up"]):
        done = run(installed, tmp_path, *words)
        assert done.returncode == 2, words
        assert done.stderr.startswith("folder: this is no project folder of Benchbook"), done.stderr
        assert "benchbook init" in done.stderr


def test_nothing_is_overwritten(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("mine")
    done = run(installed, tmp_path, "init")
    assert done.returncode == 2
    assert "it is there already, and is not overwritten" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["Makefile"]


def test_try_audits_a_document_and_makes_a_page_of_a_recorded_campaign(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "try")
    assert done.returncode == 0, done.stderr
    # 9,010.80 / 8,904.30 - 1 is 1.2%, not 12.0%.
    assert "printed as 12.0%" in done.stdout
    page = tmp_path / "benchbook-try" / "site" / "tidb_v7_1_3_sysbench.html"
    assert "TiDB Cloud Sysbench" in page.read_text()


def test_a_fresh_folder_opens_on_the_sample(installed: Path, tmp_path: Path) -> None:
    assert run(installed, tmp_path, "init", "mine").returncode == 0
    listed = run(installed, tmp_path / "mine", "runs")
    assert (listed.returncode, listed.stdout.count("tidb_v7_1_3_sysbench")) == (0, 2), listed.stderr
