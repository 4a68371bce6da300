"""A host is reserved for one driver at a time, before anything is started on it. The host's side: `remote/agent.py`.

What a host is: the machine that a connection came to, whatever name led there. Only hosts of a lab share a machine, and
are told apart by the address and port of their sshd: two labs on one machine take each other's cores, as every lab's
own hosts do, but what is measured there says so.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
import uuid
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from benchbook import paths
from benchbook.errors import HostReserved, HostUnusable
from benchbook.hosts.agent import agent_on, utc
from benchbook.hosts.fanout import on_each
from benchbook.hosts.host import Host, with_retry
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.lab_host import ask_agent, lab_host
from benchbook.hosts.remote import agent
from benchbook.hosts.timeouts import ANSWERS_WITHIN_S, ASKS_EVERY_S, WATCH_S

# Of every host that is no lab's there is one.
MACHINE = "machine"

Message = dict[str, Any]
# Who only asks takes nothing.
_ASKS: Message = {"take": False, "session": ""}


class Holder(BaseModel):
    """A driver. `boot`, `pid_space` and `started` (clock ticks since the boot) tell its process from every other."""

    model_config = ConfigDict(frozen=True)
    user: str = ""
    host: str = ""
    pid: int = 0
    checkout: str = ""
    boot: str = ""
    pid_space: str = ""
    started: int = 0

    def __str__(self) -> str:
        return f"{self.user}@{self.host} (process {self.pid}, {self.checkout})"

    def has_died_here(self) -> bool:
        """Return whether it was a process of this machine that is no more; of others nobody here can know."""
        here = this_driver()
        seen_from_here = bool(self.boot) and (self.boot, self.pid_space) == (here.boot, here.pid_space)
        return seen_from_here and agent.began(self.pid) != self.started


def this_driver() -> Holder:
    """Return this process."""
    # Containers on one machine count their processes each for itself.
    pid_space = Path("/proc/self/ns/pid")
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"user {os.getuid()}"
    return Holder(
        user=user,
        host=socket.gethostname(),
        pid=os.getpid(),
        checkout=str(paths.home().resolve()),
        boot=boot_id(),
        pid_space=str(pid_space.readlink()) if pid_space.is_symlink() else "",
        started=agent.began(os.getpid()) or 0,
    )


@dataclass(frozen=True)
class ReservableHost:
    """A host as reservations know it, by the address:port of its sshd, and what hands a request to its agent."""

    inventory: Inventory
    name: str
    sshd_address: str
    reserve: Callable[[Message], Message]


def boot_id() -> str:
    """Return what tells this boot from others; "" on a machine that does not say it."""
    with suppress(OSError):
        return str(agent.boot())
    return ""


def reserve(host: Host, session: str) -> Message:
    """Take a host for a session; return the `file` of its reservation, and the folders of jobs of those `displaced`.

    Raise HostReserved, naming who holds it, and HostUnusable where nothing can be reserved.
    """
    own = {"session": session, "jobs": host.path("jobs"), "holder": this_driver().model_dump()}
    return _ask_until_free(_by_ssh(host), {**own, "lease_s": host.inventory.ssh.lease_s, "take": True})


def check_free(hosts: Collection[Host], *, wait_s: float = 0.0) -> None:
    """Raise HostReserved when another driver holds one of these hosts, and still does after `wait_s`."""
    on_each("looking at what hosts they are", hosts, with_retry(Host.probe))
    for host in hosts:
        _ask_until_free(_by_ssh(host), _ASKS, wait_s=wait_s)


def check_lab_free(
    inventory: Inventory, names: Iterable[str], *, wait_s: float = 0.0, watch_s: float = WATCH_S
) -> None:
    """Do the same for hosts of a lab; none of them need be up.

    Who gives no sign is watched for `watch_s` before it is said to live.
    """
    for name in names:
        _ask_until_free(_in_lab(inventory, name), _ASKS, wait_s=wait_s, watch_s=watch_s)


def release_dead(inventory: Inventory) -> None:
    """Remove what drivers that are gone have left of their reservations of a lab's hosts; who may live keeps his."""
    session, holder = uuid.uuid4().hex[:12], this_driver().model_dump()
    request = {"session": session, "jobs": "", "holder": holder, "lease_s": WATCH_S, "take": True}
    for name in inventory.hosts:
        with suppress(HostUnusable):
            _ask_until_free(_in_lab(inventory, name), request, watch_s=0.0)
    ask_agent("release", session)


