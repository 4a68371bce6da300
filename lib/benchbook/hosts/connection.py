"""Opens a connection to a host the way OpenSSH would, and hands it to Fabric.

OpenSSH knows its own configuration best, so it is asked. `ssh -G` says what an address means: name, port, user, keys
and the way there (Include, Match, aliases, ProxyJump, ProxyCommand). `ssh -v` without a login says which host key it
trusts (known_hosts in any form, HostKeyAlias, certificates, revoked keys): paramiko, which speaks SSH for Fabric, then
takes this key and no other. Jump hosts are passed by `ssh -W`.
"""

from __future__ import annotations

import logging
import math
import os
import re
import shlex
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fabric
import paramiko
from fabric.runners import Remote
from paramiko.agent import AgentKey, AgentSSH
from paramiko.pkey import UnknownKeyType
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from benchbook.errors import BadInput, HostUnusable
from benchbook.hosts.endpoint import at
from benchbook.hosts.inventory import Inventory, is_public_key
from benchbook.hosts.lab_host import lab_host
from benchbook.hosts.openssh import agent_socket, config_file, key_file, proxy_command, ssh_settings
from benchbook.hosts.timeouts import KEEPALIVE_S, silence_s
from benchbook.paths import resolve
from benchbook.temporary import locked_folder

# Linux: milliseconds that sent data may stay unacknowledged (tcp(7)); not every Python names it.
_TCP_USER_TIMEOUT = 18
# A jump host of ssh_config(5): `[user@]host[:port]`, or the same as a URI.
_JUMP = re.compile(r"(?:ssh://)?(?:(?P<user>.+)@)?(?:\[(?P<ipv6>[^]]+)\]|(?P<host>[^:]+))(?::(?P<port>\d+))?/?")
# More jump hosts than these are a circle.
_MOST_HOPS = 8
_TRUSTED = re.compile(r"Server host (?:key|certificate): (\S+?)(?:-cert-v01@openssh\.com)? (SHA256:[\w+/]+)")
_RSA = ("rsa-sha2-512", "rsa-sha2-256")

# A refused login is raised as an error of ours; paramiko would also print it.
logging.getLogger("paramiko").setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class HostKey:
    """The key that OpenSSH trusts a host by; `kind` as in known_hosts, `fingerprint` as ssh-keygen prints it."""

    kind: str
    fingerprint: str


@dataclass(frozen=True)
class Route:
    """What OpenSSH makes of a host's address.

    `agent` is the socket of the agent that is asked for keys, "" for none; with `identities_only` it is asked for
    those of `keys` alone.
    `gateway` is the command that leads there, "" for a plain connection. `host_key` is the one that `trusted` finds.
    """

    hostname: str
    port: int
    user: str
    keys: tuple[Path, ...]
    agent: str
    identities_only: bool
    gateway: str
    options: tuple[str, ...]
    host_key: HostKey = HostKey("", "")

    def __str__(self) -> str:
        return at(self.hostname, self.port)


class _Runner(Remote):  # type: ignore[misc]
    """Fabric's runner; it copies all that a command has printed so far for each piece that it reads."""

    read_chunk_size = 1 << 16


class _TooManyLogins(Exception):
    """sshd hangs up before it greets, as it does while more logins are under way than its MaxStartups allows."""


class _Trusted(paramiko.MissingHostKeyPolicy):
    """Accepts the key that OpenSSH trusts, and no other."""

    def __init__(self, trusted: HostKey) -> None:
        self.trusted = trusted

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        if key.fingerprint != self.trusted.fingerprint:
            raise paramiko.BadHostKeyException(hostname, key, key)


# -- what OpenSSH says ---------------------------------------------------------------------------------------------


