"""A second driver, from another checkout, that comes to the same hosts at a moment of the first one's run.

It takes seconds to start: so it starts with the first, and is held, by SIGSTOP, once its plan is written and the hosts
are next.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fault_campaign import process_table
from fault_campaign.home import RoundHome

Wait = Callable[[Callable[[], bool], float], bool]


@dataclass(frozen=True)
class SecondDriver:
    """Its command, and where its output goes."""

    home: RoundHome
    process: subprocess.Popen[bytes]
    output: Path

    @classmethod
    def start(cls, home: RoundHome) -> SecondDriver:
        output = home.path / "second.txt"
        return cls(home, home.second_report(output), output)

    def hold(self, first: subprocess.Popen[bytes], wait: Wait, patience_s: float) -> None:
        """Stop it where it is about to connect; one that has been refused before, or ends, is let be."""
        plans = self.home.second / "data" / "runs"
        wait(
            lambda: any(True for _ in plans.glob("*/*/plan.json")) or self._over() or first.poll() is not None,
            patience_s,
        )
        self._signal(signal.SIGSTOP)

    def let_go(self) -> None:
        """It goes on, if it was held."""
        self._signal(signal.SIGCONT)

    def _over(self) -> bool:
        return self.process.poll() is not None

    def _signal(self, number: signal.Signals) -> None:
        for one in process_table.of_folder(self.home.second):
            try:
                os.kill(one.pid, number)
            except ProcessLookupError:
                continue
