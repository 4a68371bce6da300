"""YAML read by libyaml, where it is there, and by PyYAML alone: the same values, and the same words for an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit import ROOT

from benchbook.errors import BadInput
from benchbook.given import document

FILES = sorted(path for part in ("data/published", "env") for path in (ROOT / part).rglob("*.yaml"))
WRONG = [
    "a: 1\na: 2", "- b\n c: d: e", "[1", "a: &x [*x]", "a: *x", "x: 2024-02-30", "a: \x01", "a: \ud800", "? [1]\n: 2",
    "\ta: b", "--- a\n--- b", "a: !!python/object:os 1", "a: 'x", 'a: "\\q"', "a: @x", f"{'[' * 41}{']' * 41}",
]  # fmt: skip
RIGHT = ["", "a: 1_000\nb: 0o17\nc: 1:30\nd: yes\ne: ~\nf: 1e3", "[a:b, c]", "a: &x [1]\nb: *x", "\ufeffa: b", "a: x#y"]


def read(text: str) -> object:
    """Its value, or what is said of it."""
    try:
        return document.yaml_text(text, file=Path("some.yaml"))
    except BadInput as refused:
        return str(refused)


@pytest.mark.skipif(document._FastLoader is None, reason="PyYAML was built without libyaml")
def test_whoever_reads_it_finds_and_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*WRONG, *RIGHT, *(path.read_text() for path in FILES)]
    assert len(FILES) > 20
    fast = [read(text) for text in texts]
    monkeypatch.setattr(document, "_FastLoader", None)
    assert fast == [read(text) for text in texts]
    assert all("malformed YAML" in str(said) for said in fast[: len(WRONG)])
    assert fast[len(WRONG) : len(WRONG) + 2] == [
        None,
        {"a": 1000, "b": "0o17", "c": 90, "d": True, "e": None, "f": "1e3"},
    ]
