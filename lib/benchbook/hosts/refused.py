"""Why a host, or a jump host in front of it, could not be logged in to: one sentence each, with what to do about it."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import paramiko

from benchbook.hosts.known_hosts import has_authorities
from benchbook.hosts.login_keys import is_out_of_time

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.login_keys import KeyOffer

# What paramiko says of a server that hangs up, or says nothing, before it names itself.
_NO_GREETING = "Error reading SSH protocol banner"


class Why(NamedTuple):
    """What is wrong, what was met, and the fix."""

    problem: str
    value: str
    fix: str


def no_greeting(problem: BaseException) -> bool:
    """Did the server hang up before it said anything, as one does that has too many logins under way?"""
    silent = isinstance(problem.__context__, TimeoutError)
    return isinstance(problem, paramiko.SSHException) and _NO_GREETING in str(problem) and not silent


def why(problem: BaseException, where: str, known: Path, login: KeyOffer, *, behind: str = "") -> Why:
    """`where` is address:port of the hop that refused; `behind`, the jump host that leads to it."""
    if isinstance(problem, paramiko.BadHostKeyException):
        return Why(
            "the host key is not the one that is known",
            f"{where} sent {problem.key.get_name()}",
            f"if the host was reinstalled, replace its line in {known}; otherwise somebody is in between",
        )
    if isinstance(problem, paramiko.AuthenticationException):
        return _login(problem, where, login)
    if isinstance(problem, paramiko.SSHException) and "not found in known_hosts" in str(problem):
        return Why("the host key is not known", where, _learn(where, known, behind))
    if no_greeting(problem):
        return Why(
            "the host hangs up on every login before it has greeted, as sshd does above its limit of logins under way",
            where,
            "raise MaxStartups in its sshd_config, as in `MaxStartups 10:30:100`, or find out who else is logging in",
        )
    return _unreachable(problem, where)


def _login(problem: paramiko.AuthenticationException, where: str, login: KeyOffer) -> Why:
    who = f"{login.user}@{where}"
    if login.asked_for_more:
        fix = "let this account in by its key alone (AuthenticationMethods publickey)"
        return Why(
            f"the host took the key and asks for more ({login.asked_for_more}), which nobody here can answer", who, fix
        )
    if isinstance(problem, paramiko.BadAuthenticationType):
        allowed = ", ".join(problem.allowed_types)
        fix = "allow keys in its sshd_config (PubkeyAuthentication yes)"
        return Why(f"SSH login refused: this host takes no keys, only {allowed}", who, fix)
    if is_out_of_time(problem):
        fix = "find out what its sshd waits for (PAM, or DNS: `UseDNS no`), or raise ssh.connect_timeout_s"
        return Why("the host did not answer the login in time", who, fix)
    offered = f" (offered: {', '.join(login.offered)})" if login.offered else " (there was no key to offer)"
    fix = "set ssh.user and ssh.key to an account that may log in"
    return Why(f"SSH login refused{offered}", who, fix)


def _unreachable(problem: BaseException, where: str) -> Why:
    if isinstance(problem, socket.gaierror):
        return Why("there is no host of this name", where, "correct the address, or name it in DNS or /etc/hosts")
    if isinstance(problem, FileNotFoundError | PermissionError) and problem.filename:
        fix = "install it here, or correct the ProxyCommand of the ssh_config that ssh.config names"
        return Why(f"the program that should lead to {where} cannot be run here", str(problem.filename), fix)
    if isinstance(problem, paramiko.ChannelException):
        fix = "allow it there (AllowTcpForwarding, PermitOpen), and check that the host behind it is up"
        return Why(f"the jump host in front of it opens no way to it ({problem.text})", where, fix)
    if isinstance(problem, paramiko.SSHException) and _NO_GREETING in str(problem):
        return Why("something listens there and says nothing", where, "restart its sshd, or correct address and port")
    said = str(problem) or type(problem).__name__
    return Why(
        f"the host cannot be reached by SSH ({said})",
        where,
        "start it (a lab: `make lab`), or correct address and port",
    )


def _learn(where: str, known: Path, behind: str) -> str:
    address, _, port = where.rpartition(":")
    scan = f"ssh-keyscan -p {port} {address}"
    # Whose certificates `ssh` believes has no need of such a line.
    needed = ", for certificates (@cert-authority) are not read here" if has_authorities(known) else ""
    if behind:
        return f"check it: `{scan}` on the jump host {behind} prints a line for {known}{needed}"
    return f"check it, then `{scan} >> {known}`{needed}"
