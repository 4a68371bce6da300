"""A private key in a file: read as it is, or opened with a passphrase that is never kept in a file.

The passphrase comes from the environment variable that the inventory names (`ssh.passphrase_env`), or is asked for
where there is a terminal. What was asked for once is left in the environment of this process, so that the kernels that
it starts, which have no terminal, need not ask again.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import sys
import threading
from base64 import b64decode
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import paramiko
from cryptography.exceptions import UnsupportedAlgorithm
from paramiko.pkey import UnknownKeyType

from benchbook.errors import BadInput
from benchbook.hosts import pkcs8_key

ASK_TIMES = 3
_UNUSABLE = (ValueError, UnsupportedAlgorithm, UnknownKeyType, paramiko.SSHException)
_MAGIC = b"openssh-key-v1\0"
_asking = threading.Lock()


class Locked(BadInput):
    """A key that has a passphrase, and nobody here to give it."""


def private_key(path: Path, passphrase_env: str | None, *, file: str = "") -> paramiko.PKey:
    """The key in a file, opened. Raises BadInput: Locked where its passphrase is not to be had."""
    try:
        return _unlock(path, passphrase_env, file) if _has_passphrase(path) else _load(path, None)
    except (OSError, *_UNUSABLE) as problem:
        raise _unreadable(path, problem, file) from problem


def is_open(path: Path) -> bool:
    """Can the key in this file be used as it is, without a passphrase?"""
    try:
        _load(path, None)
    except (OSError, TypeError, *_UNUSABLE):
        return False
    return True


def _has_passphrase(path: Path) -> bool:
    try:
        _load(path, None)
    except TypeError:
        # What the cryptography library raises for a key with a passphrase when none is given.
        return True
    except (OSError, *_UNUSABLE):
        return False
    return False


def public_part(path: Path) -> bytes | None:
    """The public key of a key file, in the form that an agent lists; None where it cannot be seen without a passphrase.

    A file with a public key will do: its private half may be in an agent, or on a card behind it.
    """
    beside = path if path.suffix == ".pub" else path.with_name(f"{path.name}.pub")
    if beside.exists():
        return _of_public_line(beside.read_text(errors="replace"))
    text = path.read_text(errors="replace")
    return _of_public_line(text) or _of_private_file(text)


def _of_public_line(text: str) -> bytes | None:
    kind, _, rest = text.partition(" ")
    try:
        return b64decode(rest.split()[0]) if kind.startswith(("ssh-", "ecdsa-", "sk-")) and rest.split() else None
    except ValueError:
        return None


def _of_private_file(text: str) -> bytes | None:
    """The new format keeps it in the clear (PROTOCOL.key of OpenSSH): magic, cipher, KDF, its options, count, key."""
    try:
        data = b64decode("".join(line for line in text.splitlines() if "-----" not in line))
    except ValueError:
        return None
    if not data.startswith(_MAGIC):
        return None
    message = paramiko.Message(data[len(_MAGIC) :])
    message.get_string(), message.get_string(), message.get_string(), message.get_int()
    return message.get_string()


def _load(path: Path, passphrase: str | None) -> paramiko.PKey:
    return _loaded(path, passphrase, path.stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _loaded(path: Path, passphrase: str | None, changed: int) -> paramiko.PKey:
    """Opening takes a tenth of a second and more where there is a passphrase, by design: once is enough."""
    secret = passphrase.encode() if passphrase is not None else None
    if pkcs8_key.is_pkcs8(path.read_bytes()):
        return pkcs8_key.load(path, secret)
    # The cryptography library below takes bytes; paramiko's types say text.
    return paramiko.PKey.from_path(str(path), cast(Any, secret))


def _unlock(path: Path, passphrase_env: str | None, file: str) -> paramiko.PKey:
    with _asking:
        if passphrase_env:
            return _by_variable(path, passphrase_env, file)
        known = os.environ.get(_asked_before(path))
        if known is not None:
            return _load(path, known)
        if not sys.stdin.isatty():
            raise Locked(
                "the key has a passphrase, no agent holds the key, and nobody can be asked here",
                file=file,
                key="ssh.key",
                value=path,
                fix=f"`ssh-add {path}`, or set ssh.passphrase_env to the name of an environment variable that holds it",
            )
        return _ask(path, file)


def _by_variable(path: Path, variable: str, file: str) -> paramiko.PKey:
    if not os.environ.get(variable):
        raise Locked(
            "the key has a passphrase, and the environment variable that should hold it is not set",
            file=file,
            key="ssh.passphrase_env",
            fix=f"export {variable}=… before the run, or `ssh-add {path}`",
        )
    try:
        return _load(path, os.environ[variable])
    except ValueError as problem:
        raise BadInput(
            f"the passphrase in this environment variable does not open {path}",
            file=file,
            key="ssh.passphrase_env",
            fix=f"correct what {variable} holds",
        ) from problem


def _ask(path: Path, file: str) -> paramiko.PKey:
    for _ in range(ASK_TIMES):
        given = getpass.getpass(f"Passphrase for {path}: ")
        try:
            key = _load(path, given)
        except ValueError:
            continue
        os.environ[_asked_before(path)] = given
        return key
    raise BadInput(
        f"{ASK_TIMES} passphrases did not open the key",
        file=file,
        key="ssh.key",
        value=path,
        fix=f"start again with the right one, or `ssh-add {path}`",
    )


def _asked_before(path: Path) -> str:
    return f"BENCHBOOK_PASSPHRASE_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"


def _unreadable(path: Path, problem: Exception, file: str) -> BadInput:
    said, fix = (
        f"this is no private key that can be used ({problem})",
        f"give one as ssh-keygen makes it; `ssh-keygen -p -f {path}` rewrites others",
    )
    if isinstance(problem, FileNotFoundError):
        said, fix = "the key file is missing", "correct the path, or make a key with `ssh-keygen -t ed25519`"
    elif isinstance(problem, OSError):
        said, fix = f"the key file cannot be read ({problem.strerror})", f"make it yours alone: chmod 600 {path}"
    elif _of_public_line(path.read_text(errors="replace")):
        said, fix = "this is a public key, and no agent holds its private half", "give the private key, or `ssh-add` it"
    return BadInput(said, file=file, key="ssh.key", value=path, fix=fix)