def left_reservations() -> list[tuple[Path, Holder]]:
    """Return the reservations on this machine, of those that this user may read, whose drivers are gone."""
    found = []
    for file in sorted(Path(agent.PLACE).parent.glob("benchbook-[0-9]*/*.host")):
        with suppress(OSError, ValueError, KeyError):
            holder = Holder(**json.loads(file.read_text())["holder"])
            found += [(file, holder)] if holder.has_died_here() else []
    return found


def _ask_until_free(
    host: ReservableHost, request: Message, *, wait_s: float = 0.0, watch_s: float = WATCH_S
) -> Message:
    """Return the agent's answer once nobody stands in the way; raise HostReserved when somebody lives who does.

    A holder that died on this machine is not waited for. Of others, who has not touched the reservation for its lease
    is over: that is counted here, from the last touch that was seen, so that no clock that is set robs anybody. Who
    gives no sign is watched for `watch_s` before it is said to live.
    """
    lab, file, key = host.inventory.lab, host.inventory.file, f"hosts.{host.name}"
    request = {**request, "key": host.sshd_address if lab else MACHINE, "lab": lab, "gone": {}}
    # Of each session its last touch, and since when it has been silent.
    seen: dict[str, tuple[int, float]] = {}
    seen_alive: set[str] = set()
    began = time.monotonic()
    while True:
        said = host.reserve(request)
        if "trouble" in said:
            what = f"the host cannot be reserved: {said['trouble']}"
            fix = "correct that on the host, where Benchbook keeps its reservations"
            raise HostUnusable(what, file=file, key=key, fix=fix)
        if not said.get("held"):
            return said
        now, live = time.monotonic(), []
        for one in said["held"]:
            session, mark = one["session"], one["mark"]
            if session in seen and seen[session][0] != mark:
                seen_alive.add(session)
            if session not in seen or seen[session][0] != mark:
                seen[session] = mark, now - one["silent_s"]
            if Holder(**one["holder"]).has_died_here() or now - seen[session][1] > one["lease_s"]:
                request["gone"][session] = mark
            if request["gone"].get(session) != mark:
                live.append(one)
        if not live:
            continue
        known = any(one["session"] in seen_alive for one in live) or now - began >= watch_s
        if known and now - began >= wait_s:
            refused = HostReserved(
                f"{HostReserved.WORDS} {in_words(live[0])}",
                file=file,
                key=key,
                fix="wait for its end (`benchbook report --wait` does), or stop it there",
            )
            refused.checkout = Holder(**live[0]["holder"]).checkout
            raise refused
        time.sleep(ASKS_EVERY_S)


def in_words(reservation: Message) -> str:
    """Return who holds a host, and since when."""
    return f"{Holder(**reservation['holder'])} since {utc(reservation['since'])}"


def _by_ssh(host: Host) -> ReservableHost:
    def ask(request: Message) -> Message:
        # To have the agent there is a part of asking: the connection may break meanwhile.
        answer = with_retry(lambda one: one.run([*agent_on(one), "reserve", json.dumps(request)]).stdout)(host)
        said: Message = json.loads(answer)
        return said

    def by_thread(request: Message) -> Message:
        # For Fabric keeps Ctrl-C from the one that waits for a command.
        return on_each("reserving", [host], lambda _: ask(request), timeout=2 * ANSWERS_WITHIN_S)[host.name]

    return ReservableHost(host.inventory, host.name, host.probe().sshd_address, by_thread)


def _in_lab(inventory: Inventory, name: str) -> ReservableHost:
    there = lab_host(inventory, name)
    address = f"{there.address}:{there.port}"
    return ReservableHost(
        inventory, name, address, lambda request: json.loads(ask_agent("reserve", json.dumps(request)))
    )
