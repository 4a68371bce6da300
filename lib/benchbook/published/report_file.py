"""The shapes of the two files that describe a published report: `report.yaml` and `datapackage.json`.

Both refuse keys that they do not know, so that a misspelt one is an error and never a silently missing fact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, model_validator

from benchbook.errors import BadInput
from benchbook.published.declarations import (
    Buckets,
    Companion,
    Constant,
    Earliest,
    Identity,
    OldOption,
    Scalar,
    Text,
    Trend,
)
from benchbook.user_input import user_file
from benchbook.user_input.bounds import matching
from benchbook.user_input.choices import one_of
from benchbook.user_input.strict_yaml import json_text
from benchbook.user_input.yaml_file import Strict

Role = Literal["level", "metric", "note"]
# Tables, columns and factors name files, rows and figures.
Id = Annotated[str, Field(max_length=80), matching(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", "a name of letters, digits and _.-")]
Tally = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]
# Below the report's own folder.
Csv = Annotated[
    str,
    Field(max_length=200),
    matching(
        r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*",
        "a path below this folder, of letters, digits and _.-",
    ),
]


class Document(Strict):
    """Which document the numbers come from; `url` is where it can be read, empty where nobody knows."""

    file: str
    product: str
    version: str
    url: Annotated[str, Field(max_length=500), matching(r"(https://\S+)?", "an address that begins with https://")] = ""


class SystemFact(Strict):
    """A system under test or a load generator, as published; `version` is None where none is printed.

    For the audit: `earliest` is the first version that can have been meant, `old_options` what its commands replaced.
    """

    name: str
    version: str | None = None
    nodes: Tally = 1
    note: str | None = None
    earliest: Earliest | None = None
    old_options: list[OldOption] = []


class HostFact(Strict):
    """A published host, or `count` equal ones: its address or a name for it, its hardware, and what ran there.

    `runs` has a load generator by the name that `load` of the design has: whose host runs nothing else did not serve.
    """

    name: str | None = None
    address: str | None = None
    count: Tally = 1
    hardware: str | None = None
    cpu: str | None = None
    memory: str | None = None
    disk: str | None = None
    network: str | None = None
    os: str | None = None
    kernel: str | None = None
    filesystem: str | None = None
    runs: list[str]
    note: str | None = None

    @model_validator(mode="after")
    def _called_something(self) -> HostFact:
        if self.name is None and self.address is None:
            raise ValueError("a host needs a name or an address")
        return self


class EnvironmentFact(Strict):
    """One published setting of the environment."""

    what: str
    published: str


class TextFact(Strict):
    """A fact in prose or in a command: the words, where they stand, the numbers in them, the tables they are about.

    `tables: [all]` means every table. `unchecked` lists the values that are no column of these tables, on purpose; any
    other is taken for a slip.
    """

    id: str
    where: str
    printed: str
    values: dict[str, Scalar | list[Scalar]] = {}
    tables: list[str] = []
    unchecked: list[str] = []
    note: str | None = None


class TableDesign(Strict):
    """How the rows of one table were measured: the workload, what was held fixed, the command's options.

    Each row of the table is one load. `load` names the load generator that runs it. Where `table` is left out, it is
    the table of the same name; `workload` and `fixed` that are left out are what that table says.
    """

    name: Text
    table: Id = ""
    workload: Text = ""
    load: Text = "sysbench"
    fixed: dict[Id, Scalar] = {}
    options: list[Text] = []
    note: str | None = None


class Report(Strict):
    """All of `report.yaml`; `identities` hold between numbers of the text facts, named `fact.value`.

    Designs that name no `options` have these.

    `restaged_by` names the kind of experiment that runs it; None: so far nothing does. `units` are those of its columns
    that the kit does not know, as USD or J.
    """

    name: str
    title: str
    restaged_by: str | None = None
    document: Document
    published: str
    language: str
    systems: list[SystemFact]
    hosts: list[HostFact]
    environment: list[EnvironmentFact]
    text_facts: list[TextFact]
    options: list[Text] = []
    units: list[Text] = []
    design: list[TableDesign]
    identities: list[Identity] = []

    def fact(self, id: str) -> TextFact:
        """Return the text fact of this id. Raise BadInput, listing the known ids."""
        one_of(id, [fact.id for fact in self.text_facts], "text fact", problem="unknown text fact", key=self.name)
        return next(fact for fact in self.text_facts if fact.id == id)


class Constraints(Strict):
    """The part of Frictionless' field constraints that published tables use."""

    required: StrictBool = False
    minimum: Annotated[float, Field(allow_inf_nan=False)] | None = None
    maximum: Annotated[float, Field(allow_inf_nan=False)] | None = None


