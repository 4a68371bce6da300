"""Which keys a login offers, and in which order: those that are named, what an agent holds, the user's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import paramiko
from paramiko.agent import Agent
from paramiko.auth_strategy import AuthStrategy, InMemoryPrivateKey, SourceResult
from paramiko.config import SSHConfig

from benchbook.errors import BadInput
from benchbook.hosts.key_file import Locked, is_open, private_key, public_part

# What OpenSSH tries where nothing is named.
_OWN = ("id_ed25519", "id_ecdsa", "id_rsa")


def is_out_of_time(problem: paramiko.SSHException) -> bool:
    """Did the host not answer a login within its time? paramiko tells that from a refusal by its words alone."""
    return "timeout" in str(problem).lower()


@dataclass(frozen=True)
class KeysNamed:
    """Where to look for keys: `key` of the inventory, `identities` of an ssh_config (those may be missing)."""

    key: Path | None
    identities: Sequence[Path] = ()
    passphrase_env: str | None = None
    agent_too: bool = True
    file: str = ""


class KeyOffer(AuthStrategy):
    """Offers one key after the other. `offered` says which, and `asked_for_more` what the host wants beside a key."""

    def __init__(self, user: str, named: KeysNamed) -> None:
        super().__init__(SSHConfig())
        self.user, self.named = user, named
        self.offered: list[str] = []
        self.asked_for_more = ""
        self.locked: Locked | None = None
        self._agent: Agent | None = None
        self._held: dict[bytes, paramiko.PKey] = {}

    def get_sources(self) -> Iterator[InMemoryPrivateKey]:
        """Each key to offer; what is said of it is added to `offered`."""
        try:
            for said, key in self._keys():
                self.offered.append(said)
                yield InMemoryPrivateKey(self.user, key)
        finally:
            if self._agent:
                self._agent.close()
            self._agent, self._held = None, {}

    def authenticate(self, transport: paramiko.Transport) -> list[SourceResult]:
        """Raises AuthenticationException when no key is accepted, and BadInput for a key that cannot be used."""
        for source in self.get_sources():
            if self._accepted(transport, source.pkey):
                return [SourceResult(source, [])]
        if self.locked:
            raise self.locked
        raise paramiko.AuthenticationException("no key was accepted")

    def _accepted(self, transport: paramiko.Transport, key: paramiko.PKey) -> bool:
        try:
            more = transport.auth_publickey(self.user, key)
        except paramiko.BadAuthenticationType:
            raise
        except paramiko.SSHException as problem:
            # Refused by the host, or by the agent (one that is locked signs nothing).
            if is_out_of_time(problem) or not transport.is_active():
                # The host has not answered yet, or it hangs up after so many tries (MaxAuthTries): there is nobody to
                # offer another key to.
                raise
            return False
        if more:
            self.asked_for_more = ", ".join(more)
            raise paramiko.AuthenticationException(f"more than a key: {self.asked_for_more}")
        return True

    def _keys(self) -> Iterator[tuple[str, paramiko.PKey]]:
        named = [path for path in (self.named.key, *self.named.identities) if path]
        for path in named:
            yield from self._named(path)
        if self.named.agent_too:
            yield from ((f"a key of the agent ({key.get_name()})", key) for key in self._in_agent().values())
        if not named:
            for path in (Path.home() / ".ssh" / name for name in _OWN):
                yield from self._named(path)

    def _named(self, path: Path) -> Iterator[tuple[str, paramiko.PKey]]:
        """A key that has a passphrase is the agent's, where that holds it: it needs no passphrase there."""
        blob = public_part(path) if path.exists() and not is_open(path) else None
        if blob is not None and blob in self._in_agent():
            yield f"{path} (from the agent)", self._in_agent().pop(blob)
            return
        try:
            yield str(path), private_key(path, self.named.passphrase_env, file=self.named.file)
        except Locked as problem:
            self.locked = self.locked or problem
        except BadInput:
            # OpenSSH, too, passes over an IdentityFile that is not there; the key of the inventory must be.
            if path == self.named.key:
                raise

    def _in_agent(self) -> dict[bytes, paramiko.PKey]:
        """What the agent holds and was not offered yet, by public key; it is asked once a login, and only if needed."""
        if self._agent is None:
            self._agent = Agent()
            self._held = {bytes(key.asbytes()): key for key in self._agent.get_keys()}
        return self._held
