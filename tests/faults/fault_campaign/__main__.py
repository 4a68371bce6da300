"""`make faults`: break one thing in a real run, round after round, and check what must hold; in labs of its own.

Processes are killed and stopped, disks filled, host keys swapped, second drivers started. Leaves
data/runs/faults.json. Exit status: 0 all held, 1 something did not, 2 bad input.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from benchbook import paths
from benchbook.errors import BadInput, BenchbookError
from benchbook.hosts.lab_host import why_no_network
from benchbook.user_input.atomic_file import replace_text
from fault_campaign import draw as balanced_draw
from fault_campaign import round as fault_round
from fault_campaign import small_disks
from fault_campaign.catalogue import HOG, ON_DISKS, ON_NETWORK, OTHER_USER
from fault_campaign.draw import PlannedRound
from fault_campaign.home import LEASE_S
from fault_campaign.round import RoundResult


def left_out() -> dict[str, str]:
    """The kinds of fault that cannot be made here, and why."""
    no_disks = small_disks.why_not()
    no_network = why_no_network() or ("" if os.geteuid() == 0 else "this needs root")
    told = dict.fromkeys(ON_DISKS, no_disks) | dict.fromkeys((*ON_NETWORK, HOG, OTHER_USER), no_network)
    return {fault: why for fault, why in told.items() if why}


def played(drawn: Sequence[PlannedRound], budget_s: float) -> Iterator[RoundResult]:
    """The rounds, one after another. None is begun once the budget is spent."""
    ends = time.monotonic() + budget_s
    with tempfile.TemporaryDirectory(prefix="bb-faults-", ignore_cleanup_errors=True) as folder:
        for one in drawn:
            if time.monotonic() < ends:
                yield fault_round.play(one, Path(folder) / f"r{one.number:04d}")


def in_words(one: RoundResult) -> str:
    """A round in a line, and a line for each thing that did not hold."""
    head = f"{one.round:4} {one.phase:8} {one.fault} ({one.place}) when {one.moment}: {one.outcome}"
    rest = f", {one.trials_lost} lost, clean after {one.clean_s:.1f} s ({one.seconds:.0f} s)"
    return "\n".join([head + rest, *(f"       {each.invariant}: {each.what}" for each in one.violations)])


def summary(rounds: Sequence[RoundResult]) -> dict[str, object]:
    """Rounds by outcome and by phase, violations by invariant, how many rounds lost how many trials."""
    return {
        "outcomes": Counter(one.outcome for one in rounds),
        "phases": Counter(one.phase for one in rounds),
        "violations": Counter(each.invariant for one in rounds for each in one.violations),
        "trials lost": Counter(one.trials_lost for one in rounds if one.hit),
        "clean after at most (s)": max((one.clean_s for one in rounds if one.hit), default=0.0),
    }


def main(
    seed: Annotated[int, typer.Option(help="The same seed draws the same rounds.")] = 1,
    rounds: Annotated[int, typer.Option(min=1, help="How many; as many in each phase.")] = 25,
    budget: Annotated[float, typer.Option(min=0, help="No round begins after so many minutes.")] = 20.0,
    only: Annotated[
        list[int] | None, typer.Option("--round", help="Only this round of the draw, by its number; repeatable.")
    ] = None,
) -> None:
    """Break one thing in a real run, round after round, and check what must hold; in labs of its own.

    Leaves data/runs/faults.json. Exit status: 0 all held, 1 something did not, 2 bad input.
    """
    results = paths.home() / "data" / "runs" / "faults.json"
    about = {"seed": seed, "began": datetime.now(UTC).isoformat(timespec="seconds"), "lease_s": LEASE_S}
    found: list[RoundResult] = []
    try:
        if unknown := {*(only or [])} - {*range(1, rounds + 1)}:
            fix = f"name one of 1 to {rounds}, or draw more by --rounds"
            raise BadInput("no round of the draw", key="--round", value=min(unknown), fix=fix)
        without = left_out()
        for fault, why in without.items():
            print(f"left out: {fault}: {why}")
        drawn = balanced_draw.draw(seed, rounds, lease_s=LEASE_S, without=without)
        for one in played([each for each in drawn if not only or each.number in only], budget * 60):
            found.append(one)
            whole = {**about, "left_out": without, "rounds": list(map(asdict, found)), "summary": summary(found)}
            replace_text(results, json.dumps(whole, indent=1) + "\n")
            print(in_words(one), flush=True)
    except KeyboardInterrupt:
        print(f"interrupted; the rounds that were played are in {results}", file=sys.stderr)
        raise typer.Exit(130) from None
    except BenchbookError as problem:
        print(problem, file=sys.stderr)
        raise typer.Exit(problem.exit_status) from None
    print(f"{len(found)} rounds, seed {seed}: {json.dumps(summary(found))}; results: {results}")
    raise typer.Exit(1 if any(one.violations for one in found) else 0)


if __name__ == "__main__":
    typer.run(main)
