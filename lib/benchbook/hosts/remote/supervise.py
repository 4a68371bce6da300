"""Runs one long command on a host, detached from the connection that asked for it.

    supervise.py start JOB_DIR          start the command of JOB_DIR/job.json, once; prints the supervisor's pid
    supervise.py start JOB_DIR - [stay] the same, after making JOB_DIR of what comes by stdin (see `describe`); with
                                        `stay` it goes on until the job's end, so that who listens hears of it
    supervise.py stop JOB_DIR ...       end jobs, wait for their end
    supervise.py finish SECONDS JOB_DIR ...
                                        the same for jobs whose work at their end is wanted: it may take so long where
                                        that is longer than the job's grace, as long as the lease is renewed
    supervise.py never JOB_DIR ...      a job whose start was not heard of: it does not begin any more, or is ended
    supervise.py reap JOBS_DIR LEASE [JOBS_DIR LEASE ...]
                                        end every job in the first JOBS_DIR that does not live by its LEASE, and in
                                        each other JOBS_DIR those that do: their driver has lost the host

The supervisor holds the command in a process group of its own and keeps, in JOB_DIR: `pid`, `stdout`, `stderr`,
and at the end `status.json` (written whole, then renamed). It watches the lease file named in job.json: when nobody
has touched it for `lease_s` seconds, the driver is gone and the job is ended. Time is counted on the monotonic clock
from the last *change* that was seen, so a step of the host's wall clock cannot end a job. A job with a `fence` ends
also when the host's reservation is no longer its driver's (reserve.py), and is then not started at all.

Before it ends its command it calls itself (prctl(2), PR_SET_NAME) what it ends it for, as status.json will: whatever
fails because the command ends can be told from what ended it.

When a command is stopped (SIGSTOP) and when it goes on, the kernel tells its parent, the supervisor, which writes it
down beside the lease: a line of JSON in `LEASE.stopped` for each, with the job's folder and the time. So it does where
it woke late itself.
"""

import contextlib
import ctypes
import json
import os
import signal
import sys
import time

STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# Those that no program can set: two by the kernel's rule, two (32 and 33) because the C library keeps them for itself.
FIXED = (signal.SIGKILL, signal.SIGSTOP, 32, 33)
# How often a supervisor looks after its command at least, and how late it must wake to write it down.
WAKES_S, LATE_S = 1.0, 0.5
# Stands in the environment of a job's processes: what a killed supervisor left is known by it.
MARK = "BENCHBOOK_JOB"


def boot():
    with open("/proc/sys/kernel/random/boot_id") as source:
        return source.read().strip()


def write_json(path, value):
    with open(path + ".new", "w") as out:
        json.dump(value, out)
    os.rename(path + ".new", path)


def read_json(path):
    with open(path) as source:
        return json.load(source)


