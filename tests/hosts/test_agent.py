"""The agent on a host, run as it runs there: who may use the host, and what becomes of its jobs."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kit import Home, inventory, until

from benchbook.errors import ConnectionLost, HostReserved, ReservationLost
from benchbook.hosts import reservation, timeouts
from benchbook.hosts import session as sessions
from benchbook.hosts.agent import remote_program
from benchbook.hosts.inventory import load_inventory
from benchbook.hosts.remote import agent
from benchbook.hosts.session import Lease, Session
from benchbook.profiles import load_profile
from benchbook.systems import existing_server, sql

Said = dict[str, Any]
LEASE_S = 20.0
A, B = "127.0.0.1:2222", "127.0.0.2:2222"


class Clocks:
    """Both clocks of a host, set by the test; a pause lets the monotonic one go on, and the wall clock with it."""

    def __init__(self) -> None:
        self.wall, self.monotonic_s = 1_000_000.0, 500.0
        self.during: list[Callable[[], object]] = []

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
def clocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Clocks:
    """Clocks of the host, which are the driver's as well; reservations are kept in a place of the test's own."""
    made = Clocks()
    monkeypatch.setattr(agent, "time", made)
    monkeypatch.setattr(reservation, "time", made)
    monkeypatch.setattr(agent, "PLACE", str(tmp_path / "place"))
    return made


@pytest.fixture
def reserve(clocks: Clocks) -> Callable[..., Said]:
    """Ask for a host as the driver of a session does."""

    def asked(session: str, key: str, *, lab: bool = True, take: bool = True, **more: object) -> Said:
        request = {"session": session, "key": key, "lab": lab, "jobs": f"/jobs/{session}", "lease_s": LEASE_S}
        said: Said = agent.reserve({**request, "holder": {"user": session}, "gone": {}, "take": take, **more})
        if "file" in said:
            touch(said, clocks)
        return said

    return asked


def touch(taken: Said, clocks: Clocks) -> None:
    os.utime(taken["file"], (clocks.wall, clocks.wall))


def holders(answer: Said) -> list[str]:
    return [one["session"] for one in answer["held"]]


# -- who excludes whom ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "excluded"),
    [
        ((A, True), (A, True), True),  # one lab
        ((A, True), (B, True), False),  # two labs on one machine
        ((A, True), ("machine", False), True),  # a lab, and the machine itself
        (("machine", False), ("machine", False), True),  # two names of one machine
    ],
)
def test_two_drivers_on_one_machine(
    reserve: Callable[..., Said], first: tuple[str, bool], second: tuple[str, bool], excluded: bool
) -> None:
    reserve("first", first[0], lab=first[1])
    assert holders(reserve("second", second[0], lab=second[1], take=False)) == ["first"] * excluded
    assert ("file" in reserve("second", second[0], lab=second[1])) is not excluded


def test_a_session_does_not_exclude_itself_and_what_is_given_back_is_free(reserve: Callable[..., Said]) -> None:
    assert reserve("mine", A)["file"] == reserve("mine", A)["file"]
    reserve("mine", B)
    assert holders(reserve("theirs", B)) == ["mine"]
    agent.release("mine")
    assert reserve("theirs", B)["displaced"] == []


def test_a_silent_driver_loses_the_host_after_its_lease_and_not_before(
    reserve: Callable[..., Said], clocks: Clocks
) -> None:
    reserve("silent", A)
    clocks.sleep(LEASE_S - 1)
    assert holders(reserve("next", A)) == ["silent"]
    clocks.sleep(2)
    assert reserve("next", A)["displaced"] == ["/jobs/silent"]


@pytest.mark.parametrize("step_s", [3600.0, -3600.0])
def test_a_clock_that_is_set_robs_nobody(reserve: Callable[..., Said], clocks: Clocks, step_s: float) -> None:
    reserve("first", A)
    clocks.wall += step_s
    clocks.sleep(1)
    (held,) = reserve("second", A)["held"]
    assert held["silent_s"] == 0.0, "its age is not known any more: who wants the host watches it"


def test_who_is_known_to_be_gone_is_displaced_unless_a_sign_of_life_came_since(
    reserve: Callable[..., Said], clocks: Clocks
) -> None:
    first = reserve("first", A)
    (held,) = reserve("second", A)["held"]
    gone = {"first": held["mark"]}
    clocks.sleep(1)
    touch(first, clocks)
    assert holders(reserve("second", A, gone=gone)) == ["first"]
    (held,) = reserve("second", A)["held"]
    assert reserve("second", A, gone={"first": held["mark"]})["displaced"] == ["/jobs/first"]


def test_reservations_end_with_the_machine_s_boot(
    reserve: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve("before", A)
    monkeypatch.setattr(agent, "boot", lambda: "another")
    assert reserve("after", A)["displaced"] == []


def test_a_full_disk_leaves_nothing_of_a_reservation(reserve: Callable[..., Said], tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / f"{A}.host.new").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        reserve("first", A)
    assert not any((tmp_path / "place").iterdir())


def test_a_place_that_is_somebody_else_s_or_a_link_is_refused(clocks: Clocks, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "place").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(agent.AgentError, match="not a folder of this login's own"):
        agent.release("x")
    (tmp_path / "place").unlink()
    (tmp_path / "place").mkdir(mode=0o777)
    (tmp_path / "place").chmod(0o777)
    agent.release("x")
    assert (tmp_path / "place").stat().st_mode & 0o077 == 0, "others could write there: now they cannot"
    (tmp_path / "place" / "machine.host").write_text("{")
    with pytest.raises(agent.AgentError, match=r"machine\.host cannot be read; remove it"):
        agent.release("x")


# -- how a driver asks ------------------------------------------------------------------------------------------------


@pytest.fixture
def settle(home: Home, clocks: Clocks) -> Callable[..., Said]:
    known = load_inventory(str(home.write("pair.yaml", inventory("127.0.0"))))

    def asked(**more: Any) -> Said:
        own = {"session": "mine", "jobs": "/jobs/mine", "lease_s": LEASE_S, "holder": {"user": "me"}, "take": True}
        return reservation._ask_until_free(reservation.ReservableHost(known, "db1", A, agent.reserve), own, **more)

    return asked


def test_a_driver_that_renews_is_named_with_since_when(
    reserve: Callable[..., Said], clocks: Clocks, settle: Callable[..., Said]
) -> None:
    first = reserve("anna", A)
    clocks.during.append(lambda: touch(first, clocks))
    with pytest.raises(HostReserved, match=r"reserved by anna@ \(process 0, \) since 1970-01-12 13:46:40 UTC"):
        settle()
    assert clocks.monotonic_s < 502, "at its first sign of life"


def test_whether_a_lab_may_be_stopped_is_known_at_once(
    reserve: Callable[..., Said], clocks: Clocks, settle: Callable[..., Said]
) -> None:
    """Labs are locked meanwhile, for all their hosts: who may live is not watched."""
    reserve("anna", A)
    with pytest.raises(HostReserved):
        settle(watch_s=0.0)
    assert clocks.monotonic_s < 501


def test_a_driver_that_is_silent_is_watched_for_its_lease(
    reserve: Callable[..., Said], clocks: Clocks, settle: Callable[..., Said]
) -> None:
    reserve("anna", A)
    clocks.wall += 3600  # so that the age of the file tells nothing
    assert settle()["displaced"] == ["/jobs/anna"]
    assert LEASE_S < clocks.monotonic_s - 500 < LEASE_S + 2


def test_a_silent_driver_with_a_long_lease_is_named_before_it_ends(
    reserve: Callable[..., Said], clocks: Clocks, settle: Callable[..., Said]
) -> None:
    reserve("anna", A, lease_s=3600.0)
    with pytest.raises(HostReserved):
        settle()
    assert clocks.monotonic_s < 500 + timeouts.WATCH_S + 2


def test_a_driver_s_checkout_is_told_whole_however_its_folder_was_named(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By it a lab in a network of its own tells its own drivers from those of another checkout."""
    monkeypatch.chdir(home.path.parent)
    monkeypatch.setenv("BENCHBOOK_HOME", home.path.name)
    assert reservation.this_driver().checkout == str(home.path.resolve())


