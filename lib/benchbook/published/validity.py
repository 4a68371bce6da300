"""Checks the declarations of an audit when a report is loaded: they name what exists, and calculate with numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchbook.documents.units import is_time
from benchbook.errors import BadInput
from benchbook.published.arithmetic import aggregates, of_the_table
from benchbook.published.declarations import Buckets, Companion, Constant, Identity, Trend
from benchbook.published.reading import known, names_in
from benchbook.published.report_file import PackageMeta, Report, ResourceMeta


def check_declarations(package: PackageMeta, report: Report, folder: Path) -> None:
    """Every expression is arithmetic over numbers that exist; every name is known. Raise BadInput naming the file."""
    tables, facts = folder / "datapackage.json", _fact_numbers(report)
    for resource in package.resources:
        _expressions(resource, facts, tables)
        _columns(resource, tables)
        _fields(resource, tables)
        _restates(resource, package, tables)
        _unique(_ids(resource), resource.name, tables)
    _unique([identity.id for identity in report.identities], "identities", folder / "report.yaml")
    for identity in report.identities:
        _identity(identity, facts, [], f"identities.{identity.id}", folder / "report.yaml")
        for name in identity.rows:
            known(name, [], "an identity of the text has no rows", f"identities.{identity.id}", folder / "report.yaml")


def _fact_numbers(report: Report) -> list[str]:
    return [
        f"{fact.id}.{name}"
        for fact in report.text_facts
        for name, value in fact.values.items()
        if isinstance(value, int | float)
    ]


def _ids(resource: ResourceMeta) -> list[str]:
    checks: list[Identity | Constant | Trend | Companion | Buckets]
    checks = [*resource.identities, *resource.constants, *resource.trends, *resource.companions, *resource.buckets]
    return [check.id for check in checks]


def _expressions(resource: ResourceMeta, facts: list[str], path: Path) -> None:
    columns = [field.name for field in resource.table_schema.fields]
    text = [field.name for field in resource.table_schema.fields if field.type == "string"]
    text += [name for name, value in resource.fixed.items() if isinstance(value, str)]
    numbers = [name for name in [*columns, *resource.fixed] if name not in text]
    levels = [field.name for field in resource.table_schema.fields if field.role == "level"]
    settings = [*levels, *resource.fixed]
    for identity in resource.identities:
        key = f"{resource.name}.{identity.id}"
        _identity(identity, [*numbers, *facts], settings, key, path)
        _whole(identity, columns, key, path)
        for name in identity.rows:
            known(name, settings, "an identity is limited to rows by an unknown level", key, path)
    for constant in resource.constants:
        _names(constant.expression, [*numbers, *facts], settings, f"{resource.name}.{constant.id}", path)


def _identity(identity: Identity, numbers: list[str], levels: list[str], key: str, path: Path) -> None:
    for side in (identity.left, identity.right):
        _names(side, numbers, levels, key, path)
    if identity.tolerance and identity.relation != "=":
        fix = 'use "=", or put the room into one side'
        raise BadInput("a tolerance belongs to an equality", file=path, key=key, value=identity.relation, fix=fix)


def _names(expression: str, numbers: list[str], levels: list[str], key: str, path: Path) -> None:
    """`levels` are those that a function over rows can name; none in the text, which has no rows."""
    found = names_in(expression, path, key)
    over_rows = aggregates(expression)
    if over_rows and not levels:
        fix = "declare it in a table of datapackage.json"
        raise BadInput("only a table has rows to go over", file=path, key=key, value=over_rows[0].text, fix=fix)
    own = [name for name in found if name not in {one.text for one in over_rows}]
    for name in [*own, *(name for one in over_rows for name in names_in(one.inner, path, key))]:
        known(name, numbers, "an identity uses an unknown name, or one that is no number", key, path)
    for condition in (condition for one in over_rows for condition in one.conditions):
        known(condition.level, levels, "a function over rows names no level", key, path)


def _whole(identity: Identity, columns: list[str], key: str, path: Path) -> None:
    """Where nothing differs between rows the identity is about the table, and `rows` would limit nothing."""
    if identity.rows and of_the_table((identity.left, identity.right), columns):
        fix = "write the condition into the function: sum(part, host == 'a')"
        raise BadInput(
            "`rows` has no effect here: every number is over rows", file=path, key=key, value=identity.rows, fix=fix
        )


def _columns(resource: ResourceMeta, path: Path) -> None:
    fields = resource.table_schema.fields
    metrics = [field.name for field in fields if field.role == "metric"]
    levels = [field.name for field in fields if field.role == "level" and field.type != "string"]
    for trend in resource.trends:
        key = f"{resource.name}.{trend.id}"
        known(trend.metric, metrics, "a trend is not that of a metric", key, path)
        for level in trend.over:
            known(level, levels, "a trend runs over levels that are numbers", key, path)
    for companion in resource.companions:
        for metric in (companion.metric, companion.beside):
            known(metric, metrics, "a companion is no metric", f"{resource.name}.{companion.id}", path)
    times = [field.name for field in fields if field.role == "metric" and is_time(field.unit)]
    settings = [*(field.name for field in fields if field.role == "level"), *resource.fixed]
    for buckets in resource.buckets:
        key = f"{resource.name}.{buckets.id}"
        known(buckets.metric, times, "a histogram is not of a metric that is a time", key, path)
        for name in buckets.rows:
            known(name, settings, "buckets are limited to rows by an unknown level", key, path)


def _fields(resource: ResourceMeta, path: Path) -> None:
    names = [field.name for field in resource.table_schema.fields]
    for field in resource.table_schema.fields:
        key = f"{resource.name}.{field.name}"
        for name in field.applies_to:
            known(name, names, "`applies_to` names no column", key, path)
        if field.uniform and field.type != "string":
            raise BadInput("only text can be uniform", file=path, key=key, value=field.type, fix="declare a constant")
        if field.statements and field.role != "metric":
            fix = "move `statements` to the metric that counts transactions"
            raise BadInput("only a metric counts statements", file=path, key=key, value=field.role, fix=fix)


def _restates(resource: ResourceMeta, package: PackageMeta, path: Path) -> None:
    others = {other.name: other for other in package.resources if other is not resource}
    for name in resource.restates:
        known(name, list(others), "a table restates an unknown one", f"{resource.name}.restates", path)


def _unique(ids: Iterable[str], key: str, path: Path) -> None:
    for id, count in Counter(ids).items():
        if count > 1:
            raise BadInput("two checks of one name", file=path, key=key, value=id, fix="give each an id of its own")