def die_with(parent):
    """In the child: be killed if the supervisor itself is killed (Linux: PR_SET_PDEATHSIG = 1)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    # Of one that was killed before the kernel was asked, it says nothing.
    if os.getppid() != parent:
        os._exit(127)


def call_itself(name):
    """What `ps` and /proc/PID/stat show of this process (Linux: PR_SET_NAME = 15; 15 bytes at most)."""
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)


def bind(cpus):
    """Run on these processors only; without any, wherever the supervisor may."""
    try:
        if cpus:
            os.sched_setaffinity(0, cpus)
    except OSError as problem:
        os.write(2, ("the command cannot be bound to processors %s: %s\n" % (cpus, problem)).encode())
        os._exit(127)


def spawn(job_dir, job):
    """Fork the command into its own session; returns its pid, which is also its process group."""
    supervisor = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        die_with(supervisor)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        # What is ignored stays so across exec; Python ignores SIGPIPE and SIGXFSZ, an sshd under nohup SIGHUP:
        # a command is to run as if it had been typed.
        for number in range(1, signal.NSIG):
            if number not in FIXED:
                signal.signal(number, signal.SIG_DFL)
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(os.path.join(job_dir, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(job.get("cwd") or job_dir)
        os.environ.update(job.get("env") or {})
        os.environ[MARK] = job_dir
        bind(job.get("cpus"))
        os.execvp(job["argv"][0], job["argv"])
    except OSError as problem:
        os.write(2, ("cannot start %s: %s\n" % (job["argv"][0], problem)).encode())
    os._exit(127)


def signal_group(group, number):
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def kill(pid, number=signal.SIGKILL):
    # It may have ended meanwhile.
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def nobody(state):
    """Takes what nobody wants to know."""


def wait_for_child(pid, seconds, tell=nobody):
    """Wait until the child ends, a stop signal comes, or `seconds` pass: ('exit', End), ('stop', None) or None.

    `tell` hears when the child is "stopped" and when it has "continued".
    """
    until = time.monotonic() + seconds
    while True:
        done, status, used = os.wait4(pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
        if done and not (os.WIFSTOPPED(status) or os.WIFCONTINUED(status)):
            return "exit", (status, used.ru_utime + used.ru_stime)
        if done:
            tell("stopped" if os.WIFSTOPPED(status) else "continued")
            continue
        left = until - time.monotonic()
        if left <= 0:
            return None
        caught = signal.sigtimedwait(STOP + (signal.SIGCHLD,), left)
        if caught and caught.si_signo in STOP:
            return "stop", None


def end_group(pid, grace):
    """Ask the group to end, insist after `grace()` seconds, asked anew; the child's (wait status, CPU seconds)."""
    signal_group(pid, signal.SIGTERM)
    began = time.monotonic()
    while True:
        left = began + grace() - time.monotonic()
        if left <= 0:
            break
        seen = wait_for_child(pid, min(left, WAKES_S))
        if seen and seen[0] == "exit":
            signal_group(pid, signal.SIGKILL)
            return seen[1]
    signal_group(pid, signal.SIGKILL)
    _, status, used = os.wait4(pid, 0)
    return status, used.ru_utime + used.ru_stime


def grace_of(job_dir, job, abandoned):
    """Seconds from asking to insisting: more than a job always has where its driver has granted them, and is there."""
    try:
        granted = 0 if abandoned else read_json(os.path.join(job_dir, "grace"))
    except (OSError, ValueError):
        granted = 0
    return max(granted, job["grace_s"])


class Lease:
    """Whether somebody still touches the lease file: `expired` after `lease_s` without a change."""

    def __init__(self, path, lease_s):
        self.path, self.lease_s = path, lease_s
        self.mark, self.since = None, time.monotonic()

    def expired(self):
        try:
            mark = os.stat(self.path).st_mtime_ns
        except OSError:
            mark = None
        if mark != self.mark:
            self.mark, self.since = mark, time.monotonic()
        return time.monotonic() - self.since > self.lease_s


class StopLog:
    """Writes down when the command stood still, and when the supervisor itself did."""

    def __init__(self, job_dir, job):
        self.name, self.path = os.path.basename(job_dir), job["lease"] + ".stopped"

    def tell(self, state, **more):
        try:
            with open(self.path, "a") as out:
                # A full disk may have taken half a line before: this one does not go on with it.
                out.write("\n" + json.dumps(dict(more, job=self.name, state=state, t=time.time())) + "\n")
        except OSError as problem:
            os.write(2, ("cannot write down that a job was %s: %s\n" % (state, problem)).encode())

    def woke(self, asked, slept):
        """A supervisor that was stopped, or got no CPU, notes the end of its job too late."""
        if slept > asked + LATE_S:
            self.tell("late", late_s=round(slept - asked, 3))