def test_a_driver_that_has_died_on_this_machine_is_not_watched(
    reserve: Callable[..., Said], clocks: Clocks, settle: Callable[..., Said]
) -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    dead = reservation.this_driver().model_copy(update={"pid": process.pid, "started": 1})
    reserve("dead", A, holder=dead.model_dump())
    assert settle()["displaced"] == ["/jobs/dead"]
    assert clocks.monotonic_s == 500


def test_who_waits_gets_in_when_the_other_leaves(
    reserve: Callable[..., Said], clocks: Clocks, settle: Callable[..., Said]
) -> None:
    first = reserve("anna", A)
    clocks.during.append(lambda: touch(first, clocks) if clocks.monotonic_s < 600 else agent.release("anna"))
    assert settle(wait_s=1000)["displaced"] == []
    assert 600 <= clocks.monotonic_s < 602


def test_only_a_process_of_this_machine_is_known_to_have_died() -> None:
    here = reservation.this_driver()
    assert not here.has_died_here()
    gone = here.model_copy(update={"started": here.started - 1})
    assert gone.has_died_here()
    assert not gone.model_copy(update={"boot": "another machine's"}).has_died_here()
    assert not gone.model_copy(update={"pid_space": "pid:[1]"}).has_died_here()


def test_what_drivers_that_are_gone_have_left_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "PLACE", str(tmp_path / "benchbook-0"))
    here = reservation.this_driver()
    for user, holder in (("0", here), ("1", here.model_copy(update={"started": here.started - 1}))):
        place = tmp_path / f"benchbook-{user}"
        place.mkdir()
        (place / f"{A}.host").write_text(json.dumps({"holder": holder.model_dump()}))
        (place / "half.host").write_text('{"hol')
    ((file, holder),) = reservation.left_reservations()
    assert (file, holder.pid) == (tmp_path / "benchbook-1" / f"{A}.host", os.getpid())


