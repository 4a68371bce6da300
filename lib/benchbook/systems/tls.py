"""TLS to a server of the MySQL protocol: over the SSH connection of a host, and for load generators that want files.

A server is believed that an authority of the endpoint's `tls_ca` vouches for, else one that this machine trusts; of the
latter, which vouch for anybody, only by the name that it was called.
"""

from __future__ import annotations

import io
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import paramiko
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from benchbook.errors import BadInput
from benchbook.hosts.endpoint import Endpoint

T = TypeVar("T")
_CHUNK_B = 1 << 16
# A configuration of OpenSSL with which a client proves itself by no key but one that `unshown_pair` is not of: whether
# a server asks or not, it shows no certificate (SSL_CONF_cmd(3), ClientSignatureAlgorithms).
SHOWS_NONE = """\
openssl_conf = all
[all]
ssl_conf = tls
[tls]
system_default = any
[any]
ClientSignatureAlgorithms = ed448
"""


class OverChannel(ssl.SSLContext):
    """Wraps a channel of paramiko, where Python's own wraps sockets of the operating system alone.

    `used` says whether a server has taken it up: one without TLS is never asked to.
    """

    used = False

    @classmethod
    def to(cls, endpoint: Endpoint) -> OverChannel:
        """For one connection to this server."""
        made = cls(ssl.PROTOCOL_TLS_CLIENT)
        if endpoint.tls_ca:
            # Their certificates name a database server, and rarely the address that it is called by.
            made.check_hostname = False
            made.load_verify_locations(cadata=endpoint.tls_ca)
        else:
            made.load_default_certs()
        return made

    def wrap_socket(  # type: ignore[override]
        self, sock: Any, *_: Any, server_hostname: str | None = None, **__: Any
    ) -> TlsChannel:
        """The channel `sock` with TLS over it. Raises ssl.SSLError, for a server that is not believed too."""
        self.used = True
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        shaken = TlsChannel(
            sock, self.wrap_bio(incoming, outgoing, server_hostname=server_hostname), incoming, outgoing
        )
        shaken.shake_hands()
        return shaken


class TlsChannel:
    """As much of a socket as PyMySQL asks of one."""

    def __init__(
        self, channel: paramiko.Channel, tls: ssl.SSLObject, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO
    ) -> None:
        self._channel, self._tls, self._incoming, self._outgoing = channel, tls, incoming, outgoing

    def shake_hands(self) -> None:
        self._until_done(self._tls.do_handshake)

    def settimeout(self, seconds: float | None) -> None:
        self._channel.settimeout(seconds)

    def sendall(self, data: bytes) -> None:
        self._until_done(lambda: self._tls.write(data))

    def recv_into(self, buffer: memoryview) -> int:
        """How many bytes have come; 0 at the end."""
        try:
            # With a buffer it returns how many bytes it has put there.
            return int(self._until_done(lambda: self._tls.read(len(memoryview(buffer)), buffer)))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return 0

    def makefile(self, mode: str) -> io.BufferedReader:
        """Its incoming side (`rb`) as a file."""
        return io.BufferedReader(_Incoming(self))

    def close(self) -> None:
        self._channel.close()

    def _until_done(self, step: Callable[[], T]) -> T:
        """A step of TLS takes from one buffer and leaves in another what is to travel."""
        while True:
            try:
                done = step()
            except ssl.SSLWantReadError:
                self._send()
                came = self._channel.recv(_CHUNK_B)
                self._incoming.write(came) if came else self._incoming.write_eof()
            else:
                self._send()
                return done

    def _send(self) -> None:
        if self._outgoing.pending:
            self._channel.sendall(self._outgoing.read())


class _Incoming(io.RawIOBase):
    def __init__(self, channel: TlsChannel) -> None:
        self._from = channel

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        return self._from.recv_into(buffer)


def authorities(endpoint: Endpoint) -> str:
    """The certificates of those who may vouch for this server, as text. Raises BadInput where none are known."""
    if endpoint.tls_ca:
        return endpoint.tls_ca
    known = ssl.get_default_verify_paths()
    for file in filter(None, (known.cafile, known.openssl_cafile, "/etc/ssl/certs/ca-certificates.crt")):
        if Path(file).is_file():
            return Path(file).read_text(encoding="utf-8")
    raise BadInput(
        "this machine has no file of the authorities that it trusts",
        key="endpoints.*.tls",
        value=str(endpoint),
        fix="name the file with the certificate of the server's authority in tls_ca",
    )


@lru_cache(maxsize=1)
def unshown_pair() -> tuple[str, str]:
    """Key and certificate of a client, for a program that takes no TLS without: no server gets to see them.

    They are of a kind that TLS 1.3 has no signatures for (RFC 8446, 4.2.3), so that a client has none to show, as most
    have. Before TLS 1.3 it would show this one to a server that asks, as MySQL's own settings have it do, which then
    refuses it: SHOWS_NONE keeps it back there.
    """
    key, name = ec.generate_private_key(ec.SECP256K1()), x509.Name([])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365))
        .sign(key, SHA256())
    )
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return plain.decode(), made.public_bytes(Encoding.PEM).decode()
