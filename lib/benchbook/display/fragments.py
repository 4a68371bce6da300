"""Pieces of a notebook's output that are more than a table of rows, made from the templates beside this module."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from IPython.display import HTML
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchbook.display.outputs import Shown


def fragment(template: str, **values: object) -> HTML:
    """`templates/<template>.html.j2` filled in; every value is escaped."""
    return Shown(_templates().get_template(f"{template}.html.j2").render(values))


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