class FieldMeta(Strict):
    """One column: `unit` is "1" for a plain count and empty for text; `heading` is the report's own heading.

    For the audit: `applies_to` are the rows in which a level can be printed at all, `uniform` means that a text says
    the same in every row, `statements` is how many statements one counted transaction holds.
    """

    name: Id
    type: Literal["string", "integer", "number"]
    title: str = ""
    unit: str
    role: Role
    heading: str | None = None
    description: str | None = None
    constraints: Constraints = Constraints()
    applies_to: dict[str, list[Scalar]] = {}
    uniform: StrictBool = False
    statements: Tally | None = None

    @model_validator(mode="after")
    def _number_with_unit(self) -> FieldMeta:
        if self.type != "string" and not self.unit:
            raise ValueError('a number has a unit: write it, or "1" for a plain count or ratio')
        return self


class SchemaMeta(Strict):
    """A Frictionless table schema."""

    fields: list[FieldMeta] = Field(min_length=1)
    primary_key: list[str] = Field(alias="primaryKey", min_length=1)
    missing_values: list[str] = Field(alias="missingValues", default=[""])

    @model_validator(mode="after")
    def _each_once(self) -> SchemaMeta:
        _once((field.name for field in self.fields), "two columns have the name")
        return self


class ResourceMeta(Strict):
    """One table: its file, its heading in the report, the levels that are constant over it.

    What its rows must fulfil follows in `identities`, `constants`, `trends`, `companions` and `buckets`; `restates`
    names the tables whose points it prints again.
    """

    name: Id
    type: Literal["table"] = "table"
    path: Csv = ""
    format: Literal["csv"] = "csv"
    mediatype: str = "text/csv"
    encoding: Literal["utf-8"] = "utf-8"
    title: str
    description: str | None = None
    where: str
    fixed: dict[str, Scalar] = {}
    identities: list[Identity] = []
    constants: list[Constant] = []
    trends: list[Trend] = []
    companions: list[Companion] = []
    buckets: list[Buckets] = []
    restates: list[str] = []
    table_schema: SchemaMeta = Field(alias="schema")


class PackageMeta(Strict):
    """All of `datapackage.json`; what `defaults` held of every table has gone into the tables."""

    name: str
    title: str
    description: str | None = None
    sources: list[dict[str, str]] = []
    resources: list[ResourceMeta] = Field(min_length=1)

    @model_validator(mode="after")
    def _each_once(self) -> PackageMeta:
        _once((resource.name for resource in self.resources), "two tables have the name")
        return self


def _once(names: Iterable[str], problem: str) -> None:
    """Raise ValueError: the second would silently take the place of the first."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{problem} {twice[0]}")


def package_json(path: Path) -> dict[str, Any]:
    """Return a `datapackage.json` with its `defaults` in each table that does not say otherwise. Raise BadInput.

    Of `fixed`, a table's own entries are laid over those of all; a table without a `path` is in NAME.csv.
    """
    held = json_text(user_file.text(path), path)
    if not isinstance(held, dict):
        raise BadInput("expected an object", file=path, key="top level", value=held, fix='write {"name": ...}')
    defaults, tables = held.pop("defaults", {}), held.get("resources")
    if not isinstance(defaults, dict):
        fix = 'write {"fixed": {...}, "schema": {...}}: what every table has'
        raise BadInput("expected an object", file=path, key="defaults", value=defaults, fix=fix)
    if isinstance(tables, list) and all(isinstance(table, dict) for table in tables):
        held["resources"] = [_with_defaults(table, defaults) for table in tables]
    return held


def _with_defaults(table: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    common, own = defaults.get("fixed", {}), table.get("fixed", {})
    fixed = own if isinstance(common, dict) else common
    if isinstance(common, dict) and isinstance(own, dict):
        fixed = {**common, **own}
    path = {"path": f"{table['name']}.csv"} if isinstance(table.get("name"), str) else {}
    return {**path, **defaults, **table, **({"fixed": fixed} if fixed else {})}
