"""The kit's program on a host: keeps the host for one driver, runs that driver's jobs, and ends them without it.

    agent.py reserve REQUEST     keep this host for a session, or say who has it (JSON)
    agent.py release SESSION     give back all that a session holds
    agent.py start JOB           run a command in the folder JOB, as the file JOB.json says, which goes; prints the
                                 supervisor's pid and its start, however often it is asked
    agent.py stop JOB [SECONDS]  end a job and wait for its end; it may take SECONDS where that is longer than its
                                 grace. One that has not begun does not begin any more.
    agent.py kill JOB            the same by SIGKILL, without any grace
    agent.py reap SESSION JOBS ...
                                 end every job in these folders that is not of this session, and remove what is
                                 left; prints the names of those that its host had to end (JSON)

A reservation is one file per host in PLACE (/tmp/benchbook-UID: neither an inventory nor a folder of the kit decides
where). Its driver touches it every few seconds; after `lease_s` without a touch, and with the machine's boot, it is
over, and the next driver puts its own in its place. A lock makes each change one step. Hosts of a lab share a machine:
two reservations exclude each other unless both are of labs and came to different sshds.

A job's supervisor belongs to nobody and holds the command in a process group of its own. It keeps, in JOB: `pid`,
`stdout`, `stderr`, `ending` (why it is about to end the command) and at last `status.json`. It ends the command when
the reservation is another session's, has not been touched for `lease_s`, or when the command's time is up. Time is
counted on the monotonic clock from the last change that was seen: a clock that is set ends no job and robs nobody.
When the command was stopped (SIGSTOP) and went on, and when the supervisor itself woke late, it adds a line of JSON to
`SESSION.stops` beside the jobs' folders.

Python 3.7 and its standard library, and nothing else: this is copied to hosts.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import shutil
import signal
import stat
import sys
import time

# Fixed, whatever TMPDIR says: two logins must mean the same place. Not below the home, which hosts may share.
PLACE = "/tmp/benchbook-%d" % os.geteuid()
LOCK_S = 10.0
# Clocks that agree to this many seconds were not set meanwhile.
STEP_S = 0.5
STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# Those that no program can set: two by the kernel's rule, two (32 and 33) because the C library keeps them for itself.
FIXED = (signal.SIGKILL, signal.SIGSTOP, 32, 33)
# How often a supervisor looks after its command at least, and how late it must wake to write it down.
WAKES_S, LATE_S = 1.0, 0.5
# Stands in the environment of a job's processes: what a killed supervisor left is known by it.
MARK = "BENCHBOOK_JOB"


class AgentError(Exception):
    """A sentence for the user."""


def boot():
    with open("/proc/sys/kernel/random/boot_id") as source:
        return source.read().strip()


def write_json(path, value):
    """Write it whole or not at all; a full disk leaves nothing."""
    try:
        with open(path + ".new", "w") as out:
            json.dump(value, out)
        os.rename(path + ".new", path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(path + ".new")
        raise


def read_json(path):
    """Return what a file of ours holds; None where it is not there, or not whole."""
    try:
        with open(path) as source:
            return json.load(source)
    except (OSError, ValueError):
        return None


# -- reservations -----------------------------------------------------------------------------------------------------


def own_folder(path):
    """Make the folder if need be. Somebody else's, or a link, is not used: what stands in it could be theirs."""
    try:
        os.mkdir(path, 0o700)
    except OSError as problem:
        if problem.errno != errno.EEXIST:
            raise
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise AgentError("%s, where reservations are kept, is not a folder of this login's own" % path)
    if found.st_mode & 0o077:
        os.chmod(path, 0o700)


@contextlib.contextmanager
def locked():
    """Be alone with the reservations; whoever holds the lock does so for milliseconds."""
    own_folder(PLACE)
    handle = os.open(PLACE, os.O_RDONLY | os.O_CLOEXEC)
    ends = time.monotonic() + LOCK_S
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > ends:
                    raise AgentError("%s stays locked" % PLACE)  # noqa: B904
                time.sleep(0.02)
        yield
    finally:
        os.close(handle)


def clock():
    """Return how far the wall clock is from the monotonic one: it changes only when the wall clock is set."""
    return time.time() - time.monotonic()


def reservations():
    """Return every reservation since this boot, with its `file`, `mark` (last touch) and `silent_s` since then.

    The age of the file counts only where the clock was not set since it was taken.
    """
    found = []
    for name in sorted(os.listdir(PLACE)):
        path = os.path.join(PLACE, name)
        if not name.endswith(".host"):
            continue
        one = read_json(path)
        if one is None:
            raise AgentError("%s cannot be read; remove it" % path)
        mark = os.stat(path).st_mtime_ns
        known = abs(clock() - one["clock"]) <= STEP_S
        one.update(file=path, mark=mark, silent_s=max(0.0, time.time() - mark / 1e9) if known else 0.0)
        if one["boot"] == boot():
            found.append(one)
        else:
            os.unlink(path)
    return found