# -- a driver that loses a host ---------------------------------------------------------------------------------------


class Answers:
    """A host as a reservation sees it: is it ours (None: the connection is broken), and who has it?"""

    def __init__(self, name: str, known: Any) -> None:
        self.name, self.inventory, self.ours, self.held = name, known, True, b""
        self.lease: Lease | None = None

    def renew_lease(self, file: str, session: str) -> bool:
        assert self.lease is not None
        self.lease.guard()  # as every use of a connection does
        if self.ours is None:
            raise ConnectionLost("broken")
        return self.ours

    def read(self, path: str) -> bytes:
        return self.held


TAKEN = {"since": 0, "holder": {"user": "anna", "host": "laptop", "pid": 4711}}
Pair = tuple[Session, Answers, Answers, Clocks]


@pytest.fixture
def pair(home: Home, monkeypatch: pytest.MonkeyPatch) -> Pair:
    """A session of two hosts, a and b, which it has reserved, and the driver's clock."""
    time = Clocks()
    monkeypatch.setattr(sessions, "monotonic_s", time.monotonic)
    known = load_inventory(str(home.write("pair.yaml", inventory("127.0.0"))))
    a, b = Answers("a", known), Answers("b", known)
    whole = Session(known, [])
    whole.hosts = {"a": a, "b": b}  # type: ignore[dict-item]
    for host in (a, b):
        host.lease = Lease(whole, host, "/file")  # type: ignore[arg-type]
    return whole, a, b, time


def test_a_host_that_is_lost_ends_the_use_of_every_host_until_the_session_leaves(pair: Pair) -> None:
    whole, a, b, _ = pair
    assert a.lease
    assert b.lease
    a.lease.guard()
    b.ours, b.held = False, json.dumps(TAKEN).encode()
    with pytest.raises(ReservationLost, match=r"of b to anna@laptop \(process 4711, \) since 1970-01-01 00:00"):
        whole.verify()
    with pytest.raises(ReservationLost):
        a.lease.guard()
    whole.leaving = True
    a.lease.guard()  # its jobs are ended, and it is given back
    with pytest.raises(ReservationLost):
        b.lease.guard()


def test_a_host_that_does_not_say_whose_it_is_is_not_taken_for_ours(pair: Pair) -> None:
    whole, a, _, _ = pair
    a.ours = None
    with pytest.raises(ConnectionLost, match="a: it does not say whether it is still reserved for this driver: broken"):
        whole.verify()
    assert whole.renew(timeout=10).failed.keys() == {"a"}, "the next renewal may succeed"


def test_after_a_silence_of_a_lease_the_host_is_asked_before_it_is_used(pair: Pair) -> None:
    _, a, _, time = pair
    assert a.lease
    a.ours = False
    time.sleep(9)
    a.lease.guard()
    time.sleep(2)
    with pytest.raises(ReservationLost, match="another driver, which has ended by now"):
        a.lease.guard()


