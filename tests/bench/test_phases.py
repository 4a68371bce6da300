"""What a phase took is its own: not what ran within it, nor what the process that started this one holds."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from benchbook.bench import phases
from benchbook.bench.phases import REST, Phases


def test_what_runs_within_a_phase_is_not_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0, 0.0, 100.0]
    monkeypatch.setattr(phases, "_now", lambda: tuple(now))

    def works(seconds: float, mb: float = 0.0) -> None:
        now[:] = [now[0] + seconds, now[1] + seconds / 2, now[2] + mb]

    def draws() -> str:
        works(1)
        parts.read()
        works(4, 30)
        return "drawn"

    parts = SimpleNamespace(draw=draws, read=lambda: works(2, 5))
    measured = Phases()
    measured.follow("figures", parts, "draw")
    measured.follow("records", parts, "read")
    works(8)
    assert [parts.draw(), parts.draw()] == ["drawn", "drawn"]
    with measured.phase("claims"):
        works(0.5)
    works(16, 1)
    measured.let_go()
    assert parts.draw is draws
    assert measured.found() == {
        "figures": {"seconds": 10.0, "cpu_s": 5.0, "mb": 60.0},
        "records": {"seconds": 4.0, "cpu_s": 2.0, "mb": 10.0},
        "claims": {"seconds": 0.5, "cpu_s": 0.25, "mb": 0.0},
        REST: {"seconds": 24.0, "cpu_s": 12.0, "mb": 1.0},
    }


def test_the_peak_of_a_process_is_not_that_of_the_one_that_started_it() -> None:
    held = bytearray(400_000_000)
    held[::4_096] = b"x" * len(held[::4_096])
    program = "from benchbook.bench.spent import SELF, peak_mb; print(peak_mb(SELF))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert 5 < int(done.stdout) < len(held) / 1e6 / 2