def reserve(request):
    """Take the host for `session` and return its file, and the sessions that it was taken from; else who holds it.

    `gone`: {session: mark} of drivers known to be dead, or silent for their lease. `take`: false only asks.
    """
    with locked():
        others = [
            one
            for one in reservations()
            if one["session"] != request["session"]
            and (one["key"] == request["key"] or not (one["lab"] and request["lab"]))
        ]
        live = [
            one
            for one in others
            if one["silent_s"] <= one["lease_s"] and request["gone"].get(one["session"]) != one["mark"]
        ]
        if live or not request["take"]:
            return {"held": live}
        for one in others:
            os.unlink(one["file"])
        path = os.path.join(PLACE, request["key"].replace("/", "_") + ".host")
        kept = {name: request[name] for name in ("session", "key", "lab", "jobs", "lease_s", "holder")}
        write_json(path, dict(kept, since=time.time(), boot=boot(), clock=clock()))
    return {"file": path, "displaced": sorted({one["jobs"] for one in others})}


def release(session):
    with locked():
        for one in reservations():
            if one["session"] == session:
                os.unlink(one["file"])


class Lease:
    """Whether a session still holds the host by this file."""

    def __init__(self, path, session, lease_s):
        self.path, self.session, self.lease_s = path, session, lease_s
        self.mark, self.since = None, time.monotonic()

    def lost(self):
        """Return None, "reservation" (it is another's) or "lease" (nobody has touched it for `lease_s`)."""
        held, mark = read_json(self.path), None
        if held and held["session"] != self.session:
            return "reservation"
        with contextlib.suppress(OSError):
            mark = os.stat(self.path).st_mtime_ns
        if mark != self.mark:
            self.mark, self.since = mark, time.monotonic()
        return "lease" if time.monotonic() - self.since > self.lease_s else None


# -- processes --------------------------------------------------------------------------------------------------------


def began(pid):
    """Return when a process began, in ticks since the boot (proc(5), field 22 of `stat`); None: it does not run."""
    try:
        with open("/proc/%d/stat" % pid, errors="replace") as source:  # a name may be of any bytes
            fields = source.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def alive(pids, who):
    """Return whether the "supervisor", or the first process of the "group", runs; another may have its number."""
    return pids["began"][who] is not None and began(pids[who]) == pids["began"][who]


def marked(job_dir):
    """Return the processes of a job, by their environment."""
    mark, found = ("%s=%s" % (MARK, job_dir)).encode(), []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % name, "rb") as source:
                if mark in source.read().split(b"\0") and began(int(name)) is not None:
                    found.append(int(name))
        except OSError:
            continue  # somebody else's, or gone meanwhile
    return found


def signal_to(send, target, number):
    with contextlib.suppress(ProcessLookupError):
        send(target, number)


def running(job_dir):
    """Return the pids of a job that has not ended, or None. No job outlives its machine's boot."""
    pids = read_json(os.path.join(job_dir, "pid"))
    if pids is None or os.path.exists(os.path.join(job_dir, "status.json")) or pids["boot"] != boot():
        return None
    return pids if alive(pids, "supervisor") or alive(pids, "group") or marked(job_dir) else None


