"""Files with secrets on a host, for a command that is no job: nobody else's, and gone when it has ended."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost


@contextmanager
def secret_files(host: RemoteHost, files: Mapping[str, str]) -> Iterator[str]:
    """The path of a new folder with these files (name -> content), mode 0600, for as long as the block runs.

    It lies where jobs have theirs: what a driver that was killed has left, the next session removes.
    """
    jobs = host.path("jobs")
    folder = f"{jobs}/secrets-{uuid.uuid4().hex[:8]}"
    host.mkdir(jobs, folder)
    try:
        for name, content in files.items():
            host.write(f"{folder}/{name}", content)
        yield folder
    finally:
        host.run(["rm", "-rf", "--", folder])