def test_the_page_says_that_an_existing_server_is_not_reserved(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    end = {"host": "127.0.0.30", "port": 3306}
    known = load_inventory(str(home.write("ends.yaml", inventory("127.0.0", endpoints={"cloud": end}))))
    session = Session(known, ["executor"])
    monkeypatch.setattr(sql, "version", lambda *_: "10.11")
    monkeypatch.setattr(sql, "variables", lambda *_: {})
    about = existing_server.EndpointSystem(session, load_profile("smoke"), "cloud").about()
    assert "only the client hosts were reserved for this run" in " ".join(about.notes)
    told = (about.version, about.title, about.hosts, about.config)
    assert told == ("10.11", "existing server at 127.0.0.30:3306", (), {"variables": {}})


# -- jobs -------------------------------------------------------------------------------------------------------------

PROGRAM = str(remote_program("hosts", "agent.py"))


def described(
    folder: Path, *argv: str, session: str = "mine", secrets: dict[str, str] | None = None, **more: Any
) -> str:
    """Put what a driver writes of a job beside its folder, and the reservation that it lives by; return the folder."""
    lease = folder.parent / "machine.host"
    if not lease.exists():
        lease.write_text(json.dumps({"session": "mine"}))
    job = {
        "argv": argv, "env": {}, "cwd": None, "cpus": [], "session": session, "lease": str(lease), "lease_s": 60,
        "grace_s": 1, "timeout_s": 60, "secret_files": list(secrets or {}), **more,
    }  # fmt: skip
    Path(f"{folder}.json").write_text(json.dumps({"job": job, "secrets": secrets or {}}))
    return str(folder)


def run(verb: str, *words: object, program: tuple[str, ...] = (sys.executable, PROGRAM)) -> str:
    said = subprocess.run(
        [*program, verb, *map(str, words)], check=True, timeout=60, capture_output=True, text=True
    ).stdout
    return said


def ended(folder: Path) -> Said:
    found: Said = until(lambda: agent.read_json(folder / "status.json"), "the job ends")
    return found


def test_a_job_that_is_asked_for_twice_is_started_once(tmp_path: Path) -> None:
    job = tmp_path / "load-1"
    said = [run("start", described(job, "sh", "-c", "echo once")) for _ in range(2)]
    assert (ended(job)["reason"], ended(job)["exit"]) == ("exited", 0)
    pids = json.loads((job / "pid").read_text())
    assert said[0] == said[1] == f"{pids['supervisor']} {pids['began']['supervisor']}\n"
    assert (job / "stdout").read_text() == "once\n"


def test_a_job_that_was_called_off_before_it_began_does_not_begin(tmp_path: Path) -> None:
    job = tmp_path / "load-1"
    described(job, "touch", "ran", secrets={"password": "hush"})
    run("stop", job)
    assert subprocess.run([sys.executable, PROGRAM, "start", str(job)], check=False).returncode == 1
    assert sorted(path.name for path in job.iterdir()) == ["begun"]
    assert not Path(f"{job}.json").exists(), "what it would have known goes"


def test_a_job_whose_host_is_another_s_is_not_started_and_one_that_runs_is_ended(tmp_path: Path) -> None:
    job = tmp_path / "load-1"
    run("start", described(job, "sleep", "300"))
    lease = tmp_path / "machine.host"
    lease.with_suffix(".new").write_text(json.dumps({"session": "theirs"}))
    lease.with_suffix(".new").rename(lease)
    assert ended(job)["reason"] == "reservation"
    assert json.loads((job / "ending").read_text()) == "reservation", "what fails meanwhile can be told from its cause"
    assert run("start", described(tmp_path / "load-2", "touch", "ran", secrets={"password": "hush"})) == "refused\n"
    assert not (tmp_path / "load-2" / "ran").exists()
    assert not (tmp_path / "load-2" / "password").exists()


def test_what_a_driver_left_is_ended_named_and_removed_and_one_s_own_is_not(tmp_path: Path) -> None:
    theirs, mine = tmp_path / "jobs" / "load-1", tmp_path / "jobs" / "load-2"
    theirs.parent.mkdir()
    (theirs.parent / "theirs.stops").touch()
    described(theirs, "sleep", "300", session="theirs", secrets={"password": "hush"})
    (theirs.parent / "machine.host").write_text(json.dumps({"session": "theirs"}))
    run("start", theirs)
    (theirs.parent / "machine.host").unlink()
    run("start", described(mine, "sleep", "300"))
    (theirs.parent / "machine.host").rename(tmp_path / "machine.host")
    assert json.loads(run("reap", "mine", theirs.parent)) == ["load-1"]
    assert [path.name for path in theirs.parent.iterdir()] == ["load-2"]
    assert agent.running(str(mine))
    run("kill", mine)
    assert ended(mine)["signal"] == 9


def test_who_has_the_numbers_of_a_job_now_is_left_alone(tmp_path: Path) -> None:
    """Driver and supervisor were killed, or the host was started anew: the numbers are others' by now."""
    with subprocess.Popen(["sleep", "600"]) as other:
        pids = {"supervisor": other.pid, "group": other.pid, "began": {"supervisor": 1, "group": 1}}
        born = {"supervisor": agent.began(other.pid), "group": agent.began(other.pid)}
        for pid_file in ({**pids, "boot": agent.boot()}, {**pids, "began": born, "boot": "an earlier one"}):
            for verb in ("stop", "kill", "reap"):
                job = tmp_path / "jobs" / "job-1"
                (job / "begun").mkdir(parents=True)
                (job / "pid").write_text(json.dumps(pid_file))
                (job / "job.json").write_text(json.dumps({"session": "gone", "secret_files": ["password"]}))
                (job / "password").write_text("hush")
                run(verb, *([job] if verb != "reap" else ["mine", job.parent]))
                assert other.poll() is None
                run("reap", "mine", job.parent)
                assert not job.exists(), "what the job has left is removed"
        other.kill()


NAMED = (
    "import ctypes, sys; ctypes.CDLL(None).prctl(15, b'caf\\xe9) S', 0, 0, 0); print(1, flush=True); sys.stdin.read()"
)


def test_a_process_may_have_any_name() -> None:
    """PR_SET_NAME is 15; Latin-1 is no UTF-8. It broke what looks at all processes of a host."""
    with subprocess.Popen([sys.executable, "-c", NAMED], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert agent.began(other.pid) == int(
            Path(f"/proc/{other.pid}/stat").read_bytes().rpartition(b")")[2].split()[19]
        )
        probe = runpy.run_path(str(remote_program("probes", "process_probe.py")))
        assert str(other.pid) in {pid for _, (pid, _), *_ in probe["processes"]()}


def test_a_command_is_started_with_no_signal_ignored_and_on_its_processors(tmp_path: Path) -> None:
    job, last = tmp_path / "load-1", max(os.sched_getaffinity(0))
    ignoring = ("sh", "-c", "trap '' INT HUP; exec \"$@\"", "sh", sys.executable, PROGRAM)
    run("start", described(job, "cat", "/proc/self/status", cpus=[last]), program=ignoring)
    assert ended(job)["exit"] == 0
    fields = dict(line.split(":\t", 1) for line in (job / "stdout").read_text().splitlines())
    assert int(fields["SigIgn"], 16) & 0b11 == 0
    assert fields["Cpus_allowed_list"] == str(last)
    missing = tmp_path / "load-2"
    run("start", described(missing, "true", cpus=[4095]))
    assert ended(missing)["exit"] == 127
    assert "cannot be bound to processors [4095]" in (missing / "stderr").read_text()


# The supervisor's wall clock is set back by a minute once its command has run.
SET_BACK = """
import os, runpy, sys, time
real, flag = time.time, os.path.join(sys.argv[2], "set")
time.time = lambda: real() - 60 * os.path.exists(flag)
runpy.run_path({program!r}, run_name="__main__")
"""


def test_a_job_has_not_ended_before_it_started(tmp_path: Path) -> None:
    job = tmp_path / "load-1"
    run("start", described(job, "touch", "set"), program=(sys.executable, "-c", SET_BACK.format(program=PROGRAM)))
    told = ended(job)
    assert (told["reason"], told["exit"]) == ("exited", 0)
    assert told["started"] < told["ended"] < (job / "set").stat().st_mtime - 30, "by the clock as it is now"


# The command's process finds its supervisor dead before it has asked the kernel to be told of that.
_SUPERVISOR = """
import os, sys, time
from benchbook.hosts.remote import agent
supervisor = os.getpid()

def until_it_is_dead():
    while os.getppid() == supervisor:
        time.sleep(0.01)

os.setsid = until_it_is_dead
agent.spawn(sys.argv[1], {"argv": ["touch", sys.argv[1] + "/ran"], "cwd": None, "env": {}, "cpus": []})
os._exit(0)
"""


def test_a_command_that_was_not_begun_when_its_supervisor_was_killed_is_not_run(tmp_path: Path) -> None:
    ended, alive = os.pipe()
    subprocess.run([sys.executable, "-c", _SUPERVISOR, str(tmp_path)], check=True, pass_fds=[alive])
    os.close(alive)
    with os.fdopen(ended) as pipe:
        pipe.read()  # until supervisor and command have both ended
    assert not (tmp_path / "ran").exists()
