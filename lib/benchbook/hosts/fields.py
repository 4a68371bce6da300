"""What stands in an inventory, or in a file of Ansible or TiUP that adds hosts to one: the same rules for each."""

from __future__ import annotations

import ipaddress
import posixpath
import re
from collections.abc import Sequence
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, StrictStr

from benchbook.user_input.bounds import matching

T = TypeVar("T")
# Not for the kit alone: what else lies there would be mixed with its files, and cleaned with them.
_NOT_OURS = {"~", "/", "/bin", "/boot", "/dev", "/etc", "/lib", "/proc", "/root", "/run", "/sbin", "/sys", "/usr"}


def _folder_of_its_own(path: str) -> str:
    """Raise ValueError for a folder that the kit must not have for itself."""
    plain = posixpath.normpath(path)
    plain = plain.replace("//", "/", 1) if plain.startswith("//") else plain
    if plain in _NOT_OURS or plain.startswith("..") or plain == ".":
        raise ValueError("it must be a folder for the kit alone. Fix: name one such as /srv/benchbook")
    if "$" in path or (path.startswith("~") and not path.startswith("~/")):
        raise ValueError(
            "no shell reads this path. Fix: write the whole path, or begin it with ~/ for the login's own home"
        )
    return path


def _each_once(values: Sequence[T]) -> Sequence[T]:
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"{value} stands twice. Fix: write it once")
    return values


# Of a list: that nothing stands in it twice.
ONCE = AfterValidator(_each_once)
Port = Annotated[int, Field(ge=1, le=65535, strict=True)]
Name = Annotated[
    str, Field(max_length=100), matching(r"[A-Za-z0-9][A-Za-z0-9_.-]*", "a name of letters, digits and _.-")
]
# A system, or a version of one: tidb, tidb:7.1.
SystemName = Annotated[
    str,
    Field(max_length=100),
    matching(
        r"[A-Za-z0-9][A-Za-z0-9_.-]*(:[A-Za-z0-9][A-Za-z0-9_.-]*)?",
        "the name of a system, or of a version of one, such as tidb or tidb:7.1",
    ),
]


def _of_one_host(text: str) -> str:
    # What begins with a dash would be an option to the programs that it is given to.
    known = re.fullmatch(r"[A-Za-z0-9_:][A-Za-z0-9_.:%-]*", text) and ".." not in text
    if known and (":" in text or re.fullmatch(r"[0-9]+(\.[0-9]*)+", text)):
        try:
            known = not ipaddress.ip_address(text).is_unspecified
        except ValueError:
            known = False
    if not known:
        what = "must be a host name, or the IP address of one host, without user, port or brackets"
        raise ValueError(f"{what}. Fix: write it alone, as in db1.example.com or 10.0.0.4")
    return text


# A host name or an IP address.
Address = Annotated[str, Field(max_length=253), AfterValidator(_of_one_host)]
Account = Annotated[
    str,
    Field(max_length=100),
    matching(r"[^\s\x00-\x1f\x7f-][^\x00-\x1f\x7f]*", "one line of text that does not begin with a blank or -"),
]
# The name of an environment variable.
Variable = Annotated[str, matching(r"[A-Za-z_][A-Za-z0-9_]*", "a name of letters, digits and _, such as DB_PASSWORD")]
# A key of a server's configuration file.
Setting = Annotated[
    str,
    Field(max_length=200),
    matching(
        r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", "a setting's name of letters, digits, _ and -, its parts joined by dots"
    ),
]
# A path or a program: something, on one line, that is no option.
Location = Annotated[
    str,
    Field(max_length=1000),
    matching(r"[^\x00-\x1f\x7f-][^\x00-\x1f\x7f]*", "one line of text that does not begin with -"),
]
# A folder that is the kit's alone.
OwnFolder = Annotated[Location, AfterValidator(_folder_of_its_own)]


def _filled_in(settings: dict[str, object]) -> dict[str, object]:
    for name, value in settings.items():
        # As templates of topologies have them.
        if isinstance(value, str) and re.fullmatch(r"<[^<>]+>|\{\{.*\}\}|\$\{.+\}", value.strip()):
            fix = "Fix: write the value that it stands for, or take the line out"
            raise ValueError(f"`{name}: {value.strip()}` is a placeholder. {fix}")
    return settings


# Settings of a server, as its own documentation calls them, with dots for tables.
# A list of numbers is none of texts, also where numbers are taken for texts otherwise.
Scalar = bool | int | float | str
Settings = Annotated[dict[Setting, Scalar | list[StrictStr] | list[dict[Setting, Scalar]]], AfterValidator(_filled_in)]
