"""A host is reserved for one driver at a time, before anything is started on it. The host's side: remote/reserve.py.

What a host is: the machine that a connection came to, whatever name led there. Only hosts of a lab share a machine, and
are told apart by the address and port of their sshd: two labs on one machine take each other's cores, as every lab's
own hosts do, but what is measured there says so.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchbook.errors import BenchbookError, ConnectionLost, HostReserved, HostUnusable, ReservationLost
from benchbook.grouping import grouped
from benchbook.hosts.fanout import Outcomes, on_each, try_on_each
from benchbook.hosts.holder import Holder, since_in_words, this_driver
from benchbook.hosts.jobs import program_on, remote_program
from benchbook.hosts.patience import patiently

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.inventory import Inventory
    from benchbook.hosts.remote_host import RemoteHost

# Beyond the time that the host's program itself waits.
_ANSWER_S = 60.0

Said = Mapping[str, Any]
# Runs the program of a host with these words, and returns what it prints.
Run = Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class Arrival:
    """What a connection came to: the `place` of reservations (machine and user), and the `door`, address:port."""

    host: RemoteHost
    place: str
    door: str


def arrive(host: RemoteHost) -> Arrival:
    """What a host is, by its first answer."""
    seen = host.seen()
    return Arrival(host, seen.place, seen.door)


class Hold:
    """One reserved host. The host asks `guard` before anything is done on it, the session's thread renews it."""

    def __init__(self, reservation: Reservation, arrival: Arrival, taken: Said, *, file: str, asked: float) -> None:
        self.host, self.place, self.lease, self.lost = arrival.host, arrival.place, str(taken["lease"]), False
        self.fence = {"file": file, "session": taken["session"], "token": taken["token"]}
        self.reservation, self._taken, self._renewed = reservation, taken, asked
        self._own = threading.local()

    def guard(self) -> None:
        """Raises ReservationLost. After more than a lease without a sign of life, the host is asked first."""
        if self.lost or not self.reservation.leaving:
            self.reservation.check()
        if _now() - self._renewed > self._taken["lease_s"] and not getattr(self._own, "renewing", False):
            self.renew()

    def renew(self) -> None:
        """Give a sign of life. Raises ReservationLost when the host is another's by now."""
        began, self._own.renewing = _now(), True
        try:
            if not self.host.touch_again(self.lease):
                self._without_lease()
        except OSError as problem:
            # Somebody has removed the folder, say. Raised as it is, it would end the renewal on every host.
            raise BenchbookError(f"{self.host.name}: the lease cannot be renewed: {problem}") from problem
        finally:
            self._own.renewing = False
        self._renewed = began

    def _without_lease(self) -> None:
        """Who takes a host over removes the lease. Where the reservation stands all the same, it is made anew."""
        held = json.loads(self.host.read(str(self.fence["file"])) or b'{"held": []}')["held"]
        if any((one["session"], one["token"]) == (self.fence["session"], self.fence["token"]) for one in held):
            self.host.touch(self.lease)
            return
        self.lost = True
        self.reservation.lose(self.host.name, next((one for one in held if self._excludes(one)), None))

    def end_with_boot(self) -> None:
        """The host was started anew, with which every reservation there ends. Raises ReservationLost."""
        self.lost = True
        self.reservation.end_with_boot(self.host.name)

    def _excludes(self, other: Said) -> bool:
        return bool(other["door"] == self._taken["door"] or not (other["shared"] and self._taken["shared"]))


class Reservation:
    """The hosts of a session: all of them reserved, or none. `displaced` is what drivers that are gone held on each.

    Taken place by place, in an order that is the same for every driver: of two that want the same hosts, one gets all.
    """

    def __init__(self, session: str, inventory: Inventory, hosts: Collection[RemoteHost]) -> None:
        self.session, self.inventory, self._hosts = session, inventory, hosts
        self.displaced: dict[str, list[Said]] = {}
        self.leaving = False
        self._lost = ""

    def take(self) -> None:
        """Raises HostReserved, naming who holds a host, and HostUnusable where nothing can be reserved."""
        places = _by_place(self._hosts)
        for place in sorted(places):
            self._take_at(places[place])

    def _take_at(self, arrivals: Sequence[Arrival]) -> None:
        there, asked = _Place.of(self.inventory, arrivals), _now()
        doors = [{**_door(self.inventory, one.door), "jobs": one.host.path("jobs")} for one in arrivals]
        lease_s, holder = self.inventory.ssh.lease_s, this_driver().model_dump()
        said = there.settle("take", {"session": self.session, "doors": doors, "lease_s": lease_s, "holder": holder})
        for one, taken in zip(arrivals, said["taken"], strict=True):
            one.host.hold = Hold(self, one, taken, file=said["file"], asked=asked)
        self.displaced[arrivals[0].host.name] = said["displaced"]

    def renew(self, *, timeout: float) -> Outcomes[None]:
        """A sign of life on every host that is held; one that does not answer is asked again the next time."""
        held = {host.name: host.hold for host in self._hosts if host.hold}
        return try_on_each([hold.host for hold in held.values()], lambda host: held[host.name].renew(), timeout=timeout)

    def verify(self) -> None:
        """Raises ReservationLost where a host of the session is another's, ConnectionLost where one does not say."""
        if self.leaving:
            return
        failed = self.renew(timeout=60).failed
        self.check()
        for name, problem in failed.items():
            raise ConnectionLost(f"{name}: it does not say whether it is still reserved for this driver: {problem}")

    def lose(self, name: str, taker: Said | None) -> None:
        """Raises ReservationLost; from here on, every host of the session does."""
        whom = _in_words(taker) if taker else "another driver, which has ended by now"
        self._lost = (
            f"lost its reservation of {name} to {whom}. This driver had given no sign of life for longer than its "
            f"lease of {self.inventory.ssh.lease_s:g} s (stopped, or cut off), so the host has ended what it ran there"
        )
        self.check()

    def end_with_boot(self, name: str) -> None:
        """Raises ReservationLost; from here on, every host of the session does.

        What `tune` had set is gone as well: what is measured from here on would be measured on another host.
        """
        self._lost = (
            f"host {name} was started anew (rebooted) during the run: all that ran there is gone, and what was set "
            "there for the run. Run the same again: only what is missing is run"
        )
        self.check()

    def check(self) -> None:
        """Raises ReservationLost once a host of the session is another's."""
        if self._lost:
            raise ReservationLost(self._lost)

    def release(self, *, but: Collection[str] = ()) -> None:
        """Give the hosts back, except where something of ours may still run: its lease ends that, and this with it."""
        held = [host for host in self._hosts if host.hold and not host.hold.lost]
        there = grouped(held, lambda host: host.hold.place if host.hold else "")
        free = [hosts[0] for hosts in there.values() if not {host.name for host in hosts} & set(but)]
        try_on_each(free, lambda host: _ask(_on(host), "release", self.session), timeout=_ANSWER_S)
        for host in self._hosts:
            host.hold = None