def find_route(inventory: Inventory, name: str) -> Route:
    """Return how OpenSSH would reach a host of the inventory. Raise BadInput where it refuses its configuration."""
    ssh, host = inventory.ssh, inventory.hosts[name]
    ssh.check_files()
    options = _options(inventory)
    # Without an ssh.port of its own the inventory leaves the port to the ssh_config.
    port = host.ssh_port or (ssh.port if "port" in ssh.model_fields_set or not ssh.config else None)
    user = host.user or ssh.user or (lab_host(inventory, name).user if inventory.lab else None)
    login = [*(["-p", str(port)] if port else []), *(["-l", user] if user else [])]
    address = host.ssh_address or host.address
    settings = _settings(inventory, (*options, *login), address)
    found = settings["hostname"][0]
    if ssh.config and not host.ssh_address and found.lower() != address.lower():
        said = "this address is an alias of the ssh_config, which servers cannot listen on"
        fix = f"leave `address` out (servers then listen on {found}), or write `ssh_address: {address}` beside it"
        raise BadInput(said, file=inventory.file, key=f"hosts.{name}.address", value=address, fix=fix)
    gateway = _gateway(inventory, options, settings)
    if gateway and settings.get("proxyusefdpass") == ["yes"]:
        said = "the ProxyCommand of this host passes an open socket (ProxyUseFdpass), which is not supported"
        fix = "name a ProxyCommand that passes data on, without ProxyUseFdpass"
        raise BadInput(said, file=inventory.file, key="ssh.config", value="ProxyUseFdpass yes", fix=fix)
    return Route(
        hostname=found,
        port=int(settings["port"][0]),
        user=settings["user"][0],
        keys=tuple(key_file(key, settings) for key in settings.get("identityfile", []) if key != "none"),
        agent=agent_socket(settings),
        identities_only=settings.get("identitiesonly") == ["yes"],
        gateway=gateway,
        options=(*options, *login, "--", address),
    )


def _options(inventory: Inventory) -> tuple[str, ...]:
    """The options of every `ssh` of the kit: nothing is asked for on a terminal, and no host is trusted unknown."""
    ssh = inventory.ssh
    settings = [
        *("BatchMode=yes", "StrictHostKeyChecking=yes", "UpdateHostKeys=no", "ControlMaster=no", "ControlPath=none"),
        "RemoteCommand=none",
        *("ClearAllForwardings=yes", "PermitLocalCommand=no", f"ConnectTimeout={math.ceil(ssh.connect_timeout_s)}"),
    ]
    return (*_files(inventory), *(word for setting in settings for word in ("-o", setting)))


def _files(inventory: Inventory) -> tuple[str, ...]:
    """The options that name the files of the inventory: its ssh_config, its host keys and its own key."""
    ssh, settings = inventory.ssh, list[str]()
    if _own_known(inventory):
        known = str(resolve(ssh.known_hosts)).replace("%", "%%")
        settings += [f'UserKnownHostsFile="{known}"', "GlobalKnownHostsFile=/dev/null"]
    if ssh.key:
        # Not by -i, which looks for the file before it expands the % in its name.
        settings.append(f'IdentityFile="{str(resolve(ssh.key)).replace("%", "%%")}"')
    config = str(config_file(ssh.config, inventory.file)) if ssh.config else "none"
    return ("-F", config, *(word for setting in settings for word in ("-o", setting)))


def _settings(inventory: Inventory, options: Sequence[str], destination: str) -> dict[str, list[str]]:
    return ssh_settings(options, destination, inventory.file, inventory.ssh.config or "none")


