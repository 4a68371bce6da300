"""The measured tables of a campaign as a Frictionless data package: CSV with units, beside what was published.

    measured.zip
        datapackage.json    columns with their units, which report, which hosts and systems, which checkout made it
        TABLE.csv           a row per cell and system: levels, what was run for those that were scaled, and of each
                            metric mean, interval, n and published value

Format: https://datapackage.org; the published tables in data/published are packages of the same kind.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from benchbook.analysis.results import Results, Row, Table
from benchbook.campaign.origin import Origin, of_this_checkout
from benchbook.given.whole_file import replace_bytes
from benchbook.site.downloads import Download
from benchbook.site.first_screen import headline

NAME = "measured.zip"
_WHAT = "measured tables beside the published ones, a data package"
# What stands of each metric, by the end of its column's name.
_PARTS = {
    "": "mean over repetitions",
    "_low": "lower end of the 95% Student interval of the mean; the page shows 0 for one below 0",
    "_high": "upper end of the 95% Student interval of the mean",
    "_n": "repetitions",
    "_published": "as published",
}
_COUNT, _RUN = "_n", "_run"
_LICENCE = {"name": "Apache-2.0", "path": "https://www.apache.org/licenses/LICENSE-2.0"}
# A zip holds local times without a zone: one and the same, so that the same tables are the same file.
_MOMENT = (1980, 1, 1, 0, 0, 0)

Field = dict[str, str]
Line = dict[str, object]
# Level -> published one, as text -> what was run for it.
Scaled = Mapping[str, Mapping[str, int]]


def write(found: Results, folder: Path) -> None:
    """Put the package into the folder of a page; a run that measured nothing has none. Raises NotWritten."""
    tables = [table for table in found.tables if any(row.measured for row in table.rows)]
    if tables:
        replace_bytes(folder / NAME, package(found, tables, of_this_checkout()))
    else:
        # What an earlier page had.
        (folder / NAME).unlink(missing_ok=True)


def there(folder: Path) -> list[Download]:
    """The package among the downloads of a page, if it has one."""
    file = folder / NAME
    return [Download(NAME, _WHAT, file.stat().st_size)] if file.is_file() else []


def package(found: Results, tables: Iterable[Table], made_by: Origin) -> bytes:
    """The zip file: every table as CSV, and the descriptor that says what its columns are."""
    buffer, resources = io.BytesIO(), []
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as held:
        for table in tables:
            scaled = found.setting.scaled.get(table.id, {})
            content = frame(table, scaled).to_csv(index=False, lineterminator="\n").encode()
            resource = _resource(table, content, scaled)
            held.writestr(zipfile.ZipInfo(str(resource["path"]), _MOMENT), content, zipfile.ZIP_DEFLATED)
            resources.append(resource)
        text = json.dumps({**_about(found, made_by), "resources": resources}, indent=2, ensure_ascii=False)
        held.writestr(zipfile.ZipInfo("datapackage.json", _MOMENT), text.encode(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def frame(table: Table, scaled: Scaled) -> pd.DataFrame:
    """A row per cell and system: its levels, then for each metric the columns `metric`, `metric_low`, ...

    A metric that is called like a level ends in `_measured`. A level is the published one; `<level>_run` is what was
    run for it, where levels were scaled.
    """
    lines: dict[str, Line] = {}
    for row in table.rows:
        levels = row.model_extra or {}
        key = json.dumps(levels, sort_keys=True, default=str)
        lines.setdefault(key, {**levels, **_run(levels, scaled)}).update(_figures(row))
    # The columns say which type they are: a level that some lines lack must stay a whole number.
    names = [field["name"] for field in fields(table, scaled)]
    return pd.DataFrame(list(lines.values())).reindex(columns=names).convert_dtypes()


def _run(levels: Line, scaled: Scaled) -> Line:
    known = {name: here for name, here in scaled.items() if name in levels}
    return {f"{name}{_RUN}": here.get(str(levels[name]), levels[name]) for name, here in known.items()}


def _figures(row: Row) -> Line:
    found = row.measured
    values = (found.value, found.low, found.high, found.n) if found else (None,) * 4
    return dict(zip(_columns(row), (*values, row.published), strict=True))


def _columns(row: Row) -> list[str]:
    name = f"{row.metric}_measured" if row.metric in (row.model_extra or {}) else row.metric
    return [f"{name}{part}" for part in _PARTS]


def fields(table: Table, scaled: Scaled) -> list[Field]:
    """Name, type, unit and meaning of every column: the levels, then the metrics, both as they come in the table."""
    levels = {name: None for row in table.rows for name in row.model_extra or {}}
    typed = [
        {"name": n, "type": _type_of(table.rows, n), "title": "system" if n == "system" else f"level {n}"}
        for n in levels
    ]
    run = [
        {"name": f"{n}{_RUN}", "type": "integer", "title": f"level {n}: what was run for the published one"}
        for n in levels
        if n in scaled
    ]
    metrics = {row.metric: _metric_fields(row) for row in reversed(table.rows)}
    order = dict.fromkeys(row.metric for row in table.rows)
    return [*typed, *run, *(field for metric in order for field in metrics[metric])]


def _metric_fields(row: Row) -> list[Field]:
    return [
        {
            "name": name,
            "type": "integer" if part == _COUNT else "number",
            "title": f"{row.metric}: {meaning}",
            "unit": "1" if part == _COUNT else row.unit or "",
        }
        for name, (part, meaning) in zip(_columns(row), _PARTS.items(), strict=True)
    ]


def _type_of(rows: Sequence[Row], level: str) -> str:
    values = [value for row in rows if (value := (row.model_extra or {}).get(level)) is not None]
    if all(isinstance(value, bool) for value in values):
        return "boolean" if values else "string"
    if all(isinstance(value, int) for value in values):
        return "integer"
    return "number" if all(isinstance(value, int | float) for value in values) else "string"


def _resource(table: Table, content: bytes, scaled: Scaled) -> Mapping[str, object]:
    return {
        "name": _plain(table.id),
        "type": "table",
        "title": table.title or table.id,
        "path": f"{_plain(table.id)}.csv",
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "bytes": len(content),
        "hash": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "schema": {"fields": fields(table, scaled), "missingValues": [""]},
    }


def _about(found: Results, made_by: Origin) -> Mapping[str, object]:
    """Where the numbers come from: the report, the run, its systems and hosts, and what made the package."""
    setting = found.setting
    source = {"title": found.title, **({"path": setting.published_url} if setting.published_url else {})}
    return {
        "name": _plain(f"{found.report}-{found.campaign}"),
        "title": f"{found.title}: measured",
        "description": headline(found),
        "created": (found.finished or found.started).isoformat(),
        "licenses": [_LICENCE],
        "sources": [source],
        # Words of our own stand below one: `profile`, for example, is a word of Frictionless itself.
        "run": {
            **found.model_dump(mode="json", include={"campaign", "profile", "inventory", "systems", "trials"}),
            "hosts": setting.hosts,
            "load": setting.load,
            "measured_by": [f"Benchbook {kit}" for kit in setting.measured_by],
        },
        "made_by": {"name": "Benchbook", "version": made_by.version, "commit": made_by.commit},
    }


def _plain(name: str) -> str:
    """What Frictionless takes for a name."""
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower())
