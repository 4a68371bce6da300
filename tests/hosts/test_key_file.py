"""Private keys as ssh-keygen writes them: with and without a passphrase, in its new format and in the old ones."""

from __future__ import annotations

import os
import subprocess
from base64 import b64decode
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from benchbook.errors import BadInput
from benchbook.hosts.key_file import Locked, is_open, private_key, public_part

KINDS = {
    "ed25519": ["-t", "ed25519"],
    "ecdsa": ["-t", "ecdsa", "-b", "384"],
    "rsa": ["-t", "rsa", "-b", "2048"],
    "rsa, old format": ["-t", "rsa", "-b", "2048", "-m", "PEM"],
    "rsa, PKCS 8": ["-t", "rsa", "-b", "2048", "-m", "PKCS8"],
    "ecdsa, PKCS 8": ["-t", "ecdsa", "-b", "256", "-m", "PKCS8"],
}


def made(folder: Path, kind: str, passphrase: str) -> tuple[Path, bytes]:
    """A key, and its public half as ssh-keygen writes it; the file beside it is taken away."""
    words = ["ssh-keygen", "-q", *KINDS[kind], "-a", "1", "-N", passphrase, "-f", str(folder / "key")]
    subprocess.run(words, check=True, capture_output=True)
    line = (folder / "key.pub").read_text()
    (folder / "key.pub").rename(folder / "apart.pub")
    return folder / "key", b64decode(line.split()[1])


def write_pkcs8(path: Path, key: Ed25519PrivateKey | Ed448PrivateKey, passphrase: str) -> None:
    locked = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked))


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_without_a_passphrase_is_used_as_it_is(kind: str, tmp_path: Path) -> None:
    path, public = made(tmp_path, kind, "")
    assert is_open(path)
    assert private_key(path, None).asbytes() == public


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_with_a_passphrase_is_opened_by_the_variable_that_is_named(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, public = made(tmp_path, kind, "open sésame")
    assert not is_open(path)
    with pytest.raises(
        Locked, match=r"a\.yaml: ssh\.key: the key has a passphrase, no agent holds the key, and nobody"
    ):
        private_key(path, None, file="a.yaml")
    monkeypatch.setenv("TEST_PASSPHRASE", "wrong")
    with pytest.raises(BadInput, match=r"the passphrase in this .* Fix: correct what TEST_PASSPHRASE"):
        private_key(path, "TEST_PASSPHRASE")
    monkeypatch.setenv("TEST_PASSPHRASE", "open sésame")
    assert private_key(path, "TEST_PASSPHRASE").asbytes() == public


@pytest.mark.parametrize(("kind", "seen"), [("ed25519", True), ("rsa", True), ("rsa, old format", False)])
def test_which_key_a_file_holds_is_seen_without_its_passphrase(kind: str, seen: bool, tmp_path: Path) -> None:
    path, public = made(tmp_path, kind, "open sesame")
    assert public_part(path) == (public if seen else None)
    assert public_part(tmp_path / "apart.pub") == public
    (tmp_path / "apart.pub").rename(tmp_path / "key.pub")
    assert public_part(path) == public, "the file beside it says so as well"


@pytest.mark.parametrize("passphrase", ["", "open sésame"])
def test_an_ed25519_key_as_openssl_writes_it(passphrase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = Ed25519PrivateKey.generate()
    write_pkcs8(tmp_path / "key", key, passphrase)
    monkeypatch.setenv("TEST_PASSPHRASE", passphrase)
    line = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    assert private_key(tmp_path / "key", "TEST_PASSPHRASE").asbytes() == b64decode(line.split()[1])


@pytest.mark.parametrize("passphrase", ["", "open sesame"])
def test_a_kind_of_key_that_ssh_does_not_know(passphrase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_pkcs8(tmp_path / "key", Ed448PrivateKey.generate(), passphrase)
    monkeypatch.setenv("TEST_PASSPHRASE", passphrase)
    with pytest.raises(
        BadInput, match=r"this is no private key that can be used \(SSH has no keys of the kind .* Fix: "
    ):
        private_key(tmp_path / "key", "TEST_PASSPHRASE")


def test_what_is_no_key(tmp_path: Path) -> None:
    path = tmp_path / "key"
    for content in (
        b"",
        b"\xff\xfe\x00",
        b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
    ):
        path.write_bytes(content)
        assert public_part(path) is None
        with pytest.raises(BadInput, match=r"ssh\.key: this is no private key that can be used"):
            private_key(path, None)
    with pytest.raises(BadInput, match=r"ssh\.key: the key file cannot be read \(Is a directory\)"):
        private_key(tmp_path, None)
    assert "BENCHBOOK_PASSPHRASE" not in " ".join(os.environ)