def _gateway(
    inventory: Inventory, options: Sequence[str], settings: dict[str, list[str]], whole: str = "", passed: int = 0
) -> str:
    """Return the command whose input and output are a connection to the host, "" where none is needed.

    `whole` is the ProxyJump line whose last hosts lead on from here, `passed` how many such lines have been followed.
    """
    said = settings.get("proxyjump", ["none"])[0]
    if said == "none":
        return proxy_command(settings)
    if passed > _MOST_HOPS:
        problem = "jump hosts that lead in a circle"
        fix = "correct the ProxyJump lines of this ssh_config"
        raise BadInput(problem, file=inventory.file, key="ssh.config", value=said, fix=fix)
    whole, (before, _, last) = whole or said, said.rpartition(",")
    login = _JUMP.fullmatch(last.strip())
    assert login, "ssh has read it"
    way = [*(["-l", login["user"]] if login["user"] else []), *(["-p", login["port"]] if login["port"] else [])]
    jump = [*way, "--", login["ipv6"] or login["host"]]
    of_jump = _settings(inventory, (*options, *way), jump[-1])
    if before:
        command = _gateway(inventory, options, {**of_jump, "proxyjump": [before]}, whole, passed)
    elif of_jump.get("proxyjump") == [whole]:
        # A `Host *` with a ProxyJump means the jump host itself as well.
        command = ""
    else:
        command = _gateway(inventory, options, of_jump, passed=passed + 1)
    # The command is read once more by the ssh that runs it, which takes % for itself.
    first = f"ProxyCommand={command.replace('%', '%%')}" if command else "ProxyJump=none"
    there = at(settings["hostname"][0], settings["port"][0])
    return shlex.join(["ssh", *options, "-o", first, "-W", there, *jump])


def trusted(inventory: Inventory, name: str, route: Route) -> Route:
    """Return the route with its host's key, as OpenSSH knows it. Raise HostUnusable where it knows none, or no host."""
    log, other = _ssh_log(inventory, name, route, "-o", "PreferredAuthentications=none", command="true")
    found = _TRUSTED.search(log)
    # What comes after the exchange of keys, in which the host's own is checked.
    if found and "SSH2_MSG_SERVICE_ACCEPT received" in log:
        return replace(route, host_key=HostKey(found[1], found[2]))
    words = [line for line in log.splitlines() if not line.startswith("debug")]
    if any("kex_exchange_identification" in line for line in words) and not route.gateway:
        raise _TooManyLogins
    raise _refused(inventory, name, route, words, other.splitlines())


def _ssh_log(inventory: Inventory, name: str, route: Route, *more: str, command: str = "") -> tuple[str, str]:
    """Return what `ssh -v` writes down of a host, and what the programs that lead there say."""
    options, destination = route.options[:-2], route.options[-2:]
    way = ["-o", f"ProxyCommand={route.gateway.replace('%', '%%')}"] if route.gateway else []
    with locked_folder() as folder:
        log = folder / "log"
        inside = lab_host(inventory, name).enter() if inventory.lab else []
        words = [*inside, "ssh", "-v", "-E", str(log), *options, *way, *more, *destination, *filter(None, [command])]
        # ConnectTimeout is for the first hop alone.
        seconds = 2 * inventory.ssh.connect_timeout_s
        try:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=seconds
            )
            said = done.stderr
        except subprocess.TimeoutExpired:
            said = f"no answer within {seconds:g} s"
        return (log.read_text(errors="replace") if log.exists() else ""), said


# -- why a host is not reached ---------------------------------------------------------------------------------------

# What ssh says, what that means, and what to do about it; the first that is found counts.
_REASONS = (
    (
        "REVOKED HOST KEY|is revoked|marked as revoked",
        "the host key is revoked",
        "give the host a new key, and {learn}",
    ),
    (
        "HOST IDENTIFICATION HAS CHANGED",
        "the host key is not the one that is known",
        "if the host was reinstalled, replace its line in {file} (take it out, and {learn}; a lab: `benchbook lab "
        "down`, then `benchbook lab up`); otherwise somebody is in between",
    ),
    ("host key is known for|[Hh]ost key verification failed", "the host key is not known", "{learn}"),
    (
        "administratively prohibited|open failed",
        "the jump host in front of it opens no way to it",
        "allow it there (AllowTcpForwarding, PermitOpen), and check that the host behind it is up",
    ),
    (
        "Could not resolve hostname",
        "there is no host of this name",
        "correct the address, or name it in DNS or /etc/hosts",
    ),
    (
        "during banner exchange",
        "something listens there and says nothing",
        "restart its sshd, or correct address and port",
    ),
    (
        "command not found|not found|No such file",
        "the program that should lead there cannot be run here",
        "install it here, or correct the ProxyCommand of the ssh_config that ssh.config names",
    ),
    (
        "refused|[Uu]nable to connect|timed out|no answer|unreachable|[Nn]o route|closed|reset|EOF|^$",
        "the host cannot be reached by SSH",
        "start it (a lab: `benchbook lab up`), or correct address and port",
    ),
    ("", "the host cannot be reached by SSH", "find out by `{by_hand}` what it complains about, and correct that"),
)


