"""How a lab's stop takes signals; labs themselves: `test_lab_drivers_real.py`."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from benchbook.hosts import lab


@pytest.fixture(autouse=True)
def _as_the_command_line() -> Iterator[None]:
    """Have SIGTERM end as Ctrl-C does, and SIGHUP ignored, as `nohup` does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler), signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGTERM, before[0])
    signal.signal(signal.SIGHUP, before[1])


def test_who_is_told_to_end_while_the_lab_is_stopped_ends_once_it_is() -> None:
    done = []

    def stop() -> None:
        with lab._uninterrupted():
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGTERM):
                signal.raise_signal(number)
            done.append("stopped")

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert done == ["stopped"]
    assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler


def test_a_run_that_stays_when_its_terminal_goes_does_so_while_the_lab_is_stopped() -> None:
    with lab._uninterrupted():
        signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
