"""What a load generator declares and answers: which systems it can drive, how, and what it printed.

A generator is found by name (entry point `benchbook.workloads`). It knows no reports; of the system whose data it
prepares it asks `endpoints`, `copies`, `make_database`, `lay_out` and `row_counts`.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

import pandas as pd

from benchbook import plugins
from benchbook.analysis.checks import Check
from benchbook.build import programs
from benchbook.campaign.record import Quantity, Record
from benchbook.errors import BadInput, BenchbookError, HostUnusable, OutputNotParseable, TrialFailed, WorkloadFailed
from benchbook.hosts.agent import Command, Ended
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.host_models import Json
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.session import Session
from benchbook.probes.samples import COLUMNS
from benchbook.profiles import LoadSize, Profile
from benchbook.systems.base import CONNECTIONS, System
from benchbook.user_input.yaml_file import validate

GROUP = "workloads"
# A line that says what is wrong with an option.
_COMPLAINT = re.compile(r"^.*\b(?:invalid|unknown|unrecognized|error|FATAL)\b.*$|^.*doesn't allow.*$", re.M | re.I)
S = TypeVar("S", bound=LoadSize)
Level = str | int | float


@dataclass(frozen=True)
class Load:
    """One client host's part of a trial: its levels, threads, seconds and offered rate (1/s, 0 = closed loop).

    `retried_errors` are those of the system after which the generator is to try again.
    """

    levels: Mapping[str, Level]
    threads: int
    time_s: int
    rate: int = 0
    retried_errors: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ran:
    """What the generator left on one client host."""

    client: str
    command: Command
    ended: Ended
    text: str
    complaint: str


@dataclass(frozen=True)
class Outcome:
    """A trial's load, of all client hosts together.

    `series` is in the long form of `probes.samples`; `histogram` holds (upper bound in ms, count); `proof` is what the
    record keeps beside. `ended`: when the load ended (s since the epoch, by its client) whose program went on after it.
    """

    summary: dict[str, Quantity]
    series: pd.DataFrame
    histogram: list[tuple[float, int]] = field(default_factory=list)
    proof: Json = field(default_factory=dict)
    ended: float | None = None


class LoadGenerator(ABC, Generic[S]):
    """A program that drives load; `program` is found on every client host, where `package` brings it.

    One that no package brings is built here and put there: `builds` are the folders of env/systems/ that it is built
    from, the first with the program itself. An inventory that names the program on its hosts (`programs`) has that one.

    `protocols` are those of systems that it can drive, `Size` the model of its section in a profile (`loads: {NAME:
    ...}`). One with `many_clients` can share a load among all client hosts; else the first drives it alone.
    `workloads` are those that a report can name, `known_options` names of options, without dashes,
    that it can give with any plain value, `option_values` the values of those that take no others,
    `levels` those beside `threads` that it can vary or hold fixed: `command` finds them in `Load.levels`.
    `options` are those of the table that is run: they change from one load to the next where tables have their own.
    """

    name: ClassVar[str]
    program: ClassVar[str]
    package: ClassVar[str] = ""
    builds: ClassVar[tuple[str, ...]] = ()
    protocols: ClassVar[tuple[str, ...]]
    Size: type[S]
    many_clients: ClassVar[bool] = False
    # What a report may choose (workloads.option_allowlist): anything else is refused unless the user allows it by name.
    workloads: ClassVar[frozenset[str]] = frozenset()
    known_options: ClassVar[frozenset[str]] = frozenset()
    option_values: ClassVar[Mapping[str, Sequence[str]]] = {}
    levels: ClassVar[frozenset[str]] = frozenset()
    # It offers `Load.rate` by a schedule that waits for no answer, and its latencies count from when each was due.
    open_loop: ClassVar[bool] = False
    # It keeps below `Load.rate`, though not as an open loop does: a rate can be asked of no other generator.
    keeps_rate: ClassVar[bool] = False
    # Its loads last `Load.time_s`; one that counts its requests cannot be asked for a short load.
    timed: ClassVar[bool] = True
    # What the rates of `rate_in` count in a second, for the progress line.
    rate_unit: ClassVar[str] = "tps"
    # It prints a rate every so many seconds whatever becomes of its load, and `outcome` has them in its series as `tps`
    # under the generator's name: lines that are missing then mean that it stood still. 0 = do not conclude that.
    prints_every_s: ClassVar[float] = 0.0

    def __init__(self, size: S, options: Sequence[str], seed: int) -> None:
        self.size, self.options, self.seed = size, list(options), seed
        self.programs: dict[str, str] = {}
        self._taken: set[tuple[str, ...]] = set()

    @classmethod
    def size_in(cls, profile: Profile) -> S:
        """Its section of the profile. Raise BadInput where it is missing or wrong."""
        if cls.name not in profile.loads:
            said = "the profile has no size for this load generator"
            fix = f"add `{cls.name}` to the section `loads`, with {', '.join(cls.Size.model_fields)}"
            raise BadInput(said, file=profile.file, key=f"loads.{cls.name}", fix=fix)
        return validate(cls.Size, profile.loads[cls.name], profile.file, below=f"loads.{cls.name}")

    # -- before the load ----------------------------------------------------------------------------------------

    def find(self, client: Host) -> str:
        """Locate it on a client host, or put it there; returns what it calls itself.

        Raise HostUnusable where it is missing, NotBuilt before it was built.
        """
        if self.builds_for(client.inventory):
            built = programs.artefact(self.builds[0]) / self.program
            self.programs[client.name] = client.push(built, executable=True)
        else:
            self.programs[client.name] = client.require_program(self.program, package=self.package or self.program)
        return self.version(client)

    @classmethod
    def builds_for(cls, inventory: Inventory) -> tuple[str, ...]:
        """Folders of env/systems/ that it is built from for these hosts."""
        return cls.builds if inventory.program(cls.program) == cls.program else ()

    def version(self, client: Host) -> str:
        """Name and version, as the found program says them; most do with this option. Raise HostUnusable."""
        done = client.run([self.programs[client.name], "--version"], check=False)
        said = done.stdout.strip()
        if done.exited or not re.search(rf"\b{re.escape(self.program)}\b.*\d", said):
            first = (said or done.stderr.strip())[:100].partition("\n")[0]
            raise HostUnusable(
                f"what host {client.name} has for {self.program} says no version of it: {first!r}",
                file=client.inventory.file,
                key=f"programs.{self.program}",
                value=self.programs[client.name],
                fix=f"install {self.program} there, or name its path here",
            )
        return said

    def reading_options(self, client: Host, workload: str) -> list[str]:
        """A command line with which it reads its options of this workload and ends: with status 0 if it takes them.

        Empty where there is none: then the first load tells.
        """
        return []

    def check_options(self, client: Host, workload: str) -> None:
        """Ask the found program, once, what it makes of its options. Raise BadInput for one that it does not take."""
        asked = (client.name, workload, *self.options)
        argv = [] if asked in self._taken else self.reading_options(client, workload)
        if not argv:
            return
        done = client.run(argv, check=False)
        printed = done.stderr + done.stdout
        # go-tpc says what is wrong and ends with 0.
        if done.exited or self.failure(printed):
            found = _COMPLAINT.search(printed)
            problem = f"refuses this: {(found[0] if found else printed).strip()}"
            fix = f"take it out of the report, or have a version of {self.name} on the clients that knows it"
        else:
            problem, fix = self.misread(done.stdout), "correct it in the report's design"
        if problem:
            where, given = f"{self.programs[client.name]} on {client.name}", " ".join(self.options)
            raise BadInput(f"{where} {problem}", key=f"design, options of {workload}", value=given, fix=fix)
        self._taken.add(asked)

    def misread(self, printed: str) -> str:
        """Return which option the program reads otherwise than it is written, as a clause; "" where none is known.

        `printed` is what the command line of `reading_options` printed.
        """
        return ""

    @classmethod
    @abstractmethod
    def asked(cls, size: S) -> dict[str, object]:
        """Return what stands in every record of the size of its data, beside duration and rate."""

    @property
    @abstractmethod
    def dataset(self) -> object:
        """What `prepare` makes, as an instance of a dataclass: it is part of what tells a prepared data set.

        None where nothing is prepared.
        """

    @abstractmethod
    def prepare(self, session: Session, client: Host, system: System, say: Callable[[str], None]) -> None:
        """Fill every server of the system, and check that it is filled. Raise SystemFailed, WorkloadFailed."""

    # -- the load -----------------------------------------------------------------------------------------------

    @abstractmethod
    def command(self, client: Host, endpoints: Sequence[Endpoint], load: Load) -> Command:
        """Return the command line of one client's part."""

    def holds(self, load: Load, servers: int) -> dict[str, int]:
        """What one client's part holds at most on one of so many servers at once, of what `systems.base` names."""
        return {CONNECTIONS: math.ceil(load.threads / servers)}

    @abstractmethod
    def rate_in(self, line: str) -> tuple[float, float] | None:
        """(second of the load, transactions/s) that a printed line tells while it runs; None for any other line."""

    @abstractmethod
    def failure(self, text: str) -> str | None:
        """Return what the program itself says is fatal in what it printed; None if nothing is."""

    @abstractmethod
    def outcome(self, ran: Sequence[Ran]) -> Outcome:
        """Return what the clients that ended well have printed. Raise WorkloadFailed, OutputNotParseable."""

    def read(self, ran: Sequence[Ran]) -> Outcome:
        """What `outcome` makes of it. Raise OutputNotParseable for whatever else its author's code raises, or returns.

        What was printed goes along: it is what a parser is mended by.
        """
        text = "".join(each.text + each.complaint for each in ran)
        try:
            found: object = self.outcome(ran)
        except TrialFailed as problem:
            problem.output = problem.output or text
            raise
        except BenchbookError:
            raise
        except Exception as problem:
            raise OutputNotParseable(
                f"{self.name}: `outcome` failed: {plugins.told(problem)}", output=text
            ) from problem
        if lack := _lack(found):
            raise OutputNotParseable(f"{self.name}: `outcome` returned {lack}", output=text)
        assert isinstance(found, Outcome)
        return found

    def overrun(self, ran: Sequence[Ran]) -> Outcome | None:
        """Return what a load has left that the program gave up because the server could not take what was offered.

        None where that did not happen. Asked in a search for the highest rate, where it is an answer and no failure;
        its summary needs `tps` and `total_time_s`.
        """
        return None

    # -- its proof ----------------------------------------------------------------------------------------------

    def before(self, client: Host, system: System, levels: Mapping[str, Level]) -> None:
        """Called when the system serves, just before a load: to note what `prove` is to compare with."""
        return None

    def prove(self, client: Host, system: System, levels: Mapping[str, Level], outcome: Outcome) -> Json:
        """Return what holds of the data now that the load has ended, asked of the system itself; its record keeps it.

        Raise WorkloadFailed where it does not hold: then the trial has failed.
        """
        return {}

    # -- after it -----------------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def record_checks(cls, record: Record) -> list[Check]:
        """Return what a record of its loads must answer for."""

    def check(self, ran: Ran) -> None:
        """Raise WorkloadFailed unless it ended by itself with status 0; what it printed goes along."""
        check_end(ran.ended, ran.text + ran.complaint, f"{self.name} on {ran.client}", self.failure)