class Fence:
    """Whether the host's reservation is still the driver's: `lost` once another stands in its place."""

    def __init__(self, fence):
        self.fence, self.mark, self.gone = fence, None, False

    def lost(self):
        try:
            about = os.stat(self.fence["file"]) if self.fence else None
            if about and (about.st_ino, about.st_mtime_ns) != self.mark:
                mine, held = (self.fence["session"], self.fence["token"]), read_json(self.fence["file"])["held"]
                self.gone = mine not in [(one["session"], one["token"]) for one in held]
                self.mark = about.st_ino, about.st_mtime_ns
        except (OSError, ValueError):
            return self.gone  # nobody has written down another driver: the lease alone decides
        return self.gone


def watch(pid, job_dir, job, fence, log):
    """Follow the command to its end; returns ((wait status, CPU seconds), reason)."""
    lease = Lease(job["lease"], job["lease_s"])
    ends = time.monotonic() + job["timeout_s"]
    while True:
        before = time.monotonic()
        seen = wait_for_child(pid, WAKES_S, log.tell)
        log.woke(WAKES_S, time.monotonic() - before)
        if seen and seen[0] == "exit":
            return seen[1], "exited"
        reason = "stopped" if seen else why_end(fence, lease, ends)
        if reason:
            break
    call_itself(reason)

    def grace():
        return grace_of(job_dir, job, reason != "stopped" or why_end(fence, lease, ends))

    return end_group(pid, grace), reason


def why_end(fence, lease, ends):
    if fence.lost():
        return "reservation"
    if lease.expired():
        return "lease"
    return "timeout" if time.monotonic() > ends else None


def remove_secrets(job_dir, job):
    for name in job.get("secret_files") or []:
        if os.path.exists(os.path.join(job_dir, name)):
            os.unlink(os.path.join(job_dir, name))


def supervise(job_dir, report, stay=False):
    """`report` is told the supervisor's pid; with `stay` it is closed by the supervisor's end, and not before."""
    job = read_json(os.path.join(job_dir, "job.json"))
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP + (signal.SIGCHLD,))
    since, fence = time.monotonic(), Fence(job.get("fence"))
    if fence.lost():
        remove_secrets(job_dir, job)
        os.write(report, b"refused\n")
        return
    pid = spawn(job_dir, job)
    pids = {"supervisor": os.getpid(), "group": pid, "lease": job["lease"], "boot": boot()}
    pids["began"] = {who: began(pids[who]) for who in ("supervisor", "group")}
    write_json(os.path.join(job_dir, "pid"), pids)
    os.write(report, b"%d\n" % os.getpid())
    if not stay:
        os.close(report)
    (status, cpu_s), reason = watch(pid, job_dir, job, fence, StopLog(job_dir, job))
    # The end by the clock as it is now, the start from there: if it was set meanwhile, a job lasted as long as it did.
    ended, lasted = time.time(), time.monotonic() - since
    signal_group(pid, signal.SIGKILL)
    remove_secrets(job_dir, job)
    killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
    end = {"reason": reason, "exit": code, "signal": killed, "started": ended - lasted, "ended": ended, "cpu_s": cpu_s}
    write_json(os.path.join(job_dir, "status.json"), end)


def is_first(job_dir):
    """Asked again by a driver whose connection broke, a job is not started twice."""
    try:
        os.mkdir(os.path.join(job_dir, "begun"))
    except FileExistsError:
        return False
    return True


def started(job_dir, patience_s=5.0):
    """The supervisor of a job that somebody else has begun to start, or None."""
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        try:
            return read_json(os.path.join(job_dir, "pid"))["supervisor"]
        except (OSError, ValueError):
            time.sleep(0.02)
    return None


