"""When a campaign's notebook is drawn again: whatever changed that it was drawn from, or that was drawn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchbook.campaign.store import Campaign
from benchbook.site import drawn_from

REPORT = "mine"
FILES = {
    "notebooks/mine.ipynb": "{}",
    "data/published/mine/report.yaml": "title: mine",
    "env/profiles/smoke.yaml": "repetitions: 4",
    "data/runs/mine/c1/plan.json": "{}",
    "data/runs/mine/c1/trials/r01/record.json": "{}",
    "data/runs/mine/c1/executed.ipynb": "{}",
    "data/runs/mine/c1/results.json": "{}",
    "data/runs/mine/c1/figures/tps.png": "png",
}
RECORDS = "data/runs/mine/c1/trials"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path))
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def campaign(project: Path) -> Campaign:
    return cast(Any, SimpleNamespace(folder=project / "data/runs/mine/c1"))


def noted(campaign: Campaign) -> None:
    drawn_from.note(campaign, drawn_from.sources(REPORT, campaign))


def as_drawn(campaign: Campaign) -> bool:
    return drawn_from.is_as_drawn(campaign, drawn_from.sources(REPORT, campaign))


def test_what_was_drawn_is_as_drawn_until_its_index_is_made_anew_and_after(project: Path, campaign: Campaign) -> None:
    assert not as_drawn(campaign), "it was drawn, nobody knows from what"
    noted(campaign)
    assert as_drawn(campaign)
    for name in ("trials.sqlite", "failed.sqlite-journal", "knee/s1/trials.sqlite", "trials/r02.partial/record.json"):
        (campaign.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (campaign.folder / name).write_text("an index, or half a record")
    (project / "notebooks" / "another.ipynb").write_text("{}")
    assert as_drawn(campaign)


@pytest.mark.parametrize("name", FILES)
def test_any_other_content_is_drawn_again(project: Path, campaign: Campaign, name: str) -> None:
    noted(campaign)
    (project / name).write_text("something else")
    assert not as_drawn(campaign)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda root: (root / RECORDS / "r02").mkdir() or (root / RECORDS / "r02/a").touch(), id="record"),
        pytest.param(lambda root: (root / "env/hosts.yaml").write_text("hosts: {}"), id="hosts"),
        pytest.param(lambda root: (root / "data/runs/mine/c1/figures/tps.png").unlink(), id="no figure"),
        pytest.param(lambda root: (root / "data/runs/mine/c1/results.json").unlink(), id="no results"),
        pytest.param(lambda root: (root / "data/runs/mine/c1/drawn_from.json").write_text("{"), id="half a note"),
    ],
)
def test_what_came_or_went_is_drawn_again(project: Path, campaign: Campaign, change: Callable[[Path], object]) -> None:
    noted(campaign)
    change(project)
    assert not as_drawn(campaign)


def test_another_version_of_the_kit_draws_again(
    project: Path, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted(campaign)
    monkeypatch.setattr(drawn_from, "_kit", lambda: "another")
    assert not as_drawn(campaign)


def test_of_results_without_a_note_of_them_nothing_is_believed(project: Path, campaign: Campaign) -> None:
    """A note of a run that left none: they may have been put there since."""
    (campaign.folder / "results.json").unlink()
    noted(campaign)
    assert not as_drawn(campaign)


def test_what_was_changed_while_it_was_drawn_is_drawn_again(project: Path, campaign: Campaign) -> None:
    before = drawn_from.sources(REPORT, campaign)
    (project / "notebooks" / "mine.ipynb").write_text('{"cells": []}')
    drawn_from.note(campaign, before)
    assert not as_drawn(campaign)


def test_a_run_that_goes_on_takes_nothing_from_who_looks_at_its_records(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = campaign.folder / "trials" / "r02.partial"
    half.mkdir()
    walk = os.walk

    def renamed_meanwhile(root: Path) -> Iterator[Any]:
        for found in walk(root):
            yield found
            if half.exists():
                half.rename(half.with_name("r02"))

    monkeypatch.setattr(os, "walk", renamed_meanwhile)
    assert drawn_from.sources(REPORT, campaign)
