"""The error for a login that a server denies."""

from __future__ import annotations

from benchbook.errors import HostUnusable
from benchbook.hosts.endpoint import Endpoint


def wrong_password(file: object, key: str, endpoint: Endpoint) -> HostUnusable:
    """The error for a login that the server denies."""
    return HostUnusable(
        f"the database at {endpoint} refuses the login",
        file=file,
        key=f"{key}.user",
        value=endpoint.user,
        fix="correct the password in the environment variable or file that password_env / password_file names",
    )
