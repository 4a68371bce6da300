"""`compare --confirm`: both campaigns again, in turns on the same hosts, until it is decided or the budget is spent.

A round is a repetition of each side; every second round begins with B, so that a drift of the hosts is in both alike.
When to look is settled after two rounds, by the time that they took: the error rate is shared among these looks
(Bonferroni), whatever comes out. The two are kept in `confirm/` of A's campaign. An interrupted pair is gone on with;
so is an undecided one, whose further looks spend what is left of the error rate, and a decided one is not run again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
from rich.console import Console

from benchbook import pipeline
from benchbook.build import artefacts
from benchbook.campaign import design, run, store
from benchbook.campaign.design import conditions_of
from benchbook.campaign.environment import Asked, Environment
from benchbook.campaign.progress import Progress
from benchbook.campaign.run import RunInterrupted
from benchbook.campaign.scaled_levels import KEY as SCALED
from benchbook.campaign.store import Campaign
from benchbook.compare.gate import OF_HOSTS, Difference
from benchbook.compare.pair import CompareParameters, Comparison, compare, matched
from benchbook.errors import BadInput, BenchbookError, TrialFailed, counted
from benchbook.hosts.inventory import Inventory, SystemSettings
from benchbook.reports import planning
from benchbook.reports.kind import RunRequest, settings_of

FOLDER = "confirm"
# Fewer repetitions a side hardly show how much they vary; beyond the most, nothing is likely to be decided any more.
FIRST_LOOK, MOST_ROUNDS = 3, 100
DECIDED = ("regression", "no regression")
# How a pair ended is kept in words. One that was refused is not gone on with, and another may begin in its place; a
# decided one, and one that closed after looks were taken, are the last ones of A and B.
ENDED, REFUSED, FINAL = "compare --confirm: ", "refused", ("decided", "closed")
# The key of what the inventory sets: `asked` holds its digest, which nobody can read.
SETTINGS = "settings"
# May be another one when a campaign is run again: how often it repeats, and the levels, which its trials have.
FREE = ("repeat", SCALED)
ABSENT = "not set"


class NotConfirmed(BenchbookError):
    """Running both again failed. Exit status 1 means a regression, and none was found here."""

    exit_status = BadInput.exit_status


@dataclass(frozen=True)
class Side:
    """One of the two: what is asked for, the campaign that runs it again, and the hosts that it takes."""

    request: RunRequest
    campaign: Campaign
    hosts: list[str]

    def turn(self, number: int, called: str, console: Console) -> None:
        """Run what is missing of this repetition."""
        campaign, plan = self.campaign, self.campaign.plan
        if max(trial.repetition for trial in plan.trials) < number:
            again = design.distinct_cells(plan.trials)
            campaign.extend(design.another_block(plan.trials, again, seed=plan.seed, asked=plan.asked))
        if _next_round(campaign) > number:
            return
        request = self.request
        experiment = request.experiment()
        with (
            pipeline.hosts_up(request.inventory, self.hosts, Console(quiet=True)),
            console.status(f"round {number}, {called}") as status,
        ):

            def listen(now: Progress) -> None:
                status.update(f"round {number}, {called}: {now.line()}")
                if now.news:
                    console.print(f"  round {number}, {called}: {now.news}", markup=False)

            # What failed is not tried again in later rounds: each of them has the cell anew.
            run.run(campaign, experiment, listen, tries=request.profile.tries, repetition=number)


def confirm(asked: CompareParameters, budget_s: float, console: Console) -> CompareParameters:
    """Run both sides again as `asked`; return what asks for the comparison of the two that took turns.

    Where A and B differ unfairly in more than the state of their hosts, nothing is run, and `asked` is returned. So it
    is where a pair of them was decided: who repeats until it comes out otherwise is wrong more often than is printed.
    Raise BadInput, before any host is touched, for sides that the same hosts cannot run again; NotConfirmed if a run
    fails.
    """
    before = compare(asked)
    if any(not _of_hosts(difference) for difference in before.gate.unfair):
        return asked
    _check_hosts(before)
    systems = matched(before.a, before.b, asked.mapping)
    pair = _latest(before.a, before.b, systems)
    if pair and _ended(pair):
        again = _of_pair(asked, pair)
        found, rounds = compare(again), _next_round(pair[0]) - 1
        final = _ended(pair).startswith(tuple(f"{ENDED}{why}" for why in FINAL))
        if final or found.verdict in DECIDED or rounds >= MOST_ROUNDS:
            said = f"A and B were run again before, in {counted(rounds, 'round')}: this is the result"
            console.print(f"{said}. For another one, measure A and B anew.", markup=False)
            return again
        if found.verdict == "refused":
            return again
    try:
        sides = _sides(before, pair, systems, budget_s, console)
        again = _of_pair(asked, (sides[0].campaign, sides[1].campaign))
        _until_decided(sides, again, before, budget_s, console)
    except KeyboardInterrupt:
        raise RunInterrupted("interrupted; what was recorded stays: the same command goes on from there") from None
    except BadInput:
        raise
    except BenchbookError as problem:
        raise NotConfirmed(f"{problem} What was recorded stays: the same command goes on from there.") from problem
    return again


def _of_pair(asked: CompareParameters, pair: tuple[Campaign, Campaign]) -> CompareParameters:
    """Return what asks for the comparison of the two that took turns."""
    accept = [name for name in asked.accept if not _may_differ(name)]
    a, b = (str(campaign.folder) for campaign in pair)
    return asked.model_copy(update={"a": a, "b": b, "without": [], "accept": accept})


def _until_decided(
    sides: tuple[Side, Side], again: CompareParameters, before: Comparison, budget_s: float, console: Console
) -> None:
    mine = [side.campaign for side in sides]
    # An interrupted pair goes on with the first round that either side has not finished.
    first, began = min(map(_next_round, mine)), time.time()
    runs = mine[0].plan.looks_after or []
    if _ended(mine):
        round_s = sum(campaign.spent_s for campaign in mine) / (first - 1)
        last = min(first - 1 + max(1, int(budget_s // max(round_s, 1.0))), MOST_ROUNDS)
        runs = [*runs, [look for look in schedule(last) if look >= first]]
        _keep_looks(mine, runs)
        for campaign in mine:
            campaign.note(Environment(repetitions_ended=""))
        console.print(f"{counted(first - 1, 'round')} left it undecided: on to round {last}", markup=False)
    for number in range(first, MOST_ROUNDS + 1):
        since = time.time()
        for called, side in (("A", sides[0]), ("B", sides[1]))[:: 1 if number % 2 else -1]:
            side.turn(number, called, console)
        if number == first and (closed := _first_round(mine, again, before, number)):
            console.print(f"after round {number}: {closed}", markup=False)
            return
        left_s, round_s = budget_s - (time.time() - began), time.time() - since
        if not runs and (number >= 2 or left_s < round_s):
            runs = [schedule(min(number + int(max(left_s, 0) // round_s), MOST_ROUNDS))]
            _keep_looks(mine, runs)
        looks = runs[-1] if runs else []
        over = left_s < round_s or (bool(looks) and number >= looks[-1])
        if not over and number not in looks:
            continue
        found = compare(again)
        decided = found.verdict in DECIDED
        console.print(f"after round {number} of at most {looks[-1]}: {found.sentence()}", markup=False)
        if decided or over:
            _end(mine, "decided" if decided else "the budget was spent", number)
            return


def _first_round(mine: list[Campaign], again: CompareParameters, before: Comparison, number: int) -> str:
    """Return why the two that took turns cannot be called anything, empty if they can: more rounds would not mend it.

    Raise BadInput where they do not differ as A and B did, TrialFailed where a side has no figure. A pair that cannot
    be compared ends here, so that this round counts in no later comparison.
    """
    for campaign, called in zip(mine, "AB", strict=True):
        if not campaign.records():
            why = next((record.failure.message for record in campaign.failures() if record.failure), "no trial ran")
            raise TrialFailed(f"{called} has no figure after round {number}: {why}")
    now, ends = compare(again), "closed" if mine[0].plan.looks_after else REFUSED
    try:
        _check_differs(before, now)
    except BadInput:
        _end(mine, ends, number)
        raise
    if now.gate.open:
        return ""
    _end(mine, ends, number)
    return now.sentence()


def _next_round(campaign: Campaign) -> int:
    """Return the last round that a side has begun, or the next one where nothing of it is missing.

    What failed is not missing, unless nothing of the round came up: then it is run again.
    """
    last = max(trial.repetition for trial in campaign.trials)
    of_last = {trial.id for trial in campaign.trials if trial.repetition == last}
    missing = of_last & {trial.id for trial in campaign.missing()}
    failed = {record.id.rpartition(".")[0] for record in campaign.failures()} if missing < of_last else set[str]()
    return last + (missing <= failed)


def _keep_looks(pair: list[Campaign], runs: list[list[int]]) -> None:
    for campaign in pair:
        campaign.keep_looks(runs)


def _end(pair: list[Campaign], why: str, rounds: int) -> None:
    for campaign in pair:
        campaign.note(Environment(repetitions_ended=f"{ENDED}{why} after {counted(rounds, 'round')}"))


def _ended(pair: Sequence[Campaign]) -> str:
    """Return how a pair ended; empty while it goes on."""
    return next(filter(None, (campaign.environment().repetitions_ended for campaign in pair)), "")


def schedule(rounds: int) -> list[int]:
    """Return the rounds to look after, where there is time for so many: the last one, half of it, and so on.

    Each look comes after half as many rounds as the next one, so that there are few.
    """
    looks = [rounds]
    while looks[0] // 2 >= FIRST_LOOK:
        looks.insert(0, looks[0] // 2)
    return looks


def _check_differs(before: Comparison, now: Comparison) -> None:
    """Raise BadInput where A and B no longer differ in what they were compared for."""
    then = {d.name for d in before.gate.differences if not _may_differ(d.name)}
    told = {d.name for d in before.gate.differences if d.standing == "subject"} & then or then
    if told and not told & {difference.name for difference in now.gate.differences}:
        said = "A and B differed in this before, and run again they do not"
        fix = "provide both on the hosts (a `binary` of its own in the inventory of each), and compare again"
        raise BadInput(said, file=now.b.folder, key=", ".join(sorted(told)[:3]), fix=fix)


def _of_hosts(difference: Difference) -> bool:
    return difference.name.partition(".")[0] in OF_HOSTS


def _may_differ(name: str) -> bool:
    """Whether a fact describes the hosts at that time, or how often it was to be repeated: pairs may differ in it."""
    return name.partition(".")[0] in OF_HOSTS or name.split(".")[:2] == ["asked", "repeat"]


# -- what is run again ------------------------------------------------------------------------------------------------


def _check_hosts(before: Comparison) -> None:
    """Raise BadInput where no hosts can run A and B in turns, or where they have taken turns already."""
    a, b = before.a, before.b
    if a.folder == b.folder:
        fix = f"repeat it: benchbook report {a.report} -p repetitions=10"
        raise BadInput("two systems of one campaign take turns already", key="--confirm", value=a.id, fix=fix)
    subjects = [difference for difference in before.gate.differences if difference.standing == "subject"]
    if a.asked.get("hosts") != b.asked.get("hosts") or any(map(_of_hosts, subjects)):
        said = "A and B differ by their hosts: no hosts can run both in turns"
        fix = "record more campaigns on each, and compare with that history"
        raise BadInput(said, key="--confirm", value=f"{a.id} on {a.inventory}, {b.id} on {b.inventory}", fix=fix)


def _sides(
    before: Comparison,
    pair: tuple[Campaign, Campaign] | None,
    systems: dict[str, str],
    budget_s: float,
    console: Console,
) -> tuple[Side, Side]:
    """Return the two sides of this pair, or of a new one, with their hosts free and their programs built."""
    a, b = before.a, before.b
    requests = _as_then(a), _as_then(b)
    hosts = [pipeline.check_run(request) for request in requests]
    _check_budget((a, b), budget_s, console)
    for request, names in zip(requests, hosts, strict=True):
        pipeline.wait_until_free(request.inventory, names, console, wait=False)
        for name in request.kind.builds(request):
            artefacts.provide(name, console.print)
    one, other = pair or _begin(a, b, systems)
    return Side(requests[0], one, hosts[0]), Side(requests[1], other, hosts[1])


def _check_budget(campaigns: tuple[Campaign, Campaign], budget_s: float, console: Console) -> None:
    """Say how many rounds the budget is likely to hold, by what A and B took. Raise BadInput for less than two."""
    round_s = sum(one.spent_s / max(trial.repetition for trial in one.trials) for one in campaigns)
    if budget_s < 2 * round_s:
        fix = f"give {2 * round_s / 60 + 1:.0f}min or more"
        what = f"A and B take {round_s / 60:.1f} min a repetition, and less than two of them say nothing"
        raise BadInput(what, key="--budget", value=f"{budget_s / 60:g}min", fix=fix)
    rounds = min(int(budget_s // max(round_s, 1.0)), MOST_ROUNDS)
    console.print(f"A and B take {round_s / 60:.1f} min a repetition: at most about {rounds} rounds in the budget")


def _as_then(campaign: Campaign) -> RunRequest:
    """Return what a campaign was asked for, with its systems set as they were then. Raise BadInput."""
    plan, file = campaign.plan, campaign.folder / "plan.json"
    if plan.planned_from is None:
        fix = f"measure it anew: benchbook report {plan.report}"
        raise BadInput("it does not say how to run this campaign again", file=file, key="planned_from", fix=fix)
    now = planning.request_for(plan.report, plan.planned_from.parameters)
    request = replace(now, inventory=_set_as(now.inventory, plan.planned_from.settings.get("systems", {})))
    today = {**planning.at_published_levels(request).asked, SETTINGS: settings_of(request.inventory)}
    changed = _changed({**plan.asked, SETTINGS: plan.planned_from.settings}, today)
    if changed:
        said = f"{campaign.id} cannot be run again as it was: {'; '.join(changed.values())}"
        fix = f"set it back (asked.{SETTINGS}: in the inventory, {request.inventory.name}), or measure both anew"
        raise BadInput(said, file=file, key=", ".join(f"asked.{key}" for key in changed), fix=fix)
    return request


def _changed(then: Asked, today: Asked) -> dict[str, str]:
    """Return by dotted key what changed, with both values; how often it was to be repeated may change."""
    bound = ({key: value for key, value in conditions_of(asked).items() if key not in FREE} for asked in (then, today))
    one, other = (pd.json_normalize(json.loads(json.dumps(each, default=str))).to_dict("records")[0] for each in bound)
    return {
        str(key): f"{key} was {one.get(key, ABSENT)}, is {other.get(key, ABSENT)}"
        for key in dict.fromkeys([*one, *other])
        if one.get(key, ABSENT) != other.get(key, ABSENT)
    }


def _set_as(inventory: Inventory, servers: dict[str, dict[str, object]]) -> Inventory:
    """Return the inventory with the settings and binaries that each system had then."""
    systems = {}
    for name in {*inventory.systems, *servers}:
        own = inventory.systems.get(name, SystemSettings())
        kept = own.model_dump(exclude_unset=True, exclude={"binary", "settings", "host_settings"})
        systems[name] = SystemSettings.model_validate({**kept, **servers.get(name, {})})
    return inventory.model_copy(update={"systems": systems})


def _pairs(a: Campaign, b: Campaign) -> Path:
    return a.folder / FOLDER / b.id


def _latest(a: Campaign, b: Campaign, systems: dict[str, str]) -> tuple[Campaign, Campaign] | None:
    """Return the latest pair of these systems that can be gone on with."""
    for folder in sorted(_pairs(a, b).glob("*"), reverse=True):
        with suppress(store.PlanBroken):
            found = Campaign(folder / f"{folder.name}-a"), Campaign(folder / f"{folder.name}-b")
            theirs = [{trial.cell.system for trial in campaign.trials} for campaign in found]
            refused = _ended(found).startswith(f"{ENDED}{REFUSED}")
            if not refused and theirs == [set(systems), set(systems.values())]:
                return found
    return None


def _begin(a: Campaign, b: Campaign, systems: dict[str, str]) -> tuple[Campaign, Campaign]:
    moment = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}"

    def one(of: Campaign, names: set[str], side: str) -> Campaign:
        asked = {key: value for key, value in of.asked.items() if key != "repeat"}
        cells = [cell for cell in design.distinct_cells(of.trials) if cell.system in names]
        trials = design.plan(cells, 1, seed=of.plan.seed, asked=asked)
        folder = _pairs(a, b) / moment / f"{moment}-{side}"
        made = store.begin_at(folder, of.report, asked, trials, seed=of.plan.seed, planned_from=of.plan.planned_from)
        made.keep_looks([])
        return made

    return one(a, set(systems), "a"), one(b, set(systems.values()), "b")
