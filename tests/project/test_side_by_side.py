"""Steps side by side: each in a process of its own, told in one piece, one that is killed among them."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from benchbook.restage import done_soonest
from benchbook.site import side_by_side

PATIENCE_S = 60


def wait_for(path: Path) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert time.monotonic() < ends, path
        time.sleep(0.01)


def step(folder: Path, own: str, other: str, status: int) -> int:
    """Ends only when the other one has begun; what it prints before and after belongs together."""
    print(f"{own} begins")
    print(f"{own} complains", file=sys.stderr)
    (folder / own).write_text(str(os.getpid()))
    wait_for(folder / other)
    print(f"{own} ends")
    return status


def killed() -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def interrupted() -> int:
    raise KeyboardInterrupt


def test_two_steps_run_at_once_and_each_is_told_in_one_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(side_by_side, "cores", lambda: 2)
    steps = [partial(step, tmp_path, "one", "two", 0), partial(step, tmp_path, "two", "one", 2)]
    assert side_by_side.run(steps) == [0, 2]
    out, err = capfd.readouterr()
    assert sorted(out.splitlines()[::2] + err.splitlines()) == [
        "one begins",
        "one complains",
        "two begins",
        "two complains",
    ]
    assert {tuple(out.splitlines()[i : i + 2]) for i in (0, 2)} == {
        ("one begins", "one ends"),
        ("two begins", "two ends"),
    }
    assert {int((tmp_path / name).read_text()) for name in ("one", "two")}.isdisjoint({os.getpid()})


@pytest.mark.parametrize(
    ("fault", "status", "said"), [(killed, 1, "a process was killed (signal 9)"), (interrupted, 130, "")]
)
def test_a_step_whose_process_ends_early_costs_no_other_one(
    fault: Callable[[], int],
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(side_by_side, "cores", lambda: 1)
    assert side_by_side.run([fault, lambda: 0, lambda: 2]) == [status, 0, 2]
    assert capfd.readouterr().err.startswith(said)


def test_what_a_step_began_with_is_not_looked_through_for_garbage() -> None:
    assert side_by_side.run([lambda: gc.get_freeze_count() == 0] * 2) == [0, 0]
    assert gc.get_freeze_count() == 0, "but in this process it is"


def test_pages_side_by_side_import_once_what_each_of_them_needs() -> None:
    later = ("papermill.clientwrap", "scipy.special", "matplotlib.backends.backend_svg", "nbconvert")
    told = f"lambda: print(*[name for name in {later} if name not in sys.modules]) or 0"
    program = f"import sys; from benchbook.restage import replay_all; replay_all([{told}] * 2)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split() == [], "what is imported after the copies were made is imported in each of them"


def test_a_step_alone_needs_no_process() -> None:
    seen: list[int] = []
    assert side_by_side.run([lambda: seen.append(os.getpid()) or 3]) == [3]
    assert seen == [os.getpid()]
    assert side_by_side.run([]) == []


def test_who_breaks_off_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless() -> int:
        (tmp_path / "writing").write_text(str(os.getpid()))
        # There, and whole, in one step: it is ended as soon as it is seen.
        (tmp_path / "writing").rename(tmp_path / "begun")
        time.sleep(PATIENCE_S)
        return 0

    def stop(running: dict[int, object]) -> list[int]:
        wait_for(tmp_path / "begun")
        raise KeyboardInterrupt

    monkeypatch.setattr(side_by_side, "cores", lambda: 1)
    monkeypatch.setattr(side_by_side, "_ended", stop)
    with pytest.raises(KeyboardInterrupt):
        side_by_side.run([endless, endless])
    assert not Path(f"/proc/{(tmp_path / 'begun').read_text()}").exists()


def test_pages_are_begun_in_the_order_in_which_all_are_made_soonest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what they drew last time, and 1.1 MB for each; in MB, on two cores.

    Longest first, one core has 3.9 + 2.1 and the other 3.4 + 2.4 + 1.7 = 7.5; as it is 3.9 + 2.4 and 3.4 + 2.1 + 1.7.
    """
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path))
    drew = {"a": 2_800_000, "b": 2_300_000, "c": 1_300_000, "d": 1_000_000, "e": 600_000, "never": 0}
    for report, campaign, size in (("a", "1", 10), *((report, "2", size) for report, size in drew.items() if size)):
        notebook = tmp_path / "data" / "runs" / report / campaign / "executed.ipynb"
        notebook.parent.mkdir(parents=True)
        notebook.touch()
        os.truncate(notebook, size)
    assert done_soonest(["e", "d", "c", "b", "a"], 2) == ["a", "b", "d", "c", "e"]
    assert done_soonest(["never", "e", "c"], 1) == ["c", "e", "never"]
    many = [f"n{number}" for number in range(8)]
    assert done_soonest(["e", *many, "a"], 2) == ["a", "e", *many]