def _lack(found: object) -> str:
    """Return what keeps it from being the outcome of a load; empty where nothing does."""
    if not isinstance(found, Outcome):
        return f"{type(found).__name__} in place of an Outcome"
    if not found.summary:
        return "an empty summary"
    figures: Mapping[str, object] = found.summary
    bare = [name for name, value in figures.items() if not isinstance(value, Quantity)]
    if bare:
        return f"`{bare[0]}` without its unit: write Quantity(value=..., unit=...)"
    series: object = found.series
    if not isinstance(series, pd.DataFrame):
        return f"{type(series).__name__} as its series, in place of a frame"
    missing = [name for name in COLUMNS if name not in series]
    return f"a series without {', '.join(missing)}" if len(series) and missing else ""


def check_end(
    ended: Ended, text: str, name: str, failure: Callable[[str], str | None], good: Sequence[int] = (0,)
) -> None:
    """Raise WorkloadFailed unless the program ended by itself, well, and called nothing fatal; its output goes along.

    Some programs end with status 0 although they failed: what they say counts. `good` are the statuses of one that did
    its work.
    """
    said = failure(text)
    if ended.reason == "exited" and ended.exit in good and not said:
        return
    how = f"was killed by signal {ended.signal}" if ended.signal else f"ended with status {ended.exit}"
    outside = ended.from_outside(name)
    raise WorkloadFailed(f"{outside or f'{name} {how}'}{': ' + said if said else ''}", output=text)


def one_port(endpoints: Sequence[Endpoint], program: str) -> int:
    """The port of all of these servers, for a program that takes one. Raise BadInput where they have several."""
    ports = {endpoint.port for endpoint in endpoints}
    if len(ports) != 1:
        fix = "give the servers of a system the same port"
        problem = f"{program} connects to one port on all servers"
        raise BadInput(problem, key="systems.*.port", value=sorted(ports), fix=fix)
    return ports.pop()
