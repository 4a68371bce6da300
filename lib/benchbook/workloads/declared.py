"""Load generators that one file describes wholly: how they run, what they print and what they answer for."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

from invoke.runners import Result
from pydantic import Field, create_model

from benchbook.analysis.checks import Check
from benchbook.campaign.record import Record
from benchbook.errors import SystemFailed, WorkloadFailed
from benchbook.generators.generator_file import Answer, Run, Step, filled, places, programs
from benchbook.hosts.agent import Command
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.host_models import Json
from benchbook.hosts.session import Session
from benchbook.profiles import LoadSize
from benchbook.systems.base import System
from benchbook.workloads.base import Level, Load, Outcome
from benchbook.workloads.printed_load import Prepared, PrintedLoad

# Sets the variables of the file "environment" beside it, and becomes the command behind it.
_WITH_ENVIRONMENT = ["sh", "-c", '. "$0"; exec "$@"']
_ENVIRONMENT = "environment"
_FILLED_S = 7200.0


class DeclaredLoad(PrintedLoad[LoadSize]):
    """A load generator that one file describes: `declared` holds its commands, sizes and answers."""

    declared: ClassVar[Run]

    def __init__(self, size: LoadSize, options: Sequence[str], seed: int) -> None:
        super().__init__(size, options, seed)
        self._told = 0
        self._asked: dict[str, float] = {}

    def version(self, client: Host) -> str:
        if not self.declared.version:
            return self.name
        done = client.run([self.programs[client.name], *self.declared.version], check=False)
        return (done.stdout or done.stderr).strip()

    # -- commands -------------------------------------------------------------------------------------------------

    def _values(self, client: Host, end: Endpoint, levels: Mapping[str, Level], folder: str) -> dict[str, object]:
        server = {"address": end.address, "port": end.port, "user": end.user, "seed": self.seed}
        own = {"program": self.programs[client.name], "files": folder}
        return {**self.asked(self.size), **self.declared.levels, **levels, **server, **own}

    def _files(self, values: Mapping[str, object], end: Endpoint) -> dict[str, str]:
        """Return the files that hold what nobody else may read, the variables of the environment among them."""
        secret = {**values, "password": end.password}
        variables = {name: filled(word, secret) for name, word in self.declared.environment.items()}
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
        files = {name: filled(text, secret) for name, text in self.declared.files.items()}
        return {**files, **({_ENVIRONMENT: exports} if variables else {})}

    def _argv(self, words: Sequence[str], values: Mapping[str, object]) -> list[str]:
        """Return the command line, in the environment that the file wants."""
        before = [*_WITH_ENVIRONMENT, f"{values['files']}/{_ENVIRONMENT}"] if self.declared.environment else []
        return [*before, *(filled(word, values) for word in words)]

    def _job(self, client: Host, end: Endpoint, words: Sequence[str], levels: Mapping[str, Level], s: float) -> Command:
        values = self._values(client, end, levels, "{job}")
        return Command(self._argv(words, values), timeout_s=s, grace_s=5, secrets=self._files(values, end))

    def _run(self, client: Host, end: Endpoint, step_command: Sequence[str], levels: Mapping[str, Level]) -> Result:
        values = self._values(client, end, levels, "")
        with client.secret_files(self._files(values, end)) as folder:
            argv = self._argv(step_command, {**values, "files": folder})
            return client.run(argv, check=False, timeout=600)

    # -- its data -------------------------------------------------------------------------------------------------

    @property
    def dataset(self) -> Prepared | None:
        """None where nothing is prepared once for many loads."""
        words = [word for step in self.declared.prepare for word in step.command]
        sizes = {name: getattr(self.size, name) for name in self.declared.size if name in places(words)}
        return Prepared(self.name, sizes) if words else None

    def prepare(self, session: Session, client: Host, system: System, say: Callable[[str], None]) -> None:
        if self.declared.database:
            system.make_database(client, self.declared.database)
        for step in self.declared.prepare:
            say(f"preparing data with {self.program}, once for this dataset")
            ends = system.copies()
            told = self.fill(session, client, [self._job(client, end, step.command, {}, _FILLED_S) for end in ends])
            for end, text in zip(ends, told, strict=True):
                self._check_step(step, text, end, self._values(client, end, {}, ""))

    def _check_step(self, step: Step, text: str, end: Endpoint, values: Mapping[str, object]) -> None:
        pattern = filled(step.pattern, values, as_pattern=True)
        if not re.search(pattern, text, re.MULTILINE):
            tail = " | ".join(text.strip().splitlines()[-3:]) or "nothing"
            raise SystemFailed(f"{end}: preparing for {self.name} was to answer {pattern!r}, and answered: {tail}")

    # -- its loads ------------------------------------------------------------------------------------------------

    def command(self, client: Host, endpoints: Sequence[Endpoint], load: Load) -> Command:
        self._told = 0
        levels = {**load.levels, "threads": load.threads, "time_s": load.time_s}
        offered = [filled(word, {"rate": load.rate}) for word in self.declared.rate] if load.rate else []
        words = [each for word in self.declared.command for each in (self.options if word == "{options}" else [word])]
        return self._job(client, endpoints[0], [*words, *offered], levels, load.time_s + 600)

    def holds(self, load: Load, servers: int) -> dict[str, int]:
        """All of its clients are those of one server."""
        return super().holds(load, 1)

    def rate_in(self, line: str) -> tuple[float, float] | None:
        told = super().rate_in(line)
        every_s = next((each.every_s for form in programs()[self.name].forms for each in form.progress), 0.0)
        if told is None or not every_s:
            return told
        self._told += 1
        return (self._told - 1) * every_s, told[1]

    # -- its proof ------------------------------------------------------------------------------------------------

    def _of(self, levels: Mapping[str, Level]) -> Iterator[Answer]:
        workload = str(levels["workload"])
        return (each for each in self.declared.answers if workload in (each.workloads or [workload]))

    def _number(self, client: Host, end: Endpoint, name: str, levels: Mapping[str, Level]) -> float:
        ask = self.declared.ask[name]
        done = self._run(client, end, ask.command, levels)
        pattern = filled(ask.pattern, self._values(client, end, levels, ""), as_pattern=True)
        found = re.search(pattern, done.stdout, re.MULTILINE)
        if done.exited == 0 and found:
            return float(found[1])
        if done.exited == 0 and ask.absent is not None:
            return ask.absent
        said = (done.stderr + done.stdout).strip()[-300:]
        raise SystemFailed(f"{end}: asked for `{name}`, it answers: {said or 'nothing'}")

    def before(self, client: Host, system: System, levels: Mapping[str, Level]) -> None:
        end = system.copies()[0]
        for step in self.declared.before:
            done = self._run(client, end, step.command, levels)
            text = done.stdout + done.stderr
            if done.exited:
                raise SystemFailed(f"{end}: `{step.command[0]}` before a load of {self.name}: {text.strip()[-300:]}")
            self._check_step(step, text, end, self._values(client, end, levels, ""))
        grown = dict.fromkeys(each.of for each in self._of(levels) if each.grows_by is not None)
        self._asked = {name: self._number(client, end, name, levels) for name in grown}

    def prove(self, client: Host, system: System, levels: Mapping[str, Level], outcome: Outcome) -> Json:
        end, told = system.copies()[0], {name: quantity.value for name, quantity in outcome.summary.items()}
        known: dict[str, Any] = {**self.asked(self.size), **self.declared.levels, **levels, **told}
        answers = list(self._of(levels))
        named = {str(value) for each in answers for value in (each.of, each.is_, each.grows_by, each.more)}
        known |= {name: self._number(client, end, name, levels) for name in self.declared.ask if name in named}
        held = {}
        for each in answers:
            words, wrong = self._held(each, known)
            if wrong:
                raise WorkloadFailed(f"{end}: after this load of {self.name} {words}")
            held[each.of] = words
        return {"answers": held} if held else {}

    def _held(self, answer: Answer, known: Mapping[str, Any]) -> tuple[str, bool]:
        """Return what was found in words, and whether it is not what is to hold."""
        grew = answer.grows_by is not None
        wanted = answer.grows_by if answer.grows_by is not None else answer.is_
        assert wanted is not None
        found = self._value(answer.of, known) - (self._asked[answer.of] if grew else 0.0)
        least, more = self._value(wanted, known), self._value(answer.more, known)
        named = f"{wanted} {_said(least)}" if isinstance(wanted, str) else _said(least)
        upto = f" to {_said(least + more)}" if more else ""
        words = f"`{answer.of}` {'grew by' if grew else 'is'} {_said(found)}"
        wrong = not (least <= found <= least + more) and not math.isclose(found, least, rel_tol=1e-9)
        return f"{words}, not {'by ' if grew else ''}{named}{upto}" if wrong else f"{words} ({named}{upto})", wrong

    def _value(self, of: float | str, known: Mapping[str, Any]) -> float:
        if isinstance(of, str) and of not in known:
            raise WorkloadFailed(
                f"{self.name} answers for `{of}`, which is neither printed, nor asked, nor a size or level"
            )
        return float(known[of] if isinstance(of, str) else of)

    @classmethod
    def record_checks(cls, record: Record) -> list[Check]:
        """Return the share of failed requests, and the answers that its file asks for."""
        held = record.proof.get("answers", {})
        answers = [Check(record.id, f"proof: {name}", True, words) for name, words in held.items()]
        return [*super().record_checks(record), *answers]


def _said(number: float) -> str:
    return f"{number:,.0f}" if number == round(number) else f"{number:,}"


def load_generator(name: str) -> type[DeclaredLoad]:
    """Return the class of the load generator whose file says how it is run."""
    run = programs()[name].run
    assert run is not None
    sizes: dict[str, Any] = {size: (int, Field(ge=1)) for size in run.size}
    said = {
        "__doc__": DeclaredLoad.__doc__,
        "__module__": __name__,
        "name": name,
        "declared": run,
        "program": run.program,
        "package": run.package,
        "builds": tuple(run.builds),
        "protocols": tuple(run.protocols),
        "workloads": frozenset(run.workloads),
        "levels": frozenset(run.levels),
        "known_options": frozenset(run.options),
        "Size": create_model(f"Size of {name}", __base__=LoadSize, **sizes),
        "keeps_rate": bool(run.rate),
        "open_loop": run.loop == "open",
        "timed": run.timed,
    }
    # A class, for a load generator is asked for what its class says before any host is known.
    return cast("type[DeclaredLoad]", type(f"Declared_{name}", (DeclaredLoad,), said))
