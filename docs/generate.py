"""Writes docs/reference/*.md from the code: models of files, the command line, frames. `conf.py` runs it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer
from pydantic import BaseModel
from typer.cli import get_docs_for_click

import benchbook
from benchbook import plots, plugins, report
from benchbook.analysis.schema import SCHEMAS
from benchbook.batch.plan import BatchPlan
from benchbook.claims.figures import Figure
from benchbook.claims.hypothesis import Hypothesis
from benchbook.cli import app
from benchbook.hosts.inventory import Inventory
from benchbook.profiles import Profile
from benchbook.published.report_file import PackageMeta, Report
from benchbook.systems.base import System
from benchbook.workloads.base import LoadGenerator

# File, title, what it is, and the model that reads it.
FILES: Mapping[str, tuple[str, str, type[BaseModel]]] = {
    "inventory": ("Inventory", "`env/hosts/NAME.yaml`: hosts, how they are reached, what runs on them.", Inventory),
    "profile": ("Profile", "`env/profiles/NAME.yaml`: how big, how long, how often.", Profile),
    "report-yaml": (
        "report.yaml",
        "`data/published/REPORT/report.yaml`: what a report says beside its tables.",
        Report,
    ),
    "datapackage": (
        "datapackage.json",
        "`data/published/REPORT/datapackage.json`: columns, units, levels.",
        PackageMeta,
    ),
    "plan-yaml": ("Plan of a batch", "The file that `benchbook batch` runs.", BatchPlan),
}


def pages() -> dict[str, str]:
    """Return each generated page by its file name."""
    made = {f"{name}.md": _of_files(*said) for name, said in FILES.items()}
    made |= {f"{name}.md": _of_code(*said) for name, said in CODE.items()}
    page = (Path(benchbook.__file__).parent / "site" / "templates" / "glossary.html.j2").read_text()
    made["glossary.md"] = "# Glossary\n\n" + page[page.index("<dl") : page.index("</main>")]
    made["claims-yaml.md"] = _claims()
    made["parameters.md"] = _parameters()
    made["command-line.md"] = _command_line()
    made["frames.md"] = "# Frames\n\nWhat each holds; [how to use them](../frames.md).\n\n" + "\n".join(
        schema.markdown() for schema in SCHEMAS
    )
    return made


# File, title, what it is, and what a notebook or a package of yours calls or writes.
CODE: Mapping[str, tuple[str, str, Any]] = {
    "python": ("Python", "`import benchbook`: campaigns, their frames, what is computed from them.", benchbook),
    "report-object": ("A report in a notebook", "What `benchbook.open_campaign` returns.", report.Report),
    "plots": ("Figures", "`from benchbook import plots`: each takes a frame.", plots),
    "system": ("System", "The base class of a system; [how to bring one](../extending.md#a-system).", System),
    "load-generator": (
        "Load generator",
        "The base class of a load generator; [how to bring one](../extending.md#a-load-generator).",
        LoadGenerator,
    ),
    "hypothesis": (
        "Hypothesis",
        "The base class of a kind of claim; [how to bring one](../extending-hypothesis.md).",
        Hypothesis,
    ),
}


def write(folder: Path) -> None:
    """Write the pages that have changed: Sphinx reads no other again."""
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        file = folder / name
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def _of_files(title: str, about: str, model: type[BaseModel]) -> str:
    return f"# {title}\n\n{about}\n\n" + "\n".join(_sections(model))


def _sections(model: type[BaseModel], level: str = "##") -> Iterator[str]:
    schema = model.model_json_schema(ref_template="{model}")
    for name, each in {model.__name__: schema, **schema.get("$defs", {})}.items():
        if "properties" in each:
            yield f"{level} {name}\n\n{_prose(each.get('description', ''))}\n\n{_table(each)}"


def _table(schema: Mapping[str, Any]) -> str:
    rows = ["| key | what may stand there | default |", "|---|---|---|"]
    for key, each in schema["properties"].items():
        if key == "file":
            continue
        # What a part holds by itself stands in its own table.
        by_itself = each.get("default", "")
        shown = "" if isinstance(by_itself, dict) or by_itself in ("", None, []) else f"`{by_itself}`"
        default = "**needed**" if key in schema.get("required", ()) else shown
        said = ". ".join(filter(None, [_type(each), each.get("description", "")]))
        rows.append(f"| `{key}` | {said} | {default} |".replace("\n", " "))
    return "\n".join(rows) + "\n"


_WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "nothing",
}
_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def _type(schema: Mapping[str, Any]) -> str:
    """Return a type of JSON Schema in words."""
    if "$ref" in schema:
        return f"[{schema['$ref']}](#{schema['$ref'].lower()})"
    if several := schema.get("anyOf", schema.get("allOf")):
        return " or ".join(dict.fromkeys(_type(each) for each in several if each.get("type") != "null"))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}" if schema.get("items") else "list"
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        return f"names, each with {_type(inner)}" if isinstance(inner, Mapping) and inner else "keys and values"
    bounds = [f"{sign} {schema[key]:,}" for key, sign in _BOUNDS.items() if key in schema]
    return " ".join([_WORDS.get(str(schema.get("type")), "anything"), *bounds])


def _of_code(title: str, about: str, of: Any) -> str:
    text = f"# {title}\n\n{about}\n\n" + (_prose(of.__doc__ or "") + "\n\n" if inspect.isclass(of) else "")
    # Of a class, what it brings itself or takes from ours and not from pydantic; first what must be written.
    members = {name: getattr(each, "fget", each) for name, each in inspect.getmembers(of) if not name.startswith("_")}
    ours = [name for name, each in members.items() if str(getattr(each, "__module__", "")).startswith("benchbook")]
    for name in getattr(of, "__all__", sorted(ours, key=lambda name: name not in _to_write(of))):
        each = members[name]
        called = f"{name}{inspect.signature(each)}".replace("'", "") if callable(each) else name
        text += f"## {name}\n\n```python\n{called}\n```\n\n{_prose(inspect.getdoc(each) or '')}\n\n"
        text += "A class of yours has to say this.\n\n" if name in _to_write(of) else ""
    return text


def _to_write(of: Any) -> frozenset[str]:
    return getattr(of, "__abstractmethods__", frozenset())


def _prose(docstring: str) -> str:
    """Return a docstring as Markdown: NumPy's underlined sections would be headings."""
    return re.sub(r"^(\w[\w ]*)\n-{3,}$", r"**\1**\n", inspect.cleandoc(docstring), flags=re.MULTILINE)


def _claims() -> str:
    text = "# claims.yaml\n\n`data/published/REPORT/claims.yaml`: what a report claims, as hypotheses.\n\n"
    text += "Its keys: `report`, `alpha` (0.05) and `claims`, a list. `hypothesis` of each claim chooses its kind:\n\n"
    for name in plugins.names("hypotheses"):
        schema = plugins.find("hypotheses", name, key=name).model_json_schema(ref_template="{model}")
        text += f"## {name}\n\n{_prose(schema.get('description', ''))}\n\n{_table(schema)}\n"
    return text + "\n".join(_sections(Figure))


def _parameters() -> str:
    text = (
        "# Parameters of a report's notebook\n\n`-p NAME=VALUE` of `benchbook report` and of papermill sets them.\n\n"
    )
    for name in plugins.names("kinds"):
        model = plugins.find("kinds", name, key=name).Parameters
        schema = model.model_json_schema(ref_template="{model}")
        text += f"## {name}\n\nReports with `restaged_by: {name}`. {_prose(model.__doc__ or '')}\n\n{_table(schema)}\n"
    return text


def _command_line() -> str:
    command = typer.main.get_command(app)
    return get_docs_for_click(obj=command, ctx=typer.Context(command), name="benchbook", title="Command line")
