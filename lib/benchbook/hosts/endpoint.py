"""Where a server listens, how to log in and what it speaks: what systems, probes and load generators pass around."""

from __future__ import annotations

from dataclasses import dataclass, field


def bracketed(address: str) -> str:
    """As an address stands before a port: one of IPv6 in brackets (RFC 3986, 3.2.2)."""
    return f"[{address}]" if ":" in address else address


def at(address: str, port: object) -> str:
    """`address:port`."""
    return f"{bracketed(address)}:{port}"


@dataclass(frozen=True)
class Endpoint:
    """A listening server, or (`port` 0) a folder. The password is never part of a representation or a record.

    `protocol` is the name that load generators and probes know it by: "mysql", "pgsql", or one of your own. `tls_ca`
    holds the certificates of the authorities that may vouch for it, as text; "" stands for those that a machine trusts.
    """

    address: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    tls: bool = False
    protocol: str = "mysql"
    tls_ca: str = field(default="", repr=False)

    def __str__(self) -> str:
        return at(self.address, self.port) if self.port else self.address
