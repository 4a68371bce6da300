"""A Jupyter notebook, read from its file, or refused as none."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbformat import NotebookNode

from benchbook.errors import BadInput, one_line
from benchbook.user_input import user_file

# A notebook holds its plots.
MOST_BYTES = 100_000_000


def read(path: Path, *, fix: str) -> NotebookNode:
    """Return a notebook in format 4. Raise BadInput, with this fix, for a file that is none."""
    text = user_file.text(path, most=MOST_BYTES)
    try:
        found: NotebookNode = nbformat.reads(text, as_version=4)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError, nbformat.ValidationError) as problem:
        said = one_line(str(problem))[:200]
        raise BadInput("is not a notebook", file=path, key="the file", value=said, fix=fix) from problem
    return found
