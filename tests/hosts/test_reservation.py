"""Who may use a host, without one: the program that keeps reservations, in a place of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kit import Home, inventory, until

from benchbook.errors import ConnectionLost, ReservationLost
from benchbook.hosts import holder, reservation
from benchbook.hosts.inventory import load_inventory
from benchbook.hosts.jobs import remote_program
from benchbook.hosts.remote import reserve, supervise
from benchbook.hosts.session import Session
from benchbook.profiles import load_profile
from benchbook.systems import existing_server

Said = dict[str, Any]
LEASE_S = 20.0


class Clocks:
    """Both clocks of a host, set by the test; a pause lets the monotonic one go on, and the wall clock with it."""

    def __init__(self) -> None:
        self.wall, self.monotonic_s = 1_000_000.0, 500.0
        self.during: list[Callable[[], None]] = []

    def time(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.monotonic_s

    def sleep(self, seconds: float) -> None:
        self.wall += seconds
        self.monotonic_s += seconds
        for happens in self.during:
            happens()


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    made = Clocks()
    monkeypatch.setattr(reserve, "time", made)
    return made


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserve, "PLACE", str(tmp_path / "place"))


def said(capsys: pytest.CaptureFixture[str], *words: str) -> Said:
    assert reserve.main(list(words)) == 0
    answer: Said = json.loads(capsys.readouterr().out)
    return answer


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str], clocks: Clocks) -> Callable[..., Said]:
    def asked(verb: str, session: str, *doors: str, shared: bool = True, **more: object) -> Said:
        wanted = [{"door": door, "shared": shared, "jobs": "/jobs"} for door in doors]
        request = {"session": session, "doors": wanted, "lease_s": LEASE_S, "holder": {"user": session}}
        answer = said(capsys, verb, json.dumps({**request, "gone": [], "wait_s": 0, **more}))
        for taken in answer.get("taken", []):
            touch(taken, clocks)
        return answer

    return asked


def touch(taken: Said, clocks: Clocks) -> None:
    os.utime(taken["lease"], (clocks.wall, clocks.wall))


def holders(answer: Said) -> list[str]:
    return [one["session"] for one in answer["held"]]


A, B = "127.0.0.1:2222", "127.0.0.2:2222"


# -- who excludes whom ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "excluded"),
    [
        ((A, True), (A, True), True),  # one lab
        ((A, True), (B, True), False),  # two labs on one machine
        ((A, True), (B, False), True),  # a lab, and the machine by another name
        (("10.0.0.1:22", False), ("192.168.0.1:22", False), True),  # two names of one machine
        (("", False), ("10.0.0.1:22", False), True),  # a connection that does not say where it came to
    ],
)
def test_two_drivers_on_one_machine(
    ask: Callable[..., Said], first: tuple[str, bool], second: tuple[str, bool], excluded: bool
) -> None:
    ask("take", "first", first[0], shared=first[1])
    answer = ask("look", "second", second[0], shared=second[1], gone=None)
    assert answer == {} if not excluded else holders(answer) == ["first"]


def test_a_session_does_not_exclude_itself_and_takes_all_its_doors_or_none(ask: Callable[..., Said]) -> None:
    assert [one["door"] for one in ask("take", "first", A, B)["taken"]] == [A, B]
    assert holders(ask("take", "second", "127.0.0.3:2222", B, gone=None)) == ["first"]
    assert ask("look", "third", "127.0.0.3:2222", gone=None) == {}, "the second has left nothing"


def test_what_is_given_back_is_free_and_tokens_only_grow(
    ask: Callable[..., Said], capsys: pytest.CaptureFixture[str]
) -> None:
    first = ask("take", "first", A, B)
    assert said(capsys, "release", "first") == {}
    assert not Path(first["taken"][0]["lease"]).exists()
    second = ask("take", "second", A)
    assert [one["token"] for one in first["taken"] + second["taken"]] == [1, 2, 3]
    assert second["displaced"] == []


def test_what_was_noted_beside_a_lease_goes_with_it(
    ask: Callable[..., Said], capsys: pytest.CaptureFixture[str]
) -> None:
    """Supervisors write there what stood still; it stayed in /tmp after every such session."""
    mine, other = (Path(ask("take", who, door)["taken"][0]["lease"] + ".stopped") for who, door in (("a", A), ("b", B)))
    mine.write_text("{}\n")
    other.write_text("{}\n")
    said(capsys, "release", "a")
    assert (mine.exists(), other.exists()) == (False, True)


def test_a_session_that_asks_twice_holds_its_doors_once(ask: Callable[..., Said]) -> None:
    unheard, heard = (ask("take", "first", A)["taken"] for _ in range(2))
    (other,) = ask("take", "first", B)["taken"]
    state = json.loads(Path(reserve.inside("reservations.json")).read_text())
    assert [one["token"] for one in state["held"]] == [heard[0]["token"], other["token"]] == [2, 3]
    assert not Path(unheard[0]["lease"]).exists()


# -- signs of life --------------------------------------------------------------------------------------------------


def test_an_answer_that_nobody_hears_leaves_nothing_reserved(ask: Callable[..., Said]) -> None:
    door = {"door": A, "shared": True, "jobs": "/jobs"}
    request = {"session": "gone", "doors": [door], "lease_s": LEASE_S, "holder": {}, "gone": [], "wait_s": 0}
    begins = "import sys; from benchbook.hosts.remote import reserve; reserve.PLACE = sys.argv[1]"
    program = [sys.executable, "-c", f"{begins}; sys.exit(reserve.main(sys.argv[2:]))"]
    heard, said_to = os.pipe()
    os.close(heard)
    ran = subprocess.run(
        [*program, reserve.PLACE, "take", json.dumps(request)],
        check=False,
        stdout=said_to,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(said_to)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ask("look", "second", A) == {}


def test_a_driver_that_renews_is_named_at_its_first_sign(ask: Callable[..., Said], clocks: Clocks) -> None:
    (taken,) = ask("take", "first", A)["taken"]
    began = clocks.monotonic()
    clocks.during = [lambda: touch(taken, clocks) if clocks.monotonic() - began > 2.5 else None]
    assert holders(ask("take", "second", A)) == ["first"]
    assert clocks.monotonic() - began == pytest.approx(2.6)


def test_a_driver_that_is_silent_for_less_than_its_lease_is_not_robbed(
    ask: Callable[..., Said], clocks: Clocks
) -> None:
    (taken,) = ask("take", "first", A)["taken"]
    clocks.sleep(16)  # of 20; then somebody else arrives, and the first comes back 3 s later
    back = clocks.monotonic() + 3
    clocks.during = [lambda: touch(taken, clocks) if clocks.monotonic() > back else None]
    assert holders(ask("take", "second", A)) == ["first"]


def test_a_driver_that_is_silent_for_its_lease_loses_the_host_then_and_not_later(
    ask: Callable[..., Said], clocks: Clocks
) -> None:
    (taken,) = ask("take", "first", A)["taken"]
    clocks.sleep(16)
    began = clocks.monotonic()
    answer = ask("take", "second", A)
    assert [one["session"] for one in answer["displaced"]] == ["first"]
    assert not Path(taken["lease"]).exists(), "by which the first learns it"
    assert clocks.monotonic() - began == pytest.approx(LEASE_S - 16 + 0.2, abs=0.21)


@pytest.mark.parametrize("step_s", [3600.0, -3600.0])
def test_a_clock_that_is_set_robs_nobody(ask: Callable[..., Said], clocks: Clocks, step_s: float) -> None:
    (taken,) = ask("take", "first", A)["taken"]
    clocks.wall += step_s
    began = clocks.monotonic()
    clocks.during = [lambda: touch(taken, clocks) if clocks.monotonic() - began > 19 else None]
    assert holders(ask("take", "second", A)) == ["first"], "seen to live within a whole lease"
    clocks.during = []
    touch(taken, clocks)
    clocks.wall += step_s
    began = clocks.monotonic()
    assert ask("take", "second", A)["displaced"]
    assert clocks.monotonic() - began == pytest.approx(LEASE_S, abs=0.3), "silent for a whole lease, as watched"


def test_a_silent_driver_with_a_long_lease_is_named_before_it_ends(ask: Callable[..., Said], clocks: Clocks) -> None:
    ask("take", "first", A, lease_s=3600)
    began = clocks.monotonic()
    assert ask("take", "second", A)["held"][0]["silent_s"] == pytest.approx(reserve.WATCH_S, abs=0.5)
    assert clocks.monotonic() - began == pytest.approx(reserve.WATCH_S, abs=0.5)


def test_a_driver_that_is_known_to_be_dead_is_not_watched(ask: Callable[..., Said], clocks: Clocks) -> None:
    token = ask("take", "first", A)["taken"][0]["token"]
    began = clocks.monotonic()
    assert ask("take", "second", A, gone=[token])["displaced"]
    assert clocks.monotonic() == began


def test_who_waits_gets_in_when_the_other_leaves(
    ask: Callable[..., Said], clocks: Clocks, capsys: pytest.CaptureFixture[str]
) -> None:
    (taken,) = ask("take", "first", A)["taken"]
    leaves = clocks.monotonic() + 12

    def live() -> None:
        if clocks.monotonic() < leaves:
            touch(taken, clocks)
        elif Path(taken["lease"]).exists():
            said(capsys, "release", "first")

    clocks.during = [live]
    assert holders(ask("look", "second", A, wait_s=5)) == ["first"]
    assert ask("look", "second", A, wait_s=30) == {}
    assert clocks.monotonic() == pytest.approx(leaves, abs=1.1)


def test_reservations_end_with_the_machine_s_boot(ask: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    ask("take", "first", A)
    monkeypatch.setattr(reserve, "boot", lambda: "another")
    answer = ask("take", "second", A, gone=None)
    assert ([one["token"] for one in answer["taken"]], answer["displaced"]) == ([2], [])


# -- the place ------------------------------------------------------------------------------------------------------


def test_a_place_that_is_somebody_else_s_or_a_link_is_refused(
    ask: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "place").symlink_to(tmp_path / "theirs")
    assert "is not a folder of this login's own" in ask("take", "first", A)["trouble"]
    (tmp_path / "place").unlink()
    (tmp_path / "place").mkdir(mode=0o777)
    monkeypatch.setattr(reserve.os, "geteuid", lambda: os.getuid() + 1)
    assert "is not a folder of this login's own" in ask("take", "first", A)["trouble"]


def test_a_place_that_others_could_write_to_is_closed_to_them(ask: Callable[..., Said], tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    (tmp_path / "place").chmod(0o777)
    ask("take", "first", A)
    assert (tmp_path / "place").stat().st_mode & 0o777 == 0o700


def test_a_file_of_reservations_that_cannot_be_read_is_named(ask: Callable[..., Said], tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "reservations.json").write_text("[]")
    assert "reservations.json cannot be read" in ask("take", "first", A)["trouble"]


# -- what jobs and drivers know -------------------------------------------------------------------------------------


def test_a_fence_is_lost_once_another_stands_in_its_place(ask: Callable[..., Said]) -> None:
    first = ask("take", "first", A, B)
    fence, other = (
        supervise.Fence({"file": first["file"], "session": "first", "token": one["token"]}) for one in first["taken"]
    )
    assert not fence.lost()
    ask("take", "neighbour", "127.0.0.3:2222")
    assert not fence.lost()
    ask("take", "second", A, gone=[one["token"] for one in first["taken"]])
    assert (fence.lost(), other.lost()) == (True, False), "the session has lost one of its two doors"
    Path(first["file"]).unlink()
    assert fence.lost(), "what was lost stays lost"
    assert not supervise.Fence({"file": first["file"], "session": "x", "token": 1}).lost(), "nobody has taken it over"


def test_a_job_whose_host_is_taken_over_is_ended_and_another_is_not_started(
    ask: Callable[..., Said], tmp_path: Path
) -> None:
    first = ask("take", "first", A, B)
    (tmp_path / "lease").touch()

    def start(name: str, taken: Said) -> str:
        (tmp_path / name).mkdir()
        fence = {"file": first["file"], "session": "first", "token": taken["token"]}
        job = {"argv": ["sleep", "60"], "lease": str(tmp_path / "lease"), "lease_s": 60, "grace_s": 1, "timeout_s": 60}
        (tmp_path / name / "job.json").write_text(json.dumps({**job, "fence": fence}))
        words = [sys.executable, str(remote_program("hosts", "supervise.py")), "start", str(tmp_path / name)]
        return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE, timeout=60).stdout.strip()

    assert start("on-a", first["taken"][0]).isdigit()
    assert start("on-b", first["taken"][1]).isdigit()
    ask("take", "second", A, gone=[first["taken"][0]["token"]])
    ended = until(lambda: supervise.reason_of(tmp_path / "on-a"), "it is ended")
    assert ended == "reservation"
    assert start("late", first["taken"][0]) == "refused"
    assert not (tmp_path / "late" / "pid").exists()
    assert supervise.stop(str(tmp_path / "on-b")), "the host that is kept goes on until it is stopped"


def test_only_a_process_of_this_machine_is_known_to_have_died(monkeypatch: pytest.MonkeyPatch) -> None:
    here = holder.this_driver()
    assert not here.has_died_here()
    gone = here.model_copy(update={"started": here.started + 1})
    assert gone.has_died_here(), "another process has its number now"
    assert not gone.model_copy(update={"boot": "another"}).has_died_here()
    assert not gone.model_copy(update={"pid_space": "pid:[1]"}).has_died_here()
    monkeypatch.setattr(holder, "boot_id", lambda: "")
    assert not gone.model_copy(update={"boot": ""}).has_died_here()


# -- the driver's side ----------------------------------------------------------------------------------------------


class Answers:
    """A host as a reservation sees it: is the lease there (None: the connection is broken), and who holds it?"""

    def __init__(self, name: str) -> None:
        self.name, self.lease_there, self.held = name, True, [HELD]
        self.touched: list[str] = []
        self.hold: reservation.Hold | None = None

    def touch_again(self, path: str) -> bool:
        assert self.hold is not None
        self.hold.guard()  # as every use of a connection does
        if self.lease_there is None:
            raise ConnectionLost("broken")
        return self.lease_there

    def read(self, path: str) -> bytes:
        return json.dumps({"held": self.held}).encode()

    def touch(self, path: str) -> None:
        self.touched.append(path)


HELD = {"session": "mine", "token": 7, "door": A, "shared": True, "lease": "/lease", "lease_s": LEASE_S}
TAKEN = {**HELD, "session": "theirs", "token": 8, "since": 0, "holder": {"user": "anna", "host": "laptop", "pid": 4711}}


@pytest.fixture
def pair(home: Home, monkeypatch: pytest.MonkeyPatch) -> tuple[reservation.Reservation, Answers, Answers, Clocks]:
    """A session's reservation of two hosts, a and b, and the driver's clock."""
    time = Clocks()
    monkeypatch.setattr(reservation, "_now", time.monotonic)
    hosts = [Answers("a"), Answers("b")]
    known = load_inventory(str(home.write("pair.yaml", inventory("127.0.0"))))
    whole = reservation.Reservation("mine", known, hosts)  # type: ignore[arg-type]
    for host in hosts:
        arrival = reservation.Arrival(host, "place", A)  # type: ignore[arg-type]
        host.hold = reservation.Hold(whole, arrival, HELD, file="/state", asked=time.monotonic())
    return whole, *hosts, time


Pair = tuple[reservation.Reservation, Answers, Answers, Clocks]


def test_a_host_that_is_lost_ends_the_use_of_every_host_until_the_session_leaves(pair: Pair) -> None:
    whole, a, b, _ = pair
    a.hold.guard()
    b.lease_there, b.held = False, [TAKEN]
    with pytest.raises(ReservationLost, match=r"of b to anna@laptop \(process 4711, \) since 1970-01-01 00:00"):
        whole.verify()
    with pytest.raises(ReservationLost):
        a.hold.guard()
    whole.leaving = True
    a.hold.guard()  # its jobs are ended, and it is given back
    with pytest.raises(ReservationLost):
        b.hold.guard()


def test_a_lease_that_somebody_removed_is_made_anew_where_the_reservation_stands(pair: Pair) -> None:
    whole, a, _, _ = pair
    a.lease_there = False
    whole.verify()
    assert a.touched == ["/lease"]


def test_a_host_that_does_not_say_whose_it_is_is_not_taken_for_ours(pair: Pair) -> None:
    whole, a, _, _ = pair
    a.lease_there = None
    with pytest.raises(ConnectionLost, match="a: it does not say whether it is still reserved for this driver: broken"):
        whole.verify()
    assert whole.renew(timeout=10).failed.keys() == {"a"}, "the next renewal may succeed"


def test_after_a_silence_of_a_lease_the_host_is_asked_before_it_is_used(pair: Pair) -> None:
    _, a, _, time = pair
    a.lease_there, a.held = False, [TAKEN]
    time.sleep(16)
    a.hold.guard()
    time.sleep(5)
    with pytest.raises(ReservationLost):
        a.hold.guard()


# -- what cannot be reserved ----------------------------------------------------------------------------------------


def test_the_page_says_that_an_existing_server_is_not_reserved(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    end = {"host": "127.0.0.30", "port": 3306}
    known = load_inventory(str(home.write("ends.yaml", inventory("127.0.0", endpoints={"cloud": end}))))
    session = Session(known, ["executor"])
    monkeypatch.setattr(existing_server, "query", lambda *_: [("10.11", "x")])
    about = existing_server.EndpointSystem(session, load_profile("smoke"), "cloud").about()
    assert "only the client hosts were reserved for this run" in " ".join(about.notes)