def _refused(
    inventory: Inventory, name: str, route: Route, words: Sequence[str], of_jumps: Sequence[str]
) -> HostUnusable:
    """Say why ssh does not come to a host, in its own words; those of jump hosts tell more where there are any."""
    said = [line.strip() for line in (of_jumps if route.gateway and of_jumps else words) if line.strip(" @\r")]
    text = "\n".join(said) or "\n".join(words)
    _, problem, fix = next(reason for reason in _REASONS if re.search(reason[0], text))
    which = "on the way there, " if route.gateway and of_jumps else ""
    last = _last_words(said) or "no answer"
    file = str(resolve(inventory.ssh.known_hosts)) if _own_known(inventory) else ""
    # An ssh_config may say that nothing is asked.
    ask = ["-o", "StrictHostKeyChecking=ask"] if inventory.ssh.config else []
    login = ["-p", str(route.port), "-l", route.user, route.options[-1]]
    by_hand = shlex.join(["ssh", *_files(inventory), *ask, *login])
    learn = f"log in once by `{by_hand}`, and check what it asks"
    if not file:
        learn += "; if this ssh_config keeps no keys (UserKnownHostsFile /dev/null), name a file as ssh.known_hosts"
    fix = fix.format(file=file or "the file that the ssh_config names", learn=learn, by_hand=by_hand)
    what = f"{which}{problem} ({last})"
    return inventory.unusable(name, what, value=str(route), fix=fix)


def _own_known(inventory: Inventory) -> bool:
    """Return whether the inventory's own file of host keys counts, and not that of an ssh_config."""
    return not inventory.ssh.config or "known_hosts" in inventory.ssh.model_fields_set


_SAYS_LITTLE = re.compile(
    "UNKNOWN port|kex_exchange_identification|^Host key verification failed|stdio forwarding|^Killed by|^Warning:|"
    "^Disconnected from"
)


def _last_words(lines: Sequence[str]) -> str:
    """Return the line that says most: after it ssh only says that it ends."""
    telling = [line for line in lines if not _SAYS_LITTLE.search(line)]
    return (telling or list(lines) or [""])[-1][:300]


def _login_refused(
    inventory: Inventory, name: str, route: Route, problem: paramiko.SSHException, keys: Sequence[Path]
) -> HostUnusable:
    """Say why a login was refused, in the words that the host has for OpenSSH."""
    log, banner = _ssh_log(inventory, name, route, "-o", "PreferredAuthentications=publickey", "-W", "127.0.0.1:1")
    words = [line for line in log.splitlines() if not line.startswith("debug")]
    said = "; ".join(filter(None, [_last_words(words), *banner.split("\n")[:2]])) or str(problem)
    methods = re.findall(r"Authentications that can continue: (\S+)", log)
    offered = ", ".join([str(key) for key in keys] + (["keys of the agent"] if route.agent else [])) or "no key"
    text, fix = (
        f"SSH login refused (offered: {offered}): {said}",
        "set ssh.user and ssh.key to an account that may log in; a key with a passphrase must be in an agent (ssh-add)",
    )
    if "Authenticated to" in log and "partial success" not in log:
        text = f"ssh logs in, and this kit cannot: the key is of a kind that only OpenSSH can use ({problem})"
        fix = "load the key into an agent (ssh-add)"
    elif "partial success" in log or (methods and "publickey" not in methods[-1].split(",")):
        text = f"SSH login refused: the host asks for more than a key ({methods[-1] if methods else said})"
        fix = "let this account in by its key alone (PubkeyAuthentication yes, AuthenticationMethods publickey)"
    elif isinstance(problem, paramiko.AuthenticationException) and "timeout" in str(problem).lower():
        text = "the host did not answer the login in time"
        fix = "find out what its sshd waits for (PAM, or DNS: `UseDNS no`), or raise ssh.connect_timeout_s"
    return inventory.unusable(name, text, value=f"{route.user}@{route}", fix=fix)


