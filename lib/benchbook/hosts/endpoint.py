"""Where a server listens, how to log in and what it speaks: what systems, probes and load generators pass around."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Endpoint:
    """A listening server. The password is never part of a representation or a record.

    `protocol` is the name that load generators and probes know it by: "mysql", "pgsql", or one of your own.
    """

    address: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    tls: bool = False
    protocol: str = "mysql"

    def __str__(self) -> str:
        return f"{self.address}:{self.port}"
