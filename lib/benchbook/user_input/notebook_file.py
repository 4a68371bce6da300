"""A Jupyter notebook, read from its file, or refused as none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
    with refusing(path, fix=fix):
        found: NotebookNode = nbformat.reads(text, as_version=4)
    return found


@contextmanager
def refusing(path: Path, *, fix: str) -> Iterator[None]:
    """Raise BadInput, with this fix, where nbformat cannot read the file as a notebook."""
    try:
        yield
    except nbformat.ValidationError as problem:
        # nbformat names the key that is missing, and quotes nothing of the file.
        said = f"is not a notebook: {one_line(str(problem))}"
        raise BadInput(said, file=path, key="the file", fix=fix) from problem
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as problem:
        said = one_line(str(problem))[:200]
        raise BadInput("is not a notebook", file=path, key="the file", value=said, fix=fix) from problem