# -- the connection itself -------------------------------------------------------------------------------------------


def open_connection(inventory: Inventory, name: str, route: Route) -> fabric.Connection:
    """Return an open connection to a host. Raise HostUnusable where it refuses, or shows another key than trusted."""
    ssh = inventory.ssh
    # Else paramiko asks that of SSH_AUTH_SOCK, whatever IdentityAgent and IdentitiesOnly say.
    agent = _Agent(route) if route.agent else None
    _check_key(inventory, agent)
    # What may not be read is passed over, as by OpenSSH.
    keys = [key for key in route.keys if os.access(key, os.R_OK) and key.is_file() and not is_public_key(key)]
    connection = fabric.Connection(
        route.hostname,
        user=route.user,
        port=route.port,
        gateway=route.gateway or False,
        connect_timeout=ssh.connect_timeout_s,
        # An ssh_config has been read already, by ssh.
        config=fabric.Config(ssh_config=paramiko.SSHConfig(), overrides={"runners": {"remote": _Runner}}),
        connect_kwargs={
            "key_filename": [str(key) for key in keys],
            "allow_agent": agent is not None,
            "look_for_keys": False,
            "banner_timeout": ssh.connect_timeout_s,
            "auth_timeout": ssh.connect_timeout_s,
            "channel_timeout": ssh.connect_timeout_s,
            "transport_factory": lambda sock, **options: _transport(sock, route.host_key, **options),
        },
    )
    connection.client.set_missing_host_key_policy(_Trusted(route.host_key))
    connection.client._agent = agent
    try:
        inside = lab_host(inventory, name)
        if inventory.lab and not route.gateway and inside.enter():
            there = replace(inside, address=route.hostname, port=route.port)
            connection.connect_kwargs["sock"] = there.connect(ssh.connect_timeout_s)
        connection.open()
        _keep_alive(connection, silence_s(ssh.lease_s))
    except (OSError, EOFError, paramiko.SSHException) as problem:
        # A file of IdentityFile that is no key is told of only where no other key was taken.
        transport = connection.client.get_transport()
        at_login = transport is not None and transport.initial_kex_done
        connection.client.close()
        if agent:
            # paramiko leaves it open where there was no connection.
            agent.close()
        if isinstance(problem, paramiko.BadHostKeyException):
            raise _refused(inventory, name, route, ["REMOTE HOST IDENTIFICATION HAS CHANGED"], []) from problem
        if "Error reading SSH protocol banner" in str(problem) and not route.gateway:
            raise _TooManyLogins from problem
        if isinstance(problem, paramiko.AuthenticationException | paramiko.PasswordRequiredException) or (
            isinstance(problem, paramiko.SSHException) and (at_login or "authentication" in str(problem).lower())
        ):
            raise _login_refused(inventory, name, route, problem, keys) from problem
        raise _refused(inventory, name, route, [str(problem) or repr(problem)], []) from problem
    return connection


def reach(inventory: Inventory, name: str, known: Route | None = None) -> tuple[Any, Route]:
    """Return an open fabric.Connection to a host, and the route it took, with the key that the host is trusted by.

    `known` is what an earlier call returned: OpenSSH is not asked again. Raise HostUnusable or BadInput.
    """
    route = known or find_route(inventory, name)

    def attempt() -> tuple[Any, Route]:
        there = known or trusted(inventory, name, route)
        return open_connection(inventory, name, there), there

    retrying = Retrying(
        retry=retry_if_exception_type(_TooManyLogins),
        stop=stop_after_delay(inventory.ssh.connect_timeout_s),
        wait=wait_random_exponential(0.2, max=2),
        reraise=True,
    )
    try:
        return retrying(attempt)
    except _TooManyLogins as problem:
        said = "the host hangs up on every login before it has greeted, as sshd does above its MaxStartups"
        fix = "raise MaxStartups in its sshd_config (`MaxStartups 10:30:100`), or find out who else is logging in"
        raise inventory.unusable(name, said, value=str(route), fix=fix) from problem


