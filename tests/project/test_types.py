"""The types of the whole library, as `make lint` checks them: one core for most of a minute, beside the other tests."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from kit import ROOT

from benchbook import api

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]


def test_the_library_s_types_are_right() -> None:
    ran = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"


def test_what_a_notebook_calls_has_the_types_of_the_code() -> None:
    """The package asks `api` for them once they are called; its stub says so to editors and type checkers."""
    stub = ast.parse((ROOT / "lib" / "benchbook" / "__init__.pyi").read_text())
    named = {one.name for line in stub.body if isinstance(line, ast.ImportFrom) for one in line.names}
    assert named == {*api.__all__}