def check_free(inventory: Inventory, hosts: Collection[RemoteHost], *, wait_s: float = 0.0) -> None:
    """Raises HostReserved when another driver holds one of these hosts, and still does after `wait_s`."""
    for arrivals in _by_place(hosts).values():
        doors = [_door(inventory, one.door) for one in arrivals]
        _Place.of(inventory, arrivals).settle("look", {"session": "", "doors": doors}, wait_s=wait_s)


def check_lab_free(inventory: Inventory, doors: Mapping[str, str], *, wait_s: float = 0.0) -> None:
    """The same for hosts of this machine, by door (address:port); none of them need be up."""
    here = _Place(inventory, _here, doors)
    here.settle("look", {"session": "", "doors": [_door(inventory, door) for door in doors]}, wait_s=wait_s)


# -- the host's program -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """Where one machine's reservations are kept: the program is run there by `run`; `names` are its hosts by door."""

    inventory: Inventory
    run: Run
    names: Mapping[str, str]

    @classmethod
    def of(cls, inventory: Inventory, arrivals: Sequence[Arrival]) -> _Place:
        return cls(inventory, _on(arrivals[0].host), {one.door: one.host.name for one in arrivals})

    def settle(self, verb: str, request: Said, *, wait_s: float = 0.0) -> Said:
        """The program's answer. A holder that died on this machine is not waited for. Raises HostReserved."""
        said = self._ask(verb, {**request, "gone": None, "wait_s": 0})
        if "held" in said:
            gone = [one["token"] for one in said["held"] if Holder(**one["holder"]).has_died_here()]
            said = self._ask(verb, {**request, "gone": gone, "wait_s": wait_s})
        if "held" in said:
            raise self._refusal(said["held"][0])
        return said

    def _ask(self, verb: str, request: Said) -> Said:
        said = _ask(self.run, verb, json.dumps(request))
        if "trouble" in said:
            raise HostUnusable(
                f"the host cannot be reserved: {said['trouble']}",
                file=self.inventory.file,
                key=f"hosts.{next(iter(self.names.values()))}",
                fix="mend that on the host; the kit keeps there who is using it",
            )
        return said

    def _refusal(self, one: Said) -> HostReserved:
        name = self.names.get(one["door"]) or next(iter(self.names.values()))
        return HostReserved(
            f"{HostReserved.WORDS} {_in_words(one)}: two loads on one host measure neither",
            file=self.inventory.file,
            key=f"hosts.{name}",
            fix="wait for its end (`benchbook report --wait` does), or stop it there",
        )


def _by_place(hosts: Collection[RemoteHost]) -> dict[str, list[Arrival]]:
    arrivals = on_each("looking at what hosts they are", hosts, patiently(arrive))
    return grouped(arrivals.values(), lambda arrival: arrival.place)


def _door(inventory: Inventory, door: str) -> dict[str, object]:
    return {"door": door, "shared": inventory.lab}


def _in_words(reservation: Said) -> str:
    return f"{Holder(**reservation['holder'])} since {since_in_words(reservation['since'])}"


def _ask(run: Run, verb: str, request: str) -> Said:
    said: Said = json.loads(run([verb, request]))
    return said


def _on(host: RemoteHost) -> Run:
    """The program on a host; by a thread, for Fabric keeps Ctrl-C from the one that waits for a command."""

    def step(host: RemoteHost, words: Sequence[str]) -> str:
        return host.run([*program_on(host, "hosts", "reserve.py"), *words], timeout=_ANSWER_S).stdout

    return lambda words: on_each("reserving", [host], patiently(lambda one: step(one, words)), timeout=2 * _ANSWER_S)[
        host.name
    ]


def _here(words: Sequence[str]) -> str:
    """The program on this machine; in a session of its own, for a Ctrl-C is ours to answer."""
    program = [sys.executable, str(remote_program("hosts", "reserve.py")), *words]
    return subprocess.run(program, check=True, text=True, stdout=subprocess.PIPE, start_new_session=True).stdout


def _now() -> float:
    """Seconds that go on while this machine sleeps, where its system counts them."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
