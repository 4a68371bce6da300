"""Which checkout made a page: version, commit, and the repository where it says one that a browser can open."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from benchbook import __version__, paths


@dataclass(frozen=True)
class Origin:
    """`commit` is short, and empty outside of a git checkout; `repository` is an https address, or empty."""

    version: str
    commit: str
    repository: str


@cache
def of_this_checkout() -> Origin:
    """What git says of the project folder."""
    return Origin(__version__, _git("rev-parse", "--short=12", "HEAD"), address(_git("remote", "get-url", "origin")))


def address(remote: str) -> str:
    """An address without login or password, or nothing: a page must not give away a path or a token."""
    parts = urlsplit(remote)
    if parts.scheme != "https" or not parts.hostname or "@" in parts.netloc:
        return ""
    return remote.removesuffix(".git")


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(paths.home()), *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