def describe(job_dir, given):
    """Put into the job's folder what was sent: {"job": what job.json holds, "secrets": {name: content}}."""
    job = given["job"]
    if (job.get("cwd") or "").startswith(job_dir):
        os.makedirs(job["cwd"], 0o700, exist_ok=True)
    for name, content in given["secrets"].items():
        with open(os.open(os.path.join(job_dir, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            out.write(content)
    write_json(os.path.join(job_dir, "job.json"), job)


def start(job_dir, given=None, stay=False):
    """Double fork, so that the supervisor belongs to nobody; the pipe says when it stands."""
    if given:
        os.makedirs(job_dir, 0o700, exist_ok=True)
    if not is_first(job_dir):
        pid = started(job_dir)
        sys.stdout.write("%d\n" % pid if pid else "")
        return 0 if pid else 1
    if given:
        describe(job_dir, given)
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        said = os.read(reader, 64)
        sys.stdout.write(said.decode())
        sys.stdout.flush()
        while stay and os.read(reader, 64):
            pass
        return 0 if said else 1
    os.setsid()
    if os.fork():
        os._exit(0)
    os.close(reader)
    log = os.open(os.path.join(job_dir, "supervisor.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(log, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    supervise(job_dir, writer, stay)
    return 0


def began(pid):
    """When a process began, in ticks since the boot (proc(5), field 22 of `stat`); None: none runs, or a zombie."""
    try:
        with open("/proc/%d/stat" % pid) as source:
            fields = source.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


def alive(pids, who):
    """Does the job's "supervisor", or the first process of its "group", run? Its number may be another's by now."""
    known, now = pids.get("began", {}).get(who), began(pids[who])
    return now is not None and known in (None, now)


def marked(job_dir):
    """Processes of a job, by their environment."""
    mark, found = ("%s=%s" % (MARK, job_dir)).encode(), []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % name, "rb") as source:
                if mark in source.read().split(b"\0") and began(int(name)) is not None:
                    found.append(int(name))
        except OSError:
            continue  # somebody else's, or gone meanwhile
    return found


def running(job_dir):
    """The pid file of a job that has not ended, or None; a supervisor that was killed leaves processes to end.

    No job outlives its machine's boot: the numbers that it had are others' by now.
    """
    try:
        pids = read_json(os.path.join(job_dir, "pid"))
    except (OSError, ValueError):
        return None
    ended = os.path.exists(os.path.join(job_dir, "status.json")) or pids.get("boot") not in (None, boot())
    runs = not ended and (alive(pids, "supervisor") or alive(pids, "group") or marked(job_dir))
    return pids if runs else None


def stop(job_dir, at_once=False, grace_s=0):
    """End a job; `at_once`: without asking it to end, as what it would still write is wanted by nobody.

    It may take `grace_s` where that is longer than the grace that it always has, whatever was granted before.
    """
    pids = running(job_dir)
    if not pids:
        return False
    # Where the disk takes no word, it has the grace that it always has.
    with contextlib.suppress(OSError):
        write_json(os.path.join(job_dir, "grace"), grace_s)
    if at_once and alive(pids, "group"):
        signal_group(pids["group"], signal.SIGKILL)
    if alive(pids, "supervisor"):
        # One that was suspended would never hear it.
        for number in (signal.SIGTERM, signal.SIGCONT):
            kill(pids["supervisor"], number)
    else:
        for pid in marked(job_dir):
            kill(pid)
        remove_secrets(job_dir, read_json(os.path.join(job_dir, "job.json")))
    while alive(pids, "supervisor") or alive(pids, "group"):
        time.sleep(0.02)
    return True


def never(job_dir):
    """What would begin it finds that somebody has."""
    os.makedirs(job_dir, 0o700, exist_ok=True)
    if not is_first(job_dir) and started(job_dir):
        stop(job_dir)


def held(job, own_lease):
    """Does another driver still renew this job's lease? Watched for as long as the lease lasts: it may be stalled."""
    if job["lease"] == own_lease or not os.path.exists(job["lease"]) or Fence(job.get("fence")).lost():
        return False
    lease = Lease(job["lease"], job["lease_s"])
    lease.expired()
    mark = lease.mark
    while not lease.expired():
        if lease.mark != mark:
            return True
        time.sleep(0.2)
    return False


def jobs_in(jobs_dir):
    """(name, folder, job.json) of every job there; one that was never described is nobody's."""
    for name in sorted(os.listdir(jobs_dir)) if os.path.isdir(jobs_dir) else []:
        job_dir = os.path.join(jobs_dir, name)
        try:
            yield name, job_dir, read_json(os.path.join(job_dir, "job.json"))
        except (OSError, ValueError):
            yield name, job_dir, None


def displace(jobs_dir, lease):
    """End the jobs of a driver that has lost the host; also named are those that have ended for that by themselves."""
    ended = []
    for name, job_dir, job in jobs_in(jobs_dir):
        if job and job["lease"] == lease and (stop(job_dir) or reason_of(job_dir) == "reservation"):
            ended.append(name)
    return ended


def reason_of(job_dir):
    try:
        return read_json(os.path.join(job_dir, "status.json"))["reason"]
    except (OSError, ValueError):
        return None


def reap(jobs_dir, own_lease, *displaced):
    """End what a driver that is gone left behind; a job that another driver still holds is named, not ended."""
    found = {"ended": [], "held": []}  # type: dict[str, list[str]]
    for other_dir, lease in zip(displaced[::2], displaced[1::2]):  # noqa: B905 - unknown to old Pythons
        found["ended"] += displace(other_dir, lease)
    for name, job_dir, job in jobs_in(jobs_dir):
        pids = running(job_dir)
        if not pids and os.path.exists(os.path.join(job_dir, "pid")) and job:
            # Its supervisor may have been killed, which then could not clean up.
            remove_secrets(job_dir, job)
        if pids and job and job["lease"] != own_lease:
            if held(job, own_lease):
                found["held"].append(name)
                break
            stop(job_dir)
            found["ended"].append(name)
        forget(job_dir, own_lease)
    return found


def remove_folder(folder):
    """What can be removed of it. (To import `shutil` takes as long as all else that it takes to start a job.)"""
    for above, folders, files in os.walk(folder, topdown=False):
        for name in folders + files:
            path = os.path.join(above, name)
            with contextlib.suppress(OSError):
                os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def forget(job_dir, own_lease, stale_s=60.0):
    """Remove what an ended job left, and its lease, once no driver can still be reading it."""
    try:
        lease = read_json(os.path.join(job_dir, "job.json"))["lease"]
        fresh = time.time() - os.stat(lease).st_mtime < stale_s
    except (OSError, ValueError):
        lease, fresh = "", False
    if running(job_dir) or fresh or lease == own_lease:
        return
    remove_folder(job_dir)
    for name in (lease, lease + ".stopped"):
        if lease and os.path.exists(name):
            os.unlink(name)


def end(how, *words):
    granted, folders = (float(words[0]), words[1:]) if how == "finish" else (0, words)
    for job_dir in folders:
        if how == "finish":
            stop(job_dir, grace_s=granted)
        elif how == "never":
            never(job_dir)
        else:
            stop(job_dir, at_once=how == "kill")


def main(argv):
    if argv[:1] == ["start"] and len(argv) == 2:
        return start(argv[1])
    if argv[:1] == ["start"] and argv[2:] in (["-"], ["-", "stay"]):
        try:
            # Cut short, it is no JSON: nothing is begun.
            return start(argv[1], json.loads(sys.stdin.read()), stay="stay" in argv[3:])
        except (OSError, ValueError) as problem:
            os.write(2, ("supervise.py: %s\n" % problem).encode())
            return 1
    if argv[:1] in (["stop"], ["kill"], ["never"], ["finish"]):
        end(*argv)
        return 0
    if argv[:1] == ["reap"] and len(argv) >= 3 and len(argv) % 2:
        sys.stdout.write(json.dumps(reap(*argv[1:])) + "\n")
        return 0
    sys.stderr.write(__doc__)
    return 2


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    # The interpreter's own end would take as long as its beginning, while somebody waits.
    os._exit(status)
