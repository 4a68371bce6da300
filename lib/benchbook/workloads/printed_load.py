"""What load generators have in common whose output is read as a file says (generator_file), and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import pandas as pd

from benchbook.analysis.checks import Check
from benchbook.campaign.record import Record
from benchbook.errors import WorkloadFailed
from benchbook.hosts.agent import Command
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.probes import samples
from benchbook.profiles import LoadSize
from benchbook.workloads import generator_output
from benchbook.workloads.base import LoadGenerator, Outcome, Ran, S, check_end

# The share of requests that may fail before a record's check says so.
MOST_FAILED = 0.01


class PrintedLoad(LoadGenerator[S]):
    """A load generator of which a file, generators/outputs/NAME.yaml or env/workloads/NAME.yaml, says how it prints."""

    @classmethod
    def asked(cls, size: S) -> dict[str, object]:
        return size.model_dump(exclude={*LoadSize.model_fields})

    def fill(
        self,
        session: Session,
        client: Host,
        commands: Sequence[Command],
        on_output: Callable[[bytes], None] = lambda _: None,
    ) -> list[str]:
        """Run commands that prepare data side by side on a client host; return what each printed.

        Raise WorkloadFailed for one that does not end well.
        """
        printed = []
        with ExitStack() as filling:
            for job in [filling.enter_context(session.following(client, "prepare", each)) for each in commands]:
                ended = job.wait(on_output=on_output)
                printed.append(job.stdout().decode(errors="replace") + job.stderr())
                check_end(ended, printed[-1], f"{self.name} prepare on {client.name}", self.failure)
        return printed

    def rate_in(self, line: str) -> tuple[float, float] | None:
        return generator_output.rate_in(self.name, line)

    def failure(self, text: str) -> str | None:
        return generator_output.failure(self.name, text)

    def outcome(self, ran: Sequence[Ran]) -> Outcome:
        (one,) = ran
        return printed(self.name, one, source=self.name)

    @classmethod
    def record_checks(cls, record: Record) -> list[Check]:
        return [failures(record)]


def failures(record: Record, *, expected: bool = False) -> Check:
    """Return the share of a load's requests that failed, which a load in which a server is killed is `expected` to."""
    failed, events = (record.summary[n].value if n in record.summary else 0.0 for n in ("failed", "events"))
    share = failed / max(1.0, events + failed)
    return Check(record.id, "errors", expected or share <= MOST_FAILED, f"{failed:g} failed ({share:.2%})")


@dataclass(frozen=True)
class Prepared:
    """What a generator of this name prepares depends on these sizes."""

    generator: str
    sizes: dict[str, int]


def printed(name: str, one: Ran, *, source: str) -> Outcome:
    """Return what a program has printed, read by the file of this name; its seconds are rows of `source`.

    Raise WorkloadFailed where it did nothing, or says that it failed, OutputNotParseable for what is cut.
    """
    run = generator_output.run_of(name, one.text)
    if run.problem:
        raise WorkloadFailed(run.problem)
    return Outcome(run.figures, series(name, run.seconds, one.client, source, begin=one.ended.started), run.histogram)


def series(name: str, seconds: generator_output.Seconds, host: str, source: str, *, begin: float) -> pd.DataFrame:
    """Return what this program printed of its seconds as rows of the long table; a load began at `begin`."""
    units = generator_output.units(name)
    rows = [(begin + t, host, source, each, value, units[each]) for t, said in seconds for each, value in said.items()]
    return samples.table(rows)
