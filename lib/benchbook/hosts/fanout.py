"""The same step on many hosts at once: at most so many together, and every host's outcome is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

from benchbook.errors import BadInput, BenchbookError
from benchbook.grouping import grouped
from benchbook.hosts.host import Host
from benchbook.hosts.timeouts import COMMAND_S

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")


class FanOutFailed(BenchbookError):
    """The step failed on at least one host: `failed` says why on each, `done` names the others."""

    def __init__(self, what: str, failed: Mapping[str, BenchbookError], done: Sequence[str]) -> None:
        self.failed, self.done = failed, done
        said = "; ".join(f"{name}: {problem}" for name, problem in failed.items())
        rest = f"; done on {', '.join(done)}" if done else ""
        self.head = f"{what} failed on {len(failed)} of {len(failed) + len(done)} hosts"
        super().__init__(f"{self.head}: {said}{rest}")

    def in_lines(self) -> str:
        """Return a line for each host; a fix, or a file, that several hosts share is said once."""
        refused = {name: problem for name, problem in self.failed.items() if isinstance(problem, BadInput)}
        lines = [f"{name}: {problem}" for name, problem in self.failed.items() if name not in refused]
        for (file, fix), names in grouped(refused, lambda name: (refused[name].place, refused[name].fix)).items():
            lines += [f"{file}", *(f"  {refused[name].cause}" for name in names), *([f"  Fix: {fix}"] if fix else [])]
        return "\n  ".join([f"{self.head}:", *lines])


class FanOutRefused(FanOutFailed, BadInput):
    """One of the hosts, or more, cannot be used until the user has mended something."""


@dataclass(frozen=True)
class Outcomes(Generic[T]):
    """What became of each host: a value in `done`, or an error in `failed`."""

    done: dict[str, T]
    failed: dict[str, BenchbookError]


def try_on_each(
    hosts: Iterable[Host], step: Callable[[Host], T], *, timeout: float = COMMAND_S, at_once: int = 16
) -> Outcomes[T]:
    """Run `step` on every host, `at_once` together; a host that has not answered after `timeout` s has failed."""
    pool = ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="fan-out")
    todo = {host.name: pool.submit(step, host) for host in hosts}
    wait(todo.values(), timeout=timeout * -(-len(todo) // at_once))
    done: dict[str, T] = {}
    failed: dict[str, BenchbookError] = {}
    for name, future in todo.items():
        if not future.done():
            failed[name] = BenchbookError(f"no answer within {timeout:g} s")
            continue
        try:
            done[name] = future.result()
        except BenchbookError as problem:
            failed[name] = problem
    pool.shutdown(wait=False, cancel_futures=True)
    return Outcomes(done, failed)


@overload
def in_parallel(first: Callable[[], T], second: Callable[[], U], /) -> tuple[T, U]: ...


@overload
def in_parallel(first: Callable[[], T], second: Callable[[], U], third: Callable[[], V], /) -> tuple[T, U, V]: ...


def in_parallel(*steps: Callable[[], object]) -> tuple[object, ...]:
    """What each step returns, run side by side; all have ended before the first failure, in their order, is raised."""
    with ThreadPoolExecutor(max_workers=len(steps), thread_name_prefix="in_parallel") as pool:
        running = [pool.submit(step) for step in steps]
    return tuple(one.result() for one in running)


def on_each(
    what: str, hosts: Iterable[Host], step: Callable[[Host], T], *, timeout: float = COMMAND_S, at_once: int = 16
) -> dict[str, T]:
    """Like `try_on_each`, but any failure raises: the host's own error if one host failed, else FanOutFailed.

    Bad input that all that failed name in the same words (a key that has a passphrase) is said once; where they differ,
    FanOutRefused is raised.
    """
    outcomes = try_on_each(hosts, step, timeout=timeout, at_once=at_once)
    said = {(isinstance(problem, BadInput), str(problem)) for problem in outcomes.failed.values()}
    if len(outcomes.failed) == 1 or (len(said) == 1 and said.pop()[0]):
        raise next(iter(outcomes.failed.values()))
    if outcomes.failed:
        refused = any(isinstance(problem, BadInput) for problem in outcomes.failed.values())
        raise (FanOutRefused if refused else FanOutFailed)(what, outcomes.failed, list(outcomes.done))
    return outcomes.done