def _transport(sock: Any, trusted: HostKey, **options: Any) -> paramiko.Transport:
    """paramiko leaves Nagle's algorithm on: a delayed acknowledgement (40 ms) at each step of a login and command."""
    if isinstance(sock, socket.socket):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    transport = paramiko.Transport(sock, **options)
    wanted = transport.get_security_options()
    kinds = _RSA if trusted.kind == "ssh-rsa" else (trusted.kind,)
    wanted.key_types = [kind for kind in wanted.key_types if kind in kinds]
    return transport


def _keep_alive(connection: fabric.Connection, silent_s: float) -> None:
    connection.transport.set_keepalive(KEEPALIVE_S)
    # Else an hour: an sshd that stands still, as a suspended one does, accepts a channel and never opens it.
    connection.transport.channel_timeout = silent_s
    # A jump host's pipe has no options.
    if isinstance(connection.transport.sock, socket.socket):
        connection.transport.sock.setsockopt(socket.IPPROTO_TCP, _TCP_USER_TIMEOUT, int(silent_s * 1000))


_LOAD_IT = (
    "load the key into an agent (ssh-add); or name the private key's file, in OpenSSH's own format "
    "(`ssh-keygen -p -f FILE` converts it)"
)


def _check_key(inventory: Inventory, agent: _Agent | None) -> None:
    """Raise BadInput for the inventory's own key where no agent holds it, and its file cannot be read without one."""
    if not inventory.ssh.key:
        return
    path = resolve(inventory.ssh.key)
    if agent and _fingerprint(path) in [key.fingerprint for key in agent.get_keys()]:
        return
    if is_public_key(path):
        raise _no_key(inventory, path, "this is a public key, and no agent holds its private half")
    try:
        paramiko.PKey.from_path(path)
    except (paramiko.PasswordRequiredException, TypeError) as problem:
        # TypeError is what `cryptography` says of a key that is locked.
        raise _no_key(inventory, path, "the key has a passphrase, and no agent holds it") from problem
    except OSError as problem:
        raise _no_key(
            inventory, path, f"it cannot be read: {problem.strerror}", fix="name a file that you can read"
        ) from problem
    except (ValueError, paramiko.SSHException, UnknownKeyType) as problem:
        raise _no_key(inventory, path, f"this is no private key that the kit can read ({problem})") from problem


def _no_key(inventory: Inventory, path: Path, problem: str, fix: str = _LOAD_IT) -> BadInput:
    # A path is shown even where its key may hold a secret.
    return BadInput(problem, file=inventory.file, key="ssh.key", value=path, fix=fix)


class _Agent(AgentSSH):
    """The agent of a route, with the keys that OpenSSH would offer: first those that IdentityFile names."""

    _keys: tuple[AgentKey, ...]

    def __init__(self, route: Route) -> None:
        super().__init__()
        agent = socket.socket(socket.AF_UNIX)
        try:
            agent.connect(route.agent)
            self._connect(agent)  # type: ignore[attr-defined]  # its stubs have the public part alone
        except (OSError, paramiko.SSHException):
            # One that does not answer has no keys, as for OpenSSH.
            agent.close()
            return
        named = set(map(_fingerprint, route.keys))
        keys = sorted(self._keys, key=lambda key: key.fingerprint not in named)
        self._keys = tuple(key for key in keys if key.fingerprint in named or not route.identities_only)

    def close(self) -> None:
        """End the connection, as paramiko asks for."""
        self._close()  # type: ignore[attr-defined]


def _fingerprint(key: Path) -> str:
    """Return a key's fingerprint as ssh-keygen prints it, of a locked key too; "" where ssh-keygen prints none."""
    file = next(filter(os.path.isfile, (f"{key}.pub", str(key))), "")
    words = ["ssh-keygen", "-l", "-f", file]
    said = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout
    return next(iter(re.findall(r"SHA256:[\w+/]+", said)), "")
