"""Which checkout of the kit measured a campaign, or made a page: version, commit, and its repository's address."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from benchbook import __version__, paths

# What decides on a figure: the kit, and the reports' data. Pages that are kept in git change with every run.
_MEASURES = ("lib", "data")


@dataclass(frozen=True)
class Origin:
    """`commit` is short, and empty outside of a git checkout; `repository` is an https address, or empty.

    `changed`: of what measures, files that git keeps were edited after that commit.
    """

    version: str
    commit: str
    repository: str
    changed: bool = False

    @property
    def called(self) -> str:
        """ "0.1.0 (commit 8c1fbc89a7d2)", and whether there were changes."""
        since = ", with changes" if self.changed else ""
        return f"{self.version} (commit {self.commit}{since})" if self.commit else self.version


@cache
def of_this_checkout() -> Origin:
    """Return what git says of the project folder."""
    return Origin(
        __version__,
        _git("rev-parse", "--short=12", "HEAD"),
        address(_git("remote", "get-url", "origin")),
        changed=bool(_git("status", "--porcelain", "--untracked-files=no", "--", *_MEASURES)),
    )


def address(remote: str) -> str:
    """Return an address without login or password, or nothing: a page must not give away a path or a token."""
    parts = urlsplit(remote)
    if parts.scheme != "https" or not parts.hostname or "@" in parts.netloc:
        return ""
    return remote.removesuffix(".git")


def _git(*words: str) -> str:
    command = ["git", "--no-optional-locks", "-C", str(paths.home()), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
