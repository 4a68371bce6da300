"""Checks the declarations of an audit when a report is loaded: they name what exists, and calculate with numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchbook.documents.units import is_time
from benchbook.errors import BadInput
from benchbook.published.arithmetic import aggregates, all_names, of_the_table
from benchbook.published.declarations import Buckets, Companion, Constant, Identity, Trend
from benchbook.published.reading import known, names_in
from benchbook.published.report_file import PackageMeta, Report, ResourceMeta


def check_declarations(package: PackageMeta, report: Report, folder: Path) -> None:
    """Every expression is arithmetic over numbers that exist; every name is known. Raise BadInput naming the file."""
    path, facts = folder / "datapackage.json", _fact_numbers(report)
    for resource in package.resources:
        _expressions(resource, facts, path)
        for key, name, names, problem in _names_used(resource, package):
            known(name, names, problem, f"{resource.name}.{key}", path)
        for field in resource.table_schema.fields:
            key = f"{resource.name}.{field.name}"
            if field.uniform and field.type != "string":
                fix = "declare a constant"
                raise BadInput("only text can be uniform", file=path, key=key, value=field.type, fix=fix)
            if field.statements and field.role != "metric":
                fix = "move `statements` to the metric that counts transactions"
                raise BadInput("only a metric counts statements", file=path, key=key, value=field.role, fix=fix)
        checks: list[Identity | Constant | Trend | Companion | Buckets]
        checks = [*resource.identities, *resource.constants, *resource.trends, *resource.companions, *resource.buckets]
        _unique((one.id for one in checks), resource.name, path)
    path = folder / "report.yaml"
    _unique((one.id for one in report.identities), "identities", path)
    _unique((one.id for one in report.text_facts), "text_facts", path)
    for identity in report.identities:
        key = f"identities.{identity.id}"
        _identity(identity, facts, [], key, path)
        for name in identity.rows:
            known(name, [], "an identity of the text has no rows", key, path)


def _fact_numbers(report: Report) -> list[str]:
    return [
        f"{fact.id}.{name}"
        for fact in report.text_facts
        for name, value in fact.values.items()
        if isinstance(value, int | float)
    ]


def _expressions(resource: ResourceMeta, facts: list[str], path: Path) -> None:
    fields = resource.table_schema.fields
    numbers = [field.name for field in fields if field.type != "string"]
    numbers += [name for name, value in resource.fixed.items() if not isinstance(value, str)]
    settings = _settings(resource)
    for identity in resource.identities:
        key = f"{resource.name}.{identity.id}"
        _identity(identity, [*numbers, *facts], settings, key, path)
        # Where nothing differs between rows the identity is about the table.
        if identity.rows and of_the_table((identity.left, identity.right), [field.name for field in fields]):
            problem = "`rows` has no effect here: every number is over rows"
            fix = "write the condition into the function: sum(part, host == 'a')"
            raise BadInput(problem, file=path, key=key, value=identity.rows, fix=fix)
    for constant in resource.constants:
        _expression(constant.expression, [*numbers, *facts], settings, f"{resource.name}.{constant.id}", path)


def _settings(resource: ResourceMeta) -> list[str]:
    return [*(field.name for field in resource.table_schema.fields if field.role == "level"), *resource.fixed]


def _identity(identity: Identity, numbers: list[str], levels: list[str], key: str, path: Path) -> None:
    for side in (identity.left, identity.right):
        _expression(side, numbers, levels, key, path)
    if identity.tolerance and identity.relation != "=":
        fix = 'use "=", or put the room into one side'
        raise BadInput("a tolerance belongs to an equality", file=path, key=key, value=identity.relation, fix=fix)


def _expression(expression: str, numbers: list[str], levels: list[str], key: str, path: Path) -> None:
    """`levels` are those that a function over rows can name; none in the text, which has no rows."""
    names_in(expression, path, key)
    over_rows = aggregates(expression)
    if over_rows and not levels:
        fix = "declare it in a table of datapackage.json"
        raise BadInput("only a table has rows to go over", file=path, key=key, value=over_rows[0].text, fix=fix)
    for name in all_names(expression):
        known(name, numbers, "an identity uses an unknown name, or one that is no number", key, path)
    for condition in (condition for one in over_rows for condition in one.conditions):
        known(condition.level, levels, "a function over rows names no level", key, path)


def _names_used(resource: ResourceMeta, package: PackageMeta) -> Iterator[tuple[str, str, list[str], str]]:
    """Yield each name in a declaration: its key, the name, the names allowed there, and what is wrong with others."""
    fields, settings = resource.table_schema.fields, _settings(resource)
    columns = [field.name for field in fields]
    metrics = [field.name for field in fields if field.role == "metric"]
    times = [field.name for field in fields if field.role == "metric" and is_time(field.unit)]
    ladders = [field.name for field in fields if field.role == "level" and field.type != "string"]
    for identity in resource.identities:
        for name in identity.rows:
            yield identity.id, name, settings, "an identity is limited to rows by an unknown level"
    for trend in resource.trends:
        yield trend.id, trend.metric, metrics, "a trend needs a metric"
        for level in trend.over:
            yield trend.id, level, ladders, "a trend needs levels that are numbers"
    for companion in resource.companions:
        for metric in (companion.metric, companion.beside):
            yield companion.id, metric, metrics, "a companion must be a metric"
    for buckets in resource.buckets:
        yield buckets.id, buckets.metric, times, "a histogram needs a metric that is a time"
        for name in buckets.rows:
            yield buckets.id, name, settings, "buckets are limited to rows by an unknown level"
    for field in fields:
        for name in field.applies_to:
            yield field.name, name, columns, "`applies_to` names no column"
    others = [other.name for other in package.resources if other is not resource]
    for name in resource.restates:
        yield "restates", name, others, "a table restates an unknown one"


def _unique(ids: Iterable[str], key: str, path: Path) -> None:
    for id, count in Counter(ids).items():
        if count > 1:
            raise BadInput("two of one name", file=path, key=key, value=id, fix="give each an id of its own")