def spawn(job_dir, job):
    """Fork the command into its own session; return its pid, which is also its process group."""
    supervisor = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        # Be killed if the supervisor itself is killed (PR_SET_PDEATHSIG), and end if it was killed before that.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        if os.getppid() != supervisor:
            os._exit(127)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        # What is ignored stays so across exec; Python ignores SIGPIPE and SIGXFSZ, an sshd under nohup SIGHUP:
        # a command is to run as if it had been typed.
        for number in range(1, signal.NSIG):
            if number not in FIXED:
                signal.signal(number, signal.SIG_DFL)
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(os.path.join(job_dir, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(job["cwd"] or job_dir)
        os.environ.update(job["env"])
        os.environ[MARK] = job_dir
        try:
            if job["cpus"]:
                os.sched_setaffinity(0, job["cpus"])
        except OSError as problem:
            os.write(2, ("the command cannot be bound to processors %s: %s\n" % (job["cpus"], problem)).encode())
            os._exit(127)
        os.execvp(job["argv"][0], job["argv"])
    except OSError as problem:
        os.write(2, ("cannot start %s: %s\n" % (job["argv"][0], problem)).encode())
    os._exit(127)


# -- a job's supervisor -----------------------------------------------------------------------------------------------


class Supervisor:
    """Follows one command to its end."""

    def __init__(self, job_dir):
        self.job_dir, self.job = job_dir, read_json(os.path.join(job_dir, "job.json"))
        self.lease = Lease(self.job["lease"], self.job["session"], self.job["lease_s"])
        self.stops = os.path.join(os.path.dirname(job_dir), self.job["session"] + ".stops")
        # (wait status, CPU seconds) of the command, once it has ended.
        self.ended = None

    def run(self, report):
        """Start the command, tell `report` that it runs, and write down how it ended."""
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP + (signal.SIGCHLD,))
        since = time.monotonic()
        if self.lease.lost() == "reservation":
            self.collect("reservation", since, 0, 0.0)
            os.write(report, b"refused\n")
            return
        pid = spawn(self.job_dir, self.job)
        pids = {"supervisor": os.getpid(), "group": pid, "boot": boot()}
        pids["began"] = {who: began(pids[who]) for who in ("supervisor", "group")}
        write_json(os.path.join(self.job_dir, "pid"), pids)
        os.write(report, said_of(pids))
        os.close(report)
        until = since + self.job["timeout_s"]
        reason = self.follow(pid, until)
        status, cpu_s = self.ended or self.end(pid, reason, until)
        signal_to(os.killpg, pid, signal.SIGKILL)
        self.collect(reason, since, status, cpu_s)

    def follow(self, pid, until):
        """Return why the command has ended, or is to end."""
        while True:
            before = time.monotonic()
            if self.wait(pid, WAKES_S):
                return "exited" if self.ended else "stopped"
            slept = time.monotonic() - before
            if slept > WAKES_S + LATE_S:
                self.tell("late", late_s=round(slept - WAKES_S, 3))
            reason = self.lease.lost() or ("timeout" if time.monotonic() > until else None)
            if reason:
                return reason

    def wait(self, pid, seconds):
        """Return True once the command has `ended` or a stop signal came; False after so many seconds."""
        until = time.monotonic() + seconds
        while True:
            done, status, used = os.wait4(pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            if done and (os.WIFSTOPPED(status) or os.WIFCONTINUED(status)):
                self.tell("stopped" if os.WIFSTOPPED(status) else "continued")
                continue
            if done:
                self.ended = status, used.ru_utime + used.ru_stime
                return True
            left = until - time.monotonic()
            if left <= 0:
                return False
            caught = signal.sigtimedwait(STOP + (signal.SIGCHLD,), left)
            if caught and caught.si_signo in STOP:
                return True

    def end(self, pid, reason, until):
        """Ask the group to end, insist after its grace; return (wait status, CPU seconds).

        More grace than a job always has is its driver's to grant: it is over when the driver is gone.
        """
        # What fails because the command ends can be told from what ended it. A full disk takes no word.
        with contextlib.suppress(OSError):
            write_json(os.path.join(self.job_dir, "ending"), reason)
        signal_to(os.killpg, pid, signal.SIGTERM)
        asked = time.monotonic()
        while not self.ended:
            is_ours = reason == "stopped" and not self.lease.lost() and time.monotonic() <= until
            granted = read_json(os.path.join(self.job_dir, "grace")) if is_ours else None
            left = asked + max(granted or 0, self.job["grace_s"]) - time.monotonic()
            if left <= 0:
                break
            self.wait(pid, min(left, WAKES_S))
        signal_to(os.killpg, pid, signal.SIGKILL)
        if not self.ended:
            _, status, used = os.wait4(pid, 0)
            self.ended = status, used.ru_utime + used.ru_stime
        return self.ended

    def collect(self, reason, since, status, cpu_s):
        """Write down how the command ended; its start from the clock as it is now, for it may have been set since."""
        ended, lasted = time.time(), time.monotonic() - since
        remove_secrets(self.job_dir, self.job)
        end = {
            "reason": reason,
            "exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            "started": ended - lasted,
            "ended": ended,
            "cpu_s": cpu_s,
        }
        write_json(os.path.join(self.job_dir, "status.json"), end)

    def tell(self, state, **more):
        try:
            with open(self.stops, "a") as out:
                # A full disk may have taken half a line before: this one does not go on with it.
                line = dict(more, job=os.path.basename(self.job_dir), state=state, t=time.time())
                out.write("\n" + json.dumps(line) + "\n")
        except OSError as problem:
            os.write(2, ("cannot write down that a job was %s: %s\n" % (state, problem)).encode())


def remove_secrets(job_dir, job):
    for name in job["secret_files"]:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(job_dir, name))


# -- what is asked for ------------------------------------------------------------------------------------------------


def said_of(pids):
    return ("%d %d\n" % (pids["supervisor"], pids["began"]["supervisor"])).encode()


def is_first(job_dir):
    """Return False where somebody has begun this job, or called it off."""
    os.makedirs(job_dir, 0o700, exist_ok=True)
    try:
        os.mkdir(os.path.join(job_dir, "begun"))
    except FileExistsError:
        return False
    return True


def started(job_dir):
    """Return the pids of a job that somebody else has begun to start; None where it has not for 5 s."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        pids = read_json(os.path.join(job_dir, "pid"))
        if pids:
            return pids
        time.sleep(0.02)
    return None


def start(job_dir):
    """Start the job once; return what is said of it. Double fork: the supervisor belongs to nobody."""
    if not is_first(job_dir):
        pids = started(job_dir)
        return said_of(pids) if pids else b""
    with open(job_dir + ".json") as source:
        request = json.load(source)
    os.unlink(job_dir + ".json")
    job = request["job"]
    if (job["cwd"] or "").startswith(job_dir):
        os.makedirs(job["cwd"], 0o700, exist_ok=True)
    for name, content in request["secrets"].items():
        with open(os.open(os.path.join(job_dir, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            out.write(content)
    write_json(os.path.join(job_dir, "job.json"), job)
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        return os.read(reader, 64)
    os.setsid()
    if os.fork():
        os._exit(0)
    os.close(reader)
    log = os.open(os.path.join(job_dir, "supervisor.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(log, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    Supervisor(job_dir).run(writer)
    os._exit(0)


def ask(pids):
    """Ask a job's supervisor to end it; return False where that was killed, or the job does not run."""
    if not (pids and alive(pids, "supervisor")):
        return False
    # One that was suspended would never hear it.
    for number in (signal.SIGTERM, signal.SIGCONT):
        signal_to(os.kill, pids["supervisor"], number)
    return True


def stop(job_dir, grace_s=0.0, at_once=False):
    """End a job and wait for its end; return whether it ran."""
    if is_first(job_dir):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(job_dir + ".json")
        return False
    if not os.path.exists(os.path.join(job_dir, "status.json")):
        started(job_dir)
    pids = running(job_dir)
    if not pids:
        return False
    # Where the disk takes no word, it has the grace that it always has.
    with contextlib.suppress(OSError):
        write_json(os.path.join(job_dir, "grace"), grace_s)
    if at_once and alive(pids, "group"):
        signal_to(os.killpg, pids["group"], signal.SIGKILL)
    if not ask(pids):
        for pid in marked(job_dir):
            signal_to(os.kill, pid, signal.SIGKILL)
        remove_secrets(job_dir, read_json(os.path.join(job_dir, "job.json")))
    while alive(pids, "supervisor") or alive(pids, "group"):
        time.sleep(0.02)
    return True


def reap(session, folders):
    """End what other sessions left in these folders, whose host is this session's now, and remove it."""
    ended, left = [], []
    for folder in filter(os.path.isdir, folders):
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if os.path.isdir(path):
                job = read_json(os.path.join(path, "job.json"))
                if not job or job["session"] != session:
                    left.append(path)
            elif name != session + ".stops":
                os.unlink(path)
    # All at once, for each may take its grace.
    asked = [path for path in left if ask(running(path))]
    for path in left:
        job, status = (read_json(os.path.join(path, name)) or {} for name in ("job.json", "status.json"))
        if job and (stop(path) or path in asked or status.get("reason") == "reservation"):
            ended.append(os.path.basename(path))
        shutil.rmtree(path, ignore_errors=True)
    return ended


VERBS = {
    "reserve": lambda request: json.dumps(reserve(json.loads(request))),
    "release": release,
    "start": lambda job_dir: start(job_dir).decode(),
    "stop": lambda job_dir, *grace_s: stop(job_dir, *map(float, grace_s)),
    "kill": lambda job_dir: stop(job_dir, at_once=True),
    "reap": lambda session, *folders: json.dumps(reap(session, folders)),
}


def main(verb="", *words):
    if verb not in VERBS:
        sys.exit(__doc__)
    try:
        said = VERBS[verb](*words)
    except AgentError as problem:
        said = json.dumps({"trouble": str(problem)})
    except OSError as problem:
        if verb not in ("reserve", "release"):
            sys.exit("agent.py: %s" % problem)
        said = json.dumps({"trouble": "%s: %s" % (PLACE, problem.strerror)})
    try:
        sys.stdout.write(said if isinstance(said, str) else "")
        sys.stdout.flush()
    except BrokenPipeError:
        # Who asked has gone meanwhile; a host that was taken for them ends with its lease.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0 if said or verb != "start" else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
