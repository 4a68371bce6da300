"""Keeps a host for one driver at a time. Runs on the host, and holds nothing but files: no process stays behind.

    reserve.py take REQUEST        reserve every door that REQUEST (JSON) names, or none of them
    reserve.py look REQUEST        find out who holds one of them, and take nothing
    reserve.py release SESSION     give back all that SESSION holds

There is one place per machine and user, /tmp/benchbook-UID: it depends neither on an inventory nor on a folder of the
kit. `reservations.json` there holds every reservation with its fencing token, a number that only grows; a lock makes
each change of it one step. Beside it lies a lease per reservation: a file that its driver touches every few seconds.

A *door* is the address and port that a driver's SSH connection came to. Two reservations of one machine exclude each
other by whatever names and doors they came, unless both are of labs and came to different doors: hosts of a lab share
their machine, with each other and with what else runs there, and their reports say so.

A reservation ends when it is released, with the machine's boot, and after `lease_s` without a change of its lease. That
is counted on the monotonic clock, from the last change that was seen. The age of the file counts only while the wall
clock is as far from the monotonic one as it was on taking: a clock that was set must not rob anybody.
"""

import errno
import fcntl
import json
import os
import stat
import sys
import time
from contextlib import contextmanager, suppress

# Fixed, whatever TMPDIR says: two logins must mean the same place. Not below the home, which hosts may share.
PLACE = "/tmp/benchbook-%d" % os.geteuid()
LOCK_S = 10.0
# How the name of the file ends that stands beside a lease.
STOPPED = ".stopped"
# How long a driver that gives no sign is watched before it is called silent; its lease may be an hour.
WATCH_S = 30.0
# Clocks that agree to this many seconds were not set meanwhile.
STEP_S = 0.5


class Trouble(Exception):
    """A sentence for the user."""


def boot():
    with open("/proc/sys/kernel/random/boot_id") as source:
        return source.read().strip()


def clock():
    """How far the wall clock is from the monotonic one: changes only when the wall clock is set."""
    return time.time() - time.monotonic()


# -- the place ------------------------------------------------------------------------------------------------------


def own_folder(path):
    """Make the folder if need be. Somebody else's, or a link, is not used: what stands in it could be theirs."""
    try:
        os.mkdir(path, 0o700)
    except OSError as problem:
        if problem.errno != errno.EEXIST:
            raise
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise Trouble("%s, where reservations are kept, is not a folder of this login's own" % path)
    if found.st_mode & 0o077:
        os.chmod(path, 0o700)


def inside(name):
    return os.path.join(PLACE, name)


