"""docs/promises.md names, for each promise, the tests that hold it: they are there."""

from __future__ import annotations

import ast
import re

import pytest
from kit import ROOT

TEXT = (ROOT / "docs" / "promises.md").read_text()
ROWS = re.findall(r"^\| (?!promise|what \||-)(.+?) \| (.+) \|$", TEXT, flags=re.MULTILINE)


@pytest.mark.parametrize(("promise", "tests"), ROWS, ids=[promise[:40] for promise, _ in ROWS])
def test_a_promise_has_its_tests(promise: str, tests: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", tests)
    assert named
    for file, name in named:
        parsed = ast.parse((ROOT / file).read_text())
        there = {
            each.name
            for each in ast.walk(parsed)
            if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")
        }
        assert name in there if name else there, f"{file} has no {name}"
