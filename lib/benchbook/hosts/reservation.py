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
import threading
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from benchbook import paths
from benchbook.errors import ConnectionLost, HostReserved, HostUnusable, ReservationLost
from benchbook.hosts.agent import agent_on, utc
from benchbook.hosts.fanout import Outcomes, on_each, try_on_each
from benchbook.hosts.heartbeat import monotonic_s
from benchbook.hosts.host import Host, with_retry
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.lab_host import ask_agent
from benchbook.hosts.remote import agent
from benchbook.hosts.timeouts import ANSWERS_WITHIN_S, ASKS_EVERY_S, WATCH_S

# Of every host that is no lab's there is one.
MACHINE = "machine"

Said = dict[str, Any]
# Runs the agent of a host with a verb and a request, and returns its answer.
Ask = Callable[[str, Mapping[str, Any]], Said]


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


def boot_id() -> str:
    """Return what tells this boot from others; "" on a machine that does not say it."""
    with suppress(OSError):
        return str(agent.boot())
    return ""


class Lease:
    """One reserved host. The host asks `guard` before anything is done on it, the session's thread renews it."""

    def __init__(self, reservation: Reservation, host: Host, file: str) -> None:
        self.reservation, self.host, self.file, self.lost = reservation, host, file, False
        self._renewed, self._renewing = monotonic_s(), threading.local()

    def guard(self) -> None:
        """Raise ReservationLost. After more than a lease without a sign of life, the host is asked first."""
        if self.lost or not self.reservation.leaving:
            self.reservation.check()
        if monotonic_s() - self._renewed > self.host.inventory.ssh.lease_s and not getattr(
            self._renewing, "now", False
        ):
            self.renew()

    def renew(self) -> None:
        """Give a sign of life. Raise ReservationLost when the host is another's by now."""
        began, self._renewing.now = monotonic_s(), True
        try:
            if not self.host.renew_lease(self.file, self.reservation.session):
                self.lost = True
                self.reservation.lose(
                    f"lost its reservation of {self.host.name} to {self._taker()}. This driver had given no sign of "
                    f"life for longer than its lease of {self.host.inventory.ssh.lease_s:g} s (stopped, or cut off), "
                    "so the host has ended what it ran there"
                )
        finally:
            self._renewing.now = False
        self._renewed = began

    def _taker(self) -> str:
        held = self.host.read(self.file)
        return _in_words(json.loads(held)) if held else "another driver, which has ended by now"

    def end_with_boot(self) -> None:
        """Raise ReservationLost, for the host was started anew, with which every reservation there ends.

        What `tune` had set is gone as well: what is measured from here on would not compare with what was before.
        """
        self.lost = True
        self.reservation.lose(
            f"host {self.host.name} was started anew (rebooted) during the run: all that ran there is gone, and what "
            "was set there for the run. Run the same again: only what is missing is run"
        )


class Reservation:
    """The hosts of a session: all of them reserved, or none.

    Taken one by one, in an order that is the same for every driver: of two that want the same hosts, one gets all.
    """

    def __init__(self, session: str, inventory: Inventory, hosts: Collection[Host]) -> None:
        self.session, self.inventory, self._hosts = session, inventory, hosts
        # Per host, folders of jobs of drivers that are gone.
        self.displaced: dict[str, list[str]] = {}
        self.leaving = False
        self._lost = ""

    def take(self) -> None:
        """Raise HostReserved, naming who holds a host, and HostUnusable where nothing can be reserved."""
        on_each("looking at what hosts they are", self._hosts, with_retry(Host.probe))
        for host in sorted(self._hosts, key=lambda host: (host.probe().place, host.probe().sshd_address)):
            own = {"session": self.session, "jobs": host.path("jobs"), "holder": this_driver().model_dump()}
            request = {**own, "lease_s": self.inventory.ssh.lease_s, "take": True}
            taken = _settle(self.inventory, host.name, host.probe().sshd_address, _on(host), request)
            host.lease = Lease(self, host, taken["file"])
            self.displaced[host.name] = taken["displaced"]

    def renew(self, *, timeout: float) -> Outcomes[None]:
        """Give a sign of life on every host that is held; one that does not answer is asked again the next time."""
        held = {host.name: host.lease for host in self._hosts if host.lease}
        return try_on_each(
            [lease.host for lease in held.values()], lambda host: held[host.name].renew(), timeout=timeout
        )

    def verify(self) -> None:
        """Raise ReservationLost where a host of the session is another's, ConnectionLost where one does not say."""
        if self.leaving:
            return
        failed = self.renew(timeout=ANSWERS_WITHIN_S).failed
        self.check()
        for name, problem in failed.items():
            raise ConnectionLost(f"{name}: it does not say whether it is still reserved for this driver: {problem}")

    def lose(self, why: str) -> None:
        """Raise ReservationLost; from here on, every host of the session does."""
        self._lost = why
        self.check()

    def check(self) -> None:
        """Raise ReservationLost once a host of the session is another's."""
        if self._lost:
            raise ReservationLost(self._lost)

    def release(self, *, but: Collection[str] = ()) -> None:
        """Give the hosts back, except where something of ours may still run: its lease ends that, and this with it."""
        busy = {host.probe().place for host in self._hosts if host.name in but}
        free = {host.probe().place: host for host in self._hosts if host.lease and not host.lease.lost}
        there = [host for place, host in free.items() if place not in busy]
        try_on_each(there, lambda host: host.run([*agent_on(host), "release", self.session]), timeout=ANSWERS_WITHIN_S)
        for host in self._hosts:
            host.lease = None


