"""TLS to a server of the MySQL protocol: over the SSH connection of a host, and for load generators that want files.

A server is believed that an authority of the endpoint's `tls_ca` vouches for, else one that this machine trusts; of the
latter, which vouch for anybody, only by the name that it was called.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from benchbook.errors import BadInput
from benchbook.hosts.endpoint import Endpoint

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


def believing(endpoint: Endpoint) -> ssl.SSLContext:
    """Return the settings of a client that believes this server as its `tls_ca` says."""
    made = ssl.create_default_context(cadata=endpoint.tls_ca or None)
    # Certificates of an authority of one's own name a database server, and rarely the address that it is called by.
    made.check_hostname = not endpoint.tls_ca
    return made


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
