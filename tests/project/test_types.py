"""The types of the whole library, as `make lint` checks them: one core for most of a minute, beside the other tests."""

from __future__ import annotations

import subprocess
import sys

import pytest
from kit import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]


def test_the_library_s_types_are_right() -> None:
    ran = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"
