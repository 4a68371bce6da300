"""A load generator as one file: what it prints and, where the kit runs it, how, and what it answers for.

The kit's own stand in outputs/, yours in env/workloads/ of your project (NAME.yaml). One without `run` is known to
import alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from benchbook import paths
from benchbook.errors import BadInput
from benchbook.user_input.yaml_file import Strict, load_model

OUTPUTS = Path(__file__).parent / "outputs"
# A place to be filled in; digits in braces are a pattern's.
_PLACE = re.compile(r"\{([a-z]\w*)\}")
# What every command may name, beside sizes and levels; `files` is the folder of `files`.
_OF_SERVER = {"program", "address", "port", "user", "files", "seed"}
_OF_LOAD = {"workload", "threads", "time_s", "options"}


def _compiles(pattern: str) -> str:
    try:
        re.compile(_PLACE.sub("x", pattern), re.MULTILINE)
    except re.error as problem:
        raise ValueError(f"no pattern: {problem}") from problem
    return pattern


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


Pattern = Annotated[str, AfterValidator(_compiles)]
# A word of a command line, which may be a number.
Word = Annotated[str, BeforeValidator(lambda value: str(value) if isinstance(value, int | float) else value)]
Patterns = Annotated[list[Pattern], BeforeValidator(_listed)]


class LevelPattern(Strict):
    """Where a level stands: `names` are other words for what is printed, `times` a number to multiply it by.

    With `every` it is all that the pattern finds, one behind the other.
    """

    pattern: Pattern
    names: dict[str, str] = {}
    times: Pattern | None = None
    every: bool = False


class FigurePattern(Strict):
    """A figure: the first of `pattern` that is there, at its last place; else the sum of all that `add` finds.

    A name may have groups of the pattern in it ("{op}_p{percent}_ms"): then it is a figure for each match. The group
    `value` is the number (without it, the first one), `unit` its unit, which without that is `printed`, or `unit`
    itself. `within` cuts out the part that is searched, and has groups as well. `above`: it stands before the report,
    and not in it. `divided_by`: for this mean, the program divides the sum of all times by no more requests than these.
    The mean of a longer run is put right by `tps` and `total_time_s`. `events` of just so many are left out: some
    versions count no further.

    The figure `instead` takes its place where it is missing from a run with a `total_time_s`, and where the two are
    more than `apart` (a share) apart in a run of `long_s` or more, by its time or its `events`; not where `unless` is
    found before the report. A shorter run whose two are so far apart is refused: nothing tells which is its own.
    """

    unit: str = Field(min_length=1)
    printed: str = ""
    pattern: Patterns = []
    within: Pattern | None = None
    add: Pattern | None = None
    above: bool = False
    divided_by: int | None = None
    instead: str = ""
    apart: float = Field(0.0, ge=0)
    long_s: float = Field(0.0, ge=0)
    unless: Pattern | None = None


class Column(Strict):
    """A column of a printed table: the pattern of its heading, and the figure in it.

    `name` may hold groups of that and of the row; `printed` is its unit there, where that is not `unit`.
    """

    heading: Pattern
    name: str
    unit: str
    printed: str = ""


class Columns(Strict):
    """A printed table: its line of headings, what stands between two of them, and the row or rows that count."""

    header: Pattern
    between: Pattern
    row: Pattern
    figures: list[Column]


class Progress(Strict):
    """A line while it ran: the group `t` is the second, the others are figures with these units.

    Where no second is printed, it comes `every_s`; the first says nothing. `begins`: a line that begins so, and
    does not match, is one that was wrapped or cut.
    """

    pattern: Pattern
    every_s: float = Field(0.0, ge=0)
    begins: Pattern | None = None
    units: dict[str, str]


class Histogram(Strict):
    """A printed table of latencies: the groups `upper` (of a bucket, in `printed`) and `count`, searched `within`.

    `cumulative`: a count is that of its bucket and of all before it.
    """

    pattern: Pattern
    within: Pattern | None = None
    printed: str = "ms"
    cumulative: bool = False


class Form(Strict):
    """One way in which a program prints: a run's figures stand from `begins` to the last `ends` before the next one.

    What stands before belongs to it as well: command line, seconds. With `shared_head` what stands before the first run
    belongs to all, up to where `new_head` stands between two. Where the match of `begins` is all of the report,
    `itself` is set. `json`: it is JSON, of which the patterns see a line `path.to.key = value` per value. `cut` is what
    only a report that was cut has in it, `aside` what stands in a report and is none of it, `inexact` what tells that
    an order of magnitude stands for its figure. `fix` helps where a report has its figures and no end, or is inexact.
    """

    begins: Pattern
    ends: Pattern | None = None
    cut: Pattern | None = None
    aside: Pattern | None = None
    itself: bool = False
    inexact: Pattern | None = None
    fix: str = ""
    shared_head: bool = False
    new_head: Pattern | None = None
    json_: bool = Field(default=False, alias="json")
    version: Pattern | None = None
    failed: Pattern | None = None
    required: list[str] = []
    levels: dict[str, list[LevelPattern | Pattern]] = {}
    figures: dict[str, FigurePattern] = {}
    columns: Columns | None = None
    histogram: Histogram | None = None
    progress: list[Progress] = []


# -- how it is run ----------------------------------------------------------------------------------------------------


class Step(Strict):
    """A command on a client host, before loads; its answer must match `pattern`."""

    command: list[Word] = Field(min_length=1)
    pattern: Pattern = ""


class Ask(Strict):
    """A number that a server tells: the first group of `pattern` in what a command on a client host prints.

    `absent` is what it is where nothing matches.
    """

    command: list[Word] = Field(min_length=1)
    pattern: Pattern
    absent: float | None = None


class Answer(Strict):
    """What holds after every load of these `workloads` (of all, where none is named).

    `of`, an asked number or a printed figure, `is` so much, or has grown so much since just before the load
    (`grows_by`), by up to `more` more. They are numbers, or names of figures, levels, sizes, or of what is asked.
    """

    of: str
    is_: float | str | None = Field(None, alias="is")
    grows_by: float | str | None = None
    more: float | str = 0
    workloads: list[str] = []

    @model_validator(mode="after")
    def _says_one(self) -> Self:
        if (self.is_ is None) == (self.grows_by is None):
            raise ValueError("an answer says one of `is` and `grows_by`")
        return self


class Run(Strict):
    """How the kit runs it: `program` from the Debian `package`, or from `builds` (folders of env/systems).

    `command` is that of a load, with places to be filled in: {program} {address} {port} {user} of the server,
    {workload} {threads} {time_s} {seed} of the load, {options} of the report, names of `size` (whole numbers of the
    profile) and of `levels` (those of a report, each with what it is where the report does not say), and {files}.
    Without {time_s} a load lasts as long as its requests take. {password} goes into `environment` (variables) or
    `files` (in the folder {files}) only: neither the kit's command lines nor its records have it.
    `prepare` fills a server once for a data set, `before` is done ahead of each load. `ask` and `answers`: its proof.
    `rate`: the words that offer {rate} requests a second, to a closed `loop` as a bound, to an open one by a schedule.
    """

    program: str
    package: str = ""
    builds: list[str] = []
    version: list[str] = ["--version"]
    protocols: list[str] = Field(min_length=1)
    workloads: list[str] = Field(min_length=1)
    levels: dict[str, str | int | float] = {}
    size: list[str] = []
    options: list[str] = []
    loop: Literal["closed", "open"] = "closed"
    rate: list[Word] = []
    database: str = ""
    environment: dict[str, str] = {}
    files: dict[str, str] = {}
    command: list[Word] = Field(min_length=1)
    prepare: list[Step] = []
    before: list[Step] = []
    ask: dict[str, Ask] = {}
    answers: list[Answer] = []

    @model_validator(mode="after")
    def _names_what_there_is(self) -> Self:
        of_server = {*_OF_SERVER, *self.size}
        of_load = {*of_server, *_OF_LOAD, *self.levels}
        for step in self.prepare:
            _check_places("prepare", [*step.command, step.pattern], of_server)
        steps: list[Step | Ask] = [*self.before, *self.ask.values()]
        asked = [[*each.command, each.pattern] for each in steps]
        _check_places("before and ask", [word for words in asked for word in words], of_load - {"options"})
        _check_places("command", self.command, of_load)
        _check_places("rate", self.rate, {"rate"})
        _check_places("environment and files", [*self.environment.values(), *self.files.values()],
                      {*of_server, "password"})  # fmt: skip
        if unknown := {name for each in self.answers for name in each.workloads} - {*self.workloads}:
            raise ValueError(f"answers: `workloads` has no {min(unknown)}")
        if grown := {each.of for each in self.answers if each.grows_by is not None} - {*self.ask}:
            raise ValueError(f"answers: {min(grown)} is to grow, and `ask` does not ask it")
        if self.loop == "open" and not self.rate:
            raise ValueError("an open loop needs the words of its `rate`")
        return self

    @property
    def timed(self) -> bool:
        return "time_s" in places(self.command)


def places(words: Collection[str]) -> set[str]:
    """Return the names of the places in these words."""
    return {name for word in words for name in _PLACE.findall(word)}


def filled(word: str, values: Mapping[str, object], *, as_pattern: bool = False) -> str:
    """Return a word with its places filled in; in a pattern values stand for themselves."""
    said = {name: re.escape(str(value)) if as_pattern else str(value) for name, value in values.items()}
    return _PLACE.sub(lambda place: said[place[1]], word)


def _check_places(where: str, words: Collection[str], known: set[str]) -> None:
    if unknown := sorted(places(words) - known):
        there_is = ", ".join(sorted(known))
        if unknown[0] == "password":
            there_is = "the password, in `environment` and `files` alone"
        raise ValueError(f"{where}: {{{unknown[0]}}} is not known here; there is {there_is}")


class Program(Strict):
    """All of a file: a load generator, the forms of its output and, if the kit runs it, how.

    `not_read` are other files that it writes, by what they are called: the pattern is that of their first lines.
    """

    title: str
    forms: list[Form] = Field(min_length=1)
    not_read: dict[str, Pattern] = {}
    run: Run | None = None


def programs() -> dict[str, Program]:
    """Return the load generators that have a file, by its name; one of the project goes before the kit's own."""
    own: list[Path] = []
    with suppress(BadInput):  # outputs can be read outside of any project
        own = sorted((paths.env_dir() / "workloads").glob("*.yaml"))
    return _programs(*((path, path.stat().st_mtime_ns) for path in own))


