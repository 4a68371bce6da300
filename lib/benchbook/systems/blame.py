"""Who is to be named when something fails: a server that has died, before whoever noticed it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from benchbook.errors import BadInput, BenchbookError, HostUnreachable, WorkloadFailed


class Living(Protocol):
    """A server, or several, that can be asked whether they live."""

    def check_alive(self) -> None:
        """Raises SystemFailed when a server has ended although nobody asked it to."""


@runtime_checkable
class Serving(Protocol):
    """A server, or several, that can be asked whether they serve."""

    def check_serving(self) -> None:
        """Raises SystemFailed when a server takes no connection any more, or has ended."""


@contextmanager
def blaming(*servers: Living) -> Iterator[None]:
    """What fails in the block, or does not, is the doing of a server that has died meanwhile: SystemFailed, by name."""
    try:
        yield
    except (BadInput, HostUnreachable):
        raise
    except BenchbookError as problem:
        _check(servers)
        if isinstance(problem, WorkloadFailed):
            # One that writes its crash report lives on for seconds, and serves nobody.
            for server in servers:
                if isinstance(server, Serving):
                    server.check_serving()
        raise
    _check(servers)


def _check(servers: tuple[Living, ...]) -> None:
    for server in servers:
        server.check_alive()
