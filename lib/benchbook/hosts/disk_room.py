"""Whether a host's disk takes anything: what a program has not written for want of room, it often does not say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchbook.errors import TrialFailed, WorkloadFailed
from benchbook.hosts.login_shell import quote

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost

NO_SPACE, READ_ONLY = "no space", "read-only"
_SAID = {"No space left": NO_SPACE, "quota": NO_SPACE, "Read-only": READ_ONLY}
_IN_WORDS = {NO_SPACE: "no space is left on the disk of {}", READ_ONLY: "the disk of {} is read-only"}


def refused(said: str) -> str | None:
    """NO_SPACE or READ_ONLY, where that is what a program's words say of a disk; else None."""
    return next((what for words, what in _SAID.items() if words in said), None)


def lacking(host: RemoteHost, folder: str) -> str | None:
    """NO_SPACE or READ_ONLY, where a byte more in `folder` is refused so; else None."""
    file = quote([f"{folder}/room"])
    # Of a shell's own echo, some shells say "I/O error" and no more.
    return refused(host.shell(f"head -c 1 /dev/zero > {file}; rm -f -- {file}", check=False).stderr)


def in_words(host: RemoteHost) -> str | None:
    """That the disk of the kit's folder on this host takes nothing; None where it does."""
    what = lacking(host, host.root)
    return _IN_WORDS[what].format(host.name) if what else None


@contextmanager
def blaming_disks(hosts: Iterable[RemoteHost]) -> Iterator[None]:
    """What fails in the block is the doing of a disk, of one of these hosts, that takes nothing: WorkloadFailed."""
    try:
        yield
    except TrialFailed as problem:
        for host in hosts:
            if disk := in_words(host):
                raise WorkloadFailed(f"{disk}: {problem}", output=problem.output) from problem
        raise