@cache
def _programs(*own: tuple[Path, int]) -> dict[str, Program]:
    files = [*sorted(OUTPUTS.glob("*.yaml")), *(path for path, _ in own)]
    return {path.stem: load_model(Program, path) for path in files}


# -- how it is read ---------------------------------------------------------------------------------------------------


def reports_in(form: Form, text: str) -> list[tuple[str, str, str]]:
    """Return what stands before each run, its report, and what all of them share."""
    begins = list(re.finditer(form.begins, text, re.MULTILINE))
    before, head, found = 0, text[: begins[0].start()] if form.shared_head else "", []
    for match, following in zip(begins, [*begins[1:], None], strict=True):
        until = match.end() if form.itself else following.start() if following else len(text)
        ends = list(re.finditer(form.ends, text[match.start() : until], re.MULTILINE)) if form.ends else []
        end = match.start() + ends[-1].end() if ends else until
        if form.new_head and re.search(form.new_head, text[before : match.start()], re.MULTILINE):
            head = text[before : match.start()]
        found.append((text[before : match.start()], text[match.start() : end], head))
        before = end
    return found


class Match(NamedTuple):
    """A figure in a report: where its number stands, that number, and the words beside it by the names of groups."""

    at: int
    text: str
    said: dict[str, str | None]


def matches(figure: FigurePattern, report: str) -> Iterator[Match]:
    """Yield a figure wherever a report prints it, by the first of its patterns that is in each part."""
    within = re.finditer(figure.within, report, re.MULTILINE) if figure.within else [re.match(r"(?s).*", report)]
    for part in filter(None, within):
        for pattern in figure.pattern:
            found = list(re.finditer(pattern, part[0], re.MULTILINE))
            for match in found:
                said = {**part.groupdict(), **match.groupdict()}
                group = "value" if said.get("value") else 1
                yield Match(part.start() + match.start(group), match[group], said)
            if found:
                break
