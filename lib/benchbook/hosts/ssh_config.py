"""A user's ssh_config, with the files that it includes: paramiko reads one text and passes over `Include`."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import paramiko
from paramiko.config import SSHConfig

from benchbook.errors import BadInput
from benchbook.given import user_file
from benchbook.paths import resolve

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.inventory import Inventory

# As many as OpenSSH follows.
_DEEPEST = 16


def ssh_config(inventory: Inventory, first: Sequence[str] = ()) -> SSHConfig:
    """What the inventory names as `ssh.config`, after the lines `first`; empty where it names none. Raises BadInput."""
    if inventory.ssh.config is None:
        return SSHConfig()
    file = resolve(inventory.ssh.config)
    if not user_file.is_there(file):
        raise _bad(inventory, "the ssh config is missing", file, "correct the path")
    try:
        return SSHConfig.from_file(io.StringIO("\n".join([*first, *_lines(file, "Host *", _DEEPEST)])))
    except paramiko.SSHException as problem:
        fix = f"correct it; `ssh -G -F {file} HOST` checks it"
        raise _bad(inventory, f"the ssh config cannot be read ({problem})", file, fix) from problem


def _lines(file: Path, header: str, deeper: int) -> Iterator[str]:
    """The lines of a file, those of what it includes in their place; then what stood before (`header`) goes on."""
    for line in user_file.text(file).splitlines():
        word, rest = (*re.split(r"[\s=]+", line.strip(), maxsplit=1), "")[:2]
        if word.lower() in ("host", "match"):
            header = line
        if word.lower() != "include":
            yield line
            continue
        for pattern in re.findall(r'"([^"]+)"|(\S+)', rest) if deeper else []:
            for included in _included("".join(pattern)):
                yield from _lines(included, header, deeper - 1)
        yield header


def _included(pattern: str) -> list[Path]:
    """Relative names start at ~/.ssh; those that match nothing are passed over, as OpenSSH does."""
    path = Path(pattern).expanduser()
    path = path if path.is_absolute() else Path.home() / ".ssh" / path
    return sorted(found for found in Path(path.anchor).glob(str(path.relative_to(path.anchor))) if found.is_file())


def _bad(inventory: Inventory, problem: str, file: Path, fix: str) -> BadInput:
    return BadInput(problem, file=inventory.file, key="ssh.config", value=str(file), fix=fix)
