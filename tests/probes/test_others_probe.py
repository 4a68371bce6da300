"""The probe of what other programs use, run as it runs on a host: real processes, told apart by what started them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kit import until

from benchbook.hosts.agent import remote_program

RUNNER = remote_program("probes", "run_probe.py")
OTHERS = remote_program("probes", "others_probe.py")
SUPERVISOR = remote_program("hosts", "agent.py")
# A name that no other process has, so that what else this machine does is left out.
BURN = "import time\nopen('/proc/self/comm', 'w').write('burns-{0}')\nwhile time.process_time() < 30: pass"


def driver(*pids: int) -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return json.dumps({"driver": {"boot": boot, "pids": list(pids)}})


@contextmanager
def running(command: Sequence[object]) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([str(word) for word in command]) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def burning(name: str) -> Iterator[None]:
    with running([sys.executable, "-c", BURN.format(name)]):
        yield


@contextmanager
def sampling(out: Path, given: str) -> Iterator[Path]:
    with running([sys.executable, RUNNER, out, 0.1, OTHERS, given]):
        until(lambda: out.exists() and '"v"' in out.read_text(), "a first sample")
        yield out


def last_sample(out: Path) -> dict[str, float]:
    """The values of the last whole line."""
    last = json.loads(out.read_text().rpartition("\n")[0].splitlines()[-1])
    assert "error" not in last
    values: dict[str, float] = last["v"]
    return values


def used(out: Path, name: str) -> float:
    """CPU seconds of the processes of this name in the last whole sample."""
    return last_sample(out).get(f"cpu.burns-{name}", 0.0)


def test_what_somebody_else_runs_is_counted_under_its_name(tmp_path: Path) -> None:
    with sampling(tmp_path / "samples", driver()) as out, burning("foreign"):
        until(lambda: used(out, "foreign") > 0.5, "it is counted")
        # The sample that was seen, or a later one: the one before it may say 0.5 to the tick.
        total = last_sample(out)["cpu"]
    assert total > 0.5


def test_the_driver_and_its_children_are_a_part_of_the_run(tmp_path: Path) -> None:
    with sampling(tmp_path / "samples", driver(os.getpid())) as out, burning("child"):
        seen = cpu_of_children()
        until(lambda: cpu_of_children() > seen + 0.5, "the child has used CPU")
        assert used(out, "child") == 0.0


def test_a_job_that_a_supervisor_of_ours_started_is_a_part_of_the_run(tmp_path: Path) -> None:
    job = tmp_path / "job"
    lease = tmp_path / "machine.host"
    lease.write_text(json.dumps({"session": "mine"}))
    about = {
        "argv": [sys.executable, "-c", BURN.format("job")],
        "env": {},
        "cwd": None,
        "cpus": [],
        "session": "mine",
        "lease": str(lease),
        "lease_s": 60,
        "grace_s": 1,
        "timeout_s": 60,
        "secret_files": [],
    }
    Path(f"{job}.json").write_text(json.dumps({"job": about, "secrets": {}}))
    with sampling(tmp_path / "samples", driver()) as out:
        subprocess.run([sys.executable, str(SUPERVISOR), "start", str(job)], check=True)
        try:
            group = json.loads((job / "pid").read_text())["group"]
            until(lambda: cpu_of(group) > 0.5, "the job has used CPU")
            assert used(out, "job") == 0.0
        finally:
            subprocess.run([sys.executable, str(SUPERVISOR), "stop", str(job)], check=True)


def cpu_of(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def cpu_of_children() -> float:
    text = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()
    return sum(cpu_of(int(pid)) for pid in text.split())


def test_pids_of_a_driver_on_another_machine_mean_nothing_here(tmp_path: Path) -> None:
    given = json.dumps({"driver": {"boot": "that of another machine", "pids": [os.getpid()]}})
    with sampling(tmp_path / "samples", given) as out, burning("far"):
        until(lambda: used(out, "far") > 0.3, "a child of ours is counted")


READ = """import os
open('/proc/self/comm', 'w').write('reads-foreign')
file = os.open({0!r}, os.O_RDONLY)
while True:
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.pread(file, 1 << 20, 0)
"""


def moved(out: Path, name: str) -> float:
    """Bytes that the disk moved for the processes of this name, in the last whole sample."""
    last = json.loads(out.read_text().rpartition("\n")[0].splitlines()[-1])
    assert "error" not in last
    return float(last["v"].get(f"disk.{name}", 0.0))


def test_what_the_disk_moves_for_somebody_else_is_counted_under_its_name(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with file.open("wb") as out_file:
        out_file.write(os.urandom(1 << 20))
        os.fsync(out_file.fileno())
    reading = running([sys.executable, "-c", READ.format(str(file))])
    with sampling(tmp_path / "samples", driver()) as out, reading:
        until(lambda: moved(out, "reads-foreign") > 4e6, "it is counted")
        assert last_sample(out)["disk"] > 0