def check_free(inventory: Inventory, hosts: Collection[Host], *, wait_s: float = 0.0) -> None:
    """Raise HostReserved when another driver holds one of these hosts, and still does after `wait_s`."""
    on_each("looking at what hosts they are", hosts, with_retry(Host.probe))
    for host in hosts:
        _settle(
            inventory, host.name, host.probe().sshd_address, _on(host), {"take": False, "session": ""}, wait_s=wait_s
        )


def check_lab_free(
    inventory: Inventory, sshd_addresses: Mapping[str, str], *, wait_s: float = 0.0, watch_s: float = WATCH_S
) -> None:
    """Do the same for hosts of this machine, by address:port of their sshd; none of them need be up.

    Who gives no sign is watched for `watch_s` before it is said to live.
    """
    request = {"take": False, "session": ""}
    for sshd_address, name in sshd_addresses.items():
        _settle(inventory, name, sshd_address, _ask_here, request, wait_s=wait_s, watch_s=watch_s)


def release_dead(inventory: Inventory, sshd_addresses: Mapping[str, str]) -> None:
    """Remove what drivers that are gone have left of their reservations of a lab's hosts; who may live keeps his."""
    session, holder = uuid.uuid4().hex[:12], this_driver().model_dump()
    request = {"session": session, "jobs": "", "holder": holder, "lease_s": WATCH_S, "take": True}
    for sshd_address, name in sshd_addresses.items():
        with suppress(HostUnusable):
            _settle(inventory, name, sshd_address, _ask_here, request, watch_s=0.0)
    ask_agent("release", session)


def left_reservations() -> list[tuple[Path, Holder]]:
    """Return the reservations on this machine, of those that this user may read, whose drivers are gone."""
    found = []
    for file in sorted(Path(agent.PLACE).parent.glob("benchbook-[0-9]*/*.host")):
        with suppress(OSError, ValueError, KeyError):
            holder = Holder(**json.loads(file.read_text())["holder"])
            found += [(file, holder)] if holder.has_died_here() else []
    return found


def _settle(
    inventory: Inventory,
    name: str,
    sshd_address: str,
    ask: Ask,
    request: Said,
    *,
    wait_s: float = 0.0,
    watch_s: float = WATCH_S,
) -> Said:
    """Return the agent's answer once nobody stands in the way; raise HostReserved when somebody lives who does.

    A holder that died on this machine is not waited for. Of others, who has not touched the reservation for its lease
    is over: that is counted here, from the last touch that was seen, so that no clock that is set robs anybody. Who
    gives no sign is watched for `watch_s` before it is said to live.
    """
    key = sshd_address if inventory.lab else MACHINE
    request = {**request, "key": key, "lab": inventory.lab, "gone": {}}
    marks: dict[str, int] = {}
    silent_since: dict[str, float] = {}
    seen_alive: set[str] = set()
    began = time.monotonic()
    while True:
        said = ask("reserve", request)
        if "trouble" in said:
            what = f"the host cannot be reserved: {said['trouble']}"
            fix = "mend that on the host; the kit keeps there who is using it"
            raise HostUnusable(what, file=inventory.file, key=f"hosts.{name}", fix=fix)
        if not said.get("held"):
            return said
        now = time.monotonic()
        for one in said["held"]:
            session, mark = one["session"], one["mark"]
            if marks.get(session) != mark:
                if session in marks:
                    seen_alive.add(session)
                marks[session] = mark
                silent_since[session] = now - one["silent_s"]
            if Holder(**one["holder"]).has_died_here() or now - silent_since[session] > one["lease_s"]:
                request["gone"][session] = mark
        live = [one for one in said["held"] if request["gone"].get(one["session"]) != one["mark"]]
        if not live:
            continue
        known = any(one["session"] in seen_alive for one in live) or now - began >= watch_s
        if known and now - began >= wait_s:
            refused = HostReserved(
                f"{HostReserved.WORDS} {_in_words(live[0])}: two loads on one host measure neither",
                file=inventory.file,
                key=f"hosts.{name}",
                fix="wait for its end (`benchbook report --wait` does), or stop it there",
            )
            refused.checkout = Holder(**live[0]["holder"]).checkout
            raise refused
        time.sleep(ASKS_EVERY_S)


def _in_words(reservation: Said) -> str:
    return f"{Holder(**reservation['holder'])} since {utc(reservation['since'])}"


def _on(host: Host) -> Ask:
    def ask(verb: str, request: Mapping[str, Any]) -> Said:
        # To have the agent there is a part of asking: the connection may break meanwhile.
        said: Said = json.loads(
            with_retry(lambda one: one.run([*agent_on(one), verb, json.dumps(request)]).stdout)(host)
        )
        return said

    # By a thread, for Fabric keeps Ctrl-C from the one that waits for a command.
    return lambda verb, request: on_each(
        "reserving", [host], lambda _: ask(verb, request), timeout=2 * ANSWERS_WITHIN_S
    )[host.name]


def _ask_here(verb: str, request: Mapping[str, Any]) -> Said:
    said: Said = json.loads(ask_agent(verb, json.dumps(request)))
    return said