@contextmanager
def locked():
    """Alone with the place; whoever holds it does so for milliseconds."""
    own_folder(PLACE)
    handle = os.open(inside("lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    ends = time.monotonic() + LOCK_S
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as problem:
                if problem.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
            if time.monotonic() > ends:
                raise Trouble("%s stays locked" % inside("lock"))
            time.sleep(0.02)
        yield
    finally:
        os.close(handle)


def read_state():
    """Every reservation since this boot, and the last token."""
    try:
        with open(inside("reservations.json")) as source:
            state = json.load(source)
        held = [one for one in state["held"] if one["boot"] == boot()]
        return {"token": int(state["token"]), "held": held}
    except FileNotFoundError:
        return {"token": 0, "held": []}
    except (ValueError, KeyError, TypeError) as problem:
        raise Trouble("%s cannot be read (%s); remove it" % (inside("reservations.json"), problem))  # noqa: B904


def write_state(state):
    """The leases of what is no longer reserved go with it: by that its driver learns it.

    So does what supervise.py has written beside them.
    """
    partial = inside("reservations.json.new")
    with open(partial, "w") as out:
        json.dump(state, out)
    os.rename(partial, inside("reservations.json"))
    leases = [one["lease"] for one in state["held"]]
    for name in os.listdir(PLACE):
        lease = name[: -len(STOPPED)] if name.endswith(STOPPED) else name
        if lease.endswith(".lease") and inside(lease) not in leases:
            # What is left of an ended job's driver supervise.py removes as well.
            with suppress(FileNotFoundError):
                os.unlink(inside(name))


# -- who excludes whom ----------------------------------------------------------------------------------------------


def exclude(one, other):
    """May two drivers not use these two doors of one machine at the same time?"""
    return one["door"] == other["door"] or not (one["shared"] and other["shared"])


def excluding(state, request):
    """The reservations of other sessions that stand in the way of a request."""
    others = [one for one in state["held"] if one["session"] != request["session"]]
    return [one for one in others if any(exclude(one, wanted) for wanted in request["doors"])]


# -- signs of life --------------------------------------------------------------------------------------------------


def mark_of(reservation):
    try:
        return os.stat(reservation["lease"]).st_mtime_ns
    except OSError:
        return None


def known_age(reservation, mark):
    """Seconds since the last sign of life, 0 where the clocks do not say."""
    if mark is None or abs(clock() - reservation["clock"]) > STEP_S:
        return 0.0
    return max(0.0, time.time() - mark / 1e9)


class Signs:
    """What was seen of one reservation's lease: `silent_s` since its last sign, `alive` once one was seen."""

    def __init__(self, reservation):
        self.reservation, self.mark, self.alive = reservation, mark_of(reservation), False
        self.since = time.monotonic() - known_age(reservation, self.mark)

    def look(self):
        mark = mark_of(self.reservation)
        if mark != self.mark:
            self.mark, self.since, self.alive = mark, time.monotonic(), mark is not None

    @property
    def silent_s(self):
        return time.monotonic() - self.since

    def over(self):
        return self.silent_s > self.reservation["lease_s"]


def settle(request, act):
    """`act` on the state once nothing stands in the way, under the lock; else who does, once they are known to live.

    `gone` of a request: tokens whose drivers are known to be dead; None: say at once who is there, without watching.
    `wait_s`: how long to wait for an end of those that live.
    """
    seen = {}  # type: dict[int, Signs]
    began = time.monotonic()
    while True:
        with locked():
            state = read_state()
            others = excluding(state, request)
            for one in others:
                seen.setdefault(one["token"], Signs(one)).look()
            live = [one for one in others if not (one["token"] in (request["gone"] or []) or seen[one["token"]].over())]
            if not live:
                return act(state, others, request)
        signs = [seen[one["token"]] for one in live]
        waited = time.monotonic() - began
        known = request["gone"] is None or any(sign.alive for sign in signs) or waited > WATCH_S
        if known and waited >= request["wait_s"]:
            return {"held": [dict(one, silent_s=seen[one["token"]].silent_s) for one in live]}
        time.sleep(1.0 if known else 0.2)


# -- what is done ---------------------------------------------------------------------------------------------------


def take(state, displaced, request):
    """The new reservations take the place of those that are over, whose drivers find their leases gone."""
    common = {key: request[key] for key in ("session", "lease_s", "holder")}
    common.update(since=time.time(), boot=boot(), clock=clock())
    taken = []
    for number, door in enumerate(request["doors"]):
        # A number each: one door of a session may be lost while it keeps the others.
        token = state["token"] + 1 + number
        lease = inside("%s-%d.lease" % (request["session"], token))
        with open(lease, "w") as out:
            out.write("held\n")
        taken.append(dict(common, token=token, lease=lease, **door))
    # Who asks twice has not heard the first answer: what it had then is not held beside what it has now.
    asked = [(request["session"], door["door"]) for door in request["doors"]]
    kept = [one for one in state["held"] if one not in displaced and (one["session"], one["door"]) not in asked]
    write_state({"token": state["token"] + len(taken), "held": kept + taken})
    return {"file": inside("reservations.json"), "taken": taken, "displaced": displaced}


def nothing(state, displaced, request):
    return {}


def release(session):
    with locked():
        state = read_state()
        mine = [one for one in state["held"] if one["session"] == session]
        write_state(dict(state, held=[one for one in state["held"] if one not in mine]))
    return {}


def answer(argv):
    if argv[0] == "release":
        return release(argv[1])
    return settle(json.loads(argv[1]), {"take": take, "look": nothing}[argv[0]])


def main(argv):
    if len(argv) != 2 or argv[0] not in ("take", "look", "release"):
        sys.stderr.write(__doc__)
        return 2
    try:
        said = answer(argv)
    except Trouble as problem:
        said = {"trouble": str(problem)}
    except OSError as problem:
        said = {"trouble": "%s: %s" % (PLACE, problem.strerror)}
    try:
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        return unheard(said)
    return 0


def unheard(said):
    """Who asked has gone meanwhile: what was taken for them is given back, and nothing is said about it."""
    # What is still in the buffer would be written, and fail again, as the interpreter ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    for session in {one["session"] for one in said.get("taken", [])}:
        release(session)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
