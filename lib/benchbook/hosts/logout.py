"""Does a host end what a login leaves behind? Its systemd-logind says so, or the files that it reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

_TRUE = {"yes", "true", "1", "on", "y", "t"}
# Drop-ins of these folders replace those of the same name in the folders before them (logind.conf(5)).
_FOLDERS = ("/usr/lib", "/usr/local/lib", "/run", "/etc")


def kills_at_logout(said: Iterable[tuple[str, str]], user: str) -> bool:
    """Is what `user` leaves running ended at logout? `said`: (file, "Key=value"); from logind itself the file is "".

    Jobs are left behind by a login that ends, so they die then. Lingering does not save them: it keeps the user's own
    service manager, and not the scope of a session. root is excluded unless told otherwise. Without a word, no: so
    distributions build it.
    """
    found = {"KillUserProcesses": "no", "KillOnlyUsers": "", "KillExcludeUsers": "root"}
    for _, line in _in_force(said):
        key, _, value = line.partition("=")
        if key.strip() in found:
            found[key.strip()] = value.strip().strip('"')
    only, never = found["KillOnlyUsers"].split(), found["KillExcludeUsers"].split()
    return found["KillUserProcesses"].lower() in _TRUE and user not in never and (not only or user in only)


def _in_force(said: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Lines in the order in which they count: the main file first, then drop-ins by name, of each name the last one."""
    lines = list(said)
    drop_ins = {PurePosixPath(file).name: file for file, _ in sorted(lines, key=_rank) if _is_drop_in(file)}
    counted = {file for file, _ in lines if not _is_drop_in(file)} | set(drop_ins.values())
    return sorted((line for line in lines if line[0] in counted), key=_by_name)


def _is_drop_in(file: str) -> bool:
    return PurePosixPath(file).parent.name.endswith(".d")


def _rank(line: tuple[str, str]) -> int:
    return max((i for i, folder in enumerate(_FOLDERS) if line[0].startswith(f"{folder}/")), default=0)


def _by_name(line: tuple[str, str]) -> tuple[bool, str, int]:
    return _is_drop_in(line[0]), PurePosixPath(line[0]).name if _is_drop_in(line[0]) else "", _rank(line)
