"""Private keys in PKCS #8 (RFC 5958), as openssl, cloud consoles and `ssh-keygen -m PKCS8` write them.

OpenSSH takes them; paramiko sees which kind of key it is and then reads its own formats only. So the key is written
anew in memory, in OpenSSH's format: never into a file.
"""

from __future__ import annotations

import io
from pathlib import Path

import paramiko
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

_FIRST_LINES = (b"-----BEGIN PRIVATE KEY-----", b"-----BEGIN ENCRYPTED PRIVATE KEY-----")


def is_pkcs8(data: bytes) -> bool:
    return data.lstrip().startswith(_FIRST_LINES)


def load(path: Path, passphrase: bytes | None) -> paramiko.PKey:
    """The key in a file. Raises TypeError for one with a passphrase if none is given, ValueError for a wrong one.

    And SSHException for a kind of key with which nobody can log in.
    """
    found = load_pem_private_key(path.read_bytes(), passphrase)
    kind: type[paramiko.PKey]
    if isinstance(found, RSAPrivateKey):
        kind = paramiko.RSAKey
    elif isinstance(found, Ed25519PrivateKey):
        kind = paramiko.Ed25519Key
    elif isinstance(found, EllipticCurvePrivateKey):
        kind = paramiko.ECDSAKey
    else:
        raise paramiko.SSHException(f"SSH has no keys of the kind {type(found).__name__.removesuffix('PrivateKey')}")
    plain = found.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    key = kind.from_private_key(io.StringIO(plain.decode()))
    # As paramiko does for its own formats.
    certificate = path.with_name(f"{path.name}-cert.pub")
    if certificate.exists():
        key.load_certificate(str(certificate))
    return key
