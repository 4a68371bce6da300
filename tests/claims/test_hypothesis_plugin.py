"""A hypothesis of another package: the code of its chapter, found by the entry point of a distribution on sys.path."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from kit import ROOT
from toy_report import evidence

from benchbook import plugins
from benchbook.claims import judge, ledger
from benchbook.errors import BadInput
from benchbook.published.tables import Published

CHAPTER = ROOT / "docs" / "extending-hypothesis.md"


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", CHAPTER.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The chapter's package as an installer leaves it: a module, and metadata with the entry point."""
    package, about = tmp_path / "my_package", tmp_path / "my_package-1.dist-info"
    package.mkdir()
    about.mkdir()
    (package / "__init__.py").touch()
    (package / "doubles.py").write_text(block("python"))
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1\n")
    head, line = block("toml").splitlines()
    group, (name, value) = head.split('"')[1], (part.strip(' "') for part in line.split("="))
    (about / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugins._points.cache_clear()
    yield
    plugins._points.cache_clear()
    for module in ("my_package.doubles", "my_package"):
        sys.modules.pop(module, None)


def one() -> dict[str, Any]:
    claims: list[dict[str, Any]] = yaml.safe_load(block("yaml"))
    return claims[0]


@pytest.mark.usefixtures("installed")
def test_a_hypothesis_is_its_class_and_the_entry_point(toy: Published) -> None:
    found = ledger.read({"report": "toy", "claims": [one()]})
    truths = {"holds": [100.0, 150, 200, 350], "fails": [100.0, 100, 100, 100]}
    for verdict, values in truths.items():
        (claim,) = judge.judge(found, toy, evidence({"a": {"y": values}}), judge.JudgedSystem("s"))
        assert (claim.here, claim.hypothesis) == (verdict, "at least 2x from x 1 to 8")
        assert claim.published == pytest.approx(3.06)


@pytest.mark.usefixtures("installed")
def test_its_keys_are_checked_like_those_of_the_kit() -> None:
    with pytest.raises(BadInput) as caught:
        ledger.read({"report": "toy", "claims": [one() | {"uper": 8}]})
    assert caught.value.key == f"claims.{one()['id']}.uper"
    assert "upper" in str(caught.value.fix)


def with_one_claim(toy: Published, folder: Path) -> Published:
    """The toy report, whose ledger in `folder` has this claim alone."""
    (folder / "toy").mkdir()
    (folder / "toy" / "claims.yaml").write_text(yaml.safe_dump({"report": "toy", "claims": [one()]}))
    known: Any = SimpleNamespace(name="toy")
    return Published(known, toy.tables)


@pytest.mark.usefixtures("installed")
def test_one_that_compares_nothing_is_refused_with_the_ledger(
    toy: Published, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It passed, and ended the page with an IndexError."""
    named = with_one_claim(toy, tmp_path)
    assert ledger.load(named, tmp_path) is not None
    monkeypatch.setattr(plugins.load("hypotheses", "doubles", key=""), "contrasts", lambda *_: [])
    with pytest.raises(BadInput, match="nothing of this claim is tested") as caught:
        ledger.load(named, tmp_path)
    assert (caught.value.key, caught.value.value) == (one()["id"], [])
    assert "`contrasts` of Doubles" in str(caught.value.fix)


@pytest.mark.usefixtures("installed")
def test_one_that_speaks_of_nothing_is_refused_with_the_ledger(
    toy: Published, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No cell was repeated for it, and `check` said that it is valid."""
    named = with_one_claim(toy, tmp_path)
    doubles = plugins.load("hypotheses", "doubles", key="")
    monkeypatch.setattr(doubles, "speaks_of", lambda *_: [])
    with pytest.raises(BadInput, match="names no figure and no table") as caught:
        ledger.load(named, tmp_path)
    assert caught.value.key == one()["id"]
    monkeypatch.setattr(doubles, "in_tables", lambda *_: {one()["table"]})
    assert ledger.load(named, tmp_path) is not None


def test_without_the_package_its_name_is_unknown() -> None:
    with pytest.raises(BadInput, match="no such hypothesis") as caught:
        ledger.read({"report": "toy", "claims": [one()]})
    assert (caught.value.key, caught.value.value) == (f"claims.{one()['id']}.hypothesis", "doubles")
    assert "increases" in str(caught.value.fix)


def test_no_module_asks_which_hypothesis_it_has() -> None:
    folder = Path(judge.__file__).parent
    kinds = "|".join(plugins.load("hypotheses", name, key="").__name__ for name in plugins.names("hypotheses"))
    asked = [path.name for path in folder.glob("*.py") if re.search(rf"isinstance\(\w+, ({kinds})", path.read_text())]
    assert asked == []
