"""docs/nightly/judge: what a night's campaigns come to, whatever became of each report's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from kit import ROOT

JUDGE = ROOT / "docs" / "nightly" / "judge"
# Stands in for Python: `fake -m benchbook VERB REPORT ...` ends with the status that the report's name ends with.
FAKE = """#!/bin/sh
echo "$@" >> "$0.said"
status=${4##*_}
case "$3:$status" in history:2) exit 2 ;; history:*) exit 0 ;; esac
case "$*" in *--history*) [ "$status" = 2 ] && exit 2; exit 0 ;; esac
exit "$status"
"""


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    path = tmp_path / "fake"
    path.write_text(FAKE)
    path.chmod(0o755)
    return path


def judged(fake: Path, *words: str, **environment: str) -> tuple[int, list[str]]:
    """The exit status, and what it said of each report."""
    # As a workflow's step does: the first failure would end it.
    step = ["bash", "-e", str(JUDGE), *words]
    done = subprocess.run(step, env={"PYTHON": str(fake), **environment}, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_every_report_is_judged_and_gets_a_sentence(fake: Path) -> None:
    status, said = judged(fake, "-o", "--accept host", "a_2", "b_3", "c_4", "d_0")
    assert status == 0
    assert [line.split(":")[1].strip() for line in said] == ["a_2", "a_2", "a_2", "b_3", "c_4", "d_0"]
    assert "no history (status 2" in said[0]
    assert "nothing to compare" in said[2]
    assert "not judged: the two nights were not measured alike" in said[3]
    assert "undecided" in said[4]
    assert "no regression" in said[5]
    asked = Path(f"{fake}.said").read_text().splitlines()
    assert asked[-3:] == [
        "-m benchbook history d_0 --page", "-m benchbook compare d_0 --history",
        "-m benchbook compare d_0 --accept host --page",
    ]  # fmt: skip


@pytest.mark.parametrize(("report", "sentence"), [("a_1", "a regression"), ("a_70", "broke off (status 70")])
def test_a_regression_ends_the_night_as_a_failure_once_all_are_judged(fake: Path, report: str, sentence: str) -> None:
    status, said = judged(fake, report, "b_0")
    assert status == 1
    assert sentence in said[0]
    assert said[1] == "nightly: b_0: no regression"
