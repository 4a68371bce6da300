"""Which checkout measured: what git says of a real repository."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchbook import __version__
from benchbook.campaign import origin
from benchbook.campaign.origin import Origin


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository that is the project's folder, with one commit: a file in each of lib/ and public/."""
    for name in ("lib", "public"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("as committed")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "-m", "one")
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path))
    origin.of_this_checkout.cache_clear()
    yield tmp_path
    origin.of_this_checkout.cache_clear()


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True).stdout.strip()


def test_what_measured_is_named_by_its_commit(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "--short=12", "HEAD")
    assert origin.of_this_checkout() == Origin(__version__, commit, "")
    assert origin.of_this_checkout().called == f"{__version__} (commit {commit})"


@pytest.mark.parametrize(("edited", "said"), [("lib/file", True), ("public/file", False), ("lib/new", False)])
def test_changes_are_said_where_they_may_decide_on_a_figure(checkout: Path, edited: str, said: bool) -> None:
    (checkout / edited).write_text("edited since")
    assert (origin.of_this_checkout().changed, ", with changes)" in origin.of_this_checkout().called) == (said, said)


@pytest.mark.parametrize(
    ("remote", "shown"),
    [
        ("https://github.invalid/a/b.git", "https://github.invalid/a/b"),
        ("https://token@github.invalid/a/b.git", ""),
        ("git@github.invalid:a/b.git", ""),
        ("/home/me/b", ""),
        ("", ""),
    ],
)
def test_a_page_names_a_repository_only_where_it_gives_nothing_away(remote: str, shown: str) -> None:
    assert origin.address(remote) == shown
