"""The file that a running probe writes, a line per sample: read on from where the last look ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from benchbook.hosts.about import Json
from benchbook.hosts.agent import Job

# What was started gets so long for its first sample before the load begins without it.
FIRST_S, LOOKS_S = 10.0, 0.02


@dataclass
class Followed:
    """A job that writes `samples` into its folder: how far that has been read, and the last whole line before that."""

    job: Job
    offset: int = 0
    last: str = ""

    def look(self) -> tuple[str, list[str]]:
        """The last line of the looks before, empty if there was none, and the whole lines since, as JSON."""
        data = self.job.host.read(f"{self.job.folder}/samples", offset=self.offset)
        whole = data[: data.rfind(b"\n") + 1]
        self.offset += len(whole)
        before, lines = self.last, whole.decode().splitlines(keepends=True)
        self.last = lines[-1] if lines else before
        return before, lines

    def await_first(self) -> None:
        """Until it has looked once: what a probe takes to begin would slow the load, and one that starves sees nothing.

        One that has ended, or takes longer than FIRST_S, is waited for no more.
        """
        self.look_for(lambda line: True, FIRST_S)

    def look_for(self, wanted: Callable[[str], bool], within_s: float) -> tuple[str, list[str]]:
        """As `look`, again until a line is `wanted`: without it where its job has ended, or after so many seconds."""
        before, lines = self.last, list[str]()

        def missing() -> bool:
            running = self.job.status() is None
            fresh = self.look()[1]
            lines.extend(fresh)
            return running and not any(map(wanted, fresh))

        looks = Retrying(
            stop=stop_after_delay(within_s),
            wait=wait_fixed(LOOKS_S),
            retry=retry_if_result(bool),
            retry_error_callback=lambda late: None,
        )
        looks(missing)
        return before, lines


def own_cores(samples: Sequence[Json]) -> float:
    """CPU that a probe used itself between the first of these and the last, in cores, by its own account."""
    first, last = (samples[0], samples[-1]) if samples else ({}, {})
    seconds = last.get("t", 0.0) - first.get("t", 0.0)
    return float((last.get("cpu", 0.0) - first.get("cpu", 0.0)) / seconds) if seconds > 0 else 0.0
