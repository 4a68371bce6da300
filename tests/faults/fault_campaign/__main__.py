"""`make faults`: break one thing in a real run, round after round, and check what must hold; in labs of its own.

Processes are killed and stopped, disks filled, host keys swapped, second drivers started. Leaves
data/runs/faults.json. Exit status: 0 all held, 1 something did not, 2 bad input.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from benchbook.errors import BadInput, BenchbookError, counted
from benchbook.hosts.lab_host import why_no_network
from fault_campaign import draw as balanced_draw
from fault_campaign import results as fault_results
from fault_campaign import round as fault_round
from fault_campaign import small_disks
from fault_campaign.catalogue import HOG, ON_DISKS, ON_NETWORK, OTHER_USER, SECOND
from fault_campaign.draw import PlannedRound
from fault_campaign.home import LEASE_S
from fault_campaign.results import FaultResults, LeftOut, RoundResult

_BUDGET = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h)")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def run(seed: int, rounds: int, budget: str, at_once: int, only: Sequence[int], console: Console) -> FaultResults:
    """Play the rounds, and keep what they found after each. `only`: just these of the draw, by number."""
    budget_s = seconds_of(budget)
    _check_drawn(only, rounds)
    why = small_disks.why_not()
    left_out = [LeftOut(fault=f, why=why) for f in ON_DISKS if why]
    if no_network := why_no_network() or ("" if os.geteuid() == 0 else "this needs root"):
        left_out += [LeftOut(fault=fault, why=no_network) for fault in (*ON_NETWORK, HOG, OTHER_USER)]
    found = FaultResults(seed=seed, lease_s=LEASE_S, left_out=left_out)
    for one in left_out:
        console.print(f"left out: {one.fault}: {one.why}", markup=False)
    drawn = balanced_draw.draw(seed, rounds, lease_s=LEASE_S, without=[one.fault for one in left_out])
    drawn = [one for one in drawn if not only or one.number in only]
    for one in played(drawn, budget_s, at_once, console):
        found = found.with_round(one)
        fault_results.write(found, fault_results.results_path())
        console.print(in_words(one), markup=False, style="red" if one.violations else None)
    _conclude(found, len(drawn), console)
    return found


def played(drawn: Sequence[PlannedRound], budget_s: float, at_once: int, console: Console) -> Iterator[RoundResult]:
    """Rounds as they end, `at_once` side by side. None is begun once the budget is spent; what was begun is ended."""
    ends, over, todo = time.monotonic() + budget_s, threading.Event(), list(drawn)
    running: dict[Future[RoundResult], PlannedRound] = {}
    with _folder() as folder, _bar(len(todo), console) as bar, ThreadPoolExecutor(at_once) as pool:
        try:
            while running or (todo and time.monotonic() < ends):
                while todo and time.monotonic() < ends and may_begin(todo[0], list(running.values()), at_once):
                    one = todo.pop(0)
                    running[pool.submit(fault_round.play, one, folder / f"r{one.number:04d}", over)] = one
                for each in wait(running, return_when=FIRST_COMPLETED).done:
                    del running[each]
                    bar.advance(bar.task_ids[0])
                    yield each.result()
        finally:
            # Interrupted, or a round could not be played: the others clean up after themselves, and are waited for.
            over.set()


def may_begin(one: PlannedRound, running: Sequence[PlannedRound], at_once: int) -> bool:
    """A second driver wants the whole machine for itself, as on real hosts: its round is played alone."""
    alone = any(each.fault.kind == SECOND for each in (one, *running))
    return not running or (len(running) < at_once and not alone)


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="bb-faults-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _bar(total: int, console: Console) -> Iterator[Progress]:
    """On a terminal a bar of the rounds; elsewhere the lines of the rounds say enough."""
    columns = (BarColumn(24), MofNCompleteColumn(), TextColumn("{task.description}"))
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    bar.add_task("rounds", total=total)
    with bar:
        yield bar


def _check_drawn(only: Sequence[int], rounds: int) -> None:
    """Raises BadInput for a round that is not drawn: nothing would be played, and nothing found."""
    for number in only:
        if not 1 <= number <= rounds:
            fix = f"name one of 1 to {rounds}, or draw more by --rounds"
            raise BadInput("no round of the draw", key="--round", value=number, fix=fix)


def seconds_of(budget: str) -> float:
    """Seconds of a duration such as 90s, 20min or 1.5h. Raises BadInput."""
    said = _BUDGET.fullmatch(budget.strip())
    if said is None:
        raise BadInput("not a duration", key="--budget", value=budget, fix="write a number and s, min or h: 20min")
    return float(said[1]) * _SECONDS[said[2]]


def in_words(one: RoundResult) -> str:
    """A round in a line, and a line for each thing that did not hold."""
    target = f" {one.target}" if one.target else ""
    head = f"{one.round:4} {one.phase:8} {one.fault}{target} when {one.moment}: {one.outcome}"
    if not one.hit:
        head += ", nothing was hit"
    rest = f", {one.trials_lost} lost, clean after {one.clean_s:.1f} s ({one.seconds:.0f} s)"
    return "\n".join([head + rest, *(f"       {each.invariant}: {each.what}" for each in one.violations)])


def _conclude(found: FaultResults, asked: int, console: Console) -> None:
    summary = found.summary
    console.print(f"{summary.rounds} of {asked} rounds, seed {found.seed}", markup=False)
    console.print(
        f"faults per phase: {_counts(summary.per_phase)}; missed their moment: {summary.missed}", markup=False
    )
    broken = {name: count for name, count in summary.violations.items() if count}
    console.print(f"violations: {_counts(broken) or 'none'}", markup=False)
    lost = ", ".join(f"{counted(count, 'round')} lost {trials}" for trials, count in summary.trials_lost.items())
    console.print(f"trials lost per fault: {lost}", markup=False)
    console.print(f"hosts clean after: p50 {summary.clean_p50_s:g} s, max {summary.clean_max_s:g} s", markup=False)
    console.print(f"results: {fault_results.results_path()}", markup=False)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def main(
    seed: Annotated[int, typer.Option(help="The same seed draws the same rounds.")] = 1,
    rounds: Annotated[int, typer.Option(min=1, help="How many; as many in each phase.")] = 25,
    budget: Annotated[str, typer.Option(help="No round begins after this: 90s, 20min, 2h.")] = "20min",
    at_once: Annotated[int, typer.Option(min=1, help="Rounds side by side, each on hosts of its own.")] = 1,
    only: Annotated[
        list[int] | None, typer.Option("--round", help="Only this round of the draw, by its number; repeatable.")
    ] = None,
) -> None:
    """Break one thing in a real run, round after round, and check what must hold; in labs of its own.

    Leaves data/runs/faults.json. Exit status: 0 all held, 1 something did not, 2 bad input.
    """
    try:
        found = run(seed, rounds, budget, at_once, only or [], Console())
    except KeyboardInterrupt:
        print("interrupted; the rounds that were played are in data/runs/faults.json", file=sys.stderr)
        raise typer.Exit(130) from None
    except BenchbookError as problem:
        print(problem, file=sys.stderr)
        raise typer.Exit(problem.exit_status) from None
    raise typer.Exit(1 if found.violated else 0)


if __name__ == "__main__":
    typer.run(main)
