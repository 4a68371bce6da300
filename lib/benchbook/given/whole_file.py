"""A file that is there whole or not at all: a reader sees the old one or the new one, never a part."""

from __future__ import annotations

import os
from pathlib import Path

from benchbook.errors import writing


def replace_text(path: Path, text: str) -> Path:
    """Put `text` at `path` in one step, in UTF-8; its folder is made where there is none. Raises NotWritten."""
    return replace_bytes(path, text.encode())


def replace_bytes(path: Path, content: bytes) -> Path:
    """The same with bytes."""
    # Another process may put its own text there at the same time.
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            partial.write_bytes(content)
            return partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
